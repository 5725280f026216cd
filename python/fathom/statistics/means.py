"""Means of several operations together: each counts by its I/Os."""

from collections.abc import Iterable


def mean_by_count(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Returns the mean of (count, value) pairs, weighted by count; None without a count.

    Pairs whose value is unknown are left out. A count of None is 0.
    """
    known = [(count or 0, value) for count, value in pairs if value is not None]
    counts = sum(count for count, _ in known)
    return sum(count * value for count, value in known) / counts if counts else None
