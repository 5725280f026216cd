"""Counts the published figures that a report's cells stand beside: each once, however many runs have the drive."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from fathom.report.comparison import Cell
from fathom.report.published import Metric


@dataclass(frozen=True)
class PublishedFigure:
    """A published figure that cells stand beside."""

    device: str | None
    workload: str | None
    metric: Metric
    is_twin: bool
    fitted: bool
    """Whether those cells are of twins that may be fitted to it."""


def published_rows(cells: Iterable[Cell]) -> dict[PublishedFigure, float]:
    """Maps each published figure to the mean difference of the cells beside it, in percent.

    So a drive that is in two runs counts once.
    """
    found: dict[PublishedFigure, list[float]] = {}
    for cell in cells:
        if cell.error_pct is not None:
            column, step = cell.column, cell.step
            row = PublishedFigure(
                column.target.catalog, step.published, cell.metric, column.is_twin, cell.fitted
            )
            found.setdefault(row, []).append(cell.error_pct)
    return {row: fmean(errors) for row, errors in found.items()}


def fitted_count(cells: Iterable[Cell]) -> int:
    """Returns how many published figures the twins of some cells may be fitted to."""
    return sum(row.fitted for row in published_rows(cells))
