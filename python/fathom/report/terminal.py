"""The result as one table in the terminal, then the validity notes that a reader must not miss.

Few workloads make targets the rows, so that any number of targets fits 80 columns. Otherwise workloads are the rows:
one line for one target, two at most for several, so that thirty fit a screen.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fathom.analysis.finding import joined
from fathom.catalog.settings import split
from fathom.method.rounds import UNITS
from fathom.output.table import flush_table
from fathom.output.text import signed_pct
from fathom.prediction.interval import COVERAGE, Blocks, Spread, coverage
from fathom.prediction.misses import shipped_misses
from fathom.prediction.words import about_words, range_words
from fathom.report.blocks import Section
from fathom.report.blocks import Table as PageTable
from fathom.report.built import Built, build
from fathom.report.comparison import Cell, Column, Comparison, Corner, margin_of
from fathom.report.findings import NAMED_MOST, Gate, gate, unclaimed_words
from fathom.report.latencies import latency
from fathom.report.method_answers import method_answers
from fathom.report.note_groups import note_groups
from fathom.report.published import Lookup, catalogue, fitted_words
from fathom.report.published_count import fitted_count
from fathom.report.rounds import Mean, TargetRounds, axes, rounds_of, unsettled_of
from fathom.report.sections import answers
from fathom.report.style import grouped, plain
from fathom.report.workloads import workloads
from fathom.runs.document import NoteRecord
from fathom.statistics.limits import meanings

LEVEL_STYLE = {"error": "bold red", "warning": "yellow", "info": "dim"}
MOST_WORKLOADS_ACROSS = 5
MOST_WITH_LATENCY = 2
"""Most workloads whose latencies stand below their rates: whoever measures one or two wants both."""
MOST_ANSWERS = 6
FAR_PCT = 10
"""A difference from the published figure beyond this is marked."""


def print_table(
    console: Console, runs: Sequence[Path], lookup: Lookup = catalogue, *, pool: bool = False
) -> None:
    """Prints the comparison of one or more runs.

    Raises FathomError when a run cannot be read.
    """
    print_built(console, build(runs, lookup, pool=pool))


def print_built(console: Console, built: Built) -> None:
    """Prints as `print_table` what is built already."""
    comparison = built.comparison
    for text in comparison.shortenings:
        console.print(Text(f"Shortened run: {text}", style="yellow"))
    print_method_answers(console, comparison)
    if comparison.corners:
        if len(comparison.corners) <= MOST_WORKLOADS_ACROSS:
            console.print(_targets_down(comparison))
            console.print(Text(_legend(comparison), style="dim"))
        elif len(comparison.columns) == 1:
            console.print(
                Text.assemble((comparison.columns[0].short, "bold"), ", ", _kind(comparison.columns[0]))
            )
            console.print(_workloads_of_one(comparison))
        else:
            console.print(_workloads_down(comparison))
            _print_beneath(console, comparison)
        limits = [cell.point.limit for corner in comparison.corners for cell in corner.cells]
        for meaning in meanings(limits):
            console.print(Text(meaning, style="dim"))
        _print_unclaimed(console, comparison)
        _print_spreads(console, comparison)
        _print_fitted(console, comparison)
        console.print()
    for members in rounds_of(comparison).values():
        for rounds in members:
            _print_rounds(console, rounds, gate(comparison))
    for section in built.sections:
        if section.key == "power-states":
            _print_states(console, section)
    for text in comparison.refused:
        console.print(Text(text, style="bold red"))
    _print_answers(console, answers(built.sections))
    _print_notes(console, comparison)


def print_method_answers(console: Console, comparison: Comparison) -> None:
    """Prints one answer for each method of runs of several methods; nothing where one answer is that of all."""
    answers = method_answers(comparison)
    for one in answers:
        console.print(Text.assemble((f"{one.method}, {one.where}: ", "bold"), one.sentence))
        if one.caveat:
            console.print(Text(one.caveat, style="dim"))
    if answers:
        console.print()


def _legend(comparison: Comparison) -> str:
    return (
        "Below each figure: "
        + ("half its 95 % interval over repeats, " if _has_repeats(comparison) else "")
        + ("the published one and the difference, " if _has_published(comparison) else "")
        + (f"{latencies}, " if (latencies := _latencies(comparison)) else "")
        + "what limited it."
    )


def _shows_latency(comparison: Comparison) -> bool:
    return len(comparison.corners) <= MOST_WITH_LATENCY


def _latencies(comparison: Comparison) -> str:
    """Returns the names of the latencies that cells show; a step of few I/Os has no p99."""
    if not _shows_latency(comparison):
        return ""
    points = [cell.point for corner in comparison.corners for cell in corner.cells if cell.value is not None]
    names = {"mean_us": f"mean{_kind_of_latency(comparison)} latency", "p99_us": "p99"}
    return joined([name for column, name in names.items() if any(latency(one, column) for one in points)])


def _kind_of_latency(comparison: Comparison) -> str:
    """Returns that cells have service latencies, where an open load has response latencies too."""
    cells = (cell for corner in comparison.corners for cell in corner.cells)
    return " service" if any(cell.point.offered_iops is not None for cell in cells) else ""


def _has_published(comparison: Comparison) -> bool:
    return any(cell.published for corner in comparison.corners for cell in corner.cells)


def _has_repeats(comparison: Comparison) -> bool:
    return any(column.repeats > 1 for column in comparison.columns)


def _print_beneath(console: Console, comparison: Comparison) -> None:
    """Prints what second lines of cells are, and what limited each target in how many workloads."""
    seconds = [
        *(["half its 95 % interval over repeats"] if _has_repeats(comparison) else []),
        *(["the difference from the published one"] if _has_published(comparison) else []),
    ]
    if seconds:
        console.print(Text(f"Below a figure: {', '.join(seconds)}.", style="dim"))
    for column in comparison.columns:
        cells = (workload.cell(column) for workload in workloads(comparison))
        limits = Counter(_limit(cell) for cell in cells if cell and cell.value is not None and _limit(cell))
        if limits:
            (first, times), *others = limits.most_common()
            counted = [f"{first} in {times} workload{'s' if times > 1 else ''}"]
            counted += [f"{name} in {count}" for name, count in others]
            console.print(Text(f"{column.short} is limited by {joined(counted)}.", style="dim"))


def _print_unclaimed(console: Console, comparison: Comparison) -> None:
    """Prints the workloads whose figures the report does not claim, with the reason in a word or two."""
    for text in unclaimed_words(comparison):
        console.print(Text(text, style="yellow"))


def _print_spreads(console: Console, comparison: Comparison) -> None:
    """Prints how far measurements may lie from settled rates of twins: the widest range of each class of blocks."""
    out = gate(comparison)
    cells = [cell for corner in comparison.corners for cell in corner.cells]
    widest: dict[Blocks, Spread] = {}
    for spread in (cell.spread for cell in cells if (cell.column.short, cell.step.name) not in out):
        if spread and (spread.blocks not in widest or spread.factor > widest[spread.blocks].factor):
            widest[spread.blocks] = spread
    if widest:
        first, *others = widest.values()
        text = f"{range_words(first)} of a twin's rate for {about_words(first)}"
        text += "".join(f", {range_words(one)} for {about_words(one)}" for one in others)
        console.print(Text(f"Expect {100 * COVERAGE:.0f} % of measurements within {text}.", style="dim"))
        without = dict.fromkeys(
            cell.column.short for cell in cells if cell.column.is_twin and not cell.spread
        )
        bare = [name for name in without if not any(c.spread for c in cells if c.column.short == name)]
        if bare:
            console.print(Text(f"No range is known for {joined(bare)}.", style="dim"))
        _print_records(console, comparison.columns)


def _print_records(console: Console, columns: Sequence[Column]) -> None:
    """Prints how many published rates of each twin's device its ranges hold; none of a twin with set parameters."""
    records = [
        f"{found.held} of {found.rows} of {column.short}"
        for column in columns
        if column.twin_device
        and not split(column.target.catalog or "")[1]
        and (found := coverage(shipped_misses(), device=column.twin_device.name))
        and not found.falls_short
    ]
    if records:
        console.print(
            Text(
                f"Ranges for blocks of all sizes hold these published rates: {'; '.join(records)}.",
                style="dim",
            )
        )


