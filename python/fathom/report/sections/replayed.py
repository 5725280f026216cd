"""A replayed trace: how long its I/Os took, beside what was recorded, and whether the target kept up with its times."""

from collections.abc import Sequence

from fathom.analysis.finding import joined
from fathom.analysis.settled import TIMES, Unsettled
from fathom.columns.schema import Point
from fathom.output.text import latency_text
from fathom.report.axes import Axis, rounded
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Section, Table
from fathom.report.charts import Bars, bar_chart
from fathom.report.comparison import Cell, Column, Comparison, Corner
from fathom.report.findings import Gate, gate
from fathom.report.latencies import latency, percentile
from fathom.report.legend import legend_of
from fathom.report.recorded import recorded_blocks
from fathom.report.style import plain, slot
from fathom.statistics.latency_columns import PREFIXES

ORDER = 18
SHOWN = {"mean_us": "mean", "p99_us": "p99", "p999_us": "p99.9"}
ROW_PX = 40


def build(comparison: Comparison) -> Section | None:
    """Returns the percentiles of each operation of a replay; None where no trace was replayed."""
    corners = [
        corner
        for corner in comparison.corners
        if corner.cells and all(cell.is_replay for cell in corner.cells)
    ]
    lines = [
        (corner, name)
        for corner in corners
        for name in SHOWN
        if any(_us(cell, name) for cell in corner.cells)
    ]
    if not lines:
        return None
    first = lines[0][0]
    labels = [f"{_op(corner)}, {SHOWN[name]}" for corner, name in lines]
    bars = [
        Bars(
            column.short,
            slot(column.index),
            [rounded(us) if (us := _us(corner.cell(column), name)) else None for corner, name in lines],
        )
        for column in comparison.columns
    ]
    kind = "response" if any(_has_response(cell.point) for cell in first.cells) else "service"
    chart = Chart(
        "replay",
        f"{kind.capitalize()} latency of the replay",
        sub="us",
        option=bar_chart(Axis("us", "us", low=0), labels, bars, width_px=16),
        summary="Latency percentiles by operation and target; the table below has the figures.",
        height_px=70 + len(labels) * max(ROW_PX, 14 + 20 * len(comparison.columns)),
    )
    since = "recorded time of issue" if kind == "response" else "issue"
    caption = f"From the {since} of an I/O to its completion. A percentile needs 100 I/Os beyond it."
    figure = Figure([chart], caption, _table(corners), legend_of(comparison.columns), columns=1)
    out = gate(comparison)
    key = KeyFigure(_sentence(first, out), figure, _reasons(corners, out))
    told = [_answer(column, corners, out) for column in _columns(corners)]
    return Section("replay", "Replay", recorded_blocks(corners), short="Replay", answer=told, key_figure=key)


def _has_response(point: Point) -> bool:
    return point.response_mean_us is not None


def _column(point: Point, name: str) -> str:
    return f"{PREFIXES['response'] if _has_response(point) else ''}{name}"


def _us(cell: Cell | None, name: str) -> float | None:
    value: float | None = getattr(cell.point, _column(cell.point, name)) if cell else None
    return value


def _op(corner: Corner) -> str:
    return {"read": "reads", "write": "writes", "flush": "flushes"}.get(corner.cells[0].point.op, "I/Os")


def _sentence(corner: Corner, out: Gate) -> str:
    """Returns the best target by p99 of an operation, or by its mean where it has fewer I/Os.

    Those that support a claim come first. The sentence on another is only what it did. Where no time of the trace can
    be relied on, it is that: a latency would be of bursts that the trace did not have.
    """
    if doubts := _doubted(corner, out):
        return f"No latency of the recorded load is known: {joined(sorted(one.value for one in doubts))}."
    name = "p99_us" if any(_us(cell, "p99_us") for cell in corner.cells) else "mean_us"
    known = [cell for cell in corner.cells if _us(cell, name)]
    claimed = [cell for cell in known if not _why_not(cell, out)]
    best = min(claimed or known, key=lambda cell: _us(cell, name) or 0.0)
    time = latency_text(_us(best, name) or 0.0)
    subject = f"{best.column.short} {'answers' if claimed else 'answered'}"
    if name == "mean_us":
        return f"{subject} the recorded {_op(corner)} in {time} on average{_depth(best)}."
    return f"{subject} 99 % of the recorded {_op(corner)} within {time}{_depth(best)}."


def _doubted(corner: Corner, out: Gate) -> set[Unsettled]:
    """Returns why the times of the trace mislead; nothing where a target was loaded at others."""
    found = [_why_not(cell, out) for cell in corner.cells]
    return {why for why in found if why} if all(why in TIMES.values() for why in found) else set()


def _depth(cell: Cell) -> str:
    """Returns how many were in flight, where the replay and not the trace decided that; else nothing."""
    point, job = cell.point, cell.column.run.jobs[cell.point.step]
    by_trace = any(one.rate_iops is not None or one.pattern.waits for one in job.streams.values() or [job])
    if by_trace or not point.threads or not point.iodepth:
        return ""
    return f" at {point.threads * point.iodepth} in flight"


def _why_not(cell: Cell, out: Gate) -> Unsettled | None:
    """Returns why nothing is claimed of a target in its replay."""
    return out.get((cell.column.short, cell.step.name))


def _columns(corners: Sequence[Corner]) -> list[Column]:
    return list({cell.column.index: cell.column for corner in corners for cell in corner.cells}.values())


def _cells(column: Column, corners: Sequence[Corner]) -> list[Cell]:
    return [cell for corner in corners if (cell := corner.cell(column))]


def _reasons(corners: Sequence[Corner], out: Gate) -> list[str]:
    """Returns which targets kept up with the recorded times, and why nothing more is claimed of some."""
    each = [(column, _cells(column, corners)) for column in _columns(corners)]
    kept = [(column, up) for column, cells in each if (up := cells[0].keeps_up) is not None]
    reasons = [
        f"{column.short} {'kept up with' if up else 'fell behind'} the recorded times." for column, up in kept
    ]
    said = _doubted(corners[0], out)
    for column, cells in each:
        if (why := _why_not(cells[0], out)) and why not in said:
            reasons.append(f"{column.short} {why.verb}: {why.value}.")
    return reasons


def _answer(column: Column, corners: Sequence[Corner], out: Gate) -> str:
    """Returns how long a target took for each operation, whether it kept up, and why no more is claimed."""
    cells = _cells(column, corners)
    parts = []
    for corner in corners:
        cell = corner.cell(column)
        if mean_us := _us(cell, "mean_us"):
            p99_us = _us(cell, "p99_us")
            tail = f" (99 % within {latency_text(p99_us)})" if p99_us else ""
            parts.append(f"{_op(corner)} in {latency_text(mean_us)}{tail}")
    if not parts:
        return f"{plain(column.label)}: {cells[0].failed or 'no latency was recorded'}, so it has no figures."
    up = cells[0].keeps_up
    since = "" if up is None else ", counted from the recorded times"
    times = "" if up is None else f"; it {'kept up with' if up else 'fell behind'} them"
    why = _why_not(cells[0], out)
    no_more = f" No more is claimed: it {why.verb} ({why.value})." if why else ""
    return f"{plain(column.label)}: {joined(parts)} on average{_depth(cells[0])}{since}{times}.{no_more}"


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
