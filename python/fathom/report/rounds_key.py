"""The key figure of methods that run in rounds: means over the standard's window, as its own plots have them.

Bars for latency and bandwidth, a heat map for a matrix of IOPS. Latency over IOPS for growing demand; for host idle
recovery the rate after each pause.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fathom.analysis.depths import FULL, enough
from fathom.method.rounds import UNITS, Metric
from fathom.output.text import ios_in_flight, latency_text, size
from fathom.prediction.interval import Spread
from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Table
from fathom.report.charts import Bars, Line, bar_chart, scatter_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.findings import Gate, gate
from fathom.report.legend import legend_of
from fathom.report.pause_key import pause_key
from fathom.report.predicted import WHISKERS, bar_range, range_text, ranges_note
from fathom.report.rounds import Mean, TargetRounds, axes, unsettled_of
from fathom.report.style import compact, grouped, plain, rate_words, slot
from fathom.report.sweeps import PATTERNS

IDLE = "snia-hir"
MOST_BARS = 12
LEAST_DEMANDS = 3
"""Numbers of I/Os in flight that make a curve."""
Found = Mapping[str, Sequence[TargetRounds]]


def key_figure(found: Found, comparison: Comparison) -> KeyFigure | None:
    """Returns the key figure of the first rounds that have means; None where none has."""
    out = gate(comparison)
    if any(run.document.method.name == IDLE for run in comparison.runs):
        return pause_key(found, out)
    known = [[one for one in members if _has_means(one)] for members in found.values()]
    members = next(filter(None, known), None)
    if members is None:
        return None
    if _demand(members[0]):
        return _demand_plot(members, out)
    if members[0].place.metric == "iops" and axes(members[0])[0]:
        return _heat_map(members, out)
    return _bars(found, out)


def _has_means(one: TargetRounds) -> bool:
    """Returns whether any step has a mean: none has where too much of the I/O failed."""
    return any(one.mean(step) for step in one.steps)


def _why_not(one: TargetRounds, out: Gate) -> str | None:
    """Returns what keeps the means from being those of a steady state; None where they are."""
    name = one.column.short
    if why := unsettled_of(one.column, one, out):
        return f"{name} {why.verb}: {why.value}."
    if one.place.judged and not one.steady:
        return f"{name} did not reach steady state: its figures are of the last rounds."
    return None


def _unsettled(members: Sequence[TargetRounds], out: Gate) -> list[str]:
    """Returns which targets did not reach a steady state, and why."""
    return [why for one in members if (why := _why_not(one, out))]


def _is_steady(one: TargetRounds, out: Gate) -> bool:
    """Returns whether the means may be called those of a steady state: a shortened run makes no such claim."""
    return one.place.judged and not one.column.run.document.quick and _why_not(one, out) is None


def _when(members: Sequence[TargetRounds], out: Gate) -> str:
    """Returns when the means hold: in steady state, if all reached it, else over the last rounds."""
    return "In steady state" if all(_is_steady(one, out) for one in members) else "Over its last rounds"


def _spread(members: Sequence[TargetRounds], column: Column, step: str, out: Gate) -> Spread | None:
    """Returns the spread of a twin's mean rate over steady rounds; None of latencies, and of what was measured."""
    one = next((one for one in members if one.column is column), None)
    if one is None or one.place.metric == "latency" or not one.place.judged or _why_not(one, out):
        return None
    points = one.repeats[0].points_of(step)
    return column.spread(step, points[0].block_bytes) if points else None


def _bars(found: Found, out: Gate) -> KeyFigure | None:
    """Returns a bar for every tracked step and target; latency first where it is what counts."""
    metric = next(iter(found.values()))[0].place.metric
    rows = [
        _Tracked(members, step)
        for members in found.values()
        if members[0].place.metric == metric
        for step in members[0].place.track
        if any(one.mean(step) for one in members)
    ]
    return _BarsKey(rows[:MOST_BARS], metric, out).figure() if rows else None