def _print_fitted(console: Console, comparison: Comparison) -> None:
    """Prints how many of the published figures twins may be fitted to."""
    fitted = fitted_count(cell for corner in comparison.corners for cell in corner.cells)
    if fitted:
        console.print(Text(fitted_words(fitted), style="dim"))


def _limit(cell: Cell) -> str:
    return plain(cell.point.limit.name) if cell.point.limit else ""


def _print_answers(console: Console, texts: Sequence[str]) -> None:
    for text in texts[:MOST_ANSWERS]:
        console.print(Text(text))
    if len(texts) > MOST_ANSWERS:
        console.print(Text(_in_report(len(texts) - MOST_ANSWERS, "sentence"), style="dim"))
    if texts:
        console.print()


def _print_rounds(console: Console, rounds: TargetRounds, out: Gate) -> None:
    """Prints means over the window of one target's rounds: a matrix if its steps form one, else a row per step.

    A matrix of a single run has no room for intervals, so its heading has the widest; the report has all.
    """
    place = rounds.place
    means = {step: rounds.mean(step) for step in rounds.steps}
    rows, columns = axes(rounds)
    margins = len(rounds.repeats) > 1 or not columns
    unit = UNITS[place.metric]
    table = _table(lines=False)
    table.add_column(Text(unit, style="dim not bold"))
    for column in columns.values() or ["mean"]:
        table.add_column(Text(column), justify="right", overflow="fold")
    for row in rows or means:
        names = [f"{row}-{column}" for column in columns] or [row]
        table.add_row(
            Text(rows.get(row) or rounds.called(row)), *(_mean(means.get(name), margins) for name in names)
        )
    widest = "" if margins else widest_of([one for one in means.values() if one])
    console.print(
        Text(
            f"{rounds.column.short}, {plain(place.of)}: {_rounds_text(rounds, margins)}{widest}", style="bold"
        )
    )
    if why := unsettled_of(rounds.column, rounds, out):
        console.print(Text(f"Not claimed: {why.value}.", style="yellow"))
    console.print(table)
    console.print()


