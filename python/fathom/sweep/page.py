"""A sweep as an offline HTML page: a panel for every step over one of its axes, and the table."""

from collections.abc import Sequence
from math import log2
from pathlib import Path

import pyarrow as pa

from fathom import __version__
from fathom.analysis.finding import joined
from fathom.output.output_file import write_output
from fathom.report.axes import Axis as ChartAxis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Points, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.comparison import shortened
from fathom.report.html_page import Page
from fathom.report.opening import opened
from fathom.report.page import REPORT
from fathom.report.style import plain, slot, when, with_micro
from fathom.sweep.answer import (
    FIGURES,
    NOT_MEASURED,
    Panel,
    across,
    answer,
    by_target,
    panels,
    place,
    series,
    shown,
)
from fathom.sweep.doubts import doubts
from fathom.sweep.grid import Axis
from fathom.sweep.study import Outcome, Sweep, now
from fathom.sweep.terminal import headings

MOST_PANELS = 24
HEIGHT_PX = 220


def write_page(sweep: Sweep, folder: Path, table: pa.Table, outcomes: Sequence[Outcome]) -> Path:
    """Writes `report.html` into the folder and returns it."""
    failed = [f"{plain(one.combination.label)}: {plain(one.error)}" for one in outcomes if one.error]
    found, x = panels(sweep, table), across(sweep.axes)
    rows = _table(sweep, table, found)
    drawn = _figure(sweep, x, found, rows) if found and (x.is_numeric or x.sizes_bytes) else rows
    said = [with_micro(text[:1].upper() + text[1:]) for text in doubts(outcomes)]
    # What speaks against the figures stands with the answer, where there is one.
    listed = [*(f"Failed: {text}" for text in failed), *([] if found else said)]
    blocks = [Points(listed)] if listed else []
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
    quick = shortened(sweep.method.quick)
    path = folder / REPORT
    key = KeyFigure(answer(sweep, x, found), drawn) if found else None
    section = Section("sweep", "What if", [*blocks, rows], key_figure=key)
    opening, folded = opened([section], [NOT_MEASURED, *said])
    page = Page(title, folded, opening=opening, headers=[header], shortened=[quick] if quick else [])
    write_output(path, page.html().encode(), of_a_run=True)
    return path


def _table(sweep: Sweep, table: pa.Table, found: Sequence[Panel]) -> Table:
    names = headings(sweep.axes, table)
    head = [
        Item("limited by" if name == "limited_by" else with_micro(plain(FIGURES.get(name, name))))
        for name in names[1:]
    ]
    groups = [
        Group(
            label,
            [
                Row(
                    Item(shown(names[0], row[names[0]])), [Item(shown(name, row[name])) for name in names[1:]]
                )
                for row in own
            ],
        )
        for panel in found
        for label, own in by_target(sweep, panel)
    ]
    return Table(plain(names[0]), head, groups, ["Each combination is a run of its own, under points/."])


def _figure(sweep: Sweep, x: Axis, found: Sequence[Panel], table: Table) -> Figure:
    """Returns a panel for each measured step, and for each of its operations where it has several, in the order of
    the method. Steps that prepare are drawn only where nothing is measured.
    """
    drawn = ([panel for panel in found if not panel.prepares] or found)[:MOST_PANELS]
    names = sorted({series(sweep, x, row) for panel in found for row in panel.rows})
    charts = []
    for number, panel in enumerate(drawn):
        option = line_chart(
            _chart_axis(x),
            ChartAxis("", "count", low=0),
            [_line(sweep, x, panel, name, names.index(name)) for name in names],
        )
        summary = (
            f"{FIGURES[panel.figure]} of {panel.label} over {plain(x.key)}; the table below has the figures."
        )
        charts.append(
            Chart(
                f"sweep-{number}",
                panel.label,
                sub=FIGURES[panel.figure],
                option=option,
                summary=summary,
                height_px=HEIGHT_PX,
            )
        )
    legend = [Item(name, slot=slot(number)) for number, name in enumerate(names)] if len(names) > 1 else []
    units = joined(list(dict.fromkeys(chart.sub for chart in charts)))
    caption = f"{units} over {plain(x.key)}, one panel per step and operation."
    return Figure(charts, caption, table, legend)


def _chart_axis(x: Axis) -> ChartAxis:
    """Returns the axis to draw: sizes by their doublings, with a tick at each value."""
    if x.is_numeric:
        return ChartAxis(plain(x.key), "count")
    ticks = sorted(log2(size_bytes) for size_bytes in x.sizes_bytes.values())
    return ChartAxis(plain(x.key), "size", low=ticks[0], high=ticks[-1], ticks=ticks)


def _line(sweep: Sweep, x: Axis, panel: Panel, name: str, number: int) -> Line:
    own = [row for row in panel.rows if series(sweep, x, row) == name and row[panel.figure] is not None]
    points = sorted((_at(x, row), float(f"{float(str(row[panel.figure])):.5g}")) for row in own)
    return Line(name or FIGURES[panel.figure], slot(number), points, marks=True)


def _at(x: Axis, row: dict[str, object]) -> float:
    return place(x, row) if x.is_numeric else log2(place(x, row))
