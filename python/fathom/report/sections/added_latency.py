"""A system beside its own drive: rates and latency at each load, the latency that the system adds, where time goes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from fathom.catalog.models import PublishedRow
from fathom.columns.schema import Point
from fathom.output.text import signed_pct, some_of
from fathom.report.added_loads import (
    DRIVE_LOADS,
    LOADS,
    MIXES,
    SYSTEM_LOADS,
    Measured,
    jobs_of,
    published_loads,
    times_sign,
    ways_of,
)
from fathom.report.added_pairs import Added, added_table, left_out_of, no_load, no_pair, pairs_of
from fathom.report.added_stages import stage_bars, stages
from fathom.report.axes import Axis
from fathom.report.blocks import (
    Block,
    Chart,
    Figure,
    Group,
    Item,
    KeyFigure,
    Points,
    Prose,
    Row,
    Section,
    Table,
)
from fathom.report.charts import Bars, bar_chart
from fathom.report.comparison import Comparison
from fathom.report.findings import Gate, gate
from fathom.report.reference import Pair, agreement, beside, find, reasons, rows_of
from fathom.report.style import LIGHT, compact, grouped, plain
from fathom.statistics.means import mean_by_count

ORDER = 14
CONTROLLER = "controller"
LEAST_US = 0.05
"""Parts of the way that take less are not shown."""
SHARES = {
    f"{load}-controller-share-{of}": f"{label}, {of} share of the controller"
    for load, label in (
        ("rand-read", "random read"),
        ("rand-write", "random write"),
        ("70r30w-read", "70/30, read"),
        ("70r30w-write", "70/30, write"),
    )
    for of in ("mean", "max")
}
"""Labels of the published rows of a controller's share of the latency."""
HEADLINE = "controller-share-headline"
"""The published row that gives the controller's share of the latency in one figure."""


def build(comparison: Comparison) -> Section | None:
    """Returns the section, None for runs of other methods. The first target is the system, the last one its drive.

    Real targets between them are the same drive on parts of the way. Where several runs have a system and its drive,
    the section has those of the first.
    """
    ways = ways_of(comparison)
    if not ways:
        return None
    columns = ways[0]
    system, drive = columns[0], columns[-1] if len(columns) > 1 else None
    blocks: list[Block] = []
    if drive:
        blocks += _rates(f"{drive.name}, attached directly", drive, DRIVE_LOADS, "in flight")
    blocks += _rates(system.name, system, SYSTEM_LOADS, "per job")
    blocks += _agreement(system, drive)
    if controller := _controller(system):
        blocks.append(controller)
    pairs = pairs_of(system, drive) if drive else []
    out = gate(comparison)
    sure = system.claimed(out)
    claimed = pairs_of(sure, drive.claimed(out)) if drive else []
    left_out = left_out_of(columns, out)
    told = [*_spent(sure), *reached(sure), *([_worst(claimed, system)] if claimed else []), *left_out]
    if pairs:
        blocks.append(added_table(pairs, claimed))
    if between := stages(columns):
        blocks.append(between)
    if times := _times(system):
        blocks += [
            Prose(
                [
                    "Where an I/O spends its time on its way through the system: means per I/O, waiting included."
                ]
            ),
            times,
        ]
    if others := ways[1:]:
        names = some_of([way[0].name for way in others])
        blocks.append(Prose([f"Not compared here: {names}. Report its run alone to see what it adds."]))
    return Section(
        "added-latency",
        "Latency that the system adds",
        blocks,
        short="Added latency",
        answer=told,
        key_figure=_key_figure(system, sure, claimed, left_out, out)
        if system.catalog
        else _real_key_figure(columns, sure, pairs, claimed, left_out, out),
    )


