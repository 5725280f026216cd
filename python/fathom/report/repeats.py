"""Repeats of a measurement as one: the runs of one method on one target that were made to be pooled.

Rates are means over repeats, counts and histograms are added; intervals hold what differs between repeats
(`repeats_interval`, `means_interval`, `repeats_interval_us`). What is drawn over time remains the first repeat's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fathom.columns.column import combined
from fathom.columns.schema import PhaseOfOp, Point
from fathom.method.curve import search_number
from fathom.report.data import RunData
from fathom.report.rows import OpOfStep, as_shown
from fathom.runs.document import TargetRecord
from fathom.statistics.latency_columns import PREFIXES, QUANTILES
from fathom.statistics.percentiles import Histogram, bounds_of, repeats_interval_us
from fathom.statistics.uncertainty import Interval, means_interval, repeats_interval

Measurement = tuple[str, ...]
"""What the repeats of a measurement have in common. One more text sets a run apart that is no repeat."""

PASSING = frozenset({"device", "dev", "diskseq", "file_uuid", "file_system_uuid"})
"""What the kernel calls a device changes from boot to boot, and the device does not; files on it are made anew."""


@dataclass(frozen=True)
class PooledRun(RunData):
    """Several runs with the figures of all; `run` and what is read from it second by second are the first's."""

    members: Sequence[RunData]

    @property
    def repeats(self) -> Sequence[RunData]:
        """The runs pooled, in the order given."""
        return self.members

    @cached_property
    def histograms(self) -> dict[OpOfStep, Histogram]:
        """Service latency, added up."""
        return self._merged([member.histograms for member in self.members])

    @cached_property
    def response_histograms(self) -> dict[OpOfStep, Histogram]:
        """Response latency, added up."""
        return self._merged([member.response_histograms for member in self.members])

    @cached_property
    def phases(self) -> list[PhaseOfOp]:
        """Phases of replayed traces over the repeats."""
        found: dict[tuple[object, ...], list[PhaseOfOp]] = {}
        for place, member in enumerate(self.members):
            for row in member.phases:
                if place == 0 or is_pooled(row.step, self):
                    key = (row.target, row.step, row.stream, row.phase, row.op)
                    found.setdefault(key, []).append(row)
        return [self._phase_over(rows) for rows in found.values()]

    def _phase_over(self, rows: Sequence[PhaseOfOp]) -> PhaseOfOp:
        """Returns a phase over repeats. Only whole traces have histograms: percentiles of phases are means."""
        first = rows[0]
        if len(rows) == 1:
            return first
        names = [name for name in QUANTILES if name in PhaseOfOp.__annotations__]
        percentiles = {name: _mean(rows, name) for name in names}
        whole = self.histograms.get(OpOfStep(first.target, first.step, first.op))
        if first.phase is None and first.stream is None and whole is not None:
            percentiles = {name: us for name, us in percentiles_us(whole).items() if name in names}
        computed = {"mean_us": _mean(rows, "mean_us", weighted=True), **percentiles}
        return combined(rows, lambda column: column.repeats, computed)

    def _merged(self, repeats: Sequence[Mapping[OpOfStep, Histogram]]) -> dict[OpOfStep, Histogram]:
        found: dict[OpOfStep, list[Histogram]] = {}
        for place, own in enumerate(repeats):
            for key, histogram in own.items():
                if place == 0 or is_pooled(key.step, self):
                    found.setdefault(key, []).append(histogram)
        return {key: Histogram.merged(parts) for key, parts in found.items()}


def pool(runs: Sequence[RunData]) -> RunData:
    """Returns the runs as one. A single run remains what it is."""
    if len(runs) == 1:
        return runs[0]
    pooled = PooledRun(runs[0].run, (), runs)
    members: dict[OpOfStep, list[tuple[RunData, Point]]] = {}
    for place, run in enumerate(runs):
        for point in run.points:
            if place == 0 or is_pooled(point.step, runs[0]):
                key = OpOfStep(point.target, point.step, point.op)
                members.setdefault(key, []).append((run, point))
    return replace(pooled, points=[_pooled(key, found) for key, found in members.items()])


def is_pooled(step: str, first: RunData) -> bool:
    """Returns whether a step is the same in all repeats. Points of a search and rounds on the way to steadiness are
    not; the report shows those of the first repeat.
    """
    return search_number(step) is None and first.round_of(step) is None


def repeats_by_target(
    runs: Sequence[RunData], *, by_hand: bool = False
) -> list[tuple[Sequence[RunData], TargetRecord]]:
    """Returns every target with the runs that measured it, in order of first appearance.

    Runs that were made as repeats of one are pooled; with `by_hand`, all of one method, target and version. A run given
    twice is no repeat of itself, nor is a twin with the same seed.
    """
    groups: dict[Measurement, tuple[list[RunData], TargetRecord]] = {}
    for place, run in enumerate(runs):
        for target in run.document.targets:
            if target.part_of is not None:
                continue
            key = _measurement(run, target, by_hand=by_hand)
            known = groups.get(key, ([], target))[0]
            if any(_are_one(run, one, target) for one in known):
                key = (*key, str(place))
            groups.setdefault(key, ([], target))[0].append(run)
    return list(groups.values())


