"""Series of rates: rounds, or seconds, equally spaced."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def as_series(values: ArrayLike) -> Floats:
    """Returns the samples as numbers.

    Raises ValueError where they are not one-dimensional and finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1 or not np.isfinite(series).all():
        raise ValueError("a series of rates is one-dimensional and finite")
    return series


def block_means(y: Floats, block: int) -> Floats:
    """Returns means of consecutive blocks; samples at the front that fill no block are left out."""
    whole = len(y) // block * block
    return y[len(y) - whole :].reshape(-1, block).mean(axis=1)
