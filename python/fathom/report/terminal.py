"""The result as one table in the terminal: a row per corner, a column per target, then limits and validity notes."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fathom.report.comparison import Cell, Comparison, Corner, compare
from fathom.report.data import load
from fathom.report.published import Lookup, catalogue
from fathom.report.style import grouped, plain, signed_pct

LEVEL_STYLE = {"error": "bold red", "warning": "yellow", "info": "dim"}


def print_table(console: Console, runs: Sequence[Path], lookup: Lookup = catalogue) -> None:
    """Prints the comparison of one or more runs.

    Raises FathomError when a run cannot be read.
    """
    comparison = compare([load(run) for run in runs], lookup)
    for text in comparison.shortenings:
        console.print(Text(f"Shortened run: {text}", style="yellow"))
    console.print(_table(comparison))
    _print_limits(console, comparison)
    _print_notes(console, comparison)


def _table(comparison: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=True, header_style="bold", padding=(0, 1))
    table.add_column("", min_width=14)
    for column in comparison.columns:
        heading = Text(column.label)
        heading.append("\n" + ("twin" if column.is_twin else column.target.kind), style="dim not bold")
        table.add_column(heading, justify="right", overflow="fold")
    for corner in comparison.corners:
        cells = [corner.cell(column) for column in comparison.columns]
        label = Text(corner.label)
        label.append(f"\n{corner.unit}", style="dim")
        table.add_row(label, *(_cell(cell, corner) for cell in cells))
    return table


def _cell(cell: Cell | None, corner: Corner) -> Text:
    """Measured, then published and how far apart they are."""
    if cell is None or cell.value is None:
        return Text("–", style="dim")
    best = cell is corner.ranking[0] or (cell in corner.level_with_best)
    text = Text(grouped(cell.value), style="bold" if best else "")
    if cell.published is not None and cell.error_pct is not None:
        text.append(f"\npub {grouped(cell.published.value)}", style="dim not bold")
        text.append(
            f"\n{signed_pct(cell.error_pct)}",
            style="not bold " + ("" if abs(cell.error_pct) <= 10 else "yellow"),
        )
    return text


def _print_limits(console: Console, comparison: Comparison) -> None:
    for column in comparison.twins:
        limits: dict[str, list[str]] = {}
        for corner in comparison.corners:
            cell = corner.cell(column)
            if cell is not None and cell.point.limited_by:
                limits.setdefault(plain(cell.point.limited_by), []).append(corner.label)
        if limits:
            parts = "; ".join(f"{name} in {', '.join(corners)}" for name, corners in limits.items())
            console.print(Text.assemble((column.short, "bold"), f" is limited by {parts}."))


def _print_notes(console: Console, comparison: Comparison) -> None:
    """One line per rule and target; the report has every step's."""
    if comparison.notes:
        console.print()
    for group in comparison.notes:
        first = group.notes[0]
        text = Text.assemble((f"{group.level}: ", LEVEL_STYLE[group.level]))
        text.append(plain(f"{group.target}: {first.text}" if group.target else first.text))
        if len(group.notes) > 1:
            text.append(f" (and {len(group.notes) - 1} more like it)")
        if first.next_step:
            text.append(plain(f" → {first.next_step}"), style="dim")
        console.print(text)