def _print_states(console: Console, section: Section) -> None:
    """Prints rate, latency and watts of each power state, as in the report, without intervals."""
    for block in section.blocks:
        if not isinstance(block, PageTable):
            continue
        table = _table(lines=False)
        table.add_column(Text(block.corner))
        for place, head in enumerate(block.head):
            # The result has its change behind it: rich would part a figure from its `%`.
            title = Text(f"{head.text}, {head.sub}" if head.sub else head.text)
            table.add_column(title, justify="right", no_wrap=place == 0)
        for group in block.groups:
            table.add_row(Text(group.title, style="bold"))
            for row in group.rows:
                label = Text.assemble(row.label.text, (f", {row.label.sub}", "dim"))
                result, *others = row.cells
                change = (f" {result.sub}", "dim") if result.sub else ""
                table.add_row(
                    label, Text.assemble(result.text, change), *(Text(item.text) for item in others)
                )
        console.print(table)
        console.print()


def _rounds_text(rounds: TargetRounds, margins: bool) -> str:
    """Returns how many rounds there were, their outcome, and which of them the means cover."""
    place, repeats = rounds.place, rounds.repeats
    counts = [one.count for one in repeats]
    took = " to ".join(dict.fromkeys((str(min(counts)), str(max(counts)))))
    last = min(place.window, *counts)
    half = " ± half their 95 % interval" if margins else ""
    if not place.judged:
        over = f" over {len(repeats)} repeats" if len(repeats) > 1 else ""
        return f"means of {took} rounds{over}{half}"
    if len(repeats) == 1:
        outcome = "the standard's window passes" if rounds.steady else "steady state not reached"
        return f"{outcome} after {took} rounds; means of the last {last}{half}"
    outcome = (
        f"the standard's window passes in {len(rounds.steady)} of {len(repeats)} repeats"
        if rounds.steady
        else f"steady state not reached in any of {len(repeats)} repeats"
    )
    many = len(rounds.pooled)
    means = f"means over {many} repeats{half}" if many > 1 else "means of the one"
    return f"{outcome}, after {took} rounds; {means}, of the last {last}"


