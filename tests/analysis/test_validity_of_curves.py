"""Validity notes on curves: whether the maximum that shares are offered of was one."""

import pytest
from judged_runs import DEVICE, Measured, only, run_view

from fathom.analysis.run_view import RunView
from fathom.analysis.validity import notes


def points_of(maximum: float, offered: float, achieved: float, step: str = "4k-rand-read") -> list[Measured]:
    """A maximum and two points of its curve: half of it, and one beyond it."""
    half = 0.5 * maximum
    return [
        Measured(DEVICE, [maximum] * 60, step=step),
        Measured(DEVICE, [half] * 60, step=f"{step}@50", point={"offered_iops": half}),
        Measured(DEVICE, [achieved] * 60, step=f"{step}@120", point={"offered_iops": offered}),
    ]


def curve(maximum: float, offered: float, achieved: float, **changes) -> RunView:
    return run_view(points_of(maximum, offered, achieved), **changes)


@pytest.mark.parametrize("achieved", [960_000.0, 1_000_000.0, 1_040_000.0])
def test_a_curve_whose_overload_does_what_its_maximum_did_has_no_note(achieved: float):
    assert notes(curve(1e6, 1.2e6, achieved)) == []


def test_a_maximum_that_a_later_point_exceeds_is_noted_with_both_rates():
    note = only(curve(253_000.0, 303_600.0, 280_000.0))
    assert (note.rule, note.level, note.step) == ("unsettled-maximum", "warning", "4k-rand-read")
    assert "reached 253,000 IOPS" in note.text
    assert "later 280,000 were done where 120 % of it were offered (+11 %)" in note.text
    assert "--quick" not in note.next_step
    quick = notes(curve(253_000.0, 303_600.0, 280_000.0, quick=True))
    assert "--quick" in next(note for note in quick if note.rule == "unsettled-maximum").next_step


def test_a_share_of_the_maximum_is_named_as_one_in_a_curve_that_is_called_after_an_slo():
    note = only(run_view(points_of(1e6, 1.2e6, 0.8e6, step="slo-reads")))
    assert "done where 120 % of it were offered" in note.text


def test_a_point_of_the_search_for_an_slo_is_named_by_its_number():
    search = Measured(DEVICE, [0.8e6] * 60, step="4k-rand-read@slo-3", point={"offered_iops": 1.2e6})
    note = only(run_view([*points_of(1e6, 1.2e6, 1e6)[:2], search]))
    assert "done at its point 3 (" in note.text


def test_a_maximum_that_does_not_last_is_noted_too():
    assert "(-20 %)" in only(curve(1e6, 1.2e6, 0.8e6)).text


@pytest.mark.parametrize(("further", "says"), [(1, "the same in another curve"), (2, "in 2 other curves")])
def test_of_several_curves_the_one_that_is_furthest_off_is_told(further: int, says: str):
    others = [points_of(1e6, 1.2e6, 1.1e6, step=f"other-{number}") for number in range(further)]
    note = only(run_view([*points_of(1e6, 1.2e6, 0.8e6), *(one for other in others for one in other)]))
    assert note.step == "4k-rand-read"
    assert "(-20 %)" in note.text
    assert note.text.endswith(says)
