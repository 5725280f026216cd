"""Repeats: what each of several runs of the same measurement came to, their mean, and how much they differ."""

from collections.abc import Sequence

import numpy as np

from fathom.analysis.findings import joined
from fathom.report.blocks import Group, Item, Prose, Row, Section, Table
from fathom.report.comparison import Cell, Column, Comparison, Corner, run_letter
from fathom.report.style import grouped
from fathom.report.totals import TOTAL, total

ORDER = 23
NONE = Item("–", tone="quiet", title="this repeat has no such figure")
FEW = 3
"""Below so many repeats the interval is too wide to decide much."""
LEAST = 1e-4
"""Repeats that differ by less are as good as equal."""


def build(comparison: Comparison) -> Section | None:
    """A table per target that was measured more than once."""
    columns = [column for column in comparison.columns if column.repeats > 1]
    if not columns:
        return None
    tables = [table for column in columns if (table := _table(column, comparison)).groups[0].rows]
    said = (
        _said(columns) if tables else [f"Of {columns[0].repeats} repeats of these rounds the first is shown."]
    )
    return Section("repeats", "Repeats", [Prose(said), *tables])


def _said(columns: Sequence[Column]) -> list[str]:
    several = ", ".join(dict.fromkeys(str(column.repeats) for column in columns))
    said = [
        f"Figures of {joined([column.short for column in columns])} are of {several} repeats: rates are their means, "
        "latencies those of all their I/Os together. 95 % intervals hold what differs between repeats as well as what "
        "varies inside each; charts over time, rounds, and the search for an SLO show the first."
    ]
    if any(column.repeats < FEW for column in columns):
        said.append(
            "Two repeats say little about how repeats differ, so the intervals are wide: take three or more."
        )
    return said


def _table(column: Column, comparison: Comparison) -> Table:
    letters = [run_letter(place) for place, run in enumerate(comparison.runs) if column.is_of(run)]
    heads = [
        Item("Mean", "± half its 95 % interval"),
        Item("Repeats differ by", "standard deviation, % of the mean"),
        *(Item(f"Run {letter}") for letter in letters),
    ]
    rows = [
        Row(Item(corner.label, corner.unit), _cells(cell, corner))
        for corner in comparison.corners
        if (cell := corner.cell(column)) is not None and cell.value
    ]
    return Table(column.label, heads, [Group("", rows)])


def _cells(cell: Cell, corner: Corner) -> list[Item]:
    values = [_value(cell, corner, place) for place in range(cell.column.repeats)]
    known = [value for value in values if value is not None]
    spread = np.std(known, ddof=1) / np.mean(known) if len(known) > 1 else None
    bounds = " to ".join(grouped(bound) for bound in cell.interval) if cell.interval else "not known"
    return [
        Item(grouped(cell.value or 0), cell.margin, tone="strong", title=f"95 % interval {bounds}"),
        NONE if spread is None else Item(f"{100 * spread:.2g} %" if spread > LEAST else "< 0.01 %"),
        *(NONE if value is None else Item(grouped(value)) for value in values),
    ]


def _value(cell: Cell, corner: Corner, place: int) -> float | None:
    """The headline of one repeat, as the cell has it of all."""
    run, point = cell.column.run.repeats[place], cell.point
    of_step = [one for one in run.points if (one.target, one.step) == (point.target, point.step)]
    halves = [one for one in of_step if point.op in (TOTAL, one.op)]
    if not halves:
        return None
    own = total(run, halves)
    return own.mbps if corner.metric == "mbps" else own.iops