def widest_of(means: Sequence[Mean]) -> str:
    """Returns the widest 95 % interval of means, in percent of its mean, and how many means have none."""
    known = [(one.interval.high - one.interval.low, one) for one in means if one.interval and one.value]
    without = len(means) - len(known)
    if not known:
        return ", none with an interval"
    _, worst = max(known, key=lambda one: one[0] / one[1].value)
    margin = margin_of(worst.value, worst.interval.low, worst.interval.high) if worst.interval else ""
    # An interval that begins at 0 has two bounds in place of a half.
    begins_at_0 = worst.interval is not None and worst.interval.low <= 0
    said = f"95 % intervals of up to {margin}" if begins_at_0 else f"known to {margin} or better (95 %)"
    return f", {said}" + (f", {without} without an interval" if without else "")


def _mean(found: Mean | None, margins: bool) -> Text:
    """Returns a mean; with `margins`, half its interval behind it."""
    if found is None:
        return Text("–", style="dim")
    text = Text(grouped(found.value))
    if margins:
        margin = margin_of(found.value, found.interval.low, found.interval.high) if found.interval else ""
        text.append(f"  {margin or 'no interval'}", style="dim")
    return text


def _targets_down(comparison: Comparison) -> Table:
    table = _table()
    table.add_column("", min_width=12, max_width=24)
    for corner in comparison.corners:
        table.add_column(_workload(corner), justify="right", overflow="fold")
    with_latency = _shows_latency(comparison)
    for column in comparison.columns:
        cells = ((corner.cell(column), corner) for corner in comparison.corners)
        table.add_row(
            _target(column), *(_cell(cell, corner, with_latency=with_latency) for cell, corner in cells)
        )
    return table


