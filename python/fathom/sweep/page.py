"""A sweep as an offline HTML page: a panel for every step over the last numeric axis, and the table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import cast

import pyarrow as pa

from fathom import __version__
from fathom._core import LARGE_BLOCK_BYTES
from fathom.analysis.finding import joined
from fathom.method.step_names import Steps, called
from fathom.output.output_file import write_output
from fathom.output.text import many_of
from fathom.report.axes import Axis as ChartAxis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Points, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.opening import opened
from fathom.report.page import REPORT, page
from fathom.report.style import plain, slot, when
from fathom.sweep.grid import Axis
from fathom.sweep.study import Outcome, Sweep, now
from fathom.sweep.terminal import FIGURES, headings, shown

MOST_PANELS = 24
HEIGHT_PX = 220
LEVEL_SHARE = 0.05
"""A figure that changes by less is unchanged."""
Rows = Sequence[dict[str, object]]


def write_page(sweep: Sweep, folder: Path, table: pa.Table, outcomes: Sequence[Outcome]) -> Path:
    """Writes `report.html` into the folder and returns it."""
    failed = [f"{plain(one.combination.label)}: {plain(one.error)}" for one in outcomes if one.error]
    figures = _in_order(sweep, table)
    rows = _table(sweep, table, figures)
    x = _across(sweep.axes, table)
    drawn = _figure(sweep, x, figures, rows) if x and figures else rows
    blocks = [*([Points([f"Failed: {text}" for text in failed])] if failed else []), drawn]
    header = {
        "letter": "",
        "ids": [(folder.name, f"seed {sweep.seed}")],
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
    path = folder / REPORT
    key = KeyFigure(_sentence(sweep, x, figures), drawn) if isinstance(drawn, Figure) and x else None
    rest = blocks[:-1] if key else blocks
    opening, folded = opened([Section("sweep", "What if", [*rest, rows] if key else rest, key_figure=key)])
    html = page(title, [header], folded, quick, opening=opening)
    write_output(path, html.encode(), of_a_run=True)
    return path


def _in_order(sweep: Sweep, table: pa.Table) -> Rows:
    """Returns the rows of measured steps, then those of steps that only prepare."""
    preparing = _preparing(sweep)
    return sorted(table.to_pylist(), key=lambda row: row["step"] in preparing)


def _preparing(sweep: Sweep) -> set[str]:
    return {step.name for step in sweep.method.steps if step.prepares}


def _across(axes: Sequence[Axis], table: pa.Table) -> Axis | None:
    """Returns the last numeric axis, of those with several values where there are such."""
    numeric = [axis for axis in axes if pa.types.is_floating(table.schema.field(axis.column).type)]
    return next(
        (axis for axis in reversed(numeric) if len(axis.values) > 1), numeric[-1] if numeric else None
    )


def _sentence(sweep: Sweep, x: Axis, rows: Rows) -> str:
    """Returns which measured step changes most from one end of the axis to the other, and whether the rest does."""
    steps, preparing = _steps(sweep), _preparing(sweep)
    ratios: list[tuple[float, str]] = []
    for (step, _), own in _panels(rows).items():
        if step in preparing:
            continue
        figure = _headline(own)
        points = sorted((float(str(row[x.column])), float(str(row[figure]))) for row in own if row[figure])
        if len(points) > 1 and points[0][1] > 0 and points[-1][1] > 0:
            ratios.append((points[-1][1] / points[0][1], plain(called(step, steps))))
    if not ratios:
        return f"What {plain(x.key)} changes."
    ratio, label = max(ratios, key=lambda found: abs(log(found[0])))
    if abs(ratio - 1) < LEVEL_SHARE:
        return f"Nothing changes with {plain(x.key)}."
    moved = sum(abs(other - 1) >= LEVEL_SHARE for other, _ in ratios)
    most = " the most" if moved > 1 else ""
    rest = ", the rest unchanged" if moved == 1 < len(ratios) else ""
    return f"{label} changes{most} with {plain(x.key)}: x {ratio:.2g}{rest}."


def _steps(sweep: Sweep) -> Steps:
    """Returns the method's steps by key."""
    steps = cast("Sequence[Mapping[str, object]]", sweep.method.parsed["steps"])
    return {str(step["name"]): step for step in steps}


def _table(sweep: Sweep, table: pa.Table, figures: Rows) -> Table:
    names, steps = headings(sweep.axes, table), _steps(sweep)
    head = [Item(plain(FIGURES.get(name, name))) for name in names[1:]]

    def cell(name: str, value: object) -> Item:
        return Item(plain(called(str(value), steps)) if name == "step" else shown(name, value))

    rows = [
        Row(Item(shown(names[0], row[names[0]])), [cell(name, row[name]) for name in names[1:]])
        for row in figures
    ]
    return Table(plain(names[0]), head, [Group("", rows)], ["Each row is a run of its own, under points/."])


def _figure(sweep: Sweep, x: Axis, rows: Rows, table: Table) -> Figure:
    """Returns a panel for each measured step, and for each of its operations where it has several, in the order of
    the rows. Steps that prepare are drawn only where nothing is measured.
    """
    steps, preparing = _steps(sweep), _preparing(sweep)
    found = _panels([row for row in rows if row["step"] not in preparing] or rows)
    panels = list(found.items())[:MOST_PANELS]
    counts = Counter(step for step, _ in found)
    others = [axis.column for axis in sweep.axes if axis is not x]
    names = sorted({_series(others, row) for row in rows})
    charts = []
    for number, ((step, op), own) in enumerate(panels):
        label = plain(called(step, steps)) + (f", {many_of(plain(op))}" if counts[step] > 1 else "")
        figure = _headline(own)
        option = line_chart(
            ChartAxis(plain(x.key), "count"),
            ChartAxis("", "count", low=0),
            [_line(name, names.index(name), x, others, own) for name in names],
        )
        summary = f"{FIGURES[figure]} of {label} over {plain(x.key)}; the table below has the figures."
        charts.append(Chart(f"sweep-{number}", label, FIGURES[figure], option, summary, HEIGHT_PX))
    legend = (
        [Item(plain(name), slot=slot(place)) for place, name in enumerate(names)] if len(names) > 1 else []
    )
    units = joined(list(dict.fromkeys(chart.sub for chart in charts)))
    caption = f"{units} over {plain(x.key)}, one panel per step and operation."
    return Figure(charts, caption, table, legend)


def _panels(rows: Rows) -> dict[tuple[str, str], list[dict[str, object]]]:
    """Returns rows by step and operation."""
    panels: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in rows:
        panels.setdefault((str(row["step"]), str(row["op"])), []).append(row)
    return panels


def _headline(rows: Rows) -> str:
    """Returns the figure that a panel shows: MB/s of large blocks, as tables of results have it."""
    large = all(cast("int", row["block_bytes"] or 0) >= LARGE_BLOCK_BYTES for row in rows)
    return "mbps" if large else "iops"


def _line(name: str, place: int, x: Axis, others: Sequence[str], rows: Rows) -> Line:
    own = [row for row in rows if _series(others, row) == name]
    figure = _headline(rows)
    points = sorted((float(str(row[x.column])), float(str(row[figure]))) for row in own)
    return Line(
        plain(name) or FIGURES[figure], slot(place), [(at, float(f"{y:.5g}")) for at, y in points], marks=True
    )


def _series(others: Sequence[str], row: dict[str, object]) -> str:
    """Returns what distinguishes the lines of a panel: the other settings and the target."""
    return ", ".join([*(f"{key} {shown(key, row[key])}" for key in others), str(row["target"])])
