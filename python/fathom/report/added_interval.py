"""The 95 % interval of a latency that a system adds: the difference of two means that were measured apart."""

from dataclasses import dataclass
from math import hypot

from fathom.columns.schema import Point

LEAST_S = 5
"""Whole seconds that the interval of a mean takes, unless a twin knows its own."""


@dataclass(frozen=True)
class AddedMean:
    """A mean minus another, us. Half of its interval is None where one of the two has none; `why` says which."""

    us: float
    half_us: float | None
    why: str = ""

    @property
    def may_be_none(self) -> bool:
        """Whether the interval reaches down to no added latency."""
        return self.half_us is not None and self.us <= self.half_us

    @property
    def plus_minus(self) -> str:
        """Returns half the interval for people, `±1.4`; `no interval` where there is none."""
        if self.half_us is None:
            return "no interval"
        return f"±{self.half_us:.0f}" if self.half_us >= 10 else f"±{self.half_us:.1f}"


def added_mean(behind: Point | None, direct: Point | None) -> AddedMean | None:
    """Returns what the mean of `behind` has more than that of `direct`; None where one is missing.

    The two vary independently, so their halves are added in quadrature.
    """
    if not behind or not direct or not behind.mean_us or not direct.mean_us:
        return None
    us = behind.mean_us - direct.mean_us
    halves = [_half_us(behind), _half_us(direct)]
    known = [half for half in halves if half is not None]
    if len(known) == len(halves):
        return AddedMean(us, hypot(*known))
    whose = " and ".join(
        name for name, half in zip(("system's", "drive's"), halves, strict=True) if half is None
    )
    short = any((one.window_s or 0.0) < LEAST_S for one in (behind, direct) if _half_us(one) is None)
    cause = f"its window is shorter than {LEAST_S} s" if short else "too few I/Os"
    return AddedMean(us, None, f"the {whose} mean has none ({cause})")


def _half_us(point: Point) -> float | None:
    if point.mean_low_us is None or point.mean_high_us is None:
        return None
    return (point.mean_high_us - point.mean_low_us) / 2
