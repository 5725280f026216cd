"""Sizes, durations and percentages as fio has them: whole percentages of the target, or bytes."""

from dataclasses import dataclass

from fathom._core import Extent

_NEAR = 1e-6

#: How a user gets parts of the target in bytes.
NAME_IT = "name the target or give its --size, and bytes are written"


class NoCounterpartError(Exception):
    """Why fio cannot do the same, in words for a note."""


@dataclass(frozen=True)
class Place:
    """What is known of the target: its size, and whether it is a regular file."""

    capacity_bytes: int | None = None
    is_file: bool = False


def whole(number: float) -> int | None:
    """Returns the number, where it is one without a fraction."""
    return round(number) if abs(number - round(number)) < _NEAR else None


def whole_percent(fraction: float, what: str) -> int:
    """Returns the fraction in percent. Raises NoCounterpartError where that is no whole number."""
    percent = whole(100 * fraction)
    if percent is None:
        raise NoCounterpartError(f"{what} of {100 * fraction:.6g} %: fio accepts only whole percentages")
    return percent


def size_text(size_bytes: int) -> str:
    """Returns a size in the largest unit that divides it; `k` is 1024 bytes."""
    for power, unit in ((3, "g"), (2, "m"), (1, "k")):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{unit}"
    return str(size_bytes)


def time_text(time_ns: int) -> str:
    """Returns a duration in the largest unit that divides it, microseconds at least."""
    for scale_ns, unit in ((1_000_000_000, "s"), (1_000_000, "ms")):
        if time_ns % scale_ns == 0:
            return f"{time_ns // scale_ns}{unit}"
    return f"{max(round(time_ns / 1000), 1)}us"


def bytes_of(extent: Extent, place: Place) -> int | None:
    """Returns the length in bytes, a fraction of the target as Fathom rounds it; None where that is not known."""
    if place.capacity_bytes is not None:
        return extent.on(place.capacity_bytes)
    return extent.bytes if extent.bytes is not None else extent.up_to


def extent_text(extent: Extent, place: Place, what: str, parts: int = 1, unit_bytes: int = 1) -> str:
    """Returns one of several equal parts of a length, in whole units where it is in bytes.

    Raises NoCounterpartError where it is not a whole percentage of a target whose size is not known.
    """
    share = None if extent.fraction is None else 100 * extent.fraction / parts
    if share is not None and (percent := whole(share)) is not None:
        return f"{percent}%"
    size_bytes = bytes_of(extent, place)
    if size_bytes is None:
        raise NoCounterpartError(f"{what} of {share:.6g} %: fio accepts only whole percentages: {NAME_IT}")
    return size_text(size_bytes // parts // unit_bytes * unit_bytes)
