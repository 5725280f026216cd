"""Samples from outside the backend, added up over a target or its parts."""

import pytest

from fathom.columns.schema import Reading
from fathom.runs.sampled import Sampled


def reading(target: str, value: float, length_s: float) -> Reading:
    return Reading(
        target=target, step="read", start_s=0.0, length_s=length_s, name="joules", value=value, unit="J"
    )


def test_parts_that_were_sampled_for_unlike_times_draw_the_sum_of_their_powers() -> None:
    parts = [reading("a", 100.0, 10.0), reading("b", 40.0, 5.0), reading("b", 40.0, 3.0)]
    assert Sampled(parts, "array:a,b", ("a", "b")).per_s("joules") == pytest.approx(20)
    assert Sampled(parts, "array:a,b,c", ("a", "b", "c")).per_s("joules") is None
    assert Sampled(parts, "b", ()).per_s("joules") == pytest.approx(10)
    assert Sampled(parts, "c", ()).per_s("joules") is None
    assert Sampled(parts, "array:a,b", ("a", "b")).total("joules") == 180
