"""A step of several operations as one: a mixed workload as reviews print it, reads and writes together."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fathom.analysis.percentiles import QUANTILES, Histogram, bounds_of
from fathom.analysis.uncertainty import repeats_interval
from fathom.report.data import Floats, Point, RunData

TOTAL = "total"
"""What stands for the operation in a total."""


def total(run: RunData, halves: Sequence[Point]) -> Point:
    """One point from those of a step's operations; percentiles are those of the merged histogram."""
    first = halves[0]
    if len(halves) == 1:
        return first
    interval = repeats_interval(rates_of_repeats(run, halves))
    low, high = (interval.low, interval.high) if interval else _bounds(halves)
    histogram = merged(run, halves)
    quantiles = {name: histogram.quantile(q) if histogram else None for name, q in QUANTILES.items()}
    sizes = {half.block_bytes for half in halves}
    return replace(
        first,
        op=TOTAL,
        block_bytes=sizes.pop() if len(sizes) == 1 else None,
        iops=sum(half.iops or 0.0 for half in halves),
        iops_low=low,
        iops_high=high,
        mbps=sum(half.mbps or 0.0 for half in halves),
        mean_us=_weighted([(half.n or 0, half.mean_us) for half in halves]),
        response_mean_us=_weighted([(half.n or 0, half.response_mean_us) for half in halves]),
        max_us=max((half.max_us for half in halves if half.max_us is not None), default=None),
        response_p99_us=None,
        errors=sum(half.errors or 0 for half in halves),
        n=sum(half.n or 0 for half in halves),
        **{name: quantile.us if quantile else None for name, quantile in quantiles.items()},
        **{bound: None for name in ("mean_us", *QUANTILES) for bound in bounds_of(name)},
    )


def _bounds(halves: Sequence[Point]) -> tuple[float | None, float | None]:
    """Operations of one mix vary together: the bounds of their rates add."""
    lows = [half.iops_low for half in halves if half.iops_low is not None]
    highs = [half.iops_high for half in halves if half.iops_high is not None]
    known = len(lows) == len(highs) == len(halves)
    return (sum(lows), sum(highs)) if known else (None, None)


def total_rates(run: RunData, halves: Sequence[Point]) -> Floats:
    """IOPS of every whole second, all operations together; a second that lacks one of them is left out."""
    rates = [run.rates(half.target, half.step, half.op) for half in halves]
    length = min(len(one) for one in rates)
    return np.sum([one[:length] for one in rates], axis=0)


def rates_of_repeats(run: RunData, halves: Sequence[Point]) -> list[Floats]:
    """The same of each repeat that has them."""
    series = [total_rates(repeat, halves) for repeat in run.repeats]
    return [one for one in series if len(one)]


def merged(run: RunData, halves: Sequence[Point], latency: str = "service") -> Histogram | None:
    """The histogram of all operations together, or None where none was recorded."""
    kept = run.histograms if latency == "service" else run.response_histograms
    found = [h for half in halves if (h := kept.get((half.target, half.step, half.op)))]
    return Histogram.merged(found) if found else None


def _weighted(means: Sequence[tuple[int, float | None]]) -> float | None:
    n = sum(count for count, mean in means if mean is not None)
    return sum(count * mean for count, mean in means if mean is not None) / n if n else None
