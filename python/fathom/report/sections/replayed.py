"""A replayed trace: how long its I/Os took, beside what was recorded, and whether the target kept up with its times."""

from collections.abc import Sequence

from fathom.columns.schema import Point
from fathom.method.curve import SUSTAINED_LEAST
from fathom.report.axes import Axis, rounded
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Section, Table
from fathom.report.charts import Bars, bar_chart
from fathom.report.comparison import Cell, Comparison, Corner
from fathom.report.latencies import latency, percentile
from fathom.report.legend import legend_of
from fathom.report.recorded import recorded_blocks
from fathom.report.style import compact, slot
from fathom.statistics.percentiles import PREFIXES

ORDER = 18
SHOWN = {"mean_us": "mean", "p99_us": "p99", "p999_us": "p99.9"}
ROW_PX = 40


def build(comparison: Comparison) -> Section | None:
    """Returns the percentiles of each operation of a replay; None where no trace was replayed."""
    corners = [corner for corner in comparison.corners if corner.cells and all(map(_is_replay, corner.cells))]
    if not corners:
        return None
    lines = [
        (corner, name)
        for corner in corners
        for name in SHOWN
        if any(_us(cell, name) for cell in corner.cells)
    ]
    if not lines:
        return None
    labels = [f"{_op(corner)}, {SHOWN[name]}" for corner, name in lines]
    bars = [
        Bars(
            column.short,
            slot(column.index),
            [rounded(us) if (us := _us(corner.cell(column), name)) else None for corner, name in lines],
        )
        for column in comparison.columns
    ]
    kind = "response" if _has_response(corners[0].cells[0].point) else "service"
    chart = Chart(
        "replay",
        f"{kind.capitalize()} latency of the replay",
        "us",
        bar_chart(Axis("us", "us", low=0), labels, bars, width_px=16),
        "Latency percentiles by operation and target; the table below has the figures.",
        70 + len(labels) * max(ROW_PX, 14 + 20 * len(comparison.columns)),
    )
    since = "recorded time of issue" if kind == "response" else "issue"
    caption = f"From the {since} of an I/O to its completion. A percentile needs 100 I/Os beyond it."
    figure = Figure([chart], caption, _table(corners), legend_of(comparison.columns), columns=1)
    key = KeyFigure(_sentence(corners), figure, _reasons(corners))
    return Section("replay", "Replay", recorded_blocks(corners), short="Replay", key_figure=key)


def _is_replay(cell: Cell) -> bool:
    job = cell.column.run.jobs.get(cell.point.step)
    return job is not None and job.pattern.kind == "replay"


def _has_response(point: Point) -> bool:
    return point.response_mean_us is not None


def _column(point: Point, name: str) -> str:
    return f"{PREFIXES['response'] if _has_response(point) else ''}{name}"


def _us(cell: Cell | None, name: str) -> float | None:
    value: float | None = getattr(cell.point, _column(cell.point, name)) if cell else None
    return value


def _op(corner: Corner) -> str:
    return {"read": "reads", "write": "writes", "flush": "flushes"}.get(corner.cells[0].point.op, "I/Os")


def _sentence(corners: Sequence[Corner]) -> str:
    """Returns the best target by p99 of the first operation, or by its mean where it has fewer I/Os."""
    corner = corners[0]
    name = "p99_us" if any(_us(cell, "p99_us") for cell in corner.cells) else "mean_us"
    best = min((cell for cell in corner.cells if _us(cell, name)), key=lambda cell: _us(cell, name) or 0.0)
    us = compact(_us(best, name) or 0.0)
    if name == "mean_us":
        return f"{best.column.short} answers the recorded {_op(corner)} in {us} us on average."
    return f"{best.column.short} answers 99 % of the recorded {_op(corner)} within {us} us."


def _reasons(corners: Sequence[Corner]) -> list[str]:
    """Returns which targets kept up with the recorded times."""
    reasons = []
    for column in {cell.column.index: cell.column for corner in corners for cell in corner.cells}.values():
        points = [cell.point for corner in corners if (cell := corner.cell(column))]
        # What arrived within the window is offered; a replay that is late has a longer one.
        recorded = column.run.jobs[points[0].step].rate_iops
        if not recorded:
            continue
        behind = sum(point.iops or 0.0 for point in points) < SUSTAINED_LEAST * recorded
        verb = "fell behind" if behind else "kept up with"
        reasons.append(f"{column.short} {verb} the recorded times.")
    return reasons


def _table(corners: Sequence[Corner]) -> Table:
    groups = [
        Group(
            _op(corner),
            [
                Row(
                    Item(cell.column.label),
                    [_item(cell.point, _column(cell.point, name)) for name in SHOWN],
                )
                for cell in corner.cells
            ],
        )
        for corner in corners
    ]
    return Table(
        "Target",
        [Item(text, "us") for text in SHOWN.values()],
        groups,
        ["Beneath a figure is its 95 % interval."],
    )


def _item(point: Point, name: str) -> Item:
    if name.endswith("mean_us"):
        return latency(point, name) or Item("–", tone="quiet", title="not recorded")
    return percentile(point, name)