@dataclass(frozen=True)
class _Tracked:
    """A step that rounds track: a row of bars, one for each target."""

    members: Sequence[TargetRounds]
    step: str

    @property
    def label(self) -> str:
        return _called(self.members, self.step)

    def mean(self, column: Column) -> Mean | None:
        return next((one.mean(self.step) for one in self.members if one.column.index == column.index), None)


@dataclass(frozen=True)
class _BarsKey:
    """Bars of means, with the sentence above and the table below."""

    rows: Sequence[_Tracked]
    metric: Metric
    out: Gate

    def figure(self) -> KeyFigure:
        columns = self._columns
        spreads = [[_spread(row.members, one, row.step, self.out) for row in self.rows] for one in columns]
        bars = [self._bars_of(column, own) for column, own in zip(columns, spreads, strict=True)]
        any_range = any(one.whiskers for one in bars)
        caption = (
            "Means over the standard's window of rounds, all operations together." + WHISKERS * any_range
        )
        table = self._table(columns, spreads, any_range=any_range)
        figure = Figure([self._chart(bars)], caption, table, legend_of(columns), columns=1)
        return KeyFigure(self._sentence(), figure, self._reasons())

    @property
    def _unit(self) -> str:
        return UNITS[self.metric]

    @property
    def _columns(self) -> list[Column]:
        return list({one.column.index: one.column for row in self.rows for one in row.members}.values())

    @cached_property
    def _labels(self) -> list[str]:
        return [row.label for row in self.rows]

    def _bars_of(self, column: Column, spreads: Sequence[Spread | None]) -> Bars:
        means = [_short(row.mean(column)) for row in self.rows]
        ranges = [bar_range(*one) for one in zip(spreads, means, strict=True)]
        return Bars(column.short, slot(column.index), means, ranges)

    def _chart(self, bars: Sequence[Bars]) -> Chart:
        axis = Axis(self._unit, "us" if self.metric == "latency" else "count", low=0)
        when = _when(self.rows[0].members, self.out)
        what = {"latency": "Mean latency", "mbps": "Bandwidth"}.get(self.metric, "IOPS")
        return Chart(
            "key-rounds",
            f"{what}, {when[0].lower()}{when[1:]}",
            sub=self._unit,
            option=bar_chart(axis, self._labels, bars, width_px=16),
            summary=f"{what} by workload and target; the table below has the figures.",
            height_px=70 + len(self.rows) * (14 + 20 * len(bars)),
        )

    def _table(
        self, columns: Sequence[Column], spreads: Sequence[Sequence[Spread | None]], *, any_range: bool
    ) -> Table:
        heads = [Item(column.label, self._unit, slot=slot(column.index)) for column in columns]
        rows = [
            Row(
                Item(label),
                [_item(row.mean(column), own[place]) for column, own in zip(columns, spreads, strict=True)],
            )
            for place, (label, row) in enumerate(zip(self._labels, self.rows, strict=True))
        ]
        return Table("Workload", heads, [Group("", rows)], ranges_note(any_range=any_range))

    @cached_property
    def _known(self) -> list[tuple[TargetRounds, float]]:
        """The targets that have the first bar, with their means."""
        first = self.rows[0]
        return [(one, mean.value) for one in first.members if (mean := one.mean(first.step))]

    @cached_property
    def _settled(self) -> list[tuple[TargetRounds, float]]:
        return [pair for pair in self._known if _why_not(pair[0], self.out) is None]

    @property
    def _best(self) -> tuple[TargetRounds, float]:
        pick = min if self.metric == "latency" else max
        return pick(self._settled or self._known, key=lambda pair: pair[1])

    def _sentence(self) -> str:
        """Returns what the best target did at its first bar, and at its last one of the same rounds."""
        best, value = self._best
        members = self.rows[0].members
        sentence = f"{best.column.short} {self._verb} {self._said(0, value)}"
        last = max(place for place, row in enumerate(self.rows) if row.members is members)
        if last and (other := self.rows[last].mean(best.column)):
            sentence += f" and {self._said(last, other.value)}"
        return sentence + ("." if self._settled else " over its last rounds.")

    def _reasons(self) -> list[str]:
        """Returns the others' means, the best one's longest I/O, and who had not settled."""
        first, (best, _) = self.rows[0], self._best
        others = [(one, mean) for one, mean in self._known if one is not best]
        reasons = [f"{one.column.short}: {grouped(mean)} {self._unit}." for one, mean in others]
        if self.metric == "latency" and (longest := first.mean(best.column)):
            reasons.append(f"The longest I/O of these rounds took {latency_text(longest.max_us)}.")
        return [*reasons, *_unsettled(first.members, self.out)]

    @property
    def _verb(self) -> str:
        now, past = ("answers", "answered") if self.metric == "latency" else ("sustains", "did")
        return now if self._settled else past

    def _said(self, place: int, value: float) -> str:
        label = self._labels[place]
        if self.metric == "latency":
            return f"{label} in {latency_text(value)}"
        return f"{label} at {rate_words(value, self._unit)}"