def _workloads_of_one(comparison: Comparison) -> Table:
    """Returns a line for each workload of the one target."""
    published, repeated = _has_published(comparison), _has_repeats(comparison)
    table = _table(lines=False)
    table.add_column("", min_width=14)
    table.add_column("result", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for heading in [*(["± 95 %"] if repeated else []), *(["published", ""] if published else [])]:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("limited by", overflow="fold")
    for corner in comparison.corners:
        cell = corner.cells[0]
        row = [Text(corner.label), _value(cell, corner), Text(corner.unit, style="dim")]
        if repeated:
            row.append(Text(_margin(cell), style="dim"))
        if published:
            row += [
                Text(grouped(cell.published.value) if cell.published else "", style="dim"),
                _difference(cell),
            ]
        table.add_row(*row, Text(_limit(cell), style="dim"))
    return table


def _workloads_down(comparison: Comparison) -> Table:
    """Returns a row for each workload, a column for each target."""
    table = _table(lines=False)
    table.add_column("", min_width=14)
    table.add_column("", no_wrap=True)
    for column in comparison.columns:
        table.add_column(_target(column), justify="right", overflow="fold")
    for corner in comparison.corners:
        cells = (corner.cell(column) for column in comparison.columns)
        table.add_row(
            Text(corner.label), Text(corner.unit, style="dim"), *(_short(cell, corner) for cell in cells)
        )
    return table


def _table(*, lines: bool = True) -> Table:
    return flush_table(edge=False, lines=lines)


def _target(column: Column) -> Text:
    return Text.assemble(column.short, "\n", _kind(column))


def _kind(column: Column) -> Text:
    repeats = f", {column.repeats} repeats" if column.repeats > 1 else ""
    return Text((column.tag if column.is_twin else "measured") + repeats, style="dim not bold")


def _workload(corner: Corner) -> Text:
    text = Text(corner.label)
    text.append(f"\n{corner.unit}", style="dim")
    return text


def _cell(cell: Cell | None, corner: Corner, *, with_latency: bool) -> Text:
    """Returns the figure, how far it is from the published one, its latency where asked, and what bound it."""
    text = _with_margin(cell, corner)
    if cell is None or cell.value is None:
        return text
    if cell.published is not None and cell.error_pct is not None:
        text.append(f"\n{grouped(cell.published.value)} ", style="dim not bold").append_text(
            _difference(cell)
        )
    for name, column in (("mean", "mean_us"), ("p99", "p99_us")) if with_latency else ():
        if found := latency(cell.point, column):
            text.append(f"\n{name} {found.text} us", style="dim not bold")
    if limit := _limit(cell):
        text.append(f"\n{limit}", style="dim not bold")
    return text


def _short(cell: Cell | None, corner: Corner) -> Text:
    """Returns the figure; below it stand its interval over repeats and how far it is from the published one."""
    text = _with_margin(cell, corner)
    if cell and cell.value is not None and cell.published is not None and cell.error_pct is not None:
        text.append("  " if cell.column.repeats > 1 else "\n").append_text(_difference(cell))
    return text


def _with_margin(cell: Cell | None, corner: Corner) -> Text:
    """Returns the figure, and below it its interval over repeats, if there are repeats."""
    text = _value(cell, corner)
    if cell and cell.value is not None and cell.column.repeats > 1:
        text.append(f"\n{_margin(cell)}", style="dim not bold")
    return text


def _value(cell: Cell | None, corner: Corner) -> Text:
    """Returns the figure; of several targets the best, and what may be as good, bold."""
    if cell is not None and cell.failed:
        value = "–" if cell.value is None else grouped(cell.value)
        return Text(f"{value} ({cell.failed})", style="bold red")
    if cell is None or cell.value is None:
        return Text("–", style="dim")
    best = cell in corner.ranking[:1] or cell in corner.unbeaten
    return Text(grouped(cell.value), style="bold" if best else "")


def _margin(cell: Cell) -> str:
    return cell.margin or "no interval"


def _difference(cell: Cell) -> Text:
    """Returns the difference from the published figure, marked if it is large."""
    if cell.error_pct is None:
        return Text("")
    far = "yellow" if abs(cell.error_pct) > FAR_PCT else "dim"
    return Text(signed_pct(cell.error_pct).replace(" ", ""), style=f"{far} not bold")


def _named(targets: Sequence[str]) -> str:
    """Returns the targets that a note is about; for many the first, and the number of others."""
    if len(targets) <= NAMED_MOST:
        return ", ".join(targets)
    return f"{targets[0]} and {len(targets) - 1} more"


def _print_notes(console: Console, comparison: Comparison) -> None:
    """Prints one line per rule and level, whatever the number of targets; errors of a few steps each. The report has
    all. One that is true of several targets counts once.
    """
    said: dict[tuple[str, str, str, str], list[str]] = {}
    printed: set[tuple[str, str | None, str]] = set()
    left_out: set[tuple[str, str | None, str]] = set()
    for group in note_groups(comparison):
        first = group.notes[0]
        if first.rule == "quick-run":
            continue
        if group.level == "info":
            left_out |= {_said_by(note) for note in group.notes}
            continue
        is_error = group.level == "error"
        shown = group.shown if is_error else group.notes[:1]
        left_out |= {_said_by(note) for note in group.notes[len(shown) :]}
        for note in shown:
            printed.add(_said_by(note))
            others = group.others if is_error else ""
            said.setdefault((group.level, note.step or "", note.text + others, note.next_step), []).append(
                group.target
            )
    for (level, step, note, next_step), targets in said.items():
        text = Text.assemble((f"{level}: ", LEVEL_STYLE[level]))
        about = ", ".join(part for part in (_named([target for target in targets if target]), step) if part)
        text.append(plain(f"{about}: {note}" if about else note))
        if next_step:
            text.append(plain(f" → {next_step}"), style="dim")
        console.print(text)
    if unprinted := left_out - printed:
        console.print(Text(_in_report(len(unprinted), "note"), style="dim"))


def _said_by(note: NoteRecord) -> tuple[str, str | None, str]:
    return note.rule, note.step, note.text


def _in_report(count: int, noun: str) -> str:
    return f"1 more {noun} is in the report" if count == 1 else f"{count} more {noun}s are in the report"