def _are_one(run: RunData, other: RunData, target: TargetRecord) -> bool:
    same_seed = target.kind == "twin" and run.document.seed == other.document.seed
    return same_seed or run.document.id == other.document.id


def _measurement(run: RunData, target: TargetRecord, *, by_hand: bool) -> Measurement:
    """Returns what two runs have in common on a target if one can be the other's repeat."""
    document = run.document
    identity = {name: value for name, value in target.identity.items() if name not in PASSING}
    machine = [document.environment.get(name) for name in ("kernel", "cpu_model", "governor")]
    machine.append(document.power_state)
    same = [document.method.parsed, identity, target.capacity_bytes, document.versions, machine]
    series = "" if by_hand else document.repeat_of or document.id
    return (series, document.method.name, target.name, json.dumps(same, sort_keys=True))


def latencies_over(found: Sequence[tuple[Point, Mapping[str, Histogram]]]) -> dict[str, float | None]:
    """Returns the latency columns of points over repeats, from each repeat's point and its histograms by latency.

    Means are weighted by I/Os and percentiles those of the histograms added up; the intervals are Student's over the
    repeats (`means_interval`, `repeats_interval_us`).
    """
    points = [point for point, _ in found]
    columns: dict[str, float | None] = {}
    bounds: dict[str, tuple[float | None, float | None]] = {}
    for latency, prefix in PREFIXES.items():
        mean = f"{prefix}mean_us"
        columns[mean] = _mean(points, mean, weighted=True)
        bounds[mean] = _around(columns[mean], interval_over(points, mean))
        own = [histograms[latency] for _, histograms in found if latency in histograms]
        whole = Histogram.merged(own) if own else None
        columns |= percentiles_us(whole, prefix)
        for name, q in QUANTILES.items():
            known = len(own) == len(found)
            bounds[prefix + name] = (repeats_interval_us(own, q) if known else None) or (None, None)
    for name, pair in bounds.items():
        columns |= _columns(name, pair)
    return columns


def interval_over(points: Sequence[Point], name: str) -> Interval | None:
    """Returns the 95 % interval of a mean over repeats, by its column; None if one lacks it. It is never narrower than
    their own intervals allow.
    """
    values = _known(points, name)
    bounds = [[getattr(point, end, None) for end in bounds_of(name)] for point in points]
    return None if values is None else means_interval(values, [_half(low, high) for low, high in bounds])


def of_each(run: RunData, point: Point) -> list[Point]:
    """Returns the point of every repeat that has it; the point itself if it is not pooled."""
    if len(run.repeats) == 1 or not is_pooled(point.step, run):
        return [point]
    key = (point.target, point.step, point.op)
    return [one for repeat in run.repeats for one in repeat.points if (one.target, one.step, one.op) == key]


def percentiles_us(histogram: Histogram | None, prefix: str = "") -> dict[str, float | None]:
    """Returns the columns of a histogram's percentiles, us; None without one, or with too few I/Os."""
    found = {name: histogram.quantile(q) if histogram else None for name, q in QUANTILES.items()}
    return {prefix + name: quantile.us if quantile else None for name, quantile in found.items()}


def histograms_of(run: RunData, key: OpOfStep) -> dict[str, Histogram]:
    """Returns a point's histograms by latency, of those that were recorded."""
    kept = {"service": run.histograms, "response": run.response_histograms}
    return {latency: own[key] for latency, own in kept.items() if key in own}


def _pooled(key: OpOfStep, found: Sequence[tuple[RunData, Point]]) -> Point:
    points = [point for _, point in found]
    if len(points) == 1:
        return points[0]
    rates = [series for run, _ in found if len(series := run.rates(*key))]
    own_widths = [_half(point.iops_low, point.iops_high) for point in points]
    interval = repeats_interval(rates) if len(rates) == len(points) else None
    interval = interval or means_interval([point.iops or 0.0 for point in points], own_widths)
    computed = {
        **_columns("iops", _around(_mean(points, "iops"), interval)),
        **_columns("waf", _ends(interval_over(points, "waf"))),
        **latencies_over([(point, histograms_of(run, key)) for run, point in found]),
    }
    return as_shown(combined(points, lambda column: column.repeats, computed))


def _columns(name: str, bounds: tuple[float | None, float | None]) -> dict[str, float | None]:
    """Returns the bounds of a figure by their columns."""
    return dict(zip(bounds_of(name), bounds, strict=True))


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval.low, interval.high) if interval else (None, None)


def _half(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else (high - low) / 2


def _around(mean: float | None, interval: Interval | None) -> tuple[float | None, float | None]:
    """Moves an interval to a mean that may have other weights."""
    if mean is None or interval is None:
        return None, None
    return mean + interval.low - interval.mean, mean + interval.high - interval.mean


def _known(points: Sequence[Point | PhaseOfOp], name: str) -> list[float] | None:
    """Returns a figure of every repeat; None as soon as one lacks it."""
    values = [getattr(point, name) for point in points]
    return None if any(value is None for value in values) else values


def _mean(points: Sequence[Point | PhaseOfOp], name: str, *, weighted: bool = False) -> float | None:
    """Returns the mean over repeats, or over their I/Os."""
    values = _known(points, name)
    if values is None:
        return None
    weights = [(point.n or 0) if weighted else 1 for point in points]
    total = sum(weights)
    return sum(w * value for w, value in zip(weights, values, strict=True)) / total if total else None
