"""How evenly a load is spread over hosts, ports or drives."""

from collections.abc import Sequence

FAIR_FROM = 0.95
"""Jain's index below which a report mentions imbalance (methods.md, `added-latency`)."""


def jain(rates: Sequence[float]) -> float | None:
    """Returns Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has all (Jain 1984).

    None where nothing moved.
    """
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def chi_square(counts: Sequence[float]) -> tuple[float, int]:
    """Returns Pearson's statistic of counts against equal ones, and its degrees of freedom (Pearson 1900).

    Where each I/O goes to a member drawn at random it is about as large as the degrees of freedom.
    """
    expected = sum(counts) / len(counts)
    statistic = sum((count - expected) ** 2 for count in counts) / expected if expected else 0.0
    return statistic, len(counts) - 1
