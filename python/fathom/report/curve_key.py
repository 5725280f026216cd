"""The key figure of IOPS-latency curves: large panels with the knee and the objective marked.

The reader switches between service and response latency. The sentence is on what the best target sustains.
"""

from collections.abc import Mapping, Sequence

from fathom.analysis.settled import Unsettled
from fathom.method.curve import Latency
from fathom.output.text import latency_text
from fathom.report.axes import Axis, Switch, from_zero
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Option, Row, Table
from fathom.report.charts import Cross, Limit, Line, apart, scatter_chart
from fathom.report.legend import legend_of
from fathom.report.predicted import ACROSS, rate_axis
from fathom.report.style import compact, grouped, slot
from fathom.report.target_curves import Dot, TargetCurve, Workload

MOST_PANELS = 4
ALONE_PX, BESIDE_PX = 400, 320
HEADROOM = 1.15
"""The linear axis ends at this many times the greatest latency that it shows: room for a knee's word and a name."""
LABEL_SHARE = 0.12
"""Height of a name of two lines at the end of a curve, as a share of the axis."""
ALONE_SHARE, BESIDE_SHARE = 0.2, 0.4
"""Width of such a name as a share of the rates drawn, at most."""
NEAR_HALF = 0.25
"""Points that far from half a rate, as a share of the half, are called half: they lie 10 % of the maximum apart."""
VIEWS: tuple[tuple[Latency, str], ...] = (("service", "Service"), ("response", "Response"))


def key_figure(
    workloads: Sequence[Workload], unsettled: Sequence[tuple[Workload, TargetCurve, Unsettled]]
) -> KeyFigure | None:
    """Returns the key figure of curves that have points; None where none has.

    `unsettled` are the curves without a claim, each with the reason.
    """
    drawn = [workload for workload in workloads if any(one.dots for one in workload.drawn)]
    if not drawn:
        return None
    shown = drawn[:MOST_PANELS]
    columns = list({one.column.index: one.column for workload in shown for one in workload.drawn}.values())
    figure = Figure(
        [_chart(workload, alone=len(shown) == 1) for workload in shown],
        _caption(len(drawn), [one for workload in shown for one in workload.drawn]),
        _table(drawn),
        legend_of(columns),
        columns=1 if len(shown) == 1 else 2,
        scale="value",
        views=VIEWS,
    )
    first = drawn[0]
    without = {one.column.index: why for workload, one, why in unsettled if workload is first}
    claimed = [one for one in first.drawn if one.dots and one.column.index not in without]
    ranked = sorted(claimed, key=lambda one: -_most(one).figures.iops)
    if not ranked:
        return KeyFigure(f"No rate is claimed in {first.label}: {_unclaimed(first, without)}.", figure)
    reasons = [_held(one) for one in ranked[1:]]
    bent = [one for one in ranked if one.knee]
    if bent and bent[0].knee:
        share = bent[0].knee.figures.iops / bent[0].maximum.iops
        reasons.append(f"The latency of {bent[0].column.short} bends at {100 * share:.0f} % of its maximum.")
    reasons += [text for one in ranked if (text := _closed_loop(one))]
    if any(not one.dots[-1].figures.sustained for one in ranked):
        reasons.append("Offered more than it can do, a target builds a backlog: hollow points.")
    return KeyFigure(_sentence(first, ranked), figure, reasons)


def _unclaimed(workload: Workload, without: Mapping[int, Unsettled]) -> str:
    """Returns each target with its reason: "PM9A3 had not settled, SN861 lacked hosts"."""
    drawn = [one.column for one in workload.drawn if one.column.index in without]
    return ", ".join(f"{column.short} {without[column.index].verb}" for column in drawn)


def _sentence(workload: Workload, ranked: Sequence[TargetCurve]) -> str:
    best = ranked[0]
    verb = "sustains the most:" if len(ranked) > 1 else "sustains"
    rate, half = _most(best).figures.iops, _half(best)
    text = f"{best.column.short} {verb} {compact(rate)} IOPS of {workload.label}"
    return f"{text}; at half that, mean latency is {latency_text(half)}." if half else f"{text}."


def _held(one: TargetCurve) -> str:
    rate, half = _most(one).figures.iops, _half(one)
    return f"{one.column.short} sustains {compact(rate)} IOPS" + (
        f"; at half that, mean latency is {latency_text(half)}." if half else "."
    )


def _closed_loop(one: TargetCurve) -> str:
    """Returns why a closed loop does more than is sustained; empty where both are the same rate."""
    rate, top = _most(one).figures.iops, one.maximum.iops
    if compact(rate) == compact(top) or rate > top:
        return ""
    return (
        f"{one.column.short} does {compact(top)} IOPS in a closed loop, which waits for each I/O. "
        "Offered I/O does not wait."
    )


def _most(one: TargetCurve) -> Dot:
    """Returns the sustained point of the greatest rate; the maximum where none is."""
    sustained = [dot for dot in one.dots if dot.figures.sustained]
    return max(sustained, key=lambda dot: dot.figures.iops, default=one.top)


def _half(one: TargetCurve) -> float | None:
    """Returns the mean latency, us, of the point next to half the greatest sustained rate; None without one near it."""
    half = _most(one).figures.iops / 2
    known = [dot.figures for dot in one.dots if dot.figures.sustained and dot.figures.mean_us]
    near = [point for point in known if abs(point.iops - half) <= NEAR_HALF * half]
    return min(near, key=lambda point: abs(point.iops - half)).mean_us if near else None


