"""Figures as they are printed."""

import pytest

from fathom.output.text import (
    capacity,
    digits,
    duration,
    four_digits,
    iops_text,
    ios_in_flight,
    percent_digits,
    size,
    span,
)
from fathom.report.style import seconds, with_micro


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.98, 1.02, "0.98 to 1.02"),
        (1.001, 1.004, "1.001 to 1.004"),
        (1.00011, 1.00042, "1.0001 to 1.0004"),
        (1.003, 1.021, "1.003 to 1.021"),
    ],
)
def test_a_ratios_bounds_are_told_apart_and_from_one_by_more_decimals_where_they_need_them(
    low: float, high: float, text: str
) -> None:
    assert span(low, high) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1549.6, "1,550"),
        (2.5e7, "25,000,000"),
        (98.23, "98.2"),
        (0, "0"),
        (1e-4, "0.0001"),
        (1.5e-9, "< 0.0001"),
    ],
)
def test_three_digits_have_no_exponent(value: float, text: str) -> None:
    assert digits(value) == text
    assert percent_digits(value / 100) == f"{text} %"


def test_a_size_is_printed_without_an_exponent() -> None:
    assert size(99_999 << 40) == "99,999 TiB"
    assert size(1536 << 30) == "1.5 TiB"


def test_a_rate_of_few_ios_a_second_keeps_two_digits() -> None:
    assert [iops_text(iops) for iops in (0, 0.667, 2.5, 9.96, 12.4)] == [
        "0 IOPS",
        "0.67 IOPS",
        "2.5 IOPS",
        "10 IOPS",
        "12 IOPS",
    ]


def test_a_short_window_has_no_exponent() -> None:
    assert [seconds(value) for value in (0.0, 4.94e-5, 9.997e-4, 0.0125, 3.0)] == [
        "0 s",
        "49.4 us",
        "0.001 s",
        "0.0125 s",
        "3 s",
    ]


def test_what_rounds_up_to_the_next_unit_is_in_that_unit() -> None:
    assert capacity(999_667_000_000) == "1 TB"
    assert capacity(999_400_000_000) == "999 GB"
    assert [duration(seconds) for seconds in (0.0009996, 0.9996, 59.97)] == ["1 ms", "1.0 s", "1 min 00 s"]
    assert iops_text(999_960) == "1.00M IOPS"


@pytest.mark.parametrize(
    ("value", "sign", "text"),
    [
        (92.163, "", "92.16"),
        (1.28243e9, "", "1,282,000,000"),
        (-660.0, "+", "-660"),
        (9999.9, "+", "+10,000"),
    ],
)
def test_four_digits_have_no_exponent(value: float, sign: str, text: str) -> None:
    assert four_digits(value, sign) == text


@pytest.mark.parametrize(("count", "text"), [(1, "1 I/O in flight"), (64, "64 I/Os in flight")])
def test_one_io_in_flight_is_no_plural(count: int, text: str) -> None:
    assert ios_in_flight(count) == text


def test_pages_write_the_unit_of_micro_seconds_and_leave_words_alone() -> None:
    said = "service latencies, in us. 49.4 us to 3 s (us); us-east and a target of us all"
    assert with_micro(said) == "service latencies, in µs. 49.4 µs to 3 s (µs); us-east and a target of us all"
