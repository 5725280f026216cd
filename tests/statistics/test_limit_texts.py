"""The parts of what a recording says of its limit."""

import pytest

from fathom.statistics.limits import Limit, limit_of


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("flash dies 97 %, next controller 71 %", Limit("flash dies", "97 %", "next controller 71 %")),
        (
            "busiest of 24 drive dies 100 % (mean 17 %)",
            Limit("busiest of 24 drive dies", "100 %, mean 17 %", ""),
        ),
        ("outstanding I/O (64.0 in flight)", Limit("outstanding I/O", "64.0 in flight", "")),
        ("offered rate", Limit("offered rate", "", "")),
    ],
)
def test_a_limit_is_named_without_how_busy_it_is(text: str, parts: Limit):
    assert limit_of(text) == parts
