"""Rounds: how the tracked steps converged, the standard's window over them, and the matrix of its means.

The tables that SNIA SSS PTS 2.0 asks for. What each second was is in the other sections.
"""

from collections.abc import Sequence

from fathom.analysis.steady import SteadyState, Volume, WindowVerdict
from fathom.report.blocks import Block, Chart, Figure, Group, Item, Prose, Row, Section, Table
from fathom.report.charts import Axis, Line, line_chart
from fathom.report.comparison import Comparison
from fathom.report.rounds import Rounds, Series, axes, rounds_of
from fathom.report.style import compact, grouped, plain, seconds, slot
from fathom.rounds import UNITS, Round

ORDER = 33
NONE = Item("–", tone="quiet", title="does not apply to this target")


def build(comparison: Comparison) -> Section | None:
    """Convergence, windows and means of every rounds, one after the other."""
    found = rounds_of(comparison)
    if not found:
        return None
    blocks: list[Block] = [Prose(_verdicts(found))]
    for members in found.values():
        if members[0].place.judged:
            blocks.append(_windows(members))
        blocks += [_convergence(members), _means(members)]
    return Section("rounds", "Rounds and steady state", blocks, short="Rounds")


def _verdicts(found: dict[str, list[Rounds]]) -> list[str]:
    """What became of the rounds, and by how much they still moved and strayed."""
    texts = []
    for name, members in found.items():
        for one in members:
            label = f"{one.column.label}, {name}"
            if not one.place.judged:
                texts.append(f"{label}: {one.count} rounds, counted and not judged.")
            elif one.steady:
                texts.append(
                    f"{label}: the standard's window passes after {one.count} rounds of at most {one.place.most}. "
                    f"{_found(one)} {_combined(one)}"
                )
            else:
                texts.append(
                    f"{label}: steady state not reached in {one.count} rounds. {_found(one)} The figures below are of "
                    f"the last {one.place.window} and not those of a settled drive."
                )
    return texts


def _found(one: Rounds) -> str:
    """The tracked step that is nearest to a limit of the window, with its figures."""
    judged = [(series, one.place.judge(series.values)) for series in one.tracked if series.values]
    if not judged:
        return "No tracked step applies to this target."
    series, window = max(
        judged,
        key=lambda pair: max(
            pair[1].range / pair[1].range_allowed, pair[1].slope_excursion / pair[1].slope_excursion_allowed
        ),
    )
    spread_pct, moved_pct = (100 * value / window.mean for value in (window.range, window.slope_excursion))
    return (
        f"Of the tracked steps {plain(series.step)} varies most: the last {len(series.values[-one.place.window :])} "
        f"rounds spread over {spread_pct:.2g} % of their mean ({100 * one.place.range_fraction:.0f} % allowed) and "
        f"their best fit moves by {moved_pct:.2g} % ({100 * one.place.slope_fraction:.0f} % allowed)."
    )


def _combined(one: Rounds) -> str:
    """What the combined criterion says of the same rounds; volumes are the preconditioning's matter."""
    if one.column.run.document.quick:
        return "A quick run claims no more than that."
    reasons = []
    for series in one.tracked:
        state = SteadyState(
            required=Volume(),
            window=one.place.window,
            range_fraction=one.place.range_fraction,
            slope_fraction=one.place.slope_fraction,
        )
        verdicts = [state.add_round(value) for value in series.values]
        reasons.append((verdicts[-1].steady, f"{plain(series.step)}: {verdicts[-1].reason}"))
    against = [text for steady, text in reasons if not steady]
    if against:
        return f"The stricter combined criterion does not hold: {'; '.join(against)}."
    return f"The stricter combined criterion holds too: {'; '.join(text for _, text in reasons)}."


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
        Item("Steady"),
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
        means = {series.step: series.mean(place.window) for series in one.series}
        latencies = {series.step: series.latency_us(place.window) for series in one.series}
        rows, columns = axes(list(means))
        if rows:
            heads = [Item(column, unit) for column in columns]
            groups.append(
                Group(
                    one.column.label,
                    [
                        Row(
                            Item(row),
                            [_cell(means, latencies, place, f"{row}-{column}") for column in columns],
                        )
                        for row in rows
                    ],
                )
            )
        else:
            heads = [Item("Mean", unit)]
            cells = [Row(Item(plain(step)), [_cell(means, latencies, place, step)]) for step in means]
            groups.append(Group(one.column.label, cells))
    count = min(place.window, *(one.count for one in members))
    notes = [
        f"Means over the last {count} rounds"
        + ("." if place.metric == "latency" else "; beneath, mean latency.")
    ]
    return Table(plain(place.of), heads, groups, notes)


def _cell(means: dict[str, float], latencies: dict[str, float], place: Round, step: str) -> Item:
    if step not in means:
        return NONE
    sub = "" if place.metric == "latency" else f"{grouped(latencies[step])} us"
    return Item(grouped(means[step]), sub)


def _short(value: float) -> float:
    return float(f"{value:.5g}")
