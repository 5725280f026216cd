"""Panels with lines, and tables of numbers, for the sections of a trace's page."""

from collections.abc import Sequence

from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Table
from fathom.report.charts import Line, line_chart
from fathom.report.style import grouped

HEIGHT_PX = 220
Points = Sequence[tuple[float, float | None]]


def chart(
    key: str, title: str, unit: str, axes: tuple[Axis, Axis], lines: Sequence[tuple[str, Points]]
) -> Chart:
    """Returns a panel; each of `lines` is (name, points)."""
    drawn = [Line(name, place, points, marks=len(points) < 2) for place, (name, points) in enumerate(lines)]
    summary = f"{title}, {unit}; the table below has the figures."
    return Chart(
        f"trace-{key}", title, sub=unit, option=line_chart(*axes, drawn), summary=summary, height_px=HEIGHT_PX
    )


def figure(charts: Sequence[Chart], sentence: str, data: Table, legend: Sequence[str] = ()) -> Figure:
    """Returns panels with their sentence beneath; `legend` names the lines where there are several."""
    items = [Item(name, slot=place) for place, name in enumerate(legend)] if len(legend) > 1 else []
    return Figure(charts, sentence, data, items, columns=1 if len(charts) == 1 else 2)


def table(
    corner: str, head: Sequence[str], rows: Sequence[tuple[str, Sequence[float | str | None]]]
) -> Table:
    """Returns a table of numbers, a dash where there is none."""
    cells = [Row(Item(label), [_item(value) for value in values]) for label, values in rows]
    return Table(corner, [Item(name) for name in head], [Group("", cells)])


def _item(value: float | str | None) -> Item:
    if value is None:
        return Item("–", tone="quiet")
    return Item(value if isinstance(value, str) else grouped(value))
