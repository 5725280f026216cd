"""Write amplification: bytes to the media per byte of the host, over time and per step, and the rated life.

Shown where two or more measured steps that write have a WAF. Steps of curves, rounds and streams do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.analysis.settled import Unsettled, no_target
from fathom.columns.schema import Point
from fathom.errors import UsageError
from fathom.output.text import capacity
from fathom.report.axes import Axis, time_axis
from fathom.report.blocks import Chart, Figure, Group, Item, KeyFigure, Row, Section, Table
from fathom.report.charts import Bars, Line, bar_chart, line_chart, row_px
from fathom.report.comparison import Column, Comparison
from fathom.report.findings import Gate, claims_waf, gate
from fathom.report.legend import legend_of
from fathom.report.repeats import of_each
from fathom.report.style import grouped, plain, seconds, slot
from fathom.report.waf import NOTE, waf_item, waf_text
from fathom.sizing.drive import rated_drive

ORDER = 37
METHOD = "write-amplification"
MAX_DOTS = 240
LEAST_BARS, MOST_BARS = 3, 40
DAY_S = 86_400
NONE = Item("–", tone="quiet", title="no rated endurance is known")


@dataclass(frozen=True)
class Amplified:
    """A target's measured writes: rows of points, and WAF over the steps laid end to end."""

    column: Column
    points: Sequence[Point]
    line: Sequence[Sequence[float | None]]
    end_s: float


def build(comparison: Comparison) -> Section | None:
    """Returns WAF over time and the table of its steps."""
    found = [one for column in comparison.columns if (one := _amplified(column))]
    if not found:
        return None
    charts = [*_bars(found), *_over_fill(found), *(_chart(one) for one in found)]
    caption = (
        "Bytes written to the media per byte written by the host: per measured step that writes, and over these "
        f"steps laid end to end without the pauses. Each is drawn in up to {MAX_DOTS} means."
    )
    figure = Figure(charts, caption, _table(found), legend_of([one.column for one in found]), columns=2)
    if not any(one.column.run.asks_for("amplification", METHOD) for one in found):
        return Section("amplification", "Write amplification", [figure], short="WAF")
    out = gate(comparison)
    claimed = _claimed(found, out)
    told = [_sentence(one) for one in claimed if one.column.run.asks_for("amplification", METHOD)]
    reasons = {out.get((one.column.short, point.step)) for one in found for point in one.points} - {None}
    key = _key_figure(claimed, figure, [one for one in Unsettled if one in reasons])
    return Section("amplification", "Write amplification", [], short="WAF", answer=told, key_figure=key)


def _claimed(found: Sequence[Amplified], out: Gate) -> list[Amplified]:
    """Returns the targets with the steps that may be claimed; those with none are left out."""
    kept = [
        replace(one, points=[point for point in one.points if claims_waf(out, one.column, point.step)])
        for one in found
    ]
    return [one for one in kept if one.points]


def _key_figure(found: Sequence[Amplified], figure: Figure, why: Sequence[Unsettled]) -> KeyFigure:
    """Returns the greatest WAF and its step, with bars by step and lines over time; `why` nothing else is claimed."""
    if not found:
        return KeyFigure(f"{no_target(why).capitalize()}, so no write amplification is claimed.", figure)
    ends = [
        (one, [pick(one.points, key=lambda point: point.waf or 0.0) for pick in (min, max)]) for one in found
    ]
    said = [
        f"Write amplification of {one.column.short} reaches {most.waf or 0.0:.1f} in "
        f"{plain(one.column.run.steps[most.step].label)}"
        + (f"; {least.waf or 0.0:.1f} at best." if least is not most else ".")
        for one, (least, most) in ends
    ]
    return KeyFigure(said[0], figure, said[1:])


def _sentence(one: Amplified) -> str:
    """Returns the WAF of the steps, from the least to the greatest."""
    ends = [pick(one.points, key=lambda point: point.waf or 0.0) for pick in (min, max)]
    parts = [
        f"{waf_text(point.waf or 0.0, point.interval('waf'))} in {plain(one.column.run.steps[point.step].label)}"
        for point in ends
    ]
    said = f"from {' to '.join(parts)}" if parts[0] != parts[1] else parts[0]
    return f"{one.column.label}: WAF {said}."


