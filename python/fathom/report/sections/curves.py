"""IOPS-latency curves: mean latency over the achieved rate, service beside response, one row of panels per workload."""

from collections.abc import Sequence
from dataclasses import replace

from fathom.analysis.settled import Unsettled
from fathom.columns.schema import Point
from fathom.method.curve import Latency, place_of, search_number
from fathom.output.text import percent_digits
from fathom.report.axes import Axis, around_1_2_5
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Cross, Line, scatter_chart
from fathom.report.comparison import Comparison, margin_of
from fathom.report.curve_key import key_figure, objective
from fathom.report.findings import gate
from fathom.report.latencies import FEW, latency, percentile
from fathom.report.legend import legend_of
from fathom.report.predicted import ACROSS, PREDICTED, range_text, rate_axis
from fathom.report.style import compact, grouped, plain, seconds, slot
from fathom.report.target_curves import Dot, TargetCurve, Workload, workloads_of
from fathom.statistics.latency_columns import PREFIXES, QUANTILES, percentile_name

ORDER = 25
MAX_WORKLOADS = 16
LATENCIES: tuple[Latency, ...] = ("service", "response")
TAILS = ("p95_us", "p99_us")
"""Percentiles in every table of points. Those that an objective limits come with them."""
MEANING = {"service": "issue to completion", "response": "intended start to completion"}
NONE = Item("–", tone="quiet")
GROWING = "no interval: response latency of an unsustained point grows with the length of the run"


def build(comparison: Comparison) -> Section | None:
    """Returns panels, the table of points, and capacities where curves have an objective."""
    workloads = workloads_of(comparison)
    if not workloads:
        return None
    shown = workloads[:MAX_WORKLOADS]
    charts = [_chart(workload, latency) for workload in shown for latency in LATENCIES]
    figure = Figure(charts, _caption(workloads), _table(workloads), legend_of(comparison.columns))
    capacities = [workload for workload in workloads if any(one.curve.slo for one in workload.drawn)]
    blocks = [_capacities(comparison, capacities), figure] if capacities else [figure]
    out = gate(comparison)
    told = [
        _sentence(workload, one, out.get((one.column.short, one.maximum.step)))
        for workload in workloads
        for one in workload.drawn
        if one.dots
    ]
    unsettled = [
        (workload, one, why)
        for workload in workloads
        for one in workload.drawn
        if (why := out.get((one.column.short, one.maximum.step)))
    ]
    key = key_figure(workloads, unsettled)
    return Section("curves", "IOPS-latency curves", blocks, short="Curves", answer=told, key_figure=key)


def _sentence(workload: Workload, one: TargetCurve, why: Unsettled | None) -> str:
    """Returns the latency at half of the maximum and at the highest sustained rate, and the outcome beyond it. Points
    are shares of the maximum: if nothing is claimed of that, no rate is.
    """
    if why:
        return f"{one.column.label}, {workload.label}: the target {why.verb} ({why.value}), so no rate is claimed."
    most = one.maximum.iops
    sustained = [dot.figures for dot in one.dots if dot.figures.sustained]
    text = f"{one.column.label}, {workload.label}: {compact(most)} IOPS{_sure(one.top)} in a closed loop"
    if sustained:
        half = min(sustained, key=lambda point: abs(point.iops - most / 2))
        highest = max(sustained, key=lambda point: point.iops)
        places = [half] if half is highest else [half, highest]
        text += "; " + ", ".join(
            f"{grouped(point.mean_us)} us at {100 * point.iops / most:.0f} % of that"
            for point in places
            if point.mean_us
        )
    beyond = one.dots[-1].figures
    if not beyond.sustained and beyond.offered_iops:
        text += (
            f"; when offered {100 * beyond.offered_iops / most:.0f} %, it does {compact(beyond.iops)} and the "
            f"backlog grows by {compact(beyond.backlog_growth_iops)} I/Os a second"
        )
    return text + "."


def _sure(dot: Dot) -> str:
    margin = _margin(dot)
    return f" ({margin})" if margin else ""


def _margin(dot: Dot) -> str:
    return margin_of(dot.figures.iops, dot.row.iops_low, dot.row.iops_high)


