"""Latency under a background load: one stream's latency while another runs at shares of its own maximum.

Shown if a method's steps have `offered` for one of their streams. A step may measure the other streams alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from fathom._core import Job
from fathom.analysis.finding import joined
from fathom.columns.schema import Point
from fathom.method.curve import SUSTAINED_LEAST
from fathom.method.offered import Offered, OfferedJson, parse_offered
from fathom.output.text import many_of
from fathom.report.axes import Axis, around_1_2_5
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Section, Table
from fathom.report.charts import Line, line_chart
from fathom.report.comparison import Column, Comparison
from fathom.report.data import RunData
from fathom.report.findings import Gate, gate
from fathom.report.latencies import latency, percentile
from fathom.report.style import grouped, plain, seconds

ORDER = 38
DRAWN = (("p50_us", "p50"), ("p99_us", "p99"), ("p999_us", "p99.9"))
NONE = Item("–", tone="quiet")


@dataclass(frozen=True)
class LoadedPoint:
    """One operation of the foreground streams, while the background runs at `share` of its maximum; 0: alone.

    `beside_iops` is what the background stream achieved, `offered_iops` what was offered to it; None and 0 alone.
    """

    share: float
    point: Point
    beside_iops: float | None
    offered_iops: float

    @property
    def sustained(self) -> bool:
        """Whether the background stream kept up with the rate offered to it."""
        return self.beside_iops is None or self.beside_iops >= SUSTAINED_LEAST * self.offered_iops


@dataclass(frozen=True)
class LatencyUnderLoad:
    """A target's operation under background loads: shares of the rate of step `of`, ascending.

    `apart` names it beside another of the target with the same operation; empty where there is none.
    """

    column: Column
    of: str
    op: str
    steps: Sequence[LoadedPoint]
    apart: str = ""

    @property
    def title(self) -> str:
        """The target, the operation, and which of several it is."""
        return f"{self.column.label}: {many_of(self.op)}" + (f", {self.apart}" if self.apart else "")


def build(comparison: Comparison) -> Section | None:
    """Returns percentiles over the share, and their table."""
    found = [one for column in comparison.columns for one in _of(column)]
    if not found:
        return None
    caption = (
        "Service latency over the background load: a share of the IOPS that its stream achieved alone. "
        "A percentile of too few I/Os is left out."
    )
    charts = [chart for place, one in enumerate(found) if (chart := _chart(place, one))]
    legend = [Item(name, slot=place) for place, (_, name) in enumerate(DRAWN)]
    blocks = [Figure(charts, caption, _table(found), legend, columns=2)] if charts else [_table(found)]
    out = gate(comparison)
    sentences = [text for one in found if (text := _sentence(one, out))]
    return Section(
        "background-load",
        "Latency under a background load",
        blocks,
        short="Background load",
        answer=sentences,
    )


def _of(column: Column) -> Iterator[LatencyUnderLoad]:
    run, target = column.run, column.target.name
    groups: list[_Group] = []
    for name in run.raw_steps:
        offered = _offered(run, name)
        if offered is None or offered.stream is None:
            continue
        points = [point for point in run.points if (point.target, point.step) == (target, name)]
        own = run.jobs[name].streams[offered.stream].weights
        beside_iops = _beside_iops(run, points, name, offered.stream)
        if beside_iops is None:
            continue
        shapes = _others(run, name, offered.stream)
        alone_iops = sum(
            one.iops or 0.0 for one in run.points if (one.target, one.step) == (target, offered.of)
        )
        for point in points:
            if point.op in own:
                continue
            group = _Group(offered.of, point.op, shapes)
            if group not in groups:
                group.steps.extend(_alone(column, shapes, point.op))
                groups.append(group)
            steps = groups[groups.index(group)].steps
            steps.append(LoadedPoint(offered.share, point, beside_iops, offered.share * alone_iops))
    for one in groups:
        several = sum(other.op == one.op for other in groups) > 1
        first = next(step.point.step for step in one.steps if step.beside_iops is not None)
        apart = f"from {plain(run.steps[first].label)} on" if several else ""
        yield LatencyUnderLoad(column, one.of, one.op, sorted(one.steps, key=lambda step: step.share), apart)


@dataclass(frozen=True)
class _Group:
    """Steps with one foreground load beside shares of one step's rate; equal where these and the operation are."""

    of: str
    op: str
    shapes: Sequence[Sequence[object]]
    steps: list[LoadedPoint] = field(default_factory=list, compare=False)


def _beside_iops(run: RunData, points: Sequence[Point], step: str, stream: str) -> float | None:
    """Returns what the background stream achieved; None where it has no figures.

    Points are of an operation, whichever stream issued it. So a stream that shares one with others is looked up.
    """
    streams = run.jobs[step].streams
    own = streams[stream].weights
    if any(own.keys() & job.weights.keys() for name, job in streams.items() if name != stream):
        target = points[0].target if points else ""
        each = [
            row.iops for row in run.streams if (row.target, row.step, row.stream) == (target, step, stream)
        ]
    else:
        each = [point.iops or 0.0 for point in points if point.op in own]
    return sum(each) if each else None


