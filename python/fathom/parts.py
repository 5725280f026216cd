"""The total of parts that run at once: hosts of a fleet, drives of an array. Knows neither of them.

A second of the total is the sum of the parts' own; the recording of the total is of the seconds in which every part was
active, so that the rate of a total is never that of the parts that happened to be left.
"""

import hashlib
from collections.abc import Sequence

from fathom import _core
from fathom.errors import FathomError


def part_seed(seed: int, number: int) -> int:
    """The seed of part `number` (from 1): equal drives with equal requests would be one drive counted N times."""
    digest = hashlib.sha256(f"fathom part {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def split_job(job_json: str, parts: int) -> list[str]:
    """What each part does: the job, or its share of a load that is for all together. Raises FathomError."""
    try:
        return _core.split_job(job_json, parts)
    except _core.ParseError as error:
        raise FathomError(str(error)) from error


class Totals:
    """Adds up the parts' seconds as they come in."""

    def __init__(self, parts: int) -> None:
        self.intervals: list[list[_core.Interval]] = [[] for _ in range(parts)]
        self._totals: list[_core.Interval] = []

    def add(self, interval: _core.Interval) -> None:
        """Takes the next second of part `interval.target`, counted from 1."""
        self.intervals[interval.target - 1].append(interval)

    def fresh(self, awaited: Sequence[bool]) -> list[_core.Interval]:
        """The next seconds of the total, as target 0; none for which a second of an `awaited` part is still to come."""
        fresh = []
        while True:
            index = len(self._totals)
            if any(wait and len(own) <= index for wait, own in zip(awaited, self.intervals, strict=True)):
                return fresh
            seconds = [own[index] for own in self.intervals if len(own) > index]
            if not seconds:
                return fresh
            self._totals.append(_core.Interval.merged(seconds, 0))
            fresh.append(self._totals[-1])

    @property
    def common_seconds(self) -> int:
        """Intervals from the start for which there are figures of every part."""
        return min(len(own) for own in self.intervals)

    def recordings(self, parts: Sequence[_core.Recording]) -> list[_core.Recording]:
        """The total over the seconds common to all parts, then the parts' own."""
        common = self._totals[: self.common_seconds] or self._totals
        return [_core.Recording.of_intervals(common, list(parts)), *parts]