def _chart(workload: Workload, latency: Latency) -> Chart:
    lines, crosses = [], []
    for one in workload.drawn:
        dots = [dot for dot in one.dots if dot.figures.mean(latency) is not None]
        points = [_rounded(dot.figures.iops, dot.figures.mean(latency) or 0.0) for dot in dots]
        hollow = [not dot.figures.sustained for dot in dots]
        place = slot(one.column.index)
        across = [reach] if (reach := one.whisker(latency)) else []
        lines.append(Line(one.column.short, place, points, marks=True, hollow=hollow, across=across))
        if one.published and latency == "service":
            crosses.append(Cross(one.column.short, place, *one.published))
    limit = objective(workload, latency)
    ys = [y for line in lines for _, y in line.points if y] + [cross.y for cross in crosses]
    low, high = around_1_2_5(min([*ys, *([limit.y] if limit else [])]), max(ys)) if ys else (1.0, 1000.0)
    option = scatter_chart(
        rate_axis("IOPS achieved", lines, crosses),
        Axis("", "us", log=True, low=low, high=high),
        lines,
        crosses,
        limit,
    )
    summary = f"Mean {latency} latency over IOPS in {workload.label}; the table below has the figures."
    sub = f"{latency} latency, mean, us"
    return Chart(
        f"curve-{latency}-{workload.key}",
        workload.label,
        sub=sub,
        option=option,
        summary=summary,
        height_px=260,
    )


def _rounded(x: float, y: float) -> list[float | None]:
    return [float(f"{x:.5g}"), float(f"{y:.4g}")]


def _caption(workloads: Sequence[Workload]) -> str:
    drawn = [one for workload in workloads for one in workload.drawn]
    latencies = "; ".join(f"{latency}: {MEANING[latency]}" for latency in LATENCIES)
    parts = [
        f"Mean latency of all operations over the achieved rate ({latencies}). Each point is one offered rate, a "
        f"share of the target's own maximum{_of_points(drawn)}.",
        "Hollow points are unsustained: the target achieved less than 0.99 of the offered rate, or the backlog "
        "grew. Their response latency grows with the length of the run.",
    ]
    if any(one.published for one in drawn):
        parts.append("A cross is the published maximum with its mean latency.")
    if any(one.spread for one in drawn):
        parts.append(ACROSS)
    if len(workloads) > MAX_WORKLOADS:
        parts.append(f"The first {MAX_WORKLOADS} of {len(workloads)} workloads are drawn.")
    return " ".join(parts)


def _of_points(drawn: Sequence[TargetCurve]) -> str:
    """Returns how long points are and how many a curve has; empty for a run that ended before the first of them."""
    windows = [dot.row.window_s or 0.0 for one in drawn for dot in one.dots]
    if not windows:
        return ""
    ends = dict.fromkeys(seconds(window_s) for window_s in (min(windows), max(windows)))
    counts = sorted({len(one.dots) for one in drawn})
    points = " to ".join(dict.fromkeys(str(count) for count in (counts[0], counts[-1])))
    return f", over {' to '.join(ends)}; {points} per curve"


def _tails(workloads: Sequence[Workload]) -> list[str]:
    limited = {f"{slo.percentile}_us" for one in workloads for drawn in one.drawn if (slo := drawn.curve.slo)}
    return [name for name in QUANTILES if name in limited.union(TAILS)]


def _table(workloads: Sequence[Workload]) -> Table:
    tails = _tails(workloads)
    heads = [
        Item("Offered", "IOPS"),
        Item("Achieved", "IOPS"),
        Item("Backlog growth", "I/O per s"),
        *(
            Item(f"{latency.capitalize()} {what}", "us")
            for latency in LATENCIES
            for what in ("mean", *map(percentile_name, tails))
        ),
        Item("Window"),
        Item("Sustained"),
    ]
    groups = [
        Group(
            f"{workload.label}: {one.column.label}",
            [_maximum_row(one, tails), *(_row(dot, one.knee, tails) for dot in one.dots)],
        )
        for workload in workloads
        for one in workload.drawn
    ]
    notes = [
        "± is half the 95 % interval of the rate; a latency's own stands under it. An interval needs a window that "
        "a twin watched, or five seconds that do not drift; the latency of a mix needs the seconds. It also needs "
        "enough independent I/Os, which are scarce near saturation. The response latency of an unsustained point "
        "grows with its window, so it has no interval.",
        "Backlog growth: I/Os left over at the end, per second of the window. It is 0 where no more are left over "
        "than the load keeps in flight, or than chance explains.",
        "Knee: Kneedle (2011) of service latency over the rate. It only describes: it decides nothing.",
    ]
    if any(one.column.repeats > 1 for workload in workloads for one in workload.drawn):
        notes.append(
            "Points at a share of the maximum are pooled over repeats; each repeat has its own maximum. slo-N "
            "are of the first repeat's search."
        )
    return Table("Point", heads, groups, notes)


