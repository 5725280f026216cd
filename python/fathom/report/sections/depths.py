"""Depth scaling: IOPS and latency over the I/Os in flight, the depth that suffices, and Little's law as a check."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2

from fathom.analysis.depths import enough
from fathom.analysis.finding import joined
from fathom.analysis.run_view import LITTLE_GAP
from fathom.analysis.settled import no_target
from fathom.columns.schema import Point
from fathom.output.text import digits, four_digits, percent, signed_pct
from fathom.report.axes import Axis, around_1_2_5, from_zero
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Points, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.findings import Gate, gate
from fathom.report.latencies import latency
from fathom.report.legend import legend_of
from fathom.report.predicted import PREDICTED, WHISKERS, range_item, whisker
from fathom.report.reference import hosts_of
from fathom.report.style import compact, grouped, plain, slot
from fathom.report.sweeps import (
    HOLLOW,
    SweptStep,
    claimed,
    expected,
    intervals_of,
    reasons_of,
    series,
    swept,
    unsettled,
    window_of,
)
from fathom.statistics.knee import knee

ORDER = 31
LEAST_DEPTHS = 4
KEY_PX = 380
IN_WORDS = {1: "one", 2: "two", 4: "four", 8: "eight"}
MAX_WORKLOADS = 8
NONE = Item("–", tone="quiet", title="not recorded, or too few I/Os")
RING = (
    "Ring: the least depth that gives nearly the greatest rate. Past it, a further I/O in flight only waits."
)


@dataclass(frozen=True)
class Scaling:
    """One workload on one target, depths ascending."""

    column: Column
    steps: Sequence[SweptStep]

    @property
    def hosts(self) -> int:
        """Hosts that each have the depth in flight."""
        return hosts_of(self.column.target.catalog)

    @property
    def best(self) -> SweptStep:
        """The step with the greatest rate."""
        return max(self.steps, key=lambda one: one.iops)

    @property
    def enough(self) -> SweptStep:
        """The least depth that gives nearly the greatest rate."""
        return self.steps[enough([one.iops for one in self.steps])]

    @property
    def gains(self) -> bool:
        """Whether the rate still grows at the greatest depth."""
        return self.enough is self.steps[-1]

    @property
    def knee(self) -> SweptStep | None:
        """Kneedle's knee of the rate over depth."""
        place = knee([one.depth for one in self.steps], [one.iops for one in self.steps])
        return None if place is None else self.steps[place]

    @property
    def crossing(self) -> float | None:
        """I/Os in flight per host where asymptotes of a closed loop cross: greatest rate x latency of the least load.

        Lazowska et al., Quantitative System Performance (1984), chapter 5, without think time.
        """
        alone = self.steps[0].mean_us
        return None if alone is None else self.best.iops * alone / 1e6 / self.hosts


def build(comparison: Comparison) -> Section | None:
    """Returns two panels per workload that was measured at four depths or more."""
    out = gate(comparison)
    found = series(expected(swept(comparison), out), _workload, lambda one: one.depth, LEAST_DEPTHS)
    if not found:
        return None
    groups = [[Scaling(steps[0].column, steps) for steps in of] for of in found]
    labels = [_label(group[0].steps[0]) for group in groups]
    charts = [
        chart
        for number, (label, group) in enumerate(zip(labels, groups, strict=True))
        if number < MAX_WORKLOADS
        for chart in _charts(f"depth-{number}", label, group, out=out)
    ]
    steps = [one for group in groups for scaling in group for one in scaling.steps]
    more = f" The first {MAX_WORKLOADS} of {len(groups)} are drawn." if len(groups) > MAX_WORKLOADS else ""
    caption = (
        "All operations together over threads x iodepth asked for. Past the knee, a further I/O in flight only "
        f"waits. Hosts of a system have as many each. Service latency, mean; {window_of(steps)}.{more}"
        + HOLLOW * any(unsettled(step, out) is not None for step in steps)
        + WHISKERS * any(step.spread for step in steps)
    )
    figure = Figure(charts, caption, _table(labels, groups), legend_of(comparison.columns), group="depth")
    told = [
        text
        for label, group in zip(labels, groups, strict=True)
        for one in group
        for text in _sentences(label, one, out)
    ]
    key = _key_figure(labels, groups, out)
    return Section(
        "depths", "Depth scaling", [Points(told), figure], short="Depths", answer=told, key_figure=key
    )


