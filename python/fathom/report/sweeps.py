"""Measured steps of a run that differ in one thing only: their share of reads, or how many I/Os they keep in flight.

Sections draw figures over either. Steps of rounds are taken as their means over the last rounds of the window, in every
repeat that is pooled. Points of curves are left out: they have a section of their own.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from fathom.analysis.finding import joined
from fathom.analysis.run_view import InFlight
from fathom.analysis.settled import Unsettled, verbs
from fathom.columns.column import Rule, columns_of, combined
from fathom.columns.schema import Point
from fathom.output.text import size
from fathom.prediction.interval import Spread
from fathom.report.blocks import Item
from fathom.report.comparison import Column, Comparison, margin_of
from fathom.report.data import RunData
from fathom.report.findings import Gate
from fathom.report.rounds import RepeatedRounds, repeated_rounds, unsettled_of
from fathom.report.rows import as_shown
from fathom.report.style import compact, plain, seconds
from fathom.report.totals import TOTAL, total
from fathom.report.waf import waf_item
from fathom.statistics.limits import Limit

_COMPUTED = [name for name, one in columns_of(Point).items() if one.column.operations is Rule.COMPUTED]
HOLLOW = " Hollow: not claimed, for the reason that the findings give."
PATTERNS = {"uniform": "random", "sequential": "sequential"}


@dataclass(frozen=True)
class Shape:
    """What a step's I/O looks like, whatever its load and its share of reads.

    `others` are its operations beside reads and writes, such as `trim`.
    """

    sizes: str
    pattern: str
    key: str
    others: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`4 KiB random`."""
        return f"{self.sizes} {self.pattern}"


@dataclass(frozen=True)
class SweptStep:
    """One step on one target: `halves` are its operations, `whole` all of them together. `rounds` is the number of
    repeats whose last rounds they average; None for a step outside rounds.
    """

    column: Column
    shape: Shape
    halves: Sequence[Point]
    whole: Point
    rounds: RepeatedRounds | None = None
    spread: Spread | None = None
    """How far measurements may lie from the rate of a twin that had settled; set by `expected`."""

    @property
    def waf(self) -> Item | None:
        """WAF of the writes with its interval; None where there is none."""
        writes = self.half("write")
        if writes is None:
            return None
        return waf_item(writes)

    @property
    def read_pct(self) -> float:
        """Share of reads asked for, percent."""
        return self.halves[0].read_pct or 0.0

    @property
    def load(self) -> tuple[int, int]:
        """Threads and iodepth."""
        return self.halves[0].threads or 1, self.halves[0].iodepth or 1

    @property
    def depth(self) -> int:
        """I/Os asked to be in flight."""
        threads, iodepth = self.load
        return threads * iodepth

    @property
    def outstanding(self) -> float:
        """I/Os in flight on average as counted, else as asked."""
        return self.halves[0].outstanding or float(self.depth)

    @property
    def iops(self) -> float:
        """All operations together."""
        return self.whole.iops or 0.0

    @property
    def margin(self) -> str:
        """Half the 95 % interval of `iops` in percent; empty where there is none."""
        return rate_margin(self.whole)

    @property
    def mean_us(self) -> float | None:
        """Mean service latency of all operations together."""
        return self.whole.mean_us

    @property
    def in_flight(self) -> InFlight | None:
        """What IOPS x mean latency gives beside the I/Os in flight."""
        counted = bool(self.halves[0].outstanding)
        return InFlight.of(
            self.iops, self.mean_us, self.outstanding, self.whole.window_s, is_most=not counted
        )

    @property
    def limited_by(self) -> str | None:
        """What limits the step, in words."""
        return self.halves[0].limited_by

    @property
    def limit(self) -> Limit | None:
        """What limits the step."""
        return self.halves[0].limit

    def half(self, op: str) -> Point | None:
        """Returns the step's reads or writes."""
        return next((half for half in self.halves if half.op == op), None)


def rate_margin(point: Point) -> str:
    """Returns half the 95 % interval of a point's IOPS in percent; empty where there is none."""
    return margin_of(point.iops, point.iops_low, point.iops_high)


def swept(comparison: Comparison) -> list[SweptStep]:
    """Returns every closed-loop step of all columns that was measured; a mean over rounds counts as one."""
    return [one for column in comparison.columns for one in _of_column(column)]


def expected(steps: Sequence[SweptStep], out: Gate) -> list[SweptStep]:
    """Returns the steps, those of settled twins with their spread; `out` is the report's gate."""
    return [
        one
        if unsettled(one, out)
        else replace(one, spread=one.column.spread(one.whole.step, one.halves[0].block_bytes))
        for one in steps
    ]


