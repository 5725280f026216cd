"""Rounds: how the tracked steps converged, the standard's window over them, and the matrix of its means.

It has the tables that SNIA SSS PTS 2.0 asks for. Other sections show the seconds.
"""

from collections.abc import Sequence

from fathom.method.rounds import UNITS
from fathom.report.axes import Axis, rounded
from fathom.report.blocks import Block, Chart, Figure, Group, Item, Prose, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.comparison import Comparison, margin_of
from fathom.report.findings import gate
from fathom.report.rounds import RepeatedRounds, Series, TargetRounds, axes, rounds_of, verdicts
from fathom.report.rounds_key import key_figure
from fathom.report.style import compact, grouped, plain, seconds, slot
from fathom.statistics.steady import WindowVerdict

ORDER = 33
NONE = Item("–", tone="quiet", title="does not apply to this target")


def build(comparison: Comparison) -> Section | None:
    """Returns convergence, windows and means of all rounds, one after the other."""
    found = rounds_of(comparison)
    if not found:
        return None
    blocks: list[Block] = [Prose(verdicts(found, gate(comparison)))]
    for members in found.values():
        if members[0].place.judged:
            blocks.append(_windows(members, comparison))
        blocks += [_convergence(members, comparison), _means(members)]
    key = key_figure(found, comparison)
    return Section("rounds", "Rounds and steady state", blocks, short="Rounds", key_figure=key)


def _windows(members: Sequence[TargetRounds], comparison: Comparison) -> Table:
    """Returns the standard's steady-state table of every repeat: mean, excursion and slope of the last rounds, against
    what is allowed. A verdict on one run's rounds in order: there is nothing in it to pool.
    """
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
        Group(label, [_window(series, one.place.judge(series.unbroken)) for series in one.tracked])
        for member in members
        for label, one in member.labelled(comparison)
    ]
    notes = [
        "Window and limits of SNIA SSS PTS 2.0, for every tracked step at once. max − min ≤ 20 % of the mean; "
        "the least-squares line moves by at most 10 % of the mean over the window."
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
    judged = sorted(series.figures)[-len(series.unbroken) :] if series.unbroken else []
    rounds = Item(f"{judged[verdict.first_round]} to {judged[verdict.last_round]}" if judged else "–")
    return Row(Item(series.label), [rounds, *(Item(grouped(value)) for value in numbers), passed])


def _convergence(members: Sequence[TargetRounds], comparison: Comparison) -> Figure:
    """Returns a panel per tracked step: its figure over rounds, a line for every repeat."""
    place = members[0].place
    unit = UNITS[place.metric]
    repeats = [
        (member.column, label, one) for member in members for label, one in member.labelled(comparison)
    ]
    most = max(one.count for _, _, one in repeats)
    charts, groups = [], []
    for step in place.track:
        lines = []
        for column, label, one in repeats:
            series = next((series for series in one.tracked if series.step == step), None)
            if series is None:
                continue
            points = [(float(number), rounded(series.figures[number])) for number in sorted(series.figures)]
            lines.append(Line(label, slot(column.index), points, marks=True))
            each = (series.figures.get(number) for number in range(1, most + 1))
            cells = [NONE if value is None else Item(grouped(value)) for value in each]
            groups.append(Row(Item(series.label, label), cells))
        if not lines:
            continue
        option = line_chart(
            Axis("round", "count", low=1, high=max(most, 2), step=max(1, most // 10)),
            Axis("", "us" if place.metric == "latency" else "count", low=0),
            lines,
        )
        called = next(one.called(step) for one in members if step in one.steps)
        summary = f"{called}: {unit} over {most} rounds; the table below has the figures."
        charts.append(
            Chart(
                f"rounds-{place.of}-{step}",
                called,
                sub=f"{unit} by round",
                option=option,
                summary=summary,
                height_px=200,
            )
        )
    windows = [
        p.window_s or 0.0 for *_, one in repeats for s in one.series for ps in s.points.values() for p in ps
    ]
    n = sum(p.n or 0 for *_, one in repeats for s in one.series for ps in s.points.values() for p in ps)
    lengths = " to ".join(dict.fromkeys((seconds(min(windows)), seconds(max(windows)))))
    caption = (
        f"{plain(place.of)}: each point is one round of the step, {lengths} long, all operations together; "
        f"{compact(n)} I/Os in all steps of these rounds."
        + (" Each line is one repeat." if len(repeats) > len(members) else "")
    )
    heads = [Item(str(number)) for number in range(1, most + 1)]
    legend = [Item(one.column.short, "", slot=slot(one.column.index)) for one in members]
    return Figure(charts, caption, Table(f"{unit} by round", heads, [Group("", groups)]), legend)


def _means(members: Sequence[TargetRounds]) -> Table:
    """Returns every step's mean over the window, as a matrix where the steps were swept over two keys."""
    place = members[0].place
    unit = UNITS[place.metric]
    groups = []
    heads: list[Item] = []
    for one in members:
        rows, columns = axes(one)
        heads = [Item(column, unit) for column in columns.values()] or [Item("Mean", unit)]
        cells = (
            [
                Row(Item(label), [_cell(one, f"{row}-{column}") for column in columns])
                for row, label in rows.items()
            ]
            if rows
            else [Row(Item(one.called(step)), [_cell(one, step)]) for step in one.steps]
        )
        groups.append(Group(one.column.label, cells))
    return Table(plain(place.of), heads, groups, _notes(members))


def _notes(members: Sequence[TargetRounds]) -> list[str]:
    """Returns the rounds and repeats behind the means, and what their intervals hold."""
    place = members[0].place
    count = min(place.window, *(rounds.count for one in members for rounds in one.repeats))
    beneath = f"; beneath, the {'longest' if place.metric == 'latency' else 'mean'} latency too."
    if all(len(one.repeats) == 1 for one in members):
        return [
            f"Means over the last {count} rounds and half their 95 % interval, Student's over rounds{beneath}"
        ]
    notes = [
        f"Means over repeats of the last {count} rounds of each, and half their 95 % interval, Student's over repeats "
        f"and never narrower than the rounds inside say{beneath}"
    ]
    fewer = [one for one in members if len(one.pooled) < len(one.repeats)]
    return notes + [
        f"{one.column.label}: over the {len(one.pooled)} of {len(one.repeats)} repeats that reached steady state"
        + ("; a single one has no interval over repeats." if len(one.pooled) == 1 else ".")
        for one in fewer
    ]


def _cell(one: RepeatedRounds, step: str) -> Item:
    found = one.mean(step)
    if found is None:
        return NONE
    margin = margin_of(found.value, found.interval.low, found.interval.high) if found.interval else ""
    of_means = one.place.metric == "latency"
    latency = f"max {grouped(found.max_us)} us" if of_means else f"{grouped(found.latency_us)} us"
    return Item(grouped(found.value), " · ".join(part for part in (margin, latency) if part))
