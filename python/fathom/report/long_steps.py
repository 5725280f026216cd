"""The long steps of a run: their seconds, and the figures of their end. With repeats, figures cover all of them; the
seconds are of the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathom.analysis.consistency import Consistency, consistency, tail_s
from fathom.analysis.efficiency import Efficiency, efficiency, over_repeats
from fathom.report.comparison import Column, margin_of
from fathom.report.data import Bounds, RunData
from fathom.report.rows import Seconds, have_figures
from fathom.report.style import plain
from fathom.statistics.latency_columns import QUANTILES
from fathom.statistics.percentiles import Histogram, repeats_interval_us
from fathom.statistics.series import Floats

LEAST_S = 100.0
MOST_STEPS = 2
WHOLE_S = 0.999
"""A second that is shorter is the last of its step."""
MOST_DOTS = 3600
STRETCH_DOTS = 10
"""Number of dots over which the least and greatest second are drawn too, so that no dip is lost."""


@dataclass(frozen=True)
class LongStep:
    """A long measured step on one target, and its end. `figures` and what follows cover every repeat; the seconds are
    of the first. `bounds` are the 95 % intervals of percentiles in us by column.
    """

    column: Column
    step: str
    label: str
    seconds: Seconds
    from_s: float
    repeats: int
    figures: Consistency
    latency: Histogram | None
    bounds: Bounds
    efficiency: Efficiency | None
    longest_us: float | None
    """The longest I/O of these seconds; None where that was not kept."""

    @property
    def iops_per_watt(self) -> float | None:
        """I/O completed per joule over the end of the step; None where no energy is known."""
        return self.efficiency.iops_per_watt if self.efficiency else None

    @property
    def watt_margin(self) -> str:
        """Half the 95 % interval of IOPS per watt, in percent; empty where there is none."""
        found = self.efficiency.interval if self.efficiency else None
        return margin_of(found.mean, found.low, found.high) if found else ""

    @property
    def margin(self) -> str:
        """Half the 95 % interval of the mean rate, in percent; empty where the seconds drift."""
        found = self.figures.interval
        return margin_of(self.figures.mean, found.low, found.high) if found else ""

    @property
    def end_s(self) -> float:
        """Length of the step."""
        return self.seconds.end_s


def long_steps(column: Column) -> list[LongStep]:
    """Returns the longest measured steps of a target, of 100 s or more; none where more than two are as long.

    A step whose figures are withheld in a repeat is left out. So is an open load that is kept up with: its seconds are
    as uneven as its arrivals.
    """
    run, target = column.run, column.target.name
    measured = {
        name: intervals
        for name, intervals in run.seconds(target).items()
        if name in run.steps and run.steps[name].kind == "measure" and not column.keeps_up(name)
    }
    lengths = {name: float(found.length_s.sum()) for name, found in measured.items()}
    longest_s = max(lengths.values(), default=0.0)
    names = [name for name, length_s in lengths.items() if length_s >= 0.9 * longest_s]
    if longest_s < LEAST_S or len(names) > MOST_STEPS:
        return []
    found = [_long(column, name, measured[name]) for name in names]
    return [long for long in found if long is not None and _is_shown(column, long.step)]


def _is_shown(column: Column, step: str) -> bool:
    """Returns whether so little of the step's I/O failed that its figures are shown, in every repeat."""
    place = (column.target.name, step)
    return all(
        have_figures([one for one in run.points if (one.target, one.step) == place])
        for run in column.run.repeats
    )


@dataclass(frozen=True)
class _StepEnd:
    """The end of the step in one run."""

    from_s: float
    rates: Floats
    latency: tuple[Histogram, Bounds] | None
    efficiency: Efficiency | None
    longest_us: float | None


def _long(column: Column, step: str, intervals: Seconds) -> LongStep | None:
    """Returns a step; if the next one goes on with its load, both, with the next as its end."""
    target = column.target.name
    last = _last_part(column.run, step)
    ends = [end for run in column.run.repeats if (end := _end(run, target, last or step, whole=bool(last)))]
    figures = consistency(*(end.rates for end in ends)) if ends else None
    if figures is None:
        return None
    if last:
        before_s = intervals.end_s
        behind = column.run.seconds(target).get(last)
        intervals = intervals.before(behind.shifted(before_s)) if behind else intervals
        ends = [replace(end, from_s=before_s) for end in ends]
        step = last
    latency, bounds = _latency([end.latency for end in ends])
    label = plain(column.run.steps[step].label)
    watts = _efficiency_of([end.efficiency for end in ends])
    longest_us = max((end.longest_us for end in ends if end.longest_us), default=None)
    return LongStep(
        column, step, label, intervals, ends[0].from_s, len(ends), figures, latency, bounds, watts, longest_us
    )


