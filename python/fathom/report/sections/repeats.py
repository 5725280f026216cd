"""Repeats: the result of each of several runs of one measurement, their mean, and how much they differ. It covers
measured steps, the judged steps of rounds, and the capacities of searches for an SLO.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from fathom.analysis.finding import joined
from fathom.method.rounds import UNITS
from fathom.output.text import percent_digits
from fathom.report.blocks import Group, Item, Prose, Row, Section, Table
from fathom.report.capacity import capacities_of
from fathom.report.comparison import Cell, Column, Comparison, Corner, margin_of, run_letter
from fathom.report.rounds import TargetRounds, rounds_of
from fathom.report.style import grouped, plain
from fathom.report.totals import TOTAL, total
from fathom.statistics.uncertainty import Interval

ORDER = 23
NONE = Item("–", tone="quiet", title="this repeat has no such figure")
FEW = 3
"""With fewer repeats, intervals are too wide to decide much."""
LEAST = 1e-4
"""Repeats that differ by less count as equal."""


def build(comparison: Comparison) -> Section | None:
    """Returns a table per target that was measured more than once."""
    columns = [column for column in comparison.columns if column.repeats > 1]
    if not columns:
        return None
    rounds = rounds_of(comparison)
    tables = [table for column in columns if (table := _table(column, comparison, rounds)).groups]
    return Section("repeats", "Repeats", [Prose(_said(columns)), *tables])


def _said(columns: Sequence[Column]) -> list[str]:
    several = ", ".join(dict.fromkeys(str(column.repeats) for column in columns))
    said = [
        f"Figures of {joined([column.short for column in columns])} are of {several} repeats: rates are their "
        "means, latencies those of all their I/Os together. 95 % intervals include both how repeats differ and "
        "what varies inside each. A mean over rounds covers the repeats that reached steady state. A capacity at "
        "an SLO covers every repeat's own search. Three things show the first repeat: figures over time, the "
        "rates that a search tried, and the figures per workload where several run at once."
    ]
    if any(column.repeats < FEW for column in columns):
        said.append(
            "Two repeats show little of how repeats differ, so the intervals are wide: take three or more."
        )
    return said


def _table(column: Column, comparison: Comparison, rounds: Mapping[str, Sequence[TargetRounds]]) -> Table:
    letters = [run_letter(place) for place, run in enumerate(comparison.runs) if column.is_of(run)]
    heads = [
        Item("Mean", "± half its 95 % interval"),
        Item("Repeats differ by", "standard deviation, % of the mean"),
        *(Item(f"Run {letter}") for letter in letters),
    ]
    measured = [
        Row(Item(corner.label, corner.unit), _cells(cell.value, cell.interval, _values(cell, corner)))
        for corner in comparison.corners
        if (cell := corner.cell(column)) is not None and cell.value
    ]
    of_rounds = [
        row for members in rounds.values() for one in members if one.column is column for row in _tracked(one)
    ]
    groups = [
        Group("", measured),
        Group("Rounds: means over the window", of_rounds),
        Group("Capacity at an SLO", _capacities(column)),
    ]
    return Table(column.label, heads, [group for group in groups if group.rows])


def _tracked(one: TargetRounds) -> list[Row]:
    """Returns the steps by which rounds are judged; all if none is. Other means are in the section on rounds."""
    unit = UNITS[one.place.metric]
    reached = f"{len(one.steady)} of {len(one.repeats)} steady" if one.place.judged else ""
    steps = [step for step in one.steps if step in one.place.track] or one.steps
    found = [(step, mean) for step in steps if (mean := one.mean(step))]
    return [
        Row(
            Item(one.called(step), unit),
            _cells(mean.value, _bounds(mean.interval), one.each(step), reached),
        )
        for step, mean in found
    ]


def _capacities(column: Column) -> list[Row]:
    rows = []
    for step, found in capacities_of(column.run, column.target.name).items():
        each = [one.best.iops if one.best else None for one in found.searches]
        if found.met:
            label = Item(plain(column.run.steps[step].label), "IOPS")
            met = f"met in {len(found.met)} of {len(each)}"
            rows.append(Row(label, _cells(found.iops, _bounds(found.interval), each, met)))
    return rows


def _bounds(interval: Interval | None) -> tuple[float, float] | None:
    return (interval.low, interval.high) if interval else None


def _cells(
    mean: float | None,
    interval: tuple[float, float] | None,
    values: Sequence[float | None],
    of: str = "",
) -> list[Item]:
    """Returns the mean with its margin and coverage, the spread of repeats, and the result of each."""
    known = [value for value in values if value is not None]
    spread = np.std(known, ddof=1) / np.mean(known) if len(known) > 1 else None
    beneath = " · ".join(part for part in (margin_of(mean, *interval) if interval else "", of) if part)
    bounds = " to ".join(grouped(bound) for bound in interval) if interval else "not known"
    return [
        Item("–" if mean is None else grouped(mean), beneath, tone="strong", title=f"95 % interval {bounds}"),
        NONE if spread is None else Item(percent_digits(float(spread), 2) if spread > LEAST else "< 0.01 %"),
        *(NONE if value is None else Item(grouped(value)) for value in values),
    ]


def _values(cell: Cell, corner: Corner) -> list[float | None]:
    return [_value(cell, corner, place) for place in range(cell.column.repeats)]


def _value(cell: Cell, corner: Corner, place: int) -> float | None:
    """Returns the headline of one repeat, in the unit of the cell."""
    run, point = cell.column.run.repeats[place], cell.point
    of_step = [one for one in run.points if (one.target, one.step) == (point.target, point.step)]
    halves = [one for one in of_step if point.op in (TOTAL, one.op)]
    if not halves:
        return None
    own = total(run, halves)
    return own.mbps if corner.metric == "mbps" else own.iops
