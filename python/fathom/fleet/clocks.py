"""Compares two clocks over a round trip, as NTP does (RFC 5905, section 8)."""

import time
from collections.abc import Callable
from dataclasses import dataclass

SAMPLES = 16
MOST_ERROR_NS = 5_000_000


@dataclass(frozen=True)
class Offset:
    """How far a host's clock is ahead of ours, and the most that this can be wrong by: half the round trip."""

    offset_ns: int
    error_ns: int

    @property
    def usable(self) -> bool:
        """Whether hosts can be started together by it."""
        return self.error_ns <= MOST_ERROR_NS


def measure(ask: Callable[[], int], samples: int = SAMPLES) -> Offset:
    """The offset of the clock that `ask` reads (ns since 1970), from the quickest of some round trips."""
    return min((_sample(ask) for _ in range(samples)), key=lambda offset: offset.error_ns)


def _sample(ask: Callable[[], int]) -> Offset:
    before = time.time_ns()
    theirs = ask()
    after = time.time_ns()
    return Offset(theirs - (before + after) // 2, (after - before + 1) // 2)
