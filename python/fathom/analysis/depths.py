"""Where a rate over the I/Os in flight reaches its maximum. It measures nothing."""

from collections.abc import Sequence

FULL = 0.95
"""Share of the greatest rate from which a depth is enough. The top of a saturated curve is flat, so chance decides
which depth is highest.
"""


def enough(rates: Sequence[float], share: float = FULL) -> int:
    """Returns the index of the least depth that gives `share` of the greatest rate; depths ascending, one at least."""
    return next(index for index, rate in enumerate(rates) if rate >= share * max(rates))