def _last_part(run: RunData, step: str) -> str | None:
    """Returns the next measured step if it goes on with the same workload: some suites measure their window so."""
    names = list(run.steps)
    behind = names[names.index(step) + 1 :][:1]
    same = [name for name in behind if run.steps[name].kind == "measure"]
    return next((name for name in same if run.steps[name].workload == run.steps[step].workload), None)


def _end(run: RunData, target: str, step: str, *, whole: bool) -> _StepEnd | None:
    intervals = run.seconds(target).get(step)
    full = intervals.longer_than(WHOLE_S) if intervals else None
    if not intervals or not full:
        return None
    end_s = intervals.end_s
    from_s = 0.0 if whole else end_s - tail_s(end_s)
    rates = full.rates[full.start_s >= from_s]
    ios = np.column_stack([intervals.start_s, intervals.length_s, intervals.n.astype(np.float64)])
    tail_from_s = full[-len(rates)].start_s
    energies, accuracy = run.energies(target, step), run.meter_accuracy(target, step)
    latency = run.latency_from(target, step, tail_from_s)
    return _StepEnd(
        from_s,
        rates,
        latency,
        efficiency(ios, energies, tail_from_s, accuracy),
        _longest_us(run, target, step, tail_from_s),
    )


def _longest_us(run: RunData, target: str, step: str, from_s: float) -> float | None:
    """Returns the longest I/O of a step from a second on; a histogram knows no more than its bin."""
    found = run.query(
        "intervals",
        "select max(max_us) as longest_us from rows "
        f"where target = $target[1] and step = $step[1] and start_s >= {from_s!r}",
        {"target": [target], "step": [step]},
    )
    longest_us: float | None = found["longest_us"][0].as_py()
    return longest_us


def _latency(known: Sequence[tuple[Histogram, Bounds] | None]) -> tuple[Histogram | None, Bounds]:
    """Returns the histogram of all repeats with the intervals between them; one repeat has its own. None where a repeat
    has none.
    """
    found = [one for one in known if one]
    if len(found) < len(known):
        return None, {}
    if len(found) == 1:
        return found[0]
    own = [histogram for histogram, _ in found]
    between = {name: repeats_interval_us(own, q) for name, q in QUANTILES.items()}
    return Histogram.merged(own), {name: bounds for name, bounds in between.items() if bounds}


def _efficiency_of(known: Sequence[Efficiency | None]) -> Efficiency | None:
    """Returns the mean over repeats with its interval; None if a repeat lacks it."""
    found = [one for one in known if one]
    if not found or len(found) < len(known):
        return None
    return Efficiency(
        over_repeats([(one.iops_per_watt, one.interval) for one in found]),
        sum(one.stretches for one in found),
        iops_per_watt=sum(one.iops_per_watt for one in found) / len(found),
    )


def every_of(longs: Sequence[LongStep]) -> int:
    """Returns how many seconds of a step one dot stands for, so that none of the steps has more than `MOST_DOTS`."""
    return max(-(-len(long.seconds) // MOST_DOTS) for long in longs)


def dots_of(long: LongStep, every: int) -> list[tuple[float, float]]:
    """Returns start (s) and IOPS of the seconds that are drawn."""
    shown = thinned(long.seconds.longer_than(WHOLE_S), every)
    return list(zip(shown.start_s.round(3).tolist(), shown.rates.round(1).tolist(), strict=True))


def thinned(whole: Seconds, every: int) -> Seconds:
    """Returns one second in `every`, and the least and the greatest of each stretch of `STRETCH_DOTS` times as many.

    A plain pick would mostly miss the worst second, which is what such a figure is looked at for.
    """
    rates, width = whole.rates, every * STRETCH_DOTS
    # The last stretch is filled up with its own last second, which is neither less nor greater than itself.
    rows = np.pad(rates, (0, -len(rates) % width), mode="edge").reshape(-1, width)
    starts = np.arange(len(rows)) * width
    picked = (np.arange(0, len(whole), every), starts + rows.argmin(axis=1), starts + rows.argmax(axis=1))
    return whole.at(np.unique(np.concatenate(picked)))
