"""A sweep as an offline HTML page: a panel for every step over the last numeric axis, and the table."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from fathom import __version__
from fathom.report.blocks import Chart, Figure, Group, Item, Points, Row, Section, Table
from fathom.report.charts import Axis as ChartAxis
from fathom.report.charts import Line, line_chart
from fathom.report.page import page
from fathom.report.style import plain, slot, when
from fathom.sweep.grid import Axis
from fathom.sweep.study import Outcome, Sweep, now
from fathom.sweep.views import FIGURES, headings, shown

MOST_PANELS = 24
HEIGHT_PX = 220
Rows = Sequence[dict[str, object]]


def write_page(sweep: Sweep, folder: Path, table: pa.Table, outcomes: Sequence[Outcome]) -> Path:
    """Writes `report.html` into the folder and returns it."""
    failed = [f"{plain(one.combination.label)}: {plain(one.error)}" for one in outcomes if one.error]
    rows = _table(sweep.axes, table)
    x = next(
        (axis for axis in reversed(sweep.axes) if pa.types.is_floating(table.schema.field(axis.column).type)),
        None,
    )
    drawn = _figure(sweep.axes, x, table.to_pylist(), rows) if x and table.num_rows else rows
    blocks = [*([Points([f"Failed: {text}" for text in failed])] if failed else []), drawn]
    header = {
        "letter": "",
        "ids": [(folder.name, sweep.seed)],
        "resume": "",
        "created": when(now()),
        "took": "",
        "status": "",
        "error": "",
        "method": plain(sweep.method.name),
        "source": plain(sweep.method.source),
        "summary": plain(sweep.method.summary),
        "targets": [plain(target) for target in sweep.targets],
        "version": __version__,
    }
    title = f"{plain(sweep.method.title)}: a sweep"
    quick = ["every point is a quick run"] if sweep.quick else []
    path = folder / "report.html"
    path.write_text(page(title, [header], [Section("sweep", "What if", blocks)], quick), encoding="utf-8")
    return path


def _table(axes: Sequence[Axis], table: pa.Table) -> Table:
    names = headings(axes, table)
    head = [Item(plain(FIGURES.get(name, name))) for name in names[1:]]
    rows = [
        Row(Item(shown(names[0], row[names[0]])), [Item(shown(name, row[name])) for name in names[1:]])
        for row in table.to_pylist()
    ]
    return Table(
        plain(names[0]), head, [Group("", rows)], ["Each row is of a run of its own, under points/."]
    )


def _figure(axes: Sequence[Axis], x: Axis, rows: Rows, table: Table) -> Figure:
    panels = [(step, list(own)) for step, own in groupby(sorted(rows, key=_panel), key=_panel)][:MOST_PANELS]
    others = [axis.column for axis in axes if axis is not x]
    names = sorted({_series(others, row) for row in rows})
    charts = [
        Chart(
            f"sweep-{number}",
            plain(f"{step}, {op}"),
            "IOPS",
            line_chart(
                ChartAxis(plain(x.key), "count"),
                ChartAxis("", "count", low=0),
                [_line(name, names.index(name), x, others, own) for name in names],
            ),
            f"IOPS of {plain(step)} over {plain(x.key)}; figures in the table below.",
            HEIGHT_PX,
        )
        for number, ((step, op), own) in enumerate(panels)
    ]
    legend = (
        [Item(plain(name), slot=slot(place)) for place, name in enumerate(names)] if len(names) > 1 else []
    )
    return Figure(charts, f"IOPS over {plain(x.key)}, a panel for each step and operation.", table, legend)


def _line(name: str, place: int, x: Axis, others: Sequence[str], rows: Rows) -> Line:
    own = [row for row in rows if _series(others, row) == name]
    points = sorted((float(str(row[x.column])), float(str(row["iops"]))) for row in own)
    return Line(plain(name) or "IOPS", slot(place), [(at, float(f"{y:.5g}")) for at, y in points], marks=True)


def _panel(row: dict[str, object]) -> tuple[str, str]:
    return str(row["step"]), str(row["op"])


def _series(others: Sequence[str], row: dict[str, object]) -> str:
    """What tells the lines of a panel apart: the other settings and the target."""
    return ", ".join([*(f"{key} {shown(key, row[key])}" for key in others), str(row["target"])])