def claimed(steps: Sequence[SweptStep], out: Gate, least: int, named: str) -> tuple[Sequence[SweptStep], str]:
    """Returns the steps whose rate a sentence may claim, and a text that names the others; `out` is the report's gate.

    Fewer than `least` show no trend, so none is left. `named` is the target with its workload; the text is empty where
    all had settled.
    """
    reasons = reasons_of(steps, out)
    if not reasons:
        return steps, ""
    why = joined(list(dict.fromkeys(reason.value for reason in reasons)))
    settled = [one for one in steps if not unsettled(one, out)]
    which = "" if len(reasons) == len(steps) else f" in {len(reasons)} of {len(steps)} steps"
    left = settled if len(settled) >= least else []
    unclaimed = "no rate of those is claimed" if left else "no rate is claimed"
    return left, f"{named}: the target {verbs(reasons)}{which} ({why}), so {unclaimed}."


def unsettled(one: SweptStep, out: Gate) -> Unsettled | None:
    """Returns why nothing is claimed of a step. Means over rounds are judged by their rounds."""
    if one.rounds:
        why, steady = unsettled_of(one.column, one.rounds, out), bool(one.rounds.steady)
    else:
        why, steady = out.get((one.column.short, one.halves[0].step)), one.halves[0].steady is not False
    return why or (None if steady else Unsettled.NOT_STEADY)


def reasons_of(steps: Iterable[SweptStep], out: Gate) -> list[Unsettled]:
    """Returns why nothing is claimed of some of the steps."""
    return [why for one in steps if (why := unsettled(one, out))]


def series(
    steps: Sequence[SweptStep],
    same: Callable[[SweptStep], Hashable],
    over: Callable[[SweptStep], float],
    least: int,
) -> list[list[list[SweptStep]]]:
    """Returns steps that are the `same` but for `over`: by kind and target, ascending.

    Only of targets with `least` values or more. If steps agree in both, the last one measured counts.
    """
    found: dict[Hashable, dict[int, dict[float, SweptStep]]] = {}
    for one in steps:
        found.setdefault(same(one), {}).setdefault(one.column.index, {})[over(one)] = one
    kinds = [
        [
            [by_value[value] for value in sorted(by_value)]
            for by_value in of.values()
            if len(by_value) >= least
        ]
        for of in found.values()
    ]
    return [kind for kind in kinds if kind]


def intervals_of(steps: Sequence[SweptStep]) -> list[str]:
    """Returns what the intervals of the steps hold, in sentences."""
    return ["± is half the 95 % interval of the rate; a latency's own stands beneath it.", *of_rounds(steps)]


def of_rounds(steps: Sequence[SweptStep]) -> list[str]:
    """Returns sentences that say over which rounds and repeats the means are; none for steps without rounds."""
    rounds = list({id(one.rounds): (one.column, one.rounds) for one in steps if one.rounds}.values())
    if not rounds:
        return []
    several = any(len(found.repeats) > 1 for _, found in rounds)
    said = [
        "For rounds, figures are means over the window"
        + (
            " of every repeat. Intervals are Student's over repeats, never narrower than the rounds inside say."
            if several
            else ", and intervals Student's over its rounds."
        )
    ]
    said += [
        f"{column.label}, {plain(found.place.of)}: over the {len(found.pooled)} of {len(found.repeats)} repeats "
        "that reached steady state" + ("; a single one has no interval." if len(found.pooled) == 1 else ".")
        for column, found in rounds
        if len(found.pooled) < len(found.repeats)
    ]
    return said


def window_of(steps: Sequence[SweptStep]) -> str:
    """Returns `3 s per step, n = 12k to 3.2M I/Os`."""
    windows = sorted(one.halves[0].window_s or 0.0 for one in steps)
    counts = sorted(sum(half.n or 0 for half in one.halves) for one in steps)
    lengths = dict.fromkeys((seconds(windows[0]), seconds(windows[-1])))
    ns = dict.fromkeys((compact(counts[0]), compact(counts[-1])))
    together = ", its rounds together" if any(one.rounds for one in steps) else ""
    return f"window {' to '.join(lengths)} per step{together}, n = {' to '.join(ns)} I/Os"