def _key_figure(
    system: Measured, sure: Measured, pairs: Sequence[Added], left_out: Sequence[str], out: Gate
) -> KeyFigure | None:
    """Returns where an I/O spends its time, stacked by part of the way; None where the system does not say.

    The load of the sentence comes first. `sure` and `pairs` are what sentences may claim.
    """
    told = [pairs[0].loads[0]] if pairs else []
    loads = _loads(system, list(dict.fromkeys([*told, *SYSTEM_LOADS]))[: len(SYSTEM_LOADS)])
    if not loads:
        return None
    bars = [
        Bars(plain(part), place, [float(f"{value:.4g}") for value in values])
        for place, (part, values) in enumerate(_largest(_parts(loads)).items())
    ]
    labels = [label for label, _ in loads]
    option = bar_chart(Axis("us", "us", low=0), labels, bars, stacked=True, width_px=26)
    chart = Chart(
        "key-times",
        "Where an I/O spends its time",
        sub="mean time per I/O with its waiting, us",
        option=option,
        summary="Time per I/O in each part of the way; the table below has the figures.",
        height_px=80 + 48 * len(loads),
    )
    legend = [Item(one.name, slot=one.slot) for one in bars]
    caption = "Each bar is a load: jobs x iodepth on every host."
    figure = Figure([chart], caption, _table_of(loads), legend, columns=1)
    reasons = [text for text in (_controller_share(sure), _greatest(sure), *left_out) if text]
    if not pairs:
        known = _parts(_loads(sure))
        if not known:
            return KeyFigure(no_load(system, SYSTEM_LOADS, out), figure, reasons)
        part, most = max(((part, max(row)) for part, row in known.items()), key=lambda pair: pair[1])
        return KeyFigure(f"An I/O spends longest in {plain(part)}: up to {most:.0f} us.", figure, reasons)
    worst = max(pairs, key=lambda one: one.added_us)
    where = f"The system is limited by {worst.limit} at that load." if worst.limit else ""
    return KeyFigure(_adds(system, worst), figure, [text for text in (where, *reasons) if text])


def _real_key_figure(
    columns: Sequence[Measured],
    sure: Measured,
    pairs: Sequence[Added],
    claimed: Sequence[Added],
    left_out: Sequence[str],
    out: Gate,
) -> KeyFigure | None:
    """Returns what the way adds to a real drive's latency; None where the drive was not measured at the same load."""
    figure = stage_bars(columns, added_table(pairs, claimed)) if pairs else None
    if figure is None:
        return None
    reasons = [text for text in (_greatest(sure), *left_out) if text]
    if not claimed:
        return KeyFigure(no_pair(pairs, [columns[0], columns[-1]], out), figure, reasons)
    return KeyFigure(_adds(sure, max(claimed, key=lambda one: one.added_us)), figure, reasons)


def _adds(system: Measured, worst: Added) -> str:
    name = f"{system.column.short}," if "," in system.column.short else system.column.short
    if worst.added_us <= 0:
        return f"{name} adds no latency to any load that its drive had alone."
    # The opening keeps to two numbers: the table has the interval.
    doubt = " (perhaps none)" if worst.added.may_be_none else ""
    return (
        f"{name} adds {worst.added_us:.0f} us{doubt} to {worst.label}, which takes the drive alone "
        f"{worst.direct_us:.0f} us."
    )


def _interval(one: Added) -> str:
    """Returns half the interval in parentheses, and that the difference may be none; empty where it is not known."""
    if one.added.half_us is None:
        return ""
    return f" ({one.added.plus_minus}{', so perhaps none' if one.added.may_be_none else ''})"


def _largest(parts: dict[str, list[float]]) -> dict[str, list[float]]:
    """Returns the parts that take the most, as many as there are colours, the last of them all others together."""
    ranked = sorted(parts, key=lambda part: -max(parts[part]))
    if len(ranked) <= len(LIGHT):
        return parts
    kept, rest = ranked[: len(LIGHT) - 1], ranked[len(LIGHT) - 1 :]
    others = [sum(values, 0.0) for values in zip(*(parts[part] for part in rest), strict=True)]
    return {part: parts[part] for part in parts if part in kept} | {"all else": others}


def _controller_share(system: Measured) -> str:
    mix, (label, ops) = next(iter(MIXES.items()))
    load = next(iter(SYSTEM_LOADS))
    added_us, point = system.times_us(mix, load).get(CONTROLLER), system.point(mix, load, ops[0])
    if added_us is None or point is None or not point.mean_us:
        return ""
    return (
        f"The controller itself takes {added_us:.1f} us of a {label}: {100 * added_us / point.mean_us:.1f} %."
    )


def _greatest(system: Measured) -> str:
    mix, (label, ops) = next(iter(MIXES.items()))
    most, load = max((_total(system, mix, load), load) for load in LOADS)
    point = system.point(mix, load, ops[0])
    if not most or point is None:
        return ""
    limit = f", limited by {plain(point.limit.name)}" if point.limit else ""
    return f"{_maximum(system, [mix])} is {compact(most)} IOPS of {label}{limit}."


def _spent(system: Measured) -> list[str]:
    """Returns the latency that the controller itself adds, if the system reports it."""
    parts = []
    load = next(iter(SYSTEM_LOADS))
    for mix, (label, ops) in MIXES.items():
        if len(ops) > 1:
            continue
        added_us = system.times_us(mix, load).get(CONTROLLER)
        point = system.point(mix, load, ops[0])
        if added_us is not None and point is not None and point.mean_us:
            share = f"{100 * added_us / point.mean_us:.1f} % of its latency"
            row = _added_row(system, mix, SYSTEM_LOADS[load], ops[0])
            published = f"; published: {row.latency_us:g} us" if row and row.latency_us else ""
            parts.append(f"{added_us:.1f} us of a {label} ({share}{published})")
    return [f"The controller of {system.name} takes {' and '.join(parts)}."] if parts else []