def _amplified(column: Column) -> Amplified | None:
    run = column.run
    placed = {row.step for row in run.streams}
    points = [
        point
        for point in run.points
        if point.target == column.target.name
        and point.op == "write"
        and point.waf is not None
        and point.step in run.steps
        and run.steps[point.step].kind == "measure"
        and run.round_of(point.step) is None
        and point.step not in placed
    ]
    if len(points) < 2:
        return None
    windows_s = [of_each(run, point)[0].window_s or 0.0 for point in points]
    line: list[Sequence[float | None]] = []
    end_s = 0.0
    for point, window_s in zip(points, windows_s, strict=True):
        samples = run.measured_writes(point.target, point.step)
        width = -(-len(samples) // MAX_DOTS) or 1
        for first in range(0, len(samples), width):
            part = samples[first : first + width]
            waf = sum(media for _, _, media in part) / sum(host for _, host, _ in part)
            line.append((end_s + part[0][0], float(f"{waf:.4g}")))
        end_s += window_s
        if len(samples) == 1:
            # A line through one point shows nothing.
            line.append((end_s, line[-1][1]))
        line.append((end_s, None))
    return Amplified(column, points, line, end_s)


def _bars(found: Sequence[Amplified]) -> list[Chart]:
    """Returns a bar per step and target; none if a table is as quick to read, or if there are too many to draw."""
    labels = {
        point.step: plain(one.column.run.steps[point.step].label) for one in found for point in one.points
    }
    if not LEAST_BARS <= len(labels) <= MOST_BARS:
        return []
    wafs = [{point.step: point.waf for point in one.points} for one in found]
    bars = [
        Bars(one.column.short, slot(one.column.index), [_rounded(of_step.get(step)) for step in labels])
        for one, of_step in zip(found, wafs, strict=True)
    ]
    option = bar_chart(Axis("", "count", low=0), list(labels.values()), bars)
    height_px = 40 + len(labels) * row_px([*labels.values()], 14 + 8 * len(found))
    return [
        Chart(
            "waf-steps",
            "By step",
            sub="WAF",
            option=option,
            summary="WAF per step; the table below has the figures.",
            height_px=height_px,
            wide=True,
        )
    ]


def _over_fill(found: Sequence[Amplified]) -> list[Chart]:
    """Returns WAF over the written share of the target, for steps that differ in nothing else."""
    lines = []
    for one in found:
        filled: dict[tuple[object, ...], dict[float, float]] = {}
        for point in one.points:
            job = one.column.run.jobs.get(point.step)
            share = job.region_size.fraction if job else None
            if job is None or share is None or point.waf is None:
                continue
            same = (job.pattern, point.block_bytes, point.read_pct, point.threads, point.iodepth)
            filled.setdefault(tuple(map(repr, same)), {})[share] = float(f"{point.waf:.4g}")
        most = max(filled.values(), key=len, default={})
        if len(most) >= LEAST_BARS:
            line = [(100 * share, most[share]) for share in sorted(most)]
            lines.append(Line(one.column.short, slot(one.column.index), line, marks=True, labelled=True))
    if not lines:
        return []
    option = line_chart(Axis("filled, %", "pct"), Axis("", "count", low=0), lines)
    return [
        Chart(
            "waf-fill",
            "Over fill",
            sub="WAF",
            option=option,
            summary="WAF over fill; the table has the figures.",
            height_px=260,
        )
    ]


def _rounded(waf: float | None) -> float | None:
    return None if waf is None else float(f"{waf:.4g}")


def _chart(one: Amplified) -> Chart:
    place = slot(one.column.index)
    option = line_chart(
        time_axis(one.end_s), Axis("", "count", low=0), [Line("WAF", place, one.line, style="solid")]
    )
    summary = f"WAF of {one.column.label} over {len(one.points)} steps; the table below has the figures."
    return Chart(
        f"waf-{one.column.index}",
        one.column.label,
        sub="WAF over time",
        option=option,
        summary=summary,
        height_px=180,
        slot=place,
    )


def _table(found: Sequence[Amplified]) -> Table:
    heads = [
        Item("WAF"),
        Item("Writes", "IOPS"),
        Item("Host writes", "per day at that rate"),
        Item("Rated life", "years at that rate"),
        Item("Window"),
        Item("n"),
    ]
    groups = [
        Group(one.column.label, [_row(one, point, endurance(one.column)) for point in one.points])
        for one in found
    ]
    notes = [
        "Rated life: the rated bytes written / the rate measured. A rating holds for its own workload (JEDEC "
        "JESD218/219); data sheets do not state the WAF of that workload. A higher WAF wears the media sooner, "
        "in proportion."
    ]
    return Table("Step", heads, groups, [*notes, NOTE])


def _row(one: Amplified, point: Point, rated_bytes: float | None) -> Row:
    bps = (point.mbps or 0.0) * 1e6
    life = Item(grouped(rated_bytes / bps / DAY_S / 365)) if rated_bytes and bps else NONE
    cells = [
        waf_item(point, strong=True) or NONE,
        Item(grouped(point.iops or 0.0)),
        Item(capacity(bps * DAY_S)),
        life,
        Item(seconds(point.window_s or 0.0)),
        Item(f"{point.n or 0:,}"),
    ]
    return Row(Item(plain(one.column.run.steps[point.step].label)), cells)


def endurance(column: Column) -> float | None:
    """Returns the rated host writes in bytes; None where no data sheet is known."""
    if column.target.catalog is None:
        return None
    try:
        figure = rated_drive(column.target.catalog).figures.get(("endurance", None))
    except UsageError:
        return None
    return figure.value if figure else None
