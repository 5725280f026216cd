"""Student's t distribution for any number of degrees of freedom, infinite ones included."""

from functools import lru_cache
from math import exp, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

_NORMAL = NormalDist()
_TINY = 1e-300
_MOST_TERMS = 500
_MOST_STEPS = 100
_MANY = 1e6
"""More degrees of freedom are as good as infinite: quantiles differ by a millionth, while differences of the gamma
function's logarithms lose their digits.
"""


def two_sided_p(t: float, freedom: float) -> float:
    """Returns the probability of a |t| at least as large, 0..1.

    The incomplete beta function at freedom / (freedom + t^2) (Abramowitz & Stegun 26.7.1 and 26.5.27).
    """
    if freedom > _MANY:
        return 2 * (1 - _NORMAL.cdf(abs(t)))
    x = freedom / (freedom + t * t)
    return _incomplete_beta(freedom / 2, 0.5, x)


@lru_cache(maxsize=4096)
def critical(confidence: float, freedom: float) -> float:
    """Returns the t within which `confidence` (0..1) of the distribution lies, both sides together.

    By Newton's method from the normal quantile, which is less: the probability beyond t falls ever more slowly, so that
    no step goes too far.
    """
    t = _NORMAL.inv_cdf((1 + confidence) / 2)
    if freedom > _MANY:
        return t
    for _ in range(_MOST_STEPS):
        step = (two_sided_p(t, freedom) - (1 - confidence)) / (2 * _density(t, freedom))
        t += step
        if abs(step) <= 1e-7 * t:
            break
    return t


def _density(t: float, freedom: float) -> float:
    """Returns the density of the distribution at t (Abramowitz & Stegun 26.7.1)."""
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi * freedom)
    return scale * exp(-(freedom + 1) / 2 * log1p(t * t / freedom))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Returns I_x(a, b) by its continued fraction on the side where it converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Returns the continued fraction of the incomplete beta function by Lentz's method (Thompson & Barnett 1986)."""
    c, d = 1.0, 1 / _clear(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _clear(1 + term * d)
            c = _clear(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def _clear(value: float) -> float:
    """Keeps a denominator away from zero."""
    return value if abs(value) > _TINY else _TINY


def half_width(variance: float, freedom: float, confidence: float) -> float:
    """Returns half the width of the interval of a mean whose estimate has that variance."""
    return critical(confidence, freedom) * sqrt(variance) if variance > 0 else 0.0