def reached(system: Measured) -> list[str]:
    """Returns the system's maximum for each mix, its limit there, and the difference from published loads."""
    parts = []
    for mix, (label, _) in MIXES.items():
        totals = [(_total(system, mix, load), load) for load in LOADS]
        if most := max(totals)[0]:
            load = max(totals)[1]
            point = next(point for op in MIXES[mix][1] if (point := system.point(mix, load, op)))
            limit = f", limited by {plain(point.limit.name)}" if point.limit else ""
            where = f"{grouped(most)} IOPS of {label} at {times_sign(load)}{limit}"
            parts.append(where + _beside_published(system, mix))
    return [f"{_maximum(system, MIXES)} is {'; '.join(parts)}."] if parts else []


def _maximum(system: Measured, mixes: Iterable[str]) -> str:
    """Returns what its greatest rate is the maximum of: all loads, or those that may be claimed."""
    loads = {f"{mix}-{load}" for mix in mixes for load in LOADS}
    return "Its maximum over the loads that are claimed" if loads & set(system.left_out) else "Its maximum"


def _total(system: Measured, mix: str, load: str) -> float:
    """Returns IOPS of all operations of a mix at a load; 0 where a half is missing."""
    points = [system.point(mix, load, op) for op in MIXES[mix][1]]
    rates = [point.iops or 0.0 for point in points if point]
    return sum(rates) if len(rates) == len(points) else 0.0


def _beside_published(system: Measured, mix: str) -> str:
    """Returns the published maximum of the mix beside the system's rate at the same load."""
    published = published_most(system.catalog, mix)
    if published is None:
        return ""
    most, load = published
    here = _total(system, mix, load)
    if not here:
        return f" (published: {grouped(most)} at {times_sign(load)})"
    off = signed_pct(100 * (here / most - 1))
    return f" (published: {grouped(most)} at {times_sign(load)}; here {grouped(here)}, {off})"


def published_most(device: str | None, mix: str) -> tuple[float, str] | None:
    """Returns the highest published IOPS of a mix, and the load; None if one half is missing."""
    totals = []
    for load, depth in published_loads(device).items():
        halves = [_published(device, mix, load, depth, op, "iops") for op in MIXES[mix][1]]
        known = [row.iops for row in halves if row and row.iops]
        if len(known) == len(halves):
            totals.append((sum(known), load))
    return max(totals, default=None)


@dataclass(frozen=True)
class _Beside:
    """What a target did of one operation at a load, and the published rows for its rate and its latency."""

    load: str
    op: str
    point: Point
    rate: PublishedRow | None
    latency: PublishedRow | None

    @property
    def pairs(self) -> list[Pair]:
        """Both figures, each with the published one."""
        return [(self.point.iops, self.rate, "iops"), (self.point.mean_us, self.latency, "latency_us")]


def _figures(measured: Measured, mix: str, loads: dict[str, int]) -> Iterator[_Beside]:
    """Yields the figures of each load and operation that was measured."""
    for load, depth in loads.items():
        for op in MIXES[mix][1]:
            if point := measured.point(mix, load, op):
                device = measured.catalog if load in measured.published_loads else None
                rate, latency = (
                    _published(device, mix, load, depth, op, figure) for figure in ("iops", "latency_us")
                )
                yield _Beside(load, op, point, rate, latency)


def _published(
    device: str | None, mix: str, load: str, depth: int, op: str, figure: Literal["iops", "latency_us"]
) -> PublishedRow | None:
    """Returns the published row of a mix at a load, for one of its operations."""
    return find(device, f"fio-{mix}", figure, threads=jobs_of(load), iodepth=depth, op=op)


def _rates(title: str, measured: Measured, loads: dict[str, int], meaning: str) -> list[Table]:
    """Returns the rates and latencies of a target at each load; nothing where it had none of the loads."""
    head = [
        Item(text, unit) for text, unit in (("Rate", "IOPS"), ("Latency, mean", "us"), ("Limited by", ""))
    ]
    groups = []
    for mix, (label, ops) in MIXES.items():
        rows = []
        for one in _figures(measured, mix, loads):
            half = f", {one.op}" if len(ops) > 1 else ""
            rate, latency = one.pairs
            rows.append(
                Row(
                    Item(f"{times_sign(one.load)}{half}"),
                    [
                        beside(*rate),
                        beside(*latency, 1),
                        Item(plain(one.point.limited_by or "–"), tone="quiet"),
                    ],
                )
            )
        if rows:
            groups.append(Group(label, rows))
    note = (
        f"Jobs x iodepth of every host. Below each figure: the published one (its depth is what is {meaning}) and the "
        "difference; fitted: the model may be fitted to it."
    )
    return [Table(title, head, groups, [note])] if groups else []