def _offered(run: RunData, step: str) -> Offered | None:
    entry = run.raw_steps[step]
    offered = entry.get("offered") if isinstance(entry, dict) else None
    return parse_offered(cast(OfferedJson, offered)) if offered else None


def _others(run: RunData, step: str, offered_stream: str) -> list[list[object]]:
    """Returns the shapes of a step's other streams."""
    return [_shape(own) for stream, own in run.jobs[step].streams.items() if stream != offered_stream]


def _alone(column: Column, shapes: Sequence[Sequence[object]], op: str) -> list[LoadedPoint]:
    """Returns the same I/O measured without a background load."""
    run = column.run
    for name in run.raw_steps:
        if run.steps[name].kind == "measure" and [_shape(run.jobs[name])] == shapes:
            points = [
                one for one in run.points if (one.target, one.step, one.op) == (column.target.name, name, op)
            ]
            return [LoadedPoint(0.0, one, None, 0.0) for one in points]
    return []


def _shape(job: Job) -> list[object]:
    """Returns the properties that make two workloads the same I/O."""
    load = [job.threads, job.iodepth, job.rate_iops, job.arrival]
    return [job.ops, job.pattern, job.region_start, job.region_size, *load]


def _sentence(one: LatencyUnderLoad, out: Gate) -> str:
    """Returns p99 from the lowest to the highest background load; empty if no share has enough I/Os, or is claimed."""
    if (one.column.short, one.of) in out:
        return ""
    claimed = [step for step in one.steps if (one.column.short, step.point.step) not in out]
    known = [(step, grouped(step.point.p99_us)) for step in claimed if step.point.p99_us is not None]
    alone = [f"{p99} us alone" for step, p99 in known if step.beside_iops is None]
    beside = [(f"{100 * step.share:g}", p99) for step, p99 in known if step.beside_iops is not None]
    if not beside:
        return ""
    shares, tails = (", ".join(texts) for texts in zip(*beside, strict=True))
    most = f"{tails} us beside {shares} % of the IOPS of {plain(one.column.run.steps[one.of].label)}"
    apart = f" ({one.apart})" if one.apart else ""
    text = f"{one.column.label}: p99 of {many_of(one.op)}{apart} is {joined([*alone, most])}"
    if short := [step for step in claimed if not step.sustained]:
        text += f"; from {100 * short[0].share:g} % on, the background load fell behind"
    return text + "."


def _chart(place: int, one: LatencyUnderLoad) -> Chart | None:
    lines = [
        Line(name, place, points, marks=True)
        for place, (column, name) in enumerate(DRAWN)
        if len(points := _dots(one, column)) > 1
    ]
    if not lines:
        return None
    low, high = around_1_2_5(*_ends([point[1] for line in lines for point in line.points]))
    ticks = [100 * step.share for step in one.steps]
    across = Axis("background load, % of its rate alone", "count", low=0, high=ticks[-1], ticks=ticks)
    option = line_chart(across, Axis("", "us", log=True, low=low, high=high), lines)
    names = ", ".join(line.name for line in lines)
    return Chart(
        f"background-load-{place}-{one.op}",
        one.title,
        sub=f"{names}, us",
        option=option,
        summary=f"{names} of {many_of(one.op)} over the share; the table below has the figures.",
        height_px=240,
    )


def _dots(one: LatencyUnderLoad, column: str) -> list[list[float | None]]:
    values = [(100 * step.share, cast("float | None", getattr(step.point, column))) for step in one.steps]
    return [[share, float(f"{value:.5g}")] for share, value in values if value is not None]


def _ends(values: Sequence[float | None]) -> tuple[float, float]:
    known = [value for value in values if value]
    return (min(known), max(known)) if known else (1.0, 10.0)


def _table(found: Sequence[LatencyUnderLoad]) -> Table:
    heads = [
        Item("Background", "IOPS achieved, offered"),
        Item("Rate", "IOPS"),
        Item("Mean", "us"),
        Item("p50", "us"),
        Item("p95", "us"),
        Item("p99", "us"),
        Item("p99.9", "us"),
        Item("Window"),
        Item("n"),
    ]
    groups = [Group(one.title, [_row(step) for step in one.steps]) for one in found]
    notes = ["The 95 % interval stands beneath a figure, where the seconds of the window allow one."]
    return Table("Share", heads, groups, notes)


def _row(step: LoadedPoint) -> Row:
    point, did = step.point, NONE
    if step.beside_iops is not None:
        short = "" if step.sustained else "not sustained"
        did = Item(
            grouped(step.beside_iops),
            f"{grouped(step.offered_iops)} {short}".strip(),
            "bad" if short else "",
        )
    cells = [
        did,
        Item(grouped(point.iops or 0.0), tone="strong"),
        latency(point, "mean_us") or NONE,
        *(percentile(point, name) for name in ("p50_us", "p95_us", "p99_us", "p999_us")),
        Item(seconds(point.window_s or 0.0)),
        Item(f"{point.n or 0:,}"),
    ]
    return Row(Item("alone" if step.beside_iops is None else f"{100 * step.share:g} %"), cells)