def _called(members: Sequence[TargetRounds], step: str) -> str:
    """Returns `4 KiB random reads` by what the step issues; its label where its job says less."""
    one = next(one for one in members if step in one.steps)
    point = one.a_point(step)
    job = one.column.run.jobs.get(point.step)
    if job is None or not point.block_bytes or point.read_pct is None:
        return plain(one.called(step))
    ops = {0.0: "writes", 100.0: "reads"}.get(point.read_pct, f"{point.read_pct:g} % reads")
    pattern = PATTERNS.get(job.pattern.kind, job.pattern.kind)
    return f"{size(point.block_bytes)} {pattern} {ops}"


def _short(mean: Mean | None) -> float | None:
    return None if mean is None else float(f"{mean.value:.5g}")


def _item(mean: Mean | None, spread: Spread | None) -> Item:
    if mean is None:
        return Item("–", tone="quiet")
    return Item(grouped(mean.value), range_text(spread, mean.value))


def _heat_map(members: Sequence[TargetRounds], out: Gate) -> KeyFigure:
    """Returns the matrix of the standard's means, the stronger the colour the more IOPS, each target's own."""
    rows, columns = axes(members[0])
    most = max(mean.value for one in members for step in one.steps if (mean := one.mean(step)))
    groups = []
    for one in members:
        means = {(row, column): one.mean(f"{row}-{column}") for row in rows for column in columns}
        groups.append(
            Group(
                one.column.label,
                [
                    Row(Item(label), [_heat(means[row, column], most) for column in columns])
                    for row, label in rows.items()
                ],
            )
        )
    table = Table(
        "IOPS",
        [Item(label) for label in columns.values()],
        groups,
        ["Means over the standard's window of rounds: the stronger the colour, the more IOPS."],
    )
    best = max(members, key=lambda one: max(mean.value for step in one.steps if (mean := one.mean(step))))
    ends = sorted(
        ((mean.value, step) for step in best.steps if (mean := best.mean(step))), key=lambda pair: pair[0]
    )
    sentence = (
        f"{_when([best], out)} {best.column.short} does {compact(ends[-1][0])} IOPS at most and "
        f"{compact(ends[0][0])} at least, by block size and share of reads."
    )
    reasons = [f"Most: {_called(members, ends[-1][1])}.", f"Least: {_called(members, ends[0][1])}."]
    return KeyFigure(sentence, table, [*reasons, *_unsettled(members, out)])


def _heat(mean: Mean | None, most: float) -> Item:
    if mean is None:
        return Item("–", tone="quiet")
    return Item(compact(mean.value), heat=round((mean.value / most) ** 0.5, 3))


@dataclass(frozen=True)
class _Demand:
    """A step of the rounds: its I/Os in flight, and its figures."""

    outstanding: int
    iops: float
    mean_us: float