def _agreement(system: Measured, drive: Measured | None) -> list[Block]:
    pairs: list[Pair] = []
    for measured, loads in ((drive, DRIVE_LOADS), (system, SYSTEM_LOADS)):
        figures = chain.from_iterable(_figures(measured, mix, loads) for mix in MIXES) if measured else ()
        for one in figures:
            pairs += one.pairs
    devices = [measured.catalog for measured in (system, drive) if measured]
    labels = {f"fio-{mix}": label for mix, (label, _) in MIXES.items()} | SHARES
    return [Points([*agreement(pairs), *reasons(devices, labels)])] if pairs else []


def _controller(system: Measured) -> Table | None:
    rows = []
    for mix, (label, ops) in MIXES.items():
        for load, depth in SYSTEM_LOADS.items():
            added_us = system.times_us(mix, load).get(CONTROLLER)
            points = [point for op in ops if (point := system.point(mix, load, op))]
            if added_us is None or not points:
                continue
            mean_us = mean_by_count((point.n, point.mean_us) for point in points)
            if mean_us is None:
                continue
            cells = [beside(added_us, _added_row(system, mix, depth, ops[0]), "latency_us", 1)]
            cells.append(Item(f"{100 * added_us / mean_us:.1f}"))
            rows.append(Row(Item(f"{label}, {times_sign(load)}"), cells))
    if not rows:
        return None
    head = [Item("In the controller", "us"), Item("Share of the latency", "%")]
    note = (
        "Mean per I/O in the controller's pipelines. Waiting for its link to the drives is listed apart below. "
        "For mixes, the published figure is that of reads."
    )
    return Table("The controller's own latency", head, [Group("", rows)], [note])


def _added_row(system: Measured, mix: str, depth: int, op: str) -> PublishedRow | None:
    return find(system.catalog, f"fio-{mix}", "latency_us", iodepth=depth, op=op, added=True)


def _headline(system: Measured) -> str:
    """Returns what the published share of a controller covers, and its size if the source gives one figure."""
    rows = rows_of(system.catalog) if system.catalog else ()
    row = next((row for row in rows if row.workload == HEADLINE and row.value), None)
    size = f", at most {row.value:g} %," if row else ""
    return f"the published share{size} is of the controller alone."


def _worst(pairs: Sequence[Added], system: Measured) -> str:
    worst = max(pairs, key=lambda one: one.added_us)
    if system.catalog is None:
        most = f"{worst.added_us:+.0f} us{_interval(worst)}"
        return (
            f"At the same load per drive, the system adds most to {worst.label}: {most}.{_no_interval(worst)}"
        )
    where = f", where the system is limited ({worst.limited_by})" if worst.limited_by else ""
    return (
        f"At the drive's own depth, the system adds most to {worst.label}: "
        f"{worst.added_us:+.0f} us{_interval(worst)}{where}.{_no_interval(worst)} That covers the whole system, and no "
        f"source gives it; {_headline(system)}"
    )


def _no_interval(one: Added) -> str:
    return f" It has no 95 % interval: {one.added.why}." if one.added.why else ""


Loads = Sequence[tuple[str, dict[str, float]]]
"""Loads of a system, each with the mean us per I/O in each part of the way."""


def _loads(system: Measured, asked: Sequence[str] = tuple(SYSTEM_LOADS)) -> Loads:
    return [
        (f"{label}, {times_sign(load)}", times)
        for mix, (label, _) in MIXES.items()
        for load in asked
        if (times := system.times_us(mix, load))
    ]


def _parts(loads: Loads) -> dict[str, list[float]]:
    """Returns the mean us in each part, by load."""
    parts = dict.fromkeys(part for _, times in loads for part in times)
    return {part: [times.get(part, 0.0) for _, times in loads] for part in parts}


def _times(system: Measured) -> Table | None:
    loads = _loads(system)
    return _table_of(loads) if loads else None


def _table_of(loads: Loads) -> Table:
    parts = list(dict.fromkeys(part for _, times in loads for part in times))
    rows = [_time_row(part, [times for _, times in loads]) for part in parts]
    kept = [row for row in rows if row is not None]
    return Table("Part of the way", [Item(label, "us") for label, _ in loads], [Group("", kept)])


def _time_row(part: str, times: Sequence[dict[str, float]]) -> Row | None:
    values = [spent.get(part, 0.0) for spent in times]
    if max(values) < LEAST_US:
        return None
    return Row(Item(plain(part)), [Item(f"{value:.1f}") for value in values])
