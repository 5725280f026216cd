"""A step of several operations as one: a mixed workload as reviews print it, reads and writes together.

Latencies are over all its I/Os, percentiles are from the merged histograms. Intervals are from seconds
(`fathom.report.together`) or repeats, as for a single operation.
"""

from collections.abc import Sequence

import numpy as np

from fathom.columns.column import combined
from fathom.columns.schema import Point
from fathom.report.data import RunData
from fathom.report.repeats import is_pooled, latencies_over, percentiles_us
from fathom.report.rows import OpOfStep, StepOfTarget, as_shown
from fathom.statistics.latency_columns import PREFIXES
from fathom.statistics.means import mean_by_count
from fathom.statistics.percentiles import Histogram, bounds_of
from fathom.statistics.series import Floats
from fathom.statistics.uncertainty import repeats_interval

TOTAL = "total"
"""What stands for the operation in a total."""


def total(run: RunData, halves: Sequence[Point]) -> Point:
    """Returns one point from those of a step's operations."""
    first = halves[0]
    if len(halves) == 1:
        return first
    interval = repeats_interval(rates_of_repeats(run, halves))
    low, high = (interval.low, interval.high) if interval else _bounds(halves)
    computed = {"op": TOTAL, "iops_low": low, "iops_high": high, **_latencies(run, halves)}
    # One operation that has no figures leaves the total without.
    return as_shown(combined(halves, lambda column: column.operations, computed))


def _latencies(run: RunData, halves: Sequence[Point]) -> dict[str, float | None]:
    """Returns the latency columns of all operations together."""
    first = halves[0]
    if len(run.repeats) > 1 and is_pooled(first.step, run):
        own = [(repeat, _halves_in(repeat, first)) for repeat in run.repeats]
        return latencies_over(
            [(total(repeat, found), _histograms(repeat, found)) for repeat, found in own if found]
        )
    histograms = _histograms(run, halves)
    together = run.repeats[0].together_us.get(StepOfTarget(first.target, first.step), {})
    columns: dict[str, float | None] = {}
    for latency, prefix in PREFIXES.items():
        mean = f"{prefix}mean_us"
        columns[mean] = mean_by_count((half.n, getattr(half, mean)) for half in halves)
        values = percentiles_us(histograms.get(latency), prefix)
        columns |= values
        for name in (mean, *values):
            columns |= dict(zip(bounds_of(name), together.get(name, (None, None)), strict=True))
    return columns


def _halves_in(run: RunData, point: Point) -> list[Point]:
    return [one for one in run.points if (one.target, one.step) == (point.target, point.step)]


def _histograms(run: RunData, halves: Sequence[Point]) -> dict[str, Histogram]:
    return {latency: found for latency in PREFIXES if (found := merged(run, halves, latency))}


def _bounds(halves: Sequence[Point]) -> tuple[float | None, float | None]:
    """Returns the sums of the bounds of rates: operations of one mix vary together."""
    lows = [half.iops_low for half in halves if half.iops_low is not None]
    highs = [half.iops_high for half in halves if half.iops_high is not None]
    known = len(lows) == len(highs) == len(halves)
    return (sum(lows), sum(highs)) if known else (None, None)


def total_rates(run: RunData, halves: Sequence[Point]) -> Floats:
    """Returns IOPS of every whole second, all operations together; a second that lacks one of them is left out."""
    rates = [run.rates(half.target, half.step, half.op) for half in halves]
    length = min(len(one) for one in rates)
    return np.sum([one[:length] for one in rates], axis=0)


def rates_of_repeats(run: RunData, halves: Sequence[Point]) -> list[Floats]:
    """Returns `total_rates` of each repeat that has any."""
    series = [total_rates(repeat, halves) for repeat in run.repeats]
    return [one for one in series if len(one)]


def merged(run: RunData, halves: Sequence[Point], latency: str = "service") -> Histogram | None:
    """Returns the histogram of all operations together, or None where none was recorded."""
    kept = run.histograms if latency == "service" else run.response_histograms
    found = [h for half in halves if (h := kept.get(OpOfStep(half.target, half.step, half.op)))]
    return Histogram.merged(found) if found else None