def _key_figure(labels: Sequence[str], groups: Sequence[Sequence[Scaling]], out: Gate) -> KeyFigure:
    """Returns the depth that suffices for the first workload with a rate to claim, and its curves of rate and latency.

    The workloads passed over are among the reasons.
    """
    each = [(label, group, _kept(group, out)) for label, group in zip(labels, groups, strict=True)]
    place = next((number for number, (_, _, kept) in enumerate(each) if kept), 0)
    label, group, kept = each[place]
    passed = [_nothing_claimed(label, group, out) for label, group, _ in each[:place]]
    figure = Figure(
        _charts("key-depth", label, group, KEY_PX, kept, out),
        (
            RING * any(not one.gains for one in kept)
            + HOLLOW * any(unsettled(step, out) is not None for one in group for step in one.steps)
            + WHISKERS * any(step.spread for one in group for step in one.steps)
        ).strip(),
        _table([label], [group]),
        legend_of([one.column for one in group]),
        group="key-depth",
    )
    if not kept:
        return KeyFigure(_nothing_claimed(label, group, out), figure)
    reasons = [
        f"{one.column.short}: {compact(one.enough.iops)} IOPS at depth {one.enough.depth}."
        for one in kept
        if len(kept) > 1
    ]
    slower = [
        f"At depth {one.steps[-1].depth} the latency of {one.column.short} is "
        f"{one.steps[-1].mean_us / one.enough.mean_us:.1f} times that at the ring."
        for one in kept
        if not one.gains and one.enough.mean_us and one.steps[-1].mean_us
    ]
    return KeyFigure(_key_sentence(label, kept), figure, [*passed, *reasons, *slower])


def _kept(group: Sequence[Scaling], out: Gate) -> list[Scaling]:
    """Returns a workload's targets with the steps in which they had settled; those with too few are left out."""
    left = [(one.column, claimed(one.steps, out, LEAST_DEPTHS, "")[0]) for one in group]
    return [Scaling(column, steps) for column, steps in left if steps]


def _nothing_claimed(label: str, group: Sequence[Scaling], out: Gate) -> str:
    reasons = reasons_of((step for one in group for step in one.steps), out)
    return f"{no_target(reasons).capitalize()} in {label}, so no depth is claimed."


def _key_sentence(label: str, kept: Sequence[Scaling]) -> str:
    rising = [one for one in kept if one.gains]
    if rising:
        names, last = joined([one.column.short for one in rising]), rising[0].steps[-1]
        if len(rising) > 1:
            return f"{names} still gain at depth {last.depth} in {label}."
        return f"{names} still gains at depth {last.depth}: {compact(last.iops)} IOPS in {label}."
    depths = sorted({one.enough.depth for one in kept})
    first = IN_WORDS.get(depths[0], str(depths[0])).capitalize()
    per_host = " per host" if any(one.hosts > 1 for one in kept) else ""
    if len(kept) == 1:
        rate = compact(kept[0].enough.iops)
        suffice = "I/O in flight{} suffices" if depths[0] == 1 else "I/Os in flight{} suffice"
        return f"{first} {suffice.format(per_host)} for {rate} IOPS in {label}: more only add latency."
    many = first if len(depths) == 1 else f"{first} to {IN_WORDS.get(depths[-1], depths[-1])}"
    each = "on every target" if len(depths) == 1 else "by target"
    return f"{many} I/Os in flight{per_host} suffice {each} in {label}: more only add latency."


def _workload(one: SweptStep) -> tuple[str, float]:
    return one.shape.key, one.read_pct


def _label(one: SweptStep) -> str:
    ops = [*one.shape.others]
    if one.half("read") or one.half("write"):
        ops.insert(0, {0.0: "write", 100.0: "read"}.get(one.read_pct, f"{one.read_pct:g} % read"))
    return f"{plain(one.shape.label)}{', ' if '%' in ops[0] else ' '}{joined(ops)}"


def _sentences(label: str, one: Scaling, out: Gate) -> list[str]:
    """Returns the sentence on what had settled, and one on what had not."""
    left, unclaimed = claimed(one.steps, out, LEAST_DEPTHS, f"{one.column.label}, {label}")
    said = [_sentence(label, Scaling(one.column, left))] if left else []
    return [*said, *([unclaimed] if unclaimed else [])]


def _sentence(label: str, one: Scaling) -> str:
    """Returns the depth at which the rate saturates, and the latency beyond it."""
    enough, last = one.enough, one.steps[-1]
    text = f"{one.column.label}, {label}: "
    if enough is last:
        text += f"still rising at depth {last.depth}, to {compact(last.iops)} IOPS"
    else:
        share = percent(enough.iops / one.best.iops)
        text += f"depth {enough.depth} suffices: {compact(enough.iops)} IOPS, {share} of the maximum"
        if one.best.limit:
            text += f", which is limited by {plain(one.best.limit.name)}"
    if one.crossing:
        text += f"; the asymptotes cross at {digits(one.crossing)} in flight"
    if enough is not last and enough.mean_us and last.mean_us:
        text += f"; at depth {last.depth}, latency is {last.mean_us / enough.mean_us:.1f} times as long"
    return text + "."


