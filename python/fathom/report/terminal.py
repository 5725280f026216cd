"""The result as one table in the terminal, then the validity notes that a reader must not miss.

Targets are rows where there are few workloads, so that any number of targets fits 80 columns; workloads are rows
otherwise.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fathom.report.comparison import Cell, Column, Comparison, Corner, compare
from fathom.report.data import load
from fathom.report.published import Lookup, catalogue
from fathom.report.style import grouped, plain, signed_pct

LEVEL_STYLE = {"error": "bold red", "warning": "yellow", "info": "dim"}
LIMIT_FIGURES = re.compile(r"\s*(\(\d|\d+ %).*")
"""Of `controller 100 %, next PCIe link (read) 92 %` a table keeps the name."""
MOST_WORKLOADS_ACROSS = 5
FAR_PCT = 10
"""A difference from the published figure beyond this is marked."""


def print_table(console: Console, runs: Sequence[Path], lookup: Lookup = catalogue) -> None:
    """Prints the comparison of one or more runs.

    Raises FathomError when a run cannot be read.
    """
    comparison = compare([load(run) for run in runs], lookup)
    for text in comparison.shortenings:
        console.print(Text(f"Shortened run: {text}", style="yellow"))
    few = len(comparison.corners) <= MOST_WORKLOADS_ACROSS
    console.print((_targets_down if few else _workloads_down)(comparison))
    console.print(Text(_legend(comparison), style="dim"))
    console.print()
    _print_notes(console, comparison)


def _legend(comparison: Comparison) -> str:
    published = any(cell.published for corner in comparison.corners for cell in corner.cells)
    return (
        "Below each figure: "
        + ("the published one and the difference, " if published else "")
        + "what limited it."
    )


def _targets_down(comparison: Comparison) -> Table:
    table = _table()
    table.add_column("", min_width=12, max_width=24)
    for corner in comparison.corners:
        table.add_column(_workload(corner), justify="right", overflow="fold")
    for column in comparison.columns:
        cells = ((corner.cell(column), corner) for corner in comparison.corners)
        table.add_row(_target(column), *(_cell(cell, corner) for cell, corner in cells))
    return table


def _workloads_down(comparison: Comparison) -> Table:
    table = _table()
    table.add_column("", min_width=14)
    for column in comparison.columns:
        table.add_column(_target(column), justify="right", overflow="fold")
    for corner in comparison.corners:
        cells = (corner.cell(column) for column in comparison.columns)
        table.add_row(_workload(corner), *(_cell(cell, corner) for cell in cells))
    return table


def _table() -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        show_lines=True,
        header_style="bold",
        padding=(0, 1, 0, 0),
    )


def _target(column: Column) -> Text:
    text = Text(column.short)
    text.append("\n" + ("twin" if column.is_twin else "measured"), style="dim not bold")
    return text


def _workload(corner: Corner) -> Text:
    text = Text(corner.label)
    text.append(f"\n{corner.unit}", style="dim")
    return text


def _cell(cell: Cell | None, corner: Corner) -> Text:
    """Measured, how far from published, and what bound it."""
    if cell is None or cell.value is None:
        return Text("–", style="dim")
    best = cell is corner.ranking[0] or (cell in corner.level_with_best)
    text = Text(grouped(cell.value), style="bold" if best else "")
    if cell.published is not None and cell.error_pct is not None:
        far = "yellow" if abs(cell.error_pct) > FAR_PCT else "dim"
        text.append(f"\n{grouped(cell.published.value)}", style="dim not bold")
        text.append(" " + signed_pct(cell.error_pct).replace(" ", ""), style=f"{far} not bold")
    if cell.point.limited_by:
        text.append(f"\n{LIMIT_FIGURES.sub('', plain(cell.point.limited_by))}", style="dim not bold")
    return text


def _print_notes(console: Console, comparison: Comparison) -> None:
    """Errors and warnings, one line per rule, whatever the number of targets; the report has every step's."""
    said: dict[tuple[str, str, str], list[str]] = {}
    left_out = 0
    for group in comparison.notes:
        first = group.notes[0]
        if first.rule == "quick-run":
            continue
        if group.level == "info":
            left_out += len(group.notes)
            continue
        left_out += len(group.notes) - 1
        said.setdefault((group.level, first.text, first.next_step), []).append(group.target)
    for (level, note, next_step), targets in said.items():
        text = Text.assemble((f"{level}: ", LEVEL_STYLE[level]))
        about = ", ".join(target for target in targets if target)
        text.append(plain(f"{about}: {note}" if about else note))
        if next_step:
            text.append(plain(f" → {next_step}"), style="dim")
        console.print(text)
    if left_out:
        console.print(Text(f"{left_out} more notes are in the report", style="dim"))