def _demand(one: TargetRounds) -> list[_Demand]:
    """Returns the steps by growing I/Os in flight; none where the rounds hardly vary them."""
    found: dict[int, _Demand] = {}
    for step in one.steps:
        mean, point = one.mean(step), one.a_point(step)
        if mean is None or one.place.metric != "iops" or not point.threads or not point.iodepth:
            continue
        demand = _Demand(point.threads * point.iodepth, mean.value, mean.latency_us)
        if demand.outstanding not in found or found[demand.outstanding].iops < demand.iops:
            found[demand.outstanding] = demand
    return [found[depth] for depth in sorted(found)] if len(found) >= LEAST_DEMANDS else []


def _enough(known: Sequence[_Demand]) -> _Demand | None:
    """Returns the least demand with nearly the greatest rate; None where that is the last."""
    least = known[enough([at.iops for at in known])]
    return None if least is known[-1] else least


def _place(at: _Demand) -> tuple[float, float]:
    return float(f"{at.iops:.5g}"), float(f"{at.mean_us:.4g}")


def _demand_plot(members: Sequence[TargetRounds], out: Gate) -> KeyFigure:
    """Returns latency over IOPS as the I/Os in flight grow."""
    members = [one for one in members if _demand(one)]
    of = {one.column.index: _demand(one) for one in members}
    lines = [
        Line(
            one.column.short,
            slot(one.column.index),
            [_place(at) for at in of[one.column.index]],
            marks=True,
            labelled=True,
            pins=[(*_place(least), "")] if (least := _enough(of[one.column.index])) else (),
        )
        for one in members
    ]
    option = scatter_chart(Axis("IOPS", "count", low=0), Axis("", "us", low=0), lines)
    label = plain(members[0].place.of)
    chart = Chart(
        "key-demand",
        "Latency as demand grows",
        sub="mean latency, us, over IOPS",
        option=option,
        summary=f"Latency over IOPS of {label}; the table below has the figures.",
        height_px=400,
    )
    groups = [Group(one.column.label, _demand_rows(of[one.column.index])) for one in members]
    data = Table("In flight", [Item("Rate", "IOPS"), Item("Mean", "us")], groups)
    ring = f" Ring: the least that gives {100 * FULL:.0f} % of the greatest rate."
    caption = (
        "Each point is a number of I/Os in flight, from 1 up. Where several loads have the same number, the fastest "
        "counts." + ring * any(_enough(known) for known in of.values())
    )
    figure = Figure([chart], caption, data, legend_of([one.column for one in members]), columns=1)
    settled = [one for one in members if _why_not(one, out) is None]
    best = max(settled or members, key=lambda one: max(at.iops for at in of[one.column.index]))
    sentence, *reasons = _demand_answer(best.column.short, of[best.column.index], settled=bool(settled))
    return KeyFigure(sentence, figure, [*reasons, *_unsettled(members, out)])


def _demand_rows(known: Sequence[_Demand]) -> list[Row]:
    return [
        Row(Item(str(at.outstanding)), [Item(grouped(at.iops)), Item(grouped(at.mean_us))]) for at in known
    ]


def _demand_answer(name: str, known: Sequence[_Demand], *, settled: bool) -> list[str]:
    """Returns how many I/Os in flight suffice a target, and what more of them cost.

    A target that had not settled has what was measured alone.
    """
    most, last, least = max(known, key=lambda at: at.iops), known[-1], _enough(known)
    if not settled:
        return [
            f"{name} came to {compact(most.iops)} IOPS over its last rounds, at {ios_in_flight(most.outstanding)}."
        ]
    if least is None:
        return [f"{name} still gains at {ios_in_flight(last.outstanding)}: {compact(most.iops)} IOPS."]
    longer = last.mean_us / least.mean_us if least.mean_us else 1.0
    loss = (
        "more only add latency"
        if last.iops >= FULL * most.iops
        else f"{last.outstanding} give {compact(last.iops)}"
    )
    return [
        f"{name} gives nearly all of its {compact(most.iops)} IOPS from {ios_in_flight(least.outstanding)} on: {loss}.",
        f"At {last.outstanding} in flight, an I/O takes {longer:.1f} times as long as at the ring.",
    ]