def _chart(workload: Workload, *, alone: bool) -> Chart:
    width_share = ALONE_SHARE if alone else BESIDE_SHARE
    options = {latency: _option(workload, latency, width_share) for latency, _ in VIEWS}
    summary = f"Mean latency over IOPS in {workload.label}; the table below has the figures."
    return Chart(
        f"key-curve-{workload.key}",
        workload.label,
        sub="mean latency, us, over IOPS achieved",
        option=options["service"],
        summary=summary,
        height_px=ALONE_PX if alone else BESIDE_PX,
        views={"response": options["response"]},
    )


def _option(workload: Workload, latency: Latency, width_share: float) -> Option:
    lines = [_line(one, latency) for one in workload.drawn if one.dots]
    crosses = [
        Cross(one.column.short, slot(one.column.index), *one.published)
        for one in workload.drawn
        if one.published and latency == "service"
    ]
    kept = [
        mean
        for one in workload.drawn
        for dot in one.dots
        if dot.figures.sustained and (mean := dot.figures.mean(latency))
    ]
    every = [y for line in lines for _, y in line.points if y]
    limit = objective(workload, latency)
    seen: list[float] = [
        *(kept or every or [1.0]),
        *(cross.y for cross in crosses),
        *([limit.y] if limit else []),
    ]
    ends = [known[-1] for line in lines if (known := [y for _, y in line.points if y])]
    top = linear_top(seen, ends)
    around = Switch.around([*every, *([limit.y] if limit else [])])
    switch = Switch(around.log_low, around.log_high, top)
    y = Axis("", "us", low=0)
    most = max([line.furthest for line in lines] + [cross.x for cross in crosses], default=0.0)
    lines = apart(lines, LABEL_SHARE * top, crosses, width_share * most)
    return scatter_chart(rate_axis("IOPS", lines, crosses), y, lines, crosses, limit) | switch.option()


def linear_top(seen: Sequence[float], ends: Sequence[float]) -> float:
    """Returns the latency, us, up to which the linear axis reaches: above what is `seen`, and above names it shows.

    A curve has its name at its end. An end near the axis' end lies within it, so that the name is whole.
    """
    top = max(seen) * HEADROOM
    for end in sorted(ends):
        if end <= (from_zero(top, "count").high or top) * HEADROOM:
            top = max(top, end * HEADROOM)
    return top


def _line(one: TargetCurve, latency: Latency) -> Line:
    dots = [dot for dot in one.dots if dot.figures.mean(latency) is not None]
    bend = one.knee
    at = bend.figures.mean(latency) if bend else None
    return Line(
        one.column.short,
        slot(one.column.index),
        [_rounded(dot, latency) for dot in dots],
        marks=True,
        hollow=[not dot.figures.sustained for dot in dots],
        labelled=True,
        across=[reach] if (reach := one.whisker(latency)) else [],
        pins=[(float(f"{bend.figures.iops:.5g}"), float(f"{at:.4g}"), "knee")] if bend and at else (),
    )


def _rounded(dot: Dot, latency: Latency) -> list[float | None]:
    return [float(f"{dot.figures.iops:.5g}"), float(f"{dot.figures.mean(latency) or 0.0:.4g}")]


def objective(workload: Workload, latency: Latency) -> Limit | None:
    """Returns the objective, for the panel of its latency; None where runs have different ones. It limits a percentile,
    so means lie well below it.
    """
    found = {
        Limit(slo.limit_us, f"SLO: {slo.name} {grouped(slo.limit_us)} us")
        for one in workload.drawn
        if (slo := one.curve.slo) and one.curve.latency == latency
    }
    return found.pop() if len(found) == 1 else None


def _caption(count: int, shown: Sequence[TargetCurve]) -> str:
    """Returns what marks and axis mean, without the marks that none of the curves has."""
    crosses = any(one.published for one in shown)
    parts = [
        "Hollow: not sustained.",
        "Cross: the published maximum." if crosses else "",
        "Service: issue to completion; response: intended start to completion.",
        f"The linear axis ends above the last sustained point{' and the crosses' if crosses else ''}.",
        f"The first {MOST_PANELS} of {count} workloads." if count > MOST_PANELS else "",
        ACROSS if any(one.spread for one in shown) else "",
    ]
    return " ".join(filter(None, parts))


def _table(workloads: Sequence[Workload]) -> Table:
    """Returns the points drawn."""
    head = [
        Item("Achieved", "IOPS"),
        Item("Service, mean", "us"),
        Item("Response, mean", "us"),
        Item("Sustained"),
    ]
    groups = [
        Group(f"{workload.label}: {one.column.label}", [_row(dot) for dot in one.dots])
        for workload in workloads
        for one in workload.drawn
    ]
    return Table("Offered, IOPS", head, groups)


def _row(dot: Dot) -> Row:
    one = dot.figures
    means = [one.mean("service"), one.mean("response")]
    return Row(
        Item(grouped(one.offered_iops or 0.0)),
        [
            Item(grouped(one.iops)),
            *(Item("–" if mean is None else grouped(mean)) for mean in means),
            Item("yes" if one.sustained else "no"),
        ],
    )
