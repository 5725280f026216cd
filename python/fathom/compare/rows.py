"""A comparison in figures: per target, workload and metric the two values, their ratio and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from fathom.analysis.consistency import floor_of
from fathom.analysis.finding import joined
from fathom.compare.gate import Gate, Outcome
from fathom.compare.loads import OpenLoad, default_metrics, open_load
from fathom.compare.metrics import DEFAULT, METRICS, RATE, WAF, Metric, metric_of
from fathom.compare.phases import PhasePair, phases_beside
from fathom.compare.sides import PUBLISHED, Match, Side, Unclaimed, cells, matches
from fathom.errors import UsageError
from fathom.output import html
from fathom.report.comparison import Cell
from fathom.report.repeats import is_pooled
from fathom.report.rows import Point
from fathom.report.style import plain
from fathom.report.totals import TOTAL, total
from fathom.statistics.differences import (
    Difference,
    Estimate,
    Verdict,
    confidence_of_each,
    difference,
    estimate,
    exactly,
    repeats_to_detect,
    verdict,
)

NO_INTERVAL = "no interval"
LITTLE_WRITTEN = "too little written"
LEVEL_PCT = 2.0
"""A change whose whole interval is smaller is none, unless the user says otherwise."""


@dataclass(frozen=True)
class Row:
    """One metric of one workload. `why` says in words why there is no `difference`, or no verdict on it."""

    workload: str
    metric: Metric
    base: float | None
    new: float | None
    difference: Difference | None
    verdict: Verdict
    why: str = ""
    repeats_needed: int | None = None
    gates: Sequence[tuple[Gate, Outcome]] = ()
    order_chance: float | None = None
    """How likely real drives differ in the same direction, 0..1; None where that is not known or nothing differs."""
    ratio: float | None = None
    """New / base as measured, without regard to chance; None where a figure is missing, zero or only a bound."""

    @property
    def change_pct(self) -> float | None:
        """How far the new figure is above (+) or below (-) the base, in percent of the base; None where unknown."""
        if self.difference:
            return self.difference.change_pct
        return None if self.ratio is None else 100 * (self.ratio - 1)


@dataclass(frozen=True)
class Missing:
    """A workload that could not be compared, and why."""

    workload: str
    why: str

    @property
    def words(self) -> str:
        """One line."""
        return f"{self.workload}: {self.why}"


@dataclass(frozen=True)
class Compared:
    """A target of the new side beside its base.

    `missing` names the workloads that could not be compared, `unsettled` those that support no claim; both say why.
    """

    label: str
    base_label: str
    rows: Sequence[Row]
    missing: Sequence[Missing]
    unsettled: Sequence[str]
    phases: Sequence[PhasePair] = ()
    """Those of a trace that both replayed."""
    loads: Sequence[OpenLoad] = ()
    """How both sides did under open loads."""


@dataclass(frozen=True)
class Result:
    """All pairs of one new side and the base."""

    base: str
    new: str
    pairs: Sequence[Compared]
    confidence: float
    """The confidence of each interval; all hold together with 95 %."""
    level_pct: float
    gates: Sequence[Gate]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of all pairs."""
        return [row for pair in self.pairs for row in pair.rows]

    @property
    def compared(self) -> int:
        """How many figures have an interval of their ratio."""
        return sum(row.difference is not None for row in self.rows)

    @cached_property
    def unchecked(self) -> list[Gate]:
        """Gates whose metric no workload has with an interval on both sides."""
        checked = {id(gate) for row in self.rows for gate, _ in row.gates if row.difference}
        return [gate for gate in self.gates if id(gate) not in checked]

    def _repr_html_(self) -> str:
        """Returns the rows as a table, for notebooks."""
        heads = ("workload", "metric", "base", "new", "change, %", "verdict")
        rows = [
            (
                row.workload,
                row.metric.title,
                row.base,
                row.new,
                row.difference.change_pct if row.difference else None,
                row.why or row.verdict.value,
            )
            for row in self.rows
        ]
        return html.table(f"{self.new} beside {self.base}", heads, rows)

    def outcomes(self, outcome: Outcome) -> list[tuple[Row, Gate]]:
        """Returns the rows and gates with that outcome."""
        return [(row, gate) for row in self.rows for gate, found in row.gates if found is outcome]


@dataclass(frozen=True)
class _MetricPair:
    """The values of a metric on both sides, before the number of comparisons sets the confidence. `names` are those
    that the user wrote.
    """

    workload: str
    metric: Metric
    names: Sequence[str]
    base: float | None
    new: float | None
    estimates: tuple[Estimate, Estimate] | None
    why: str
    unclaimed: str
    """Why nothing may be claimed of it, as a sentence about its sides; empty where something may."""
    order_chance: float | None = None
    is_bound: bool = False
    """Whether one of the values is only a bound, or no figure of the load."""

    @property
    def ratio(self) -> float | None:
        """New / base; None where it is not known."""
        return None if self.is_bound or not self.base or self.new is None else self.new / self.base


