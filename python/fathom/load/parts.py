"""The total of parts that run at once: hosts of a fleet, or drives of an array.

A second of the total is the sum of the parts' own. The recording of the total covers the seconds in which every part
was active. So the rate of a total is never that of the last parts still running.
"""

from collections import deque
from collections.abc import Sequence

from fathom import _core


class Totals:
    """Adds up the parts' seconds as they come in, and keeps none that is not waited for. Hours of seconds of many parts
    do not fit in memory.
    """

    def __init__(self, parts: int) -> None:
        self.sums = [_core.Recording() for _ in range(parts)]
        """The sum of each part's seconds."""
        self._waiting: list[deque[_core.Interval]] = [deque() for _ in range(parts)]
        self._received = [0] * parts
        self._made = 0
        self._common = 0
        self._total = self._common_total = _core.Recording()

    def add(self, interval: _core.Interval) -> None:
        """Takes the next second of part `interval.target`, counted from 1."""
        part = interval.target - 1
        self.sums[part] = self.sums[part].plus(interval)
        # The total has been reported for seconds before `_made`: this one comes too late for it.
        if self._received[part] >= self._made:
            self._waiting[part].append(interval)
        self._received[part] += 1

    def fresh(self, awaited: Sequence[bool]) -> list[_core.Interval]:
        """Returns the next seconds of the total, as target 0; none for which a second of an `awaited` part is still to
        come.
        """
        fresh = []
        while any(self._waiting):
            if any(wait and not own for wait, own in zip(awaited, self._waiting, strict=True)):
                break
            seconds = [own.popleft() for own in self._waiting if own]
            total = _core.Interval.merged(seconds, 0)
            self._total = self._total.plus(total)
            if self._common == self._made and len(seconds) == len(self._waiting):
                self._common += 1
                self._common_total = self._total
            self._made += 1
            fresh.append(total)
        return fresh

    def recordings(self, parts: Sequence[_core.Recording]) -> list[_core.Recording]:
        """Returns the total over the seconds common to all parts, of all where there are none, then the parts' own."""
        total = self._common_total if self._common else self._total
        return [total.with_parts(list(parts)), *parts]
