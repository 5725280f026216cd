"""Rounds of a precondition, from a backend's intervals to the verdict."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import fathom
from fathom import _core
from fathom.method.method import load_method
from fathom.session.steady_rounds import SteadyRounds, Written
from fathom.session.twin_windows import VOLUME_ROUNDS

CAPACITY = 10**9


def second(throttled_s: float) -> _core.Interval:
    """A second of a perfectly even write, with what the target's counter of throttled time grew by."""
    op = SimpleNamespace(op="write", n=1000, bytes=CAPACITY // 10)
    counters = {"throttled_s": throttled_s, "media_write_bytes": CAPACITY / 10}
    return cast("_core.Interval", SimpleNamespace(length_s=1.0, ops=[op], counters=counters))


def ended(throttled_s: float) -> tuple[bool, str]:
    """Whether a full precondition of 60 rounds ends, and the reason."""
    step = next(step for step in load_method("four-corners").steps if step.steady)
    steady = SteadyRounds(step, CAPACITY, Written(2 * CAPACITY, CAPACITY), quick=False)
    steady.every_s = 1.0
    return any([steady.add(second(throttled_s)) for _ in range(60)]), steady.reason


def test_an_even_precondition_ends_steady_and_one_of_a_throttling_target_does_not() -> None:
    assert ended(0.0)[0]
    steady, reason = ended(0.2)
    assert not steady
    assert "throttled in 30 of the last 30 rounds" in reason


def test_hosts_with_a_drive_each_must_write_to_all_of_them() -> None:
    steps = [step for step in load_method("four-corners").steps if step.steady and step.job.destructive]
    step = next(step for step in steps if step.job.pattern.kind != "sequential")
    verdicts = []
    for copies in (1.0, 2.0):
        steady = SteadyRounds(step, CAPACITY, Written(2 * CAPACITY, 0), quick=False, copies=copies)
        for _ in range(5):
            steady.add_round(1000.0, None, CAPACITY // 4)
        verdicts.append(steady.reason)
    assert "capacity written" not in verdicts[0]
    assert "1.00x of 2x the capacity written sequentially" in verdicts[1]
    assert "0.62x of 1x the capacity written at random" in verdicts[1]


def saturated(written_x: float, *, quick: bool = False, purged: bool = True) -> tuple[bool, str]:
    """Whether perfectly even random writes of that much, and no fill before them, end as saturated; what is said."""
    step = next(step for step in load_method("snia-wsat").steps if step.steady)
    steady = SteadyRounds(step, CAPACITY, Written(purged=purged), quick=quick)
    steady.every_s = 1.0
    return any([steady.add(second(0.0)) for _ in range(round(10 * written_x))]), steady.reason


def test_random_writes_from_a_purge_are_judged_once_they_wrote_as_much_as_a_fill_and_themselves() -> None:
    steady, reason = saturated(2.8)
    assert not steady
    assert reason == "2.80x of 3x the capacity written at random since the purge"
    assert saturated(3.2)[0]


@pytest.mark.parametrize(
    ("before", "since"),
    [
        (Written(purged=True), "since the purge"),
        (Written(), "in this run"),
        (Written(purged=True).afresh(CAPACITY), "since the fill began"),
    ],
)
def test_a_verdict_says_since_when_the_volume_is_counted(before: Written, since: str) -> None:
    step = next(step for step in load_method("four-corners").steps if step.name == "settle-4k-rand-write")
    steady = SteadyRounds(step, CAPACITY, before, quick=False)
    steady.add_round(100.0, None, CAPACITY // 10)
    assert f"the capacity written at random {since}" in steady.reason


def test_random_writes_of_a_region_make_up_for_what_its_fill_left_out() -> None:
    step = next(step for step in load_method("write-amplification").steps if step.name == "settle-filled-50")
    steady = SteadyRounds(step, CAPACITY, Written(CAPACITY // 2, 0, purged=True), quick=False)
    steady.every_s = 1.0
    assert not any([steady.add(second(0.0)) for _ in range(24)])
    assert steady.reason == "2.40x of 2.5x the capacity written at random since the purge"
    assert steady.add(second(0.0))


def test_a_pattern_is_not_judged_on_what_the_one_before_wrote() -> None:
    step = next(
        step for step in load_method("write-amplification").steps if step.name == "settle-write-zipf-0.8"
    )
    steady = SteadyRounds(step, CAPACITY, Written(2 * CAPACITY, CAPACITY), quick=False)
    steady.every_s = 1.0
    assert not any([steady.add(second(0.0)) for _ in range(9)])
    assert steady.reason == "0.90x of 1x the capacity written under this load"
    assert steady.add(second(0.0))


@pytest.mark.parametrize(
    ("before", "needed_x"),
    [
        (Written(purged=True), 0.75),
        (Written(CAPACITY // 2, purged=True), 0.25),
        (Written(2 * CAPACITY, purged=True), 0.25),
        (Written(), 0.25),
    ],
    ids=["a purge", "a purge and half a fill", "a purge and a fill", "not known to be empty"],
)
def test_a_part_filled_afresh_on_an_emptied_drive_is_judged_once_the_drive_was_written_as_much_as_it_holds(
    before: Written, needed_x: float
) -> None:
    step = next(step for step in load_method("rate-curves").steps if step.name == "settle-8k-rand-70r30w")
    part = replace(before.afresh(CAPACITY // 4), sequential_bytes=CAPACITY // 4)
    steady = SteadyRounds(step, CAPACITY, part, quick=False)
    steady.add_round(1000.0, None, CAPACITY // 5)
    assert f"0.20x of {needed_x:g}x the capacity written at random" in steady.reason


def test_without_a_purge_random_writes_still_need_the_fill() -> None:
    steady, reason = saturated(3.2, purged=False)
    assert not steady
    assert "of 2x the capacity written sequentially" in reason


def test_a_quick_run_does_not_take_the_first_seconds_of_a_purged_drive_for_its_level() -> None:
    assert not saturated(3.2, quick=True)[0]
    assert saturated(3.2, quick=True, purged=False)[0]


@pytest.mark.long
def test_write_saturation_of_a_twin_is_judged_in_many_rounds_and_its_result_is_not_of_the_fall(
    tmp_path: Path,
) -> None:
    """The slice of a fast drive takes four times its capacity in less than a round of a minute."""
    run = fathom.run("snia-wsat", "twin:samsung-pm9a3-7.68tb", quick=False, out=tmp_path)
    assert run.points["step"].to_pylist() == ["saturated"]
    [note] = [note for note in run.notes if note.rule == "not-steady"]
    reached = re.search(r"not reached in (\d+) rounds", note.text)
    assert reached
    assert VOLUME_ROUNDS - 8 <= int(reached[1]) <= VOLUME_ROUNDS
