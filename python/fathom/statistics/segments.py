"""Cuts a row of counts into stretches of about equal density."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

_MOST_PHASES = 16


@dataclass(frozen=True)
class Segment:
    """A stretch: its length in slots, and what was counted there."""

    slots: int
    count: float

    @property
    def density(self) -> float:
        """Returns the count of a slot."""
        return self.count / self.slots


def segments(counts: Sequence[float], most: int, penalty: float = 8.0) -> list[Segment]:
    """Merges neighbours, the most alike first, while that costs less log-likelihood than `penalty`.

    Counts are taken for Poisson. At most `most` stretches are left, whatever they cost. The order of merging is that
    of bottom-up segmentation (Keogh, Chu, Hart, Pazzani, ICDM 2001).
    """
    at: list[Segment | None] = [Segment(1, count) for count in counts]
    after = list(range(1, len(at) + 1))
    before = list(range(-1, len(at) - 1))
    heap = [(_cost(at[place], at[place + 1]), place, place + 1, 1, 1) for place in range(len(at) - 1)]
    heapq.heapify(heap)
    left = len(at)
    while heap and (heap[0][0] < penalty or left > most):
        _, place, other, own_slots, other_slots = heapq.heappop(heap)
        one, two = at[place], at[other]
        if one is None or two is None or (one.slots, two.slots) != (own_slots, other_slots):
            continue
        merged = Segment(one.slots + two.slots, one.count + two.count)
        at[place], at[other] = merged, None
        after[place] = after[other]
        left -= 1
        if after[place] < len(at):
            before[after[place]] = place
            _push(heap, at, place, after[place])
        if before[place] >= 0:
            _push(heap, at, before[place], place)
    return [one for one in at if one is not None]


def phases_of(counts: Sequence[float]) -> list[Segment]:
    """Returns the phases of a load from its I/Os in equally long slots.

    The penalty keeps stretches apart only where they differ by more than the noise of a phase itself.
    """
    return segments(counts, _MOST_PHASES, penalty=max(8.0, 0.002 * sum(counts)))


def log_ratio(count: float, width: float) -> float:
    """Returns count * log(count / width); 0 for no count."""
    return count * log(count / width) if count > 0 else 0.0


def _push(
    heap: list[tuple[float, int, int, int, int]], at: list[Segment | None], place: int, other: int
) -> None:
    one, two = at[place], at[other]
    if one is not None and two is not None:
        heapq.heappush(heap, (_cost(one, two), place, other, one.slots, two.slots))


def _cost(one: Segment | None, two: Segment | None) -> float:
    if one is None or two is None:
        return 0.0
    whole = log_ratio(one.count + two.count, one.slots + two.slots)
    return log_ratio(one.count, one.slots) + log_ratio(two.count, two.slots) - whole
