"""The workloads of a comparison, one for each step: what a headline counts, and what its cards show."""

from collections.abc import Sequence

from fathom.columns.schema import Point
from fathom.report.comparison import Column, Comparison, Corner, cell_of, once
from fathom.report.style import plain
from fathom.report.totals import TOTAL


@once
def workloads(comparison: Comparison) -> Sequence[Corner]:
    """Returns the corners, with the operations of a step as one, as findings count them.

    Where columns have different operations of a step, these stay apart: reads are not ranked against writes.
    """
    found: dict[str, list[Corner]] = {}
    for corner in comparison.corners:
        found.setdefault(corner.key.rpartition("/")[0], []).append(corner)
    return [one for key, parts in found.items() for one in _together(key, parts, comparison)]


def _together(key: str, parts: Sequence[Corner], comparison: Comparison) -> Sequence[Corner]:
    columns = [[cell.column for cell in part.cells] for part in parts]
    if len(parts) == 1 or any(own != columns[0] for own in columns):
        return parts
    step = {cell.column.index: cell.step.name for cell in parts[0].cells}
    cells = [
        cell_of(column, _points(column, step[column.index]), comparison.lookup, whole=True)
        for column in columns[0]
    ]
    return [Corner(f"{key}/{TOTAL}", plain(parts[0].cells[0].step.label), cells[0].metric, cells)]


def _points(column: Column, step: str) -> list[Point]:
    """Returns what a column's target did in a step, by operation."""
    return [point for point in column.run.points if (point.target, point.step) == (column.target.name, step)]
