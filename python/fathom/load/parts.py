"""The total of parts that run at once: hosts of a fleet, or drives of an array.

A second of the total is the sum of the parts' own. The recording of the total covers the seconds in which every part
was active. So the rate of a total is never that of the last parts still running. The last of these seconds, in which a
part may have ended before the others, is left out where there is an earlier one.
"""

from collections import deque
from collections.abc import Sequence

from fathom import _core

_EVEN_LEAST = 0.95
"""A second of a part that is shorter than this share of the longest has ended before the others."""


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
        self._total = self._common_total = self._before_last = _core.Recording()
        self._ends_together = True

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
                self._before_last, self._common_total = self._common_total, self._total
                shortest = min(one.length_s for one in seconds)
                self._ends_together = shortest >= _EVEN_LEAST * total.length_s
            self._made += 1
            fresh.append(total)
        return fresh

    def recordings(self, parts: Sequence[_core.Recording]) -> list[_core.Recording]:
        """Returns the total over the seconds common to all parts, of all where there are none, then the parts' own."""
        total = self._common_total if self._common else self._total
        if self._common > 1 and not self._ends_together:
            total = self._before_last
        return [total.with_parts(list(parts)), *parts]
