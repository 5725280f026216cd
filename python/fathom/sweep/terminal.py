"""A sweep in a terminal, its answer first, and as the document `fathom-sweep/1`. Computes nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fathom.output.table import Name, flush_table
from fathom.report.comparison import shortened
from fathom.report.style import plain
from fathom.runs.layout import SWEEP
from fathom.statistics.limits import limit_in
from fathom.sweep.answer import FIGURES, NOT_MEASURED, across, answer, by_target, panels, shown
from fathom.sweep.doubts import doubts
from fathom.sweep.grid import Axis
from fathom.sweep.study import Outcome, Sweep


def headings(axes: Sequence[Axis], table: pa.Table) -> list[str]:
    """Returns the columns to show, by name: settings, and figures with values."""
    known = [name for name in FIGURES if table[name].null_count < table.num_rows]
    return [*(axis.column for axis in axes), *known, "limited_by"]


def print_sweep(console: Console, sweep: Sweep, table: pa.Table, outcomes: Sequence[Outcome]) -> None:
    """Prints the answer and what it is worth, a row per combination under each step, then what
    speaks against them and what failed.

    In a narrow terminal words are folded.
    """
    found = panels(sweep, table)
    if found:
        console.print(Text(answer(sweep, across(sweep.axes), found), style="bold"))
    console.print(Text(NOT_MEASURED, style="dim"))
    if text := shortened(sweep.method.quick):
        console.print(Text(f"Shortened run: {text}", style="yellow"))
    names = headings(sweep.axes, table)
    groups = [
        (label, [_cells(names, row) for row in own])
        for panel in found
        for label, own in by_target(sweep, panel)
    ]
    every = [cells for _, own in groups for cells in own]
    if every:
        console.print(_table(names, every, table, header=True))
    for label, own in groups:
        printed = _table(names, every, table, header=False)
        for cells in own:
            printed.add_row(*map(Name, cells))
        console.print(Text(label, style="bold"))
        console.print(printed)
    for doubt in doubts(outcomes):
        console.print(Text(doubt, style="yellow"))
    for outcome in outcomes:
        if outcome.error:
            console.print(
                Text(f"failed: {plain(outcome.combination.label)}: {plain(outcome.error)}", style="red")
            )


def _cells(names: Sequence[str], row: Mapping[str, object]) -> list[str]:
    limit = limit_in(row)
    cells = {**row, "limited_by": limit.name if limit else None}
    return [shown(name, cells[name]) for name in names]


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], table: pa.Table, *, header: bool) -> Table:
    """Returns a table to fill, whose columns are as wide as those of its like; the last takes what is left."""
    printed = flush_table(edge=False)
    printed.show_header = header
    for place, name in enumerate(names):
        number = name in FIGURES or pa.types.is_floating(table.schema.field(name).type)
        heading = Name(FIGURES.get(name, "limited by" if name == "limited_by" else plain(name)))
        titled = cell_len(FIGURES[name]) if name in FIGURES else heading.narrowest
        widest = max(titled, *(cell_len(cells[place]) for cells in rows))
        printed.add_column(
            heading,
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
            min_width=widest if number else None,
            max_width=widest if name != "limited_by" else None,
        )
    return printed


def sweep_json(folder: Path, table: pa.Table) -> dict[str, object]:
    """Returns sweep.json, with the gathered points under `rows`."""
    document = json.loads((folder / SWEEP).read_text(encoding="utf-8"))
    return document | {"rows": table.to_pylist()}
