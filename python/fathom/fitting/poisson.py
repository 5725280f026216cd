"""The Poisson distribution: how many places are met how often."""

from math import lgamma, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EXACT = 8
"""Probabilities up to this count are summed; beyond it they are approximated."""
_LEAST = 1e-9


def edges() -> NDArray[np.int64]:
    """Returns the least counts of the bins 0, 1, 2, 3, 4-5, 6-7, 8-11 and on: two for each doubling."""
    return np.array([0, 1] + [step << power for power in range(40) for step in (2, 3)], np.int64)


def log_shares_of_bins(means: Floats, weights: Floats, most: int) -> Floats:
    """Returns the logarithm of the expected share of places in each of the first `most` bins of `edges`, the last open.

    Args:
        means: expected counts of groups of places.
        weights: places of each group.
        most: number of bins.
    """
    below = np.array([_below(means, int(edge)) @ weights for edge in edges()[:most]])
    shares = np.diff(np.append(below, weights.sum())) / weights.sum()
    known = shares > _LEAST
    logs = np.log(np.where(known, shares, 1.0))
    for place in np.flatnonzero(~known).tolist():
        logs[place] = _far_out(means, weights, place)
    return logs


def _far_out(means: Floats, weights: Floats, place: int) -> float:
    """Returns the logarithm of a share that is too small for a difference of sums: Chernoff's bound of the nearest.

    P(X >= e) is at most (mean / e)^e exp(e - mean) for a mean below e. So is P(X <= e) for a mean above it.
    """
    low, after = edges()[place : place + 2]
    nearest = np.maximum(np.clip(means, low, after - 1), 1e-9)
    logs = nearest * np.log(np.maximum(means, 1e-300) / nearest) + nearest - means
    return float(np.max(logs + np.log(np.maximum(weights, 1e-300) / weights.sum())))


def _below(means: Floats, count: int) -> Floats:
    """Returns P(X < count)."""
    if count <= _EXACT:
        logs = np.log(np.maximum(means, 1e-300))
        terms = [np.exp(one * logs - means - lgamma(one + 1)) for one in range(count)]
        return np.sum(terms, axis=0) if terms else np.zeros(len(means))
    # P(X < count) = P(Gamma(count) > mean), by the cube root of Wilson and Hilferty, PNAS 17, 1931.
    spread = 1 / (9 * count)
    z = ((means / count) ** (1 / 3) - (1 - spread)) / sqrt(spread)
    return _above_normal(z)


def _above_normal(z: Floats) -> Floats:
    """Returns the upper tail of the normal distribution: Abramowitz and Stegun 26.2.17, error below 7.5e-8."""
    t = 1 / (1 + 0.2316419 * np.abs(z))
    density = np.exp(-0.5 * z * z) / sqrt(2 * pi)
    powers = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    tail = density * sum(factor * t ** (place + 1) for place, factor in enumerate(powers))
    return np.where(z >= 0, tail, 1 - tail)


def surprise(counts: Floats, expected: Floats) -> Floats:
    """Returns the log-likelihood of Poisson counts, less what depends on the counts alone."""
    return counts * np.log(np.maximum(expected, 1e-300)) - expected
