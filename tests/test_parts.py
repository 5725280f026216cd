"""The total of parts that run at once: which seconds it is of, and that it keeps none of them."""

import gc
import json
from collections import deque
from collections.abc import Sequence

import pytest

from fathom import _core
from fathom.load.parts import Totals

JOB = {
    "mix": "read",
    "block": "4KiB",
    "pattern": "uniform",
    "load": {"rate": "1000/s", "arrival": "deterministic", "iodepth": 4},
    "until": {"time": "1s"},
}


@pytest.fixture(scope="module")
def second() -> _core.Interval:
    handle = _core.start_engine(_core.Job(json.dumps(JOB)), [_core.EngineTarget("null:", "null", 1 << 30)], 1)
    seconds: list[_core.Interval] = []
    while not handle.done():
        seconds += handle.poll()
    return seconds[0]


def fed(totals: Totals, second: _core.Interval, parts: Sequence[int], awaited: Sequence[bool]) -> int:
    """Gives a second of each of the parts, counted from 1; how many seconds of the total follow."""
    for part in parts:
        totals.add(_core.Interval.merged([second], part))
    return len(totals.fresh(awaited))


def done(recordings: Sequence[_core.Recording]) -> list[int]:
    return [sum(op.n for op in one.ops) for one in recordings]


def kept(totals: Totals) -> int:
    """Intervals that can be reached from it."""
    found, held = 0, [vars(totals)]
    while held:
        one = held.pop()
        found += isinstance(one, _core.Interval)
        if isinstance(one, (dict, list, deque)):
            held += gc.get_referents(one)
    return found


def test_seconds_of_many_parts_are_not_kept(second: _core.Interval) -> None:
    totals, n = Totals(24), sum(op.n for op in second.ops)
    for _ in range(50):
        assert fed(totals, second, range(1, 25), [True] * 24) == 1
    assert kept(totals) == 0
    assert fed(totals, second, range(1, 24), [True] * 24) == 0
    assert kept(totals) == 23
    assert done(totals.recordings(totals.sums)) == [24 * 50 * n, *[51 * n] * 23, 50 * n]


def test_a_total_is_of_the_seconds_that_all_parts_have(second: _core.Interval) -> None:
    totals, n = Totals(2), sum(op.n for op in second.ops)
    assert fed(totals, second, [1, 2], [True, True]) == 1
    assert fed(totals, second, [1], [True, True]) == 0
    assert fed(totals, second, [], [True, False]) == 1
    assert done(totals.recordings(totals.sums)) == [2 * n, 2 * n, n]


def test_a_second_that_comes_too_late_for_its_total_is_the_parts_alone(second: _core.Interval) -> None:
    totals, n = Totals(2), sum(op.n for op in second.ops)
    assert fed(totals, second, [1], [True, False]) == 1
    assert fed(totals, second, [2], [True, True]) == 0
    assert fed(totals, second, [1, 2], [True, True]) == 1
    assert done(totals.recordings(totals.sums)) == [3 * n, 2 * n, 2 * n]
