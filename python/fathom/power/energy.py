"""Energy over a window from samples of power, by the trapezoidal rule, with its interval, or the reason why there is
none.

Knows neither meters nor steps. Times are seconds since 1970, power is in watts, energy in joules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, hypot

import numpy as np

from fathom.output.text import duration
from fathom.statistics.uncertainty import LEAST_SAMPLES, mean_interval

Sample = tuple[float, float]
"""Seconds since 1970, watts."""

MOST_GAP_INTERVALS = 3.0
MOST_HELD_INTERVALS = 1.5
LEAST_GAP_S = 1.0
"""Shorter pauses of a meter do not count: they may be the scheduler's."""


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy used over a window.

    `half_width_j` is half the 95 % interval. It has the spread of the samples (their range, where they drift too much
    for an interval) and the meter's accuracy, where known. `cells` are (start in the window, length, joules) of
    stretches no shorter than a second or the meter's own interval.
    """

    joules: float
    half_width_j: float
    samples: int
    interval_s: float
    cells: Sequence[tuple[float, float, float]]


def energy(
    samples: Sequence[Sample], start_s: float, end_s: float, accuracy: float | None = None
) -> Energy | str:
    """Returns the energy between two moments from samples in the order of their times, or in words why it is not known.

    Between samples power is a straight line. Outside the first and the last it is held, for no longer than 1.5 of the
    meter's intervals. A longer pause than three of them is a loss, which nothing is made up for.
    """
    times, watts = np.array(samples, dtype=np.float64).reshape(-1, 2).T
    inside = (times >= start_s) & (times <= end_s)
    n = int(inside.sum())
    if n < LEAST_SAMPLES:
        count = "1 sample" if n == 1 else f"{n} samples"
        return f"{count} in {duration(end_s - start_s)}; at least {LEAST_SAMPLES} are needed"
    interval_s = float(np.median(np.diff(times[inside])))
    if reason := _gap(times, inside, start_s, end_s, interval_s):
        return reason
    count = max(1, int((end_s - start_s) / max(1.0, ceil(interval_s))))
    edges = np.linspace(start_s, end_s, count + 1)
    grid = np.union1d(times[inside], edges)
    power = np.interp(grid, times, watts)
    used = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (power[1:] + power[:-1]) / 2)])
    at_edges = used[np.searchsorted(grid, edges)]
    length_s = (end_s - start_s) / count
    joules = float(at_edges[-1])
    cells = [
        (place * length_s, length_s, float(part)) for place, part in enumerate(np.diff(at_edges).tolist())
    ]
    spread = mean_interval(watts[inside])
    # No interval is known for power that drifts; its mean still lies between the lowest and the highest sample.
    spread_w = (spread.high - spread.low) / 2 if spread else float(np.ptp(watts[inside]))
    spread_j = spread_w * (end_s - start_s)
    return Energy(joules, hypot(spread_j, (accuracy or 0.0) * joules), n, interval_s, cells)


def _gap(
    times: np.ndarray, inside: np.ndarray, start_s: float, end_s: float, interval_s: float
) -> str | None:
    """Returns where the meter was silent for too long: at the ends of the window or inside it."""
    own = times[inside]
    most_s = max(LEAST_GAP_S, MOST_GAP_INTERVALS * interval_s)
    held_s = max(LEAST_GAP_S, MOST_HELD_INTERVALS * interval_s)
    pauses_s = np.diff(own)
    if pauses_s.max() > most_s:
        return f"no sample for {duration(float(pauses_s.max()))} in the middle"
    before, after = times[times < start_s], times[times > end_s]
    known_before = before.size and own[0] - before[-1] <= most_s
    known_after = after.size and after[0] - own[-1] <= most_s
    if not known_before and own[0] - start_s > held_s:
        return f"no sample for the first {duration(float(own[0] - start_s))}"
    if not known_after and end_s - own[-1] > held_s:
        return f"no sample for the last {duration(float(end_s - own[-1]))}"
    return None
