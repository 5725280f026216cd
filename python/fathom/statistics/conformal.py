"""Bounds on the next miss of a predictor from its past misses, without a distribution assumed.

Split conformal prediction: Vovk, Gammerman & Shafer, Algorithmic Learning in a Random World (2005), 4.2; Lei et al.,
Distribution-Free Predictive Inference for Regression, JASA 113 (2018). A next miss that is exchangeable with the past
ones lies within the bound at least as often as asked.
"""

from collections.abc import Sequence
from math import ceil, comb

ROUNDING = 1e-9
"""What binary fractions may add to a product that is whole."""


def bound(misses: Sequence[float], coverage: float) -> float | None:
    """Returns the size that the next miss stays within with probability `coverage` (0..1).

    It is the ceil((n + 1) coverage)-th smallest of the n sizes. None where n is too small for such a coverage.
    """
    rank = ceil((len(misses) + 1) * coverage - ROUNDING)
    sizes = sorted(abs(miss) for miss in misses)
    return sizes[rank - 1] if 1 <= rank <= len(sizes) else None


def two_sided_p(held: int, n: int, coverage: float) -> float:
    """Returns the probability of a count at most as likely as `held` of `n`, if each holds with `coverage` (0..1)."""
    chances = [comb(n, k) * coverage**k * (1 - coverage) ** (n - k) for k in range(n + 1)]
    return min(1.0, sum(chance for chance in chances if chance <= chances[held] * (1 + ROUNDING)))