def _of_column(column: Column) -> list[SweptStep]:
    run, target = column.run, column.target.name
    measured: dict[str, list[Point]] = {}
    for point in run.points:
        if point.target == target and run.round_of(point.step) is None and _closed(run, point):
            measured.setdefault(point.step, []).append(point)
    found: list[tuple[Sequence[Point], Point, RepeatedRounds | None]] = [
        (halves, total(run, halves), None) for halves in measured.values()
    ]
    for rounds in repeated_rounds(run, target).values():
        if rounds.place.judged:
            found += [
                (halves, whole, rounds)
                for step in rounds.steps
                if (means := _means(rounds, step))
                for halves, whole in [means]
            ]
    return [
        SweptStep(column, shape, halves, whole, rounds)
        for halves, whole, rounds in found
        if (shape := _shape(run, halves[0].step))
    ]


def _closed(run: RunData, point: Point) -> bool:
    kind = run.steps[point.step].kind if point.step in run.steps else ""
    return (
        kind == "measure" and run.curve(point.step) is None and point.offered_iops is None and bool(point.n)
    )


def _means(rounds: RepeatedRounds, step: str) -> tuple[list[Point], Point] | None:
    """Returns a step's operations, each by itself and all together, as means over the last rounds of every repeat
    pooled.
    """
    windows = [
        [
            halves
            for number in sorted(series.points)[-rounds.place.window :]
            if (halves := [point for point in series.points[number] if _closed(one.run, point)])
        ]
        for one in rounds.pooled
        for series in one.series
        if series.step == step
    ]
    windows = [window for window in windows if window]
    if not windows:
        return None
    ops = dict.fromkeys(point.op for window in windows for halves in window for point in halves)
    each = [
        _mean(
            rounds, [[point for halves in window for point in halves if point.op == op] for window in windows]
        )
        for op in ops
    ]
    return each, _mean(rounds, [[_sum(halves) for halves in window] for window in windows])


def _sum(halves: Sequence[Point]) -> Point:
    """Returns the operations of one round as one: rates and means, no percentiles."""
    computed = dict.fromkeys(_COMPUTED) | {"op": TOTAL, "mean_us": _mean_us(halves)}
    return combined(halves, lambda column: column.operations, computed)


def _mean_us(points: Sequence[Point]) -> float:
    """Returns the mean latency of all their I/Os."""
    n = sum(point.n or 0 for point in points)
    return sum((point.n or 0) * (point.mean_us or 0.0) for point in points) / n


def _mean(rounds: RepeatedRounds, windows: Sequence[Sequence[Point]]) -> Point:
    """Returns one operation over rounds by repeat: means with their intervals, no percentiles."""
    points = [point for window in windows for point in window]
    iops, rate = rounds.over([[point.iops or 0.0 for point in window] for window in windows])
    mbps, _ = rounds.over([[point.mbps or 0.0 for point in window] for window in windows])
    unweighted_us, mean = rounds.over([[point.mean_us or 0.0 for point in window] for window in windows])
    mean_us = sum(map(_mean_us, windows)) / len(windows)
    wafs = [[point.waf for point in window if point.waf is not None] for window in windows]
    waf, over = rounds.over(wafs) if all(wafs) else (None, None)
    computed = {
        "step": points[-1].step,
        "iops": iops,
        "iops_low": rate.low if rate else None,
        "iops_high": rate.high if rate else None,
        "mbps": mbps,
        "mean_us": mean_us,
        "mean_low_us": mean_us + mean.low - unweighted_us if mean else None,
        "mean_high_us": mean_us + mean.high - unweighted_us if mean else None,
        "waf": waf,
        "waf_low": over.low if over else None,
        "waf_high": over.high if over else None,
    }
    return as_shown(combined(points, lambda column: column.rounds, computed))


def _shape(run: RunData, step: str) -> Shape | None:
    """Returns sizes and pattern of a step's job; None where the method does not say, and for flushes, which have
    neither. Reads and writes of equal sizes are the same I/O as either of them alone.
    """
    job = run.jobs.get(step)
    sizes = [bytes_ for own in job.block_sizes.values() for bytes_ in own] if job else []
    if job is None or not sizes:
        return None
    ends = dict.fromkeys(size(bytes_) for bytes_ in (min(sizes), max(sizes)))
    kind = job.pattern.kind
    of_ops = sorted({repr(op.sizes) for op in job.ops})
    others = tuple(sorted({op.op for op in job.ops} - {"read", "write"}))
    key = repr([of_ops, others, job.pattern, job.region_start, job.region_size])
    return Shape(" to ".join(ends), PATTERNS.get(kind, kind.replace("-", " ")), key, others)
