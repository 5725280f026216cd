"""What the members of an ensemble say of a figure: the range that the parameters leave open."""

from collections.abc import Sequence

import numpy as np

from fathom.prediction.interval import COVERAGE

LEAST_MEMBERS = 8
"""Fewest members for a range: the outer ones then lie beyond it on both sides."""


def range_over(values: Sequence[float]) -> tuple[float, float] | None:
    """Returns the range that holds `COVERAGE` of the members' figures, the middle ones; None for too few members."""
    if len(values) < LEAST_MEMBERS:
        return None
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [tail, 1 - tail])
    return float(low), float(high)
