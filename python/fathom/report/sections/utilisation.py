"""What limits a target: how busy each resource was, and which one is the limit. A twin knows all its resources. For a
real target only those of the load generator are known.
"""

from collections.abc import Sequence

from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Bars, bar_chart
from fathom.report.comparison import Cell, Comparison, Corner
from fathom.report.legend import window_of
from fathom.report.style import plain, slot

ORDER = 50
MAX_PANELS = 12
ROW_PX = 11


def build(comparison: Comparison) -> Section | None:
    """Returns bars per corner and the limits in words, for targets that report utilisation."""
    corners = [corner for corner in comparison.corners if _cells(corner)]
    if not corners:
        return None
    cells = [cell for corner in corners for cell in _cells(corner)]
    columns = [c for c in comparison.columns if any(cell.column is c for cell in cells)]
    limits = Table(
        "Limited by",
        [Item(column.label, slot=slot(column.index)) for column in columns],
        [
            Group(
                "", [Row(Item(corner.label), [_limit(corner.cell(c)) for c in columns]) for corner in corners]
            )
        ],
        [
            "In brackets: how busy the busiest of equal servers was over the window, or the I/Os in flight where "
            "the load itself is the limit. Beneath: the resource that would be next."
        ],
        numeric=False,
    )
    figure = Figure(
        [_chart(corner) for corner in corners[:MAX_PANELS]],
        f"Mean busy fraction of each resource, over its equal servers; {window_of(cells)}.",
        _table(corners),
        [Item(column.short, slot=slot(column.index)) for column in columns],
    )
    return Section("limits", "What limits the targets", [limits, figure], short="Limits")


def _cells(corner: Corner) -> list[Cell]:
    return [cell for cell in corner.cells if cell.busy]


def _limit(cell: Cell | None) -> Item:
    if cell is None or not cell.point.limit:
        return Item("–", tone="quiet")
    limit = cell.point.limit
    share = f" ({limit.share})" if limit.share else ""
    return Item(f"{plain(limit.name)}{share}", plain(limit.other), tone="strong")


def _resources(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(busy.resource for cell in cells for busy in cell.busy))


def _chart(corner: Corner) -> Chart:
    cells = _cells(corner)
    resources = _resources(cells)
    bars = [
        Bars(cell.column.short, slot(cell.column.index), [_mean_pct(cell, name) for name in resources])
        for cell in cells
    ]
    axis = Axis("", "pct", low=0, high=100)
    option = bar_chart(axis, [plain(name) for name in resources], bars)
    height_px = 56 + len(resources) * (len(cells) + 1) * ROW_PX
    summary = f"Utilisation of resources in {corner.label}; the table below has the figures."
    return Chart(
        f"limits-{corner.key}",
        corner.label,
        sub="% busy",
        option=option,
        summary=summary,
        height_px=height_px,
    )


def _mean_pct(cell: Cell, resource: str) -> float | None:
    return next((round(100 * busy.mean, 2) for busy in cell.busy if busy.resource == resource), None)


def _table(corners: Sequence[Corner]) -> Table:
    columns = list({cell.column.index: cell.column for corner in corners for cell in _cells(corner)}.values())
    groups = [
        Group(
            corner.label,
            [
                Row(Item(plain(name)), [_busy(corner.cell(column), name) for column in columns])
                for name in _resources(_cells(corner))
            ],
        )
        for corner in corners
    ]
    return Table("Resource", [Item(column.label, "mean busy") for column in columns], groups)


def _busy(cell: Cell | None, resource: str) -> Item:
    busy = next((entry for entry in cell.busy if entry.resource == resource), None) if cell else None
    if busy is None:
        return Item("–", tone="quiet")
    return Item(f"{100 * busy.mean:.1f} %")