def _charts(
    key: str,
    label: str,
    group: Sequence[Scaling],
    height_px: int = 240,
    kept: Sequence[Scaling] = (),
    out: Gate | None = None,
) -> list[Chart]:
    """Returns a panel of the rates and one of latencies; those `kept` have a ring where more stops paying. Points that
    `out` names are hollow.
    """
    depths = sorted({one.depth for scaling in group for one in scaling.steps})
    across = Axis(
        "I/Os in flight", "depth", low=log2(depths[0]), high=log2(depths[-1]), ticks=[log2(d) for d in depths]
    )
    enough = {one.column.index: one.enough for one in kept if not one.gains}
    hollow = [[unsettled(step, out or {}) is not None for step in one.steps] for one in group]
    rates = [
        replace(_line(one, "iops", enough.get(one.column.index)), hollow=empty)
        for one, empty in zip(group, hollow, strict=True)
    ]
    means = [replace(_line(one, "mean_us"), hollow=empty) for one, empty in zip(group, hollow, strict=True)]
    values = [y for line in means for _, y in line.points if y]
    low, high = around_1_2_5(min(values), max(values)) if values else (1.0, 10.0)
    panels = (
        ("iops", "IOPS", from_zero(max(line.highest for line in rates), "count"), rates),
        ("latency", "mean latency, us", Axis("", "us", log=True, low=low, high=high), means),
    )
    return [
        Chart(
            f"{key}-{what}",
            label,
            sub=sub,
            option=line_chart(across, axis, lines),
            summary=f"{sub} of {label} over depth; the table below has the figures.",
            height_px=height_px,
        )
        for what, sub, axis, lines in panels
    ]


def _line(one: Scaling, what: str, ring: SweptStep | None = None) -> Line:
    points: list[list[float | None]] = []
    for step in one.steps:
        value: float | None = getattr(step, what)
        points.append([log2(step.depth), None if value is None else float(f"{value:.5g}")])
    pins = [(log2(ring.depth), float(f"{ring.iops:.5g}"), "")] if ring else []
    whiskers = (
        [whisker(log2(at.depth), at.spread, at.iops) for at in one.steps if at.spread]
        if what == "iops"
        else ()
    )
    return Line(one.column.short, slot(one.column.index), points, marks=True, pins=pins, whiskers=whiskers)


def _table(labels: Sequence[str], groups: Sequence[Sequence[Scaling]]) -> Table:
    steps = [step for group in groups for one in group for step in one.steps]
    predicted = any(step.spread for step in steps)
    heads = [
        Item("Rate", "IOPS"),
        *([Item(PREDICTED, "IOPS")] if predicted else []),
        Item("Share of the greatest", "%"),
        Item("Mean", "us"),
        Item("p99", "us"),
        Item("IOPS x mean", "in flight by Little's law"),
        Item("Limited by"),
    ]
    rows = [
        Group(f"{label}: {one.column.label}", [_row(one, step, predicted) for step in one.steps])
        for label, group in zip(labels, groups, strict=True)
        for one in group
    ]
    notes = [
        *intervals_of(steps),
        "p99 is that of the slower operation of a mix. IOPS x mean latency is the I/Os in flight, if both "
        f"describe the same I/O. It is marked where it differs by more than {percent(LITTLE_GAP)} from the "
        "depth kept, and by more than I/Os under way at the ends of the window explain.",
        "Knee: Kneedle (2011) over depth. It only describes.",
    ]
    return Table("Depth", heads, rows, notes)


def _row(one: Scaling, step: SweptStep, predicted: bool) -> Row:
    threads, iodepth = step.load
    range_of_twin = range_item(step.spread, step.iops) if step.spread else NONE
    cells = [
        Item(grouped(step.iops), step.margin, tone="strong"),
        *([range_of_twin] if predicted else []),
        Item(f"{100 * step.iops / one.best.iops:.0f}", "knee" if step is one.knee else ""),
        latency(step.whole, "mean_us") or NONE,
        _p99(step.halves),
        _little(step),
        Item(plain(step.limited_by or "–"), tone="" if step.limited_by else "quiet"),
    ]
    return Row(Item(str(step.depth), f"{threads}T x {iodepth}Q"), cells)


def _p99(halves: Sequence[Point]) -> Item:
    """Returns the slower operation's p99; None if one is unknown, because it could be the slower one."""
    slower = max(halves, key=lambda half: half.p99_us or 0.0)
    known = all(half.p99_us is not None for half in halves)
    return (latency(slower, "p99_us") if known else None) or NONE


def _little(step: SweptStep) -> Item:
    found = step.in_flight
    if found is None:
        return NONE
    far = found.contradicts
    return Item(
        four_digits(found.implied), signed_pct(100 * found.gap) if far else "", tone="bad" if far else ""
    )
