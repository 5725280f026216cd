"""Compares two clocks over a round trip, as NTP does (RFC 5905, section 8)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

SAMPLES = 16
MOST_ERROR_NS = 5_000_000
MOST_SPREAD_NS = 1_000_000
"""By so much the samples of a quick succession may contradict each other: what a clock that is being set drifts."""


@dataclass(frozen=True)
class Offset:
    """How far a host's clock is ahead of ours, and the most that this can be wrong by: half the round trip.

    `spread_ns` is by how much its samples contradict each other: that of a clock that runs evenly lies within the error
    of each.
    """

    offset_ns: int
    error_ns: int
    spread_ns: int = 0

    @property
    def usable(self) -> bool:
        """Whether hosts can be started together by it."""
        return self.error_ns <= MOST_ERROR_NS

    @property
    def even(self) -> bool:
        """Whether the clock runs as ours does."""
        return self.spread_ns <= MOST_SPREAD_NS


def measure(ask: Callable[[], int], samples: int = SAMPLES) -> Offset:
    """Returns the offset of the clock that `ask` reads (ns since 1970), from the quickest of some round trips."""
    taken = [_sample(ask) for _ in range(samples)]
    best = min(taken, key=lambda offset: offset.error_ns)
    highest_low = max(offset.offset_ns - offset.error_ns for offset in taken)
    lowest_high = min(offset.offset_ns + offset.error_ns for offset in taken)
    return replace(best, spread_ns=max(0, highest_low - lowest_high))


def _sample(ask: Callable[[], int]) -> Offset:
    before = time.time_ns()
    theirs = ask()
    after = time.time_ns()
    return Offset(theirs - (before + after) // 2, (after - before + 1) // 2)
