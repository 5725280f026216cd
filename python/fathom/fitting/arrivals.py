"""How the I/Os of a trace arrive: closed at a depth, or open at a rate, with bursts or phases."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fathom.statistics.segments import phases_of
from fathom.traces.profile import Profile

MS = 1_000_000
_MOST_BINS = 1 << 21
_APART = 9.0
"""Standard deviations of a burst's counts between burst and pause: half of them lie on each side of the threshold."""
_SLOW = 1 / 33
"""Bursts longer than this share of the trace are phases."""
_STEADY = 1.13
"""Quantiles of a depth are known to 6 %: those within this ratio may be one depth."""
_SIGNIFICANT = 5.0
"""Standard errors by which rates must vary more than at random."""
DEFAULT_DEPTH = 32
"""Taken where neither times nor latencies show how many I/Os were in flight."""

Gaps = Literal["exponential", "uniform", "deterministic"]
_GAPS: dict[Gaps, float] = {"exponential": 1.0, "uniform": 1 / sqrt(3), "deterministic": 0.0}
"""Standard deviation of the gaps over their mean."""


@dataclass(frozen=True)
class Phase:
    """A time at a rate, the rate relative to the mean."""

    time_s: float
    factor: float


@dataclass(frozen=True)
class Arrivals:
    """How I/Os come. `depth` is that of a closed load; None: an open one. Phases repeat; none: an even rate."""

    depth: int | None = None
    gaps: Gaps = "exponential"
    phases: Sequence[Phase] = ()
    kind: Literal["even", "bursts", "phases"] = "even"
    assumed: bool = False
    """Whether the trace shows neither times nor depths."""


class RateSeries:
    """I/Os in bins of equal width: 1 ms, or more in a trace of more than half an hour."""

    def __init__(self, first_ns: int, last_ns: int) -> None:
        self._first = np.uint64(first_ns)
        span_ns = last_ns - first_ns + 1
        self.width_ns = MS * ceil(span_ns / (MS * _MOST_BINS))
        self.counts = np.zeros(span_ns // self.width_ns + 1, np.int64)

    def add(self, issue_ns: NDArray[np.uint64]) -> None:
        """Counts issues."""
        bins = (np.maximum(issue_ns, self._first) - self._first) // np.uint64(self.width_ns)
        bins = np.minimum(bins, np.uint64(len(self.counts) - 1)).astype(np.int64)
        self.counts += np.bincount(bins, minlength=len(self.counts))


def arrivals(profile: Profile, series: RateSeries) -> Arrivals:
    """Returns how the I/Os of a trace arrive."""
    if not profile.duration_ns:
        return Arrivals(depth=DEFAULT_DEPTH, assumed=True)
    if depth := _closed_depth(profile):
        return Arrivals(depth=depth)
    variation = profile.bursts.gap_variation or 0.0
    gaps = min(_GAPS, key=lambda name: abs(_GAPS[name] - variation))
    # The last bin is not whole.
    counts = series.counts[:-1].astype(np.float64)
    width_s = series.width_ns / 1e9
    slots = _burst_slots(counts)
    if slots is None:
        return Arrivals(gaps=gaps)
    if slots > _SLOW * len(counts):
        phases = _slow_phases(counts, width_s)
        return Arrivals(phases=phases, kind="phases") if len(phases) > 1 else Arrivals(gaps=gaps)
    found = _bursts(counts, width_s, slots)
    return Arrivals(phases=found, kind="bursts") if found else Arrivals(gaps=gaps)


def _closed_depth(profile: Profile) -> int | None:
    """Returns the depth that the trace holds all the time; None where it changes, or is not known."""
    flight = profile.in_flight
    middle, _, high = flight.quantiles
    if not middle or not high or flight.mean is None or flight.ios < 0.9 * profile.ios:
        return None
    held = high <= _STEADY * middle and flight.mean >= 0.9 * middle
    return round(flight.mean + 0.05) if held else None


def _variation(counts: NDArray[np.float64]) -> float:
    """Returns the squared variation of the rate, less that of a Poisson process."""
    mean = counts.mean()
    return float((counts.var() - mean) / mean**2) if mean > 0 else 0.0


def _summed(counts: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    return counts[: len(counts) // bins * bins].reshape(-1, bins).sum(axis=1)


def _burst_slots(counts: NDArray[np.float64]) -> int | None:
    """Returns about how many bins a burst lasts; None where rates vary no more than at random."""
    widths = [1 << power for power in range(max(1, len(counts) // 16).bit_length())]
    found: dict[int, float] = {}
    for width in widths:
        summed = _summed(counts, width)
        if len(summed) < 16 or not summed.mean():
            continue
        # The index of dispersion of a Poisson process is 1, with a variance of 2 / windows.
        error = sqrt(2 / len(summed)) / summed.mean()
        if (variation := _variation(summed)) > _SIGNIFICANT * error and variation > 0.02:
            found[width] = variation
    if not found:
        return None
    most = max(found.values())
    return max(width for width, variation in found.items() if variation >= 0.6 * most)


def _slow_phases(counts: NDArray[np.float64], width_s: float) -> tuple[Phase, ...]:
    bins = max(1, ceil(len(counts) / 256))
    summed = _summed(counts, bins)
    mean = summed.mean()
    found = phases_of(summed.tolist())
    return tuple(Phase(one.slots * bins * width_s, one.density / mean) for one in found)


def _bursts(counts: NDArray[np.float64], width_s: float, slots: int) -> tuple[Phase, Phase] | None:
    """Returns a burst and a pause that have the rates, the share of time and the mean period of those found."""
    bins, summed = 1, counts
    low, high = _two_levels(summed)
    while high - low < _APART * sqrt(high) and 2 * bins <= slots:
        bins *= 2
        summed = _summed(counts, bins)
        low, high = _two_levels(summed)
    on = summed > (low + high) / 2
    starts = np.flatnonzero(on[1:] & ~on[:-1])
    if len(starts) < 2:
        return None
    inner = on[1:-1] & on[:-2] & on[2:]
    rate_on = float(summed[1:-1][inner].mean()) if inner.any() else high
    outer = ~on[1:-1] & ~on[:-2] & ~on[2:]
    rate_off = float(summed[1:-1][outer].mean()) if outer.any() else low
    mean = float(summed.mean())
    duty = (mean - rate_off) / max(rate_on - rate_off, 1e-12)
    period_s = float(starts[-1] - starts[0]) / (len(starts) - 1) * bins * width_s
    on_s = min(max(duty, 0.0), 1.0) * period_s
    if on_s < 1e-3 or period_s - on_s < 1e-3:
        return None
    return Phase(on_s, rate_on / mean), Phase(period_s - on_s, max(0.0, rate_off / mean))


def _two_levels(counts: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the means of the two groups into which counts fall, by alternating between groups and means."""
    low, high = float(counts.min()), float(counts.max())
    for _ in range(50):
        upper = counts > (low + high) / 2
        if not upper.any() or upper.all():
            break
        moved = float(counts[~upper].mean()), float(counts[upper].mean())
        if moved == (low, high):
            break
        low, high = moved
    return low, high
