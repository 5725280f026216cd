"""How evenly a target delivers: statistics of its one-second rates over the end of a long step (methods.md, 4)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.uncertainty import Interval, mean_interval

TAIL_S = 500.0
"""Figures are of the last 500 s, as AnandTech's suite has them."""
TAIL_SHARE = 0.25
"""Of a step shorter than four times that, of its last quarter."""
LEAST_SECONDS = 20
"""Fewer one-second rates say nothing of their spread."""


def tail_s(length_s: float) -> float:
    """Seconds at the end of a step of that length that its figures are of."""
    return min(TAIL_S, length_s * TAIL_SHARE)


@dataclass(frozen=True)
class Consistency:
    """One-second rates over a window: IOPS, `n` of them. `steadiness` is mean over deviation, `spread` its inverse.

    `interval` is that of the mean, None where the seconds drift.
    """

    n: int
    mean: float
    interval: Interval | None
    deviation: float
    worst: float
    p1_over_median: float

    @property
    def steadiness(self) -> float | None:
        """Mean over standard deviation: the larger, the more even. None when every second was the same."""
        return self.mean / self.deviation if self.deviation else None

    @property
    def spread(self) -> float:
        """Standard deviation over mean (coefficient of variation)."""
        return self.deviation / self.mean


def consistency(rates: NDArray[np.float64]) -> Consistency | None:
    """The statistics of one-second rates; None for fewer than 20 or where nothing moved."""
    if len(rates) < LEAST_SECONDS or not rates.mean():
        return None
    p1, median = np.percentile(rates, (1, 50))
    return Consistency(
        len(rates),
        float(rates.mean()),
        mean_interval(rates),
        float(rates.std(ddof=1)),
        float(rates.min()),
        float(p1 / median) if median else 0.0,
    )