def _maximum_row(one: TargetCurve, names: Sequence[str]) -> Row:
    best, row = one.maximum, one.top.row
    published = (
        f"published {grouped(one.published[0])} at {grouped(one.published[1])} us" if one.published else ""
    )
    expected = f"{PREDICTED.lower()}: {range_text(one.spread, best.iops)}" if one.spread else ""
    beneath = " · ".join(part for part in (_margin(one.top), expected, published) if part)
    tails = [percentile(row, name) for name in names]
    no_response = [NONE] * (1 + len(names))
    rate = [Item("closed loop", tone="quiet"), Item(grouped(best.iops), beneath, tone="strong"), NONE]
    return Row(
        Item("maximum"),
        [*rate, latency(row, "mean_us") or NONE, *tails, *no_response, _window(row), NONE],
    )


def _window(row: Point) -> Item:
    return Item(seconds(row.window_s)) if row.window_s else NONE


def _row(dot: Dot, bend: Dot | None, tails: Sequence[str]) -> Row:
    one = dot.figures
    latencies = [item for kind in LATENCIES for item in _latencies(dot, kind, tails)]
    sustained = Item("yes") if one.sustained else Item("no", tone="bad")
    place = plain(place_of(one.step))
    rates = [Item(grouped(one.offered_iops or 0.0)), Item(grouped(one.iops), _margin(dot))]
    growth = Item(grouped(one.backlog_growth_iops)) if one.backlog_growth_iops else Item("0")
    return Row(
        Item(place if search_number(one.step) else f"{place} %", "knee" if dot is bend else ""),
        [*rates, growth, *latencies, _window(dot.row), sustained],
    )


def _latencies(dot: Dot, kind: Latency, names: Sequence[str]) -> list[Item]:
    """Returns the mean and percentiles with their intervals. A response latency that grows without end has none."""
    growing = kind == "response" and not dot.figures.sustained
    prefix, why = PREFIXES[kind], GROWING if growing else FEW
    mean = latency(dot.row, f"{prefix}mean_us", why) or NONE
    tails = [NONE if mean is NONE else percentile(dot.row, f"{prefix}{name}", why) for name in names]
    cells = [mean, *tails]
    return [replace(cell, sub="", title=why) for cell in cells] if growing else cells


def _capacities(comparison: Comparison, workloads: Sequence[Workload]) -> Table:
    """Returns the highest sustained rate within the objective, per workload and target."""
    rows = []
    for workload in workloads:
        by_objective: dict[str, dict[int, TargetCurve]] = {}
        for one in workload.drawn:
            if slo := one.curve.slo:
                sub = (
                    f"{slo.name} of {one.curve.latency} latency ≤ {grouped(slo.limit_us)} us, each operation"
                )
                by_objective.setdefault(sub, {})[one.column.index] = one
        rows += [
            Row(Item(workload.label, sub), [_capacity(of.get(column.index)) for column in comparison.columns])
            for sub, of in by_objective.items()
        ]
    heads = [Item(column.label, "IOPS", slot=slot(column.index)) for column in comparison.columns]
    notes = [
        "The highest rate tried that the target sustains within the objective, found by bisection. The lowest "
        "rate tried above it fails."
    ]
    if any(column.repeats > 1 for column in comparison.columns):
        notes.append(
            "Every repeat searches by itself: the figure is the mean of what they find, ± half its 95 % interval "
            "(Student's over repeats). If one repeat finds none, there is no mean: that of the others would be "
            "too high."
        )
    return Table("Capacity at the objective", heads, [Group("", rows)], notes)


def _capacity(one: TargetCurve | None) -> Item:
    if one is None or one.capacity is None:
        return NONE
    found = one.capacity
    searches, met = found.searches, [point.iops for point in found.met]
    if not met:
        if all(search.judged for search in searches):
            return Item("none", "no point meets it", tone="quiet")
        name = found.curve.slo.name if found.curve.slo else "percentile"
        why = f"sustained points have too few I/Os for a {name} of each operation: give them more time"
        return Item("not known", why, tone="quiet")
    if found.iops is None:
        ends = " to ".join(dict.fromkeys((grouped(min(met)), grouped(max(met)))))
        return Item("not in every repeat", f"{len(met)} of {len(searches)}: {ends}", tone="bad")
    margin = margin_of(found.iops, found.interval.low, found.interval.high) if found.interval else ""
    share = f"{100 * found.share:.0f} % of the maximum" if found.share else ""
    above = (
        "nothing tried fails"
        if found.open_share is None
        else f"{percent_digits(found.open_share, 2)} more fails"
    )
    return Item(
        grouped(found.iops), " · ".join(part for part in (margin, share, above) if part), tone="strong"
    )
