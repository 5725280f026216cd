"""Lines of the last minutes: where they begin, break and end."""

import pytest

from fathom.output.text import iops_text
from fathom.runs.live import LiveSeries
from fathom.serve.live_line import HEIGHT, MARGIN, NO_LINE, WIDTH, line_of, span_s


def series(at_s: list[float], values: list[float | None], steps: list[int] | None = None) -> LiveSeries:
    return LiveSeries(
        at_s=tuple(at_s),
        step=tuple(steps or [1] * len(at_s)),
        iops=(0.0,) * len(at_s),
        bytes_per_s=(0.0,) * len(at_s),
        mean_latency_us=tuple(values),
    )


def drawn(at_s: list[float], values: list[float | None], now_s: float, steps: list[int] | None = None) -> str:
    recent = series(at_s, values, steps)
    return line_of(recent, recent.mean_latency_us, now_s, iops_text).path


def test_the_scale_begins_at_zero_and_ends_at_the_highest_value() -> None:
    recent = series([8, 9, 10], [0.0, 50.0, 100.0])
    line = line_of(recent, recent.mean_latency_us, 10, iops_text)
    bottom, middle, top = HEIGHT - MARGIN, HEIGHT / 2, MARGIN
    assert line.path == f"M280.0 {bottom}h0L290.0 {middle}L{WIDTH} {top}"
    assert line.highest == "100 IOPS"


def test_a_pause_and_a_new_step_break_the_line() -> None:
    assert drawn([1, 2, 8, 9], [1, 1, 1, 1], 10).count("M") == 2
    assert drawn([6, 7, 8, 9], [1, 1, 1, 1], 10, [1, 1, 2, 2]).count("M") == 2
    assert drawn([6, 7, 8, 9], [1, 1, 1, 1], 10).count("M") == 1


def test_what_is_older_than_the_span_and_what_has_no_value_is_left_out() -> None:
    assert drawn([1, 600], [5, None], 600) == ""
    assert drawn([1, 599, 600], [5, 7, 7], 600).count("L") == 1


@pytest.mark.parametrize(("now_s", "span"), [(0, 30), (45, 45), (4000, 180)])
def test_the_span_grows_with_the_run_up_to_three_minutes(now_s: float, span: float) -> None:
    assert span_s(now_s) == span


def test_a_time_that_was_rounded_beyond_now_is_at_the_right_edge() -> None:
    assert drawn([10.1], [3], 10.05) == f"M{WIDTH} {MARGIN}h0"


def test_nothing_but_zeros_is_a_line_at_the_bottom_and_no_value_is_none() -> None:
    assert drawn([9, 10], [0, 0], 10) == f"M290.0 {HEIGHT - MARGIN}h0L{WIDTH} {HEIGHT - MARGIN}"
    recent = series([], [])
    assert line_of(recent, (), 10, iops_text) is NO_LINE