def _called(name: str) -> str:
    """Returns the runs of a side by their folders' names, without the way to them."""
    return ",".join(Path(run).name for run in name.split(","))


def compare_sides(
    base: Side | None,
    new: Side,
    metrics: Sequence[str],
    gates: Sequence[Gate] = (),
    level_pct: float = LEVEL_PCT,
) -> Result:
    """Compares a side with the base, or with what is published where there is none.

    Raises UsageError for targets that have no counterpart, and for sides that share a run.
    """
    if base and new.shares_a_run(base):
        raise UsageError(
            f"{_called(new.name)}: the base {_called(base.name)} is the same run or another of its repeats",
            "name a run of another measurement; `fathom report` shows the figure of each repeat",
        )
    limited = [gate.metric for gate in gates]
    found = [(match, *_pairs(base, new, match, metrics, limited)) for match in matches(base, new)]
    count = sum(pair.estimates is not None for _, pairs, _ in found for pair in pairs)
    confidence = confidence_of_each(count)
    pairs = [
        Compared(
            match.new.label,
            f"{match.base.label} of {_called(base.name)}" if base and match.base else "what is published",
            [_row(pair, confidence, level_pct, gates) for pair in pairs],
            missing,
            list(dict.fromkeys(f"{pair.workload}: {pair.unclaimed}" for pair in pairs if pair.unclaimed)),
            phases_beside(match.base, match.new) if match.base else (),
            _loads(base, new, match),
        )
        for match, pairs, missing in found
    ]
    return Result(base.name if base else PUBLISHED, new.name, pairs, confidence, level_pct, gates)


def _loads(base: Side | None, new: Side, match: Match) -> list[OpenLoad]:
    both = [(theirs, own) for _, theirs, own in cells(base, new, match) if theirs and own]
    found = (open_load(theirs, own) for theirs, own in both)
    return list(dict.fromkeys(load for load in found if load))


def _pairs(
    base: Side | None, new: Side, match: Match, metrics: Sequence[str], limited: Sequence[str]
) -> tuple[list[_MetricPair], list[Missing]]:
    """Returns the values of the metrics, and of those with limits, by workload; and what could not be compared."""
    pairs: list[_MetricPair] = []
    missing: list[Missing] = []
    steps: set[str] = set()
    for corner, theirs, own in cells(base, new, match):
        if own is None:
            missing.append(Missing(corner.label, f"not measured in {new.name}"))
        elif base is None:
            pairs += _beside_published(corner.label, own, new, (*metrics, *limited))
        elif theirs is None:
            missing.append(Missing(corner.label, f"not measured in {base.name}"))
        elif failed := [cell.failed for cell in (theirs, own) if cell.failed]:
            missing.append(Missing(corner.label, f"{failed[0]}, so it is compared with nothing"))
        else:
            unclaimed = _unclaimed(base, theirs, new, own)
            is_default = tuple(metrics) == DEFAULT
            asked = default_metrics(theirs, own) if is_default else metrics
            too_little = base.wrote_little(theirs) or new.wrote_little(own)
            if too_little and is_default:
                asked = [name for name in asked if name != WAF]
            chosen: dict[str, list[str]] = {}
            for name in dict.fromkeys((*asked, *limited)):
                chosen.setdefault(metric_of(name, in_bandwidth=own.metric == "mbps").name, []).append(name)
            each = [
                _pair(corner.label, METRICS[key], as_asked, theirs, own, unclaimed)
                for key, as_asked in chosen.items()
                if not METRICS[key].is_of_step
            ]
            if own.step.name not in steps:
                both = _of_step(theirs), _of_step(own)
                each += [
                    _pair(plain(own.step.label), METRICS[key], as_asked, *both, unclaimed)
                    for key, as_asked in chosen.items()
                    if METRICS[key].is_of_step
                ]
            steps.add(own.step.name)
            pairs += [
                replace(pair, estimates=None, why=LITTLE_WRITTEN, is_bound=True)
                if too_little and pair.metric is METRICS[WAF]
                else pair
                for pair in each
                if pair
            ]
    return pairs, missing


def _of_step(cell: Cell) -> Cell:
    """Returns the cell with all operations of its step as one."""
    run, point = cell.column.run, cell.point
    halves = [one for one in run.points if (one.target, one.step) == (point.target, point.step)]
    return replace(cell, point=total(run, halves))


def _unclaimed(base: Side, theirs: Cell, new: Side, own: Cell) -> Unclaimed | None:
    """Returns why nothing may be claimed of the two, or None."""
    found: dict[Unclaimed, list[str]] = {}
    for name, side, cell in (("base", base, theirs), ("new", new, own)):
        if why := side.unclaimed(cell):
            found.setdefault(why, []).append(name)
    if not found:
        return None
    why = "; ".join(f"{joined(names)}, {one.why}" for one, names in found.items())
    return Unclaimed(next(iter(found)).verdict, why)


