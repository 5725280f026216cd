"""Stages of the way from a drive to a system, as real targets. Each stage adds its own latency.

They are the drive itself, the same drive behind a target on its own machine, then over the network.
"""

from collections.abc import Sequence
from itertools import pairwise

from fathom.columns.schema import Point
from fathom.report.added_interval import AddedMean, added_mean
from fathom.report.added_loads import MIXES, Measured
from fathom.report.added_pairs import interval_notes
from fathom.report.axes import Axis
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Table
from fathom.report.charts import Bars, bar_chart
from fathom.report.style import slot

LEAST = 3
"""Fewer stages than this are a system and its drive, which the section compares already."""


def stages(measured: Sequence[Measured]) -> Table | None:
    """Returns what each stage adds to the one before, from the drive to the system.

    None for fewer than three stages, and for simulated systems, which report the parts of the way themselves.
    """
    way = list(reversed(measured))
    if len(way) < LEAST or any(one.catalog for one in way):
        return None
    groups: list[Group] = []
    added: list[AddedMean] = []
    for mix, (label, ops) in MIXES.items():
        for op in ops:
            points = [_point(one, mix, op) for one in way]
            half = f", {op}" if len(ops) > 1 else ""
            rows = [Row(Item(way[0].name), [_figure(points[0]), Item("–", tone="quiet")])]
            for one, (before, point) in zip(way[1:], pairwise(points), strict=True):
                mean = added_mean(point, before)
                rows.append(Row(Item(one.name), [_figure(point), _added(mean)]))
                added += [mean] if mean else []
            groups.append(Group(label + half, rows))
    head = [Item("Latency, mean", "us"), Item("Added by this stage", "us")]
    footnote = (
        "From the drive to the system, each at the same load per drive. What a stage adds is its mean minus that of "
        "the stage above."
    )
    return Table("Where the system adds it", head, groups, [footnote, *interval_notes(added)])


def stage_bars(measured: Sequence[Measured], data: Table) -> Figure | None:
    """Returns the mean latency of each stage at the same load per drive, the drive first; `data` has the figures.

    None where no load was measured on all stages.
    """
    way = list(reversed(measured))
    rows = [
        (f"{label}, {op}" if len(ops) > 1 else label, [_mean_us(one, mix, op) for one in way])
        for mix, (label, ops) in MIXES.items()
        for op in ops
    ]
    known = [
        (label, [mean for mean in means if mean is not None]) for label, means in rows if None not in means
    ]
    if not known:
        return None
    bars = [
        Bars(one.name, slot(one.column.index), [float(f"{means[place]:.4g}") for _, means in known])
        for place, one in enumerate(way)
    ]
    option = bar_chart(Axis("us", "us", low=0), [label for label, _ in known], bars, width_px=14)
    chart = Chart(
        "key-stages",
        "Latency at the same load per drive",
        sub="mean, us",
        option=option,
        summary="Mean latency of each stage of the way; the table below has the figures.",
        height_px=80 + 20 * len(way) * len(known),
    )
    legend = [Item(one.name, slot=slot(one.column.index)) for one in way]
    return Figure(
        [chart], "From the drive to the system, as much in flight on each drive.", data, legend, columns=1
    )


def _point(one: Measured, mix: str, op: str) -> Point | None:
    loads = one.alike()
    return one.point(mix, loads[0], op) if loads else None


def _mean_us(one: Measured, mix: str, op: str) -> float | None:
    point = _point(one, mix, op)
    return point.mean_us if point else None


def _figure(point: Point | None) -> Item:
    mean_us = point.mean_us if point else None
    return Item("–", tone="quiet") if mean_us is None else Item(f"{mean_us:.1f}")


def _added(added: AddedMean | None) -> Item:
    return Item(f"{added.us:+.1f}", added.plus_minus, tone="strong") if added else Item("–", tone="quiet")
