"""The knee of a curve: where more load stops paying. It describes a curve and decides nothing."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

LEAST_POINTS = 4
LEAST_BEND = 0.05
"""How far a curve has to bow from its chord, as a fraction of its height, to have a knee at all."""


def knee(
    x: Sequence[float], y: Sequence[float], shape: Literal["saturating", "exploding"] = "saturating"
) -> int | None:
    """Returns the index of the knee of an increasing curve, x ascending; `None` where it is too short, flat or
    straight.

    Kneedle (Satopaa et al., ICDCSW 2011) without smoothing: both axes are scaled to 0..1. The knee is the point
    farthest from the diagonal: above it where the curve saturates (rate over depth), below where it explodes (latency
    over rate).
    """
    if len(x) < LEAST_POINTS or x[-1] <= x[0] or max(y) <= min(y):
        return None
    across = (np.asarray(x, dtype=np.float64) - x[0]) / (x[-1] - x[0])
    up = (np.asarray(y, dtype=np.float64) - min(y)) / (max(y) - min(y))
    bow = up - across if shape == "saturating" else across - up
    place = int(np.argmax(bow))
    return place if bow[place] > LEAST_BEND else None
