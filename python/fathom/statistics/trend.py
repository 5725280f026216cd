"""Trends: how fast a series drifts, and how far it still is from where it tends to."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from fathom.statistics.series import Floats, as_series, block_means

_MOST_POINTS = 240


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope per sample with its confidence interval, in the unit of the series."""

    value: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def theil_sen(series: ArrayLike, confidence: float = 0.95) -> Slope:
    """Returns the median of all pairwise slopes over equally spaced samples, with Sen's interval.

    Sen, JASA 63 (1968) 1379; Kendall's variance of S with the correction for ties. Needs two samples; memory grows with
    the square of their number.
    """
    y = as_series(series)
    n = len(y)
    if n < 2:
        raise ValueError(f"a slope needs two samples, got {n}")
    i, j = np.triu_indices(n, k=1)
    slopes = np.sort((y[j] - y[i]) / (j - i))
    ties = np.unique(y, return_counts=True)[1].astype(np.float64)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    half_width = NormalDist().inv_cdf(0.5 + confidence / 2) * variance**0.5
    low = max(round((len(slopes) - half_width) / 2) - 1, 0)
    high = min(round((len(slopes) + half_width) / 2), len(slopes) - 1)
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


def distance_to_floor(series: ArrayLike) -> float | None:
    """Returns how far a settling series still is from where it tends to, as a fraction of that level.

    `None` when no trend stands out from noise; infinite when the trend is not shown to slow down. It is Aitken's
    delta-squared on the means of three equal thirds. In an exponential approach their differences fall by a constant
    ratio q, and d q / (1 - q) remains after the last. The upper 95 % limit of q is used, so that noise errs towards
    "not yet".
    """
    y = _shorten(as_series(series))
    third = len(y) // 3
    if len(y) < 5 or not theil_sen(y).significant:
        return None
    last = y[-3 * third :].reshape(3, third)
    first, middle, final = last.mean(axis=1)
    before, after = middle - first, final - middle
    if before == 0 or after * before <= 0:
        return 0.0 if before else np.inf
    error = _noise(y) / third**0.5
    q = after / before
    q_high = q + 1.645 * error * (2 * (1 + q + q * q)) ** 0.5 / abs(before)
    if q_high >= 1:
        return np.inf
    floor = final + after * q_high / (1 - q_high)
    return float((final - floor) / floor) if floor > 0 else np.inf


def _noise(y: Floats) -> float:
    """Returns the standard deviation around a smooth course: from second differences, whose variance is 6 s^2."""
    bend = np.diff(y, n=2)
    return float(np.sqrt(np.mean(bend * bend) / 6)) if len(bend) else 0.0


def relative_drift(y: Floats, rounds: int = 0) -> Slope:
    """Returns the Theil-Sen drift from the first to the last sample, or over `rounds` if more, as fractions of the
    median.
    """
    level = float(np.median(y))
    short = _shorten(y)
    slope = theil_sen(short)
    span = (len(short) - 1) * max(1.0, (rounds - 1) / (len(y) - 1)) / level if level > 0 else np.inf
    if not np.isfinite(span):
        return Slope(0.0, -np.inf, np.inf)
    return Slope(slope.value * span, slope.low * span, slope.high * span)


def _shorten(y: Floats) -> Floats:
    return y if len(y) <= _MOST_POINTS else block_means(y, -(-len(y) // _MOST_POINTS))
