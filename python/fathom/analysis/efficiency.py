"""Mean power and IOPS per watt, which is I/Os per joule of the same stretches of time, with intervals (methods.md, 4).

Knows neither runs nor meters. Times are seconds of the step, energy is in joules.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot

import numpy as np

from fathom.statistics.series import Floats
from fathom.statistics.uncertainty import LEAST_SAMPLES, Interval, means_interval, ratio_interval

Stretches = Sequence[tuple[float, float, float]] | Floats
"""Start (s), length (s), and the count in that time: I/Os, or joules. As rows, or as an array of three columns."""


@dataclass(frozen=True)
class _FromStretches:
    """A ratio over a window, from `stretches` of known energy."""

    interval: Interval | None
    stretches: int

    @property
    def unsure(self) -> str:
        """Why there is no interval; empty where there is one."""
        if self.interval is not None:
            return ""
        times = "once" if self.stretches == 1 else f"{self.stretches} times"
        few = f"energy read {times} in the window, {LEAST_SAMPLES} readings are needed"
        return few if self.stretches < LEAST_SAMPLES else "it drifts"


@dataclass(frozen=True)
class Power(_FromStretches):
    """Joules per second over a window."""

    watts: float


@dataclass(frozen=True)
class Efficiency(_FromStretches):
    """I/Os per joule over a window, which is IOPS per watt."""

    iops_per_watt: float


def over_repeats(figures: Sequence[tuple[float, Interval | None]]) -> Interval | None:
    """Returns the interval of the mean over repeats, from the figure and interval of each; for one repeat its own
    interval.
    """
    if len(figures) == 1:
        return figures[0][1]
    halves = [own and (own.high - own.low) / 2 for _, own in figures]
    return means_interval([value for value, _ in figures], halves)


def power(energies: Stretches, accuracy: float | None = None) -> Power | None:
    """Returns the mean power over the stretches; None where no energy is known.

    Its interval is that of the stretches, however long each is; a meter's `accuracy` widens it as in `efficiency`.
    """
    _, lengths, joules = _columns(energies)
    if not joules.sum():
        return None
    found = ratio_interval(joules, lengths)
    return Power(
        found and _widened(found, accuracy or 0.0), len(joules), watts=float(joules.sum() / lengths.sum())
    )


def efficiency(
    ios: Stretches, energies: Stretches, from_s: float, accuracy: float | None = None
) -> Efficiency | None:
    """Returns I/Os per joule from a second on; None where no energy is known there.

    Energy may come in other seconds than I/Os, which are taken as even within each of theirs. A time of unknown energy
    counts for neither. The ratio's interval is that of the stretches, in which rate and power move together. The
    `accuracy` of a meter, a share of its figure, widens it in squares.
    """
    begins, lasts, counts = _columns(ios)
    times = np.append(begins, begins[-1] + lasts[-1])
    done = np.concatenate([[0.0], np.cumsum(counts)])
    starts, lengths, joules = _columns(energies)
    low, high = np.maximum(starts, from_s), np.minimum(starts + lengths, times[-1])
    inside = (high > low) & (joules > 0)
    low, high = low[inside], high[inside]
    used = (joules[inside] / lengths[inside]) * (high - low)
    if not used.sum():
        return None
    n = np.interp(high, times, done) - np.interp(low, times, done)
    found = ratio_interval(n, used)
    return Efficiency(
        found and _widened(found, accuracy or 0.0), len(used), iops_per_watt=float(n.sum() / used.sum())
    )


def _columns(stretches: Stretches) -> Floats:
    return np.asarray(stretches, dtype=np.float64).reshape(-1, 3).T


def _widened(found: Interval, share: float) -> Interval:
    """Returns the interval widened by a relative error common to all its samples."""
    own = share * found.mean
    low, high = (
        found.mean - hypot(found.mean - found.low, own),
        found.mean + hypot(found.high - found.mean, own),
    )
    return replace(found, low=low, high=high)
