"""How evenly a target delivers: statistics of its one-second rates over the end of a long step (methods.md, 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from fathom.statistics.uncertainty import Interval, means_interval, repeats_interval

TAIL_S = 500.0
"""Figures cover the last 500 s, as in AnandTech's suite."""
TAIL_SHARE = 0.25
"""In a step shorter than four times that, figures cover its last quarter."""
LEAST_SECONDS = 20
"""Fewer one-second rates give no figure for their spread."""

FLOOR_SHARE = 0.25
"""The quantile of one-second rates that is their floor; rates below it are the floor's own fluctuations."""


def floor_of(*repeats: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Returns the floor of one-second rates, as a row with `statistic = "floor"` publishes it; None without any.

    That of several repeats is the mean of theirs, as their rate is.
    """
    floors = [float(np.quantile(rates, FLOOR_SHARE)) for rates in repeats if len(rates)]
    return fmean(floors) if floors else None


def tail_s(length_s: float) -> float:
    """Returns how many seconds at the end of a step of `length_s` s its figures cover."""
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


def consistency(*repeats: NDArray[np.float64]) -> Consistency | None:
    """Returns the statistics of one-second rates, of one run or of several repeats.

    None for fewer than 20 in one of them, or where nothing moved. With repeats, `mean` is that of their means.
    `deviation` is how far seconds stray inside a repeat (root of the mean variance). The first percentile is that of
    all seconds, each over the median of its own repeat. How repeats differ is in `interval` alone.
    """
    if any(len(rates) < LEAST_SECONDS or not rates.mean() for rates in repeats):
        return None
    medians = [float(np.median(rates)) for rates in repeats]
    ratios = [rates / median for rates, median in zip(repeats, medians, strict=True) if median]
    return Consistency(
        sum(map(len, repeats)),
        float(np.mean([rates.mean() for rates in repeats])),
        repeats_interval(repeats) or means_interval([rates.mean() for rates in repeats]),
        float(np.sqrt(np.mean([rates.var(ddof=1) for rates in repeats]))),
        float(min(rates.min() for rates in repeats)),
        float(np.percentile(np.concatenate(ratios), 1)) if len(ratios) == len(repeats) else 0.0,
    )
