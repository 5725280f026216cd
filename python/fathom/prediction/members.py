"""What the members of an ensemble say of a figure: the range that the parameters leave open."""

from collections.abc import Sequence

import numpy as np

from fathom.prediction.interval import COVERAGE

LEAST_MEMBERS = 8
"""Fewest members for a range: the outer ones then lie beyond it on both sides."""
ENOUGH_MEMBERS = 30
"""Fewest members for what they say of two figures together."""


def narrowing(of: Sequence[float], by: Sequence[float]) -> float | None:
    """Returns by which share a figure's range would narrow if another figure of the same members were known.

    It is 1 - sqrt(1 - r^2), as for figures that are lognormal together; r is their correlation, adjusted for the number
    of members. None for fewer than `ENOUGH_MEMBERS`, and for figures that do not vary.
    """
    n = len(of)
    if n < ENOUGH_MEMBERS or min(*of, *by) <= 0:
        return None
    first, second = np.log(np.asarray(of)), np.log(np.asarray(by))
    if not (np.std(first) and np.std(second)):
        return None
    r2 = float(np.corrcoef(first, second)[0, 1]) ** 2
    adjusted = max(0.0, 1 - (1 - r2) * (n - 1) / (n - 2))
    return 1 - (1 - adjusted) ** 0.5


def range_over(values: Sequence[float]) -> tuple[float, float] | None:
    """Returns the range that holds `COVERAGE` of the members' figures, the middle ones; None for too few members."""
    if len(values) < LEAST_MEMBERS:
        return None
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [tail, 1 - tail])
    return float(low), float(high)