def _pair(
    workload: str, metric: Metric, names: Sequence[str], theirs: Cell, own: Cell, unclaimed: Unclaimed | None
) -> _MetricPair | None:
    """Returns the estimates of both sides, or why there are none; None for a metric that neither side has."""
    base, new = metric.value(theirs.point), metric.value(own.point)
    if base is None and new is None:
        return None
    estimates = _estimate(metric, theirs), _estimate(metric, own)
    known = (estimates[0], estimates[1]) if estimates[0] and estimates[1] else None
    bounded = [cell for cell in (theirs, own) if metric.column and _is_lower_bound(cell.point, metric)]
    why = unclaimed.verdict if unclaimed else ""
    if bounded:
        why, known = "only a lower bound is known", None
    elif base is None or new is None:
        why = f"not in {'base' if base is None else 'new'}"
    elif known is None:
        why = NO_INTERVAL
    chance = _order_chance(theirs, own) if metric in (METRICS["iops"], METRICS["mbps"]) else None
    return _MetricPair(
        workload,
        metric,
        names,
        base,
        new,
        known,
        why,
        unclaimed.why if unclaimed else "",
        chance,
        bool(bounded),
    )


def _order_chance(theirs: Cell, own: Cell) -> float | None:
    """Returns how likely real drives have the order of two rates of I/O with fixed block sizes."""
    if not theirs.value or not own.value:
        return None
    return own.order_chance(theirs) if own.value >= theirs.value else theirs.order_chance(own)


def _is_lower_bound(point: Point, metric: Metric) -> bool:
    return metric.column.endswith("_us") and point.is_lower_bound(metric.column)


def _estimate(metric: Metric, cell: Cell) -> Estimate | None:
    points = _of_repeats(cell)
    return estimate(
        [metric.value(point) for point in points],
        [metric.bounds(point) for point in points],
        metric.resolution,
        None if cell.column.is_twin else cell.point.window_s,
    )


def _of_repeats(cell: Cell) -> list[Point]:
    """Returns the point of every repeat; where all operations are one figure, their total in each."""
    run, point = cell.column.run, cell.point
    if len(run.repeats) == 1 or not is_pooled(point.step, run):
        return [point]
    found = [
        [one for one in repeat.points if (one.target, one.step) == (point.target, point.step)]
        for repeat in run.repeats
    ]
    if point.op == TOTAL:
        return [total(repeat, own) for repeat, own in zip(run.repeats, found, strict=True) if own]
    return [one for own in found for one in own if one.op == point.op]


def _beside_published(workload: str, own: Cell, new: Side, names: Sequence[str]) -> list[_MetricPair]:
    """Returns the headline beside the published figure, which is taken as it stands.

    A published floor stands beside the floor of the seconds, which varies between repeats alone.
    """
    metric = metric_of(RATE, in_bandwidth=own.metric == "mbps")
    asked = RATE in names or metric.name in names
    if own.published is None or own.value is None or not asked:
        return []
    value, found = own.value, _estimate(metric, own)
    if own.published.is_floor and own.metric == "iops" and (floor := floor_of(*own.repeats)) is not None:
        workload, value = f"{workload} (floor)", floor
        floors = [floor_of(rates) for rates in own.repeats]
        found = estimate(floors, [None] * len(floors))
    unclaimed = new.unclaimed(own)
    estimates = (exactly(own.published.value), found) if found else None
    words = unclaimed.verdict if unclaimed else "" if found else NO_INTERVAL
    why = f"new, {unclaimed.why}" if unclaimed else ""
    names = (RATE, metric.name)
    return [_MetricPair(workload, metric, names, own.published.value, value, estimates, words, why)]


def _row(pair: _MetricPair, confidence: float, level_pct: float, gates: Sequence[Gate]) -> Row:
    found, said, needed = None, Verdict.UNKNOWN, None
    if pair.estimates:
        base, new = pair.estimates
        found = difference(new, base, confidence)
        if not pair.unclaimed:
            said = verdict(found, level_pct, higher_is_better=pair.metric.higher_is_better)
            unknown = said is Verdict.UNKNOWN
            needed = repeats_to_detect(new, base, confidence, level_pct) if unknown else None
    outcomes = [
        (gate, gate.outcome(found, may_be_claimed=not pair.unclaimed))
        for gate in gates
        if gate.metric in pair.names
    ]
    differs = said in (Verdict.BETTER, Verdict.WORSE)
    chance = pair.order_chance if differs else None
    return Row(
        pair.workload,
        pair.metric,
        pair.base,
        pair.new,
        found,
        said,
        pair.why,
        needed,
        outcomes,
        chance,
        pair.ratio,
    )
