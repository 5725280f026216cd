"""Rounds: how the tracked steps converged, the standard's window over them, and the matrix of its means.

The tables that SNIA SSS PTS 2.0 asks for. What each second was is in the other sections.
"""

from collections.abc import Sequence

from fathom.analysis.steady import WindowVerdict
from fathom.report.blocks import Block, Chart, Figure, Group, Item, Prose, Row, Section, Table
from fathom.report.charts import Axis, Line, line_chart
from fathom.report.comparison import Comparison
from fathom.report.rounds import Rounds, Series, axes, rounds_of, verdicts
from fathom.report.style import compact, grouped, plain, seconds, slot
from fathom.rounds import UNITS, Round

ORDER = 33
NONE = Item("–", tone="quiet", title="does not apply to this target")


def build(comparison: Comparison) -> Section | None:
    """Convergence, windows and means of every rounds, one after the other."""
    found = rounds_of(comparison)
    if not found:
        return None
    blocks: list[Block] = [Prose(verdicts(found))]
    for members in found.values():
        if members[0].place.judged:
            blocks.append(_windows(members))
        blocks += [_convergence(members), _means(members)]
    return Section("rounds", "Rounds and steady state", blocks, short="Rounds")


def _windows(members: Sequence[Rounds]) -> Table:
    """The standard's steady-state table: mean, excursion and slope of the last rounds, against what is allowed."""
    unit = UNITS[members[0].place.metric]
    heads = [
        Item("Rounds"),
        Item("Window mean", unit),
        Item("max − min", unit),
        Item("allowed", unit),
        Item("Best fit", f"{unit} per round"),
        Item("Excursion of the fit", unit),
        Item("allowed", unit),
        Item("Passes"),
    ]
    groups = [
        Group(one.column.label, [_window(series, one.place.judge(series.values)) for series in one.tracked])
        for one in members
    ]
    notes = [
        "Window and limits of SNIA SSS PTS 2.0: max − min ≤ 20 % of the mean, and the least-squares line moves by at "
        "most 10 % of the mean over the window, for every tracked step at once."
    ]
    return Table("Tracked", heads, groups, notes)


def _window(series: Series, verdict: WindowVerdict) -> Row:
    passed = Item("yes", tone="good") if verdict.passed else Item("no", tone="bad")
    numbers = (
        verdict.mean,
        verdict.range,
        verdict.range_allowed,
        verdict.slope_per_round,
        verdict.slope_excursion,
        verdict.slope_excursion_allowed,
    )
    rounds = Item(f"{verdict.first_round + 1} to {verdict.last_round + 1}")
    return Row(Item(plain(series.step)), [rounds, *(Item(grouped(value)) for value in numbers), passed])


def _convergence(members: Sequence[Rounds]) -> Figure:
    """A panel per tracked step: its figure over rounds, with the mean of the window."""
    place = members[0].place
    unit = UNITS[place.metric]
    most = max(one.count for one in members)
    charts, groups = [], []
    for step in place.track:
        lines = []
        for one in members:
            series = next((series for series in one.tracked if series.step == step), None)
            if series is None:
                continue
            points = [(float(number), _short(value)) for number, value in enumerate(series.values, 1)]
            lines.append(Line(one.column.short, slot(one.column.index), points, marks=True))
            cells = [Item(grouped(value)) for value in series.values]
            padded = [*cells, *[NONE] * (most - len(cells))]
            groups.append(Row(Item(plain(step), one.column.short), padded))
        if not lines:
            continue
        option = line_chart(
            Axis("round", "count", low=1, high=max(most, 2), step=max(1, most // 10)),
            Axis("", "us" if place.metric == "latency" else "count", low=0),
            lines,
        )
        summary = f"{step}: {unit} over {most} rounds; figures in the table below."
        charts.append(
            Chart(f"rounds-{place.of}-{step}", plain(step), f"{unit} by round", option, summary, 200)
        )
    windows = [
        p.window_s or 0.0 for one in members for s in one.series for ps in s.points.values() for p in ps
    ]
    n = sum(p.n or 0 for one in members for s in one.series for ps in s.points.values() for p in ps)
    lengths = " to ".join(dict.fromkeys((seconds(min(windows)), seconds(max(windows)))))
    caption = (
        f"{plain(place.of)}: each point is one round of the step, {lengths} "
        f"long, all operations together; {compact(n)} I/Os in all steps of these rounds."
    )
    heads = [Item(str(number)) for number in range(1, most + 1)]
    legend = [Item(one.column.short, "", slot=slot(one.column.index)) for one in members]
    return Figure(charts, caption, Table(f"{unit} by round", heads, [Group("", groups)]), legend)


def _means(members: Sequence[Rounds]) -> Table:
    """Every step's mean over the window, as a matrix where the steps were swept over two keys."""
    place = members[0].place
    unit = UNITS[place.metric]
    groups = []
    heads: list[Item] = []
    for one in members:
        steps = {series.step: series for series in one.series}
        rows, columns = axes(list(steps))
        if rows:
            heads = [Item(column, unit) for column in columns]
            groups.append(
                Group(
                    one.column.label,
                    [
                        Row(
                            Item(row),
                            [_cell(steps.get(f"{row}-{column}"), place) for column in columns],
                        )
                        for row in rows
                    ],
                )
            )
        else:
            heads = [Item("Mean", unit)]
            cells = [Row(Item(plain(step)), [_cell(series, place)]) for step, series in steps.items()]
            groups.append(Group(one.column.label, cells))
    count = min(place.window, *(one.count for one in members))
    notes = [
        f"Means over the last {count} rounds"
        + " and half their 95 % interval, Student's over rounds"
        + ("." if place.metric == "latency" else "; beneath, mean latency too.")
    ]
    return Table(plain(place.of), heads, groups, notes)


def _cell(series: Series | None, place: Round) -> Item:
    if series is None:
        return NONE
    half_pct = series.half_width_pct(place.window)
    margin = "" if half_pct is None else f"± {half_pct:.2g} %"
    latency = "" if place.metric == "latency" else f"{grouped(series.latency_us(place.window))} us"
    return Item(grouped(series.mean(place.window)), " · ".join(part for part in (margin, latency) if part))


def _short(value: float) -> float:
    return float(f"{value:.5g}")
