"""A system beside its own drive: rates and latency at each load, what the way in between adds, where the time goes."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.catalog.models import PublishedRow
from fathom.report.blocks import Block, Group, Item, Points, Prose, Row, Section, Table
from fathom.report.comparison import Column, Comparison
from fathom.report.data import Point
from fathom.report.reference import Pair, agreement, beside, find, reasons
from fathom.report.style import plain

ORDER = 28
METHOD = "added-latency"
MIXES = {
    "4k-rand-read": ("4 KiB random read", ("read",)),
    "4k-rand-write": ("4 KiB random write", ("write",)),
    "4k-rand-70r30w": ("4 KiB random 70/30", ("read", "write")),
}
DRIVE_LOADS = {"1x32": 32, "1x64": 64, "1x128": 128}
"""Loads of the drive alone, and the depth that published rows give them."""
SYSTEM_LOADS = {"3x32": 32, "2x64": 64}
"""Loads per host of the system, and the depth that published rows give them."""
PER_DRIVE = ("6x32", "1x32")
"""Loads of system and drive with as much in flight per drive (24 drives, four hosts)."""
CONTROLLER = "controller"


@dataclass(frozen=True)
class _Measured:
    """A column's points by workload, load and operation."""

    column: Column

    def point(self, mix: str, load: str, op: str) -> Point | None:
        step = f"{mix}-{load}"
        return next(
            (
                point
                for point in self.column.run.points
                if (point.target, point.step, point.op) == (self.column.target.name, step, op)
            ),
            None,
        )

    def times_us(self, mix: str, load: str) -> dict[str, float]:
        return self.column.run.times_us(self.column.target.name, f"{mix}-{load}")

    @property
    def catalog(self) -> str | None:
        return self.column.target.catalog

    @property
    def name(self) -> str:
        return plain(self.column.label)


def build(comparison: Comparison) -> Section | None:
    """Nothing for runs of other methods. The first target is the system, the last one its drive."""
    columns = [
        _Measured(column) for column in comparison.columns if column.run.document.method.name == METHOD
    ]
    if not columns:
        return None
    system, drive = columns[0], columns[-1] if len(columns) > 1 else None
    blocks: list[Block] = []
    if drive:
        blocks.append(_rates(f"{drive.name}, attached directly", drive, DRIVE_LOADS, "in flight"))
    blocks.append(_rates(system.name, system, SYSTEM_LOADS, "per job"))
    blocks += _agreement(system, drive)
    if controller := _controller(system):
        blocks.append(controller)
    if drive:
        blocks += _added(system, drive)
    if times := _times(system):
        blocks += [
            Prose(
                [
                    "Where an I/O spends its time, mean per I/O, waiting included, on its way through the system:"
                ]
            ),
            times,
        ]
    return Section("added-latency", "What the way in between adds", blocks, short="Added latency")


def _rates(title: str, measured: _Measured, loads: dict[str, int], meaning: str) -> Table:
    head = [
        Item(text, unit) for text, unit in (("Rate", "IOPS"), ("Latency, mean", "us"), ("Limited by", ""))
    ]
    groups = []
    for mix, (label, ops) in MIXES.items():
        rows = []
        for load, depth in loads.items():
            for op in ops:
                point = measured.point(mix, load, op)
                if point is None:
                    continue
                known = {"iodepth": depth, "op": op}
                rate = find(measured.catalog, f"fio-{mix}", "iops", **known)
                latency = find(measured.catalog, f"fio-{mix}", "latency_us", **known)
                half = f", {op}" if len(ops) > 1 else ""
                rows.append(
                    Row(
                        Item(f"{load.replace('x', ' x ')}{half}"),
                        [
                            beside(point.iops, rate, "iops"),
                            beside(point.mean_us, latency, "latency_us", 1),
                            Item(plain(point.limited_by or "–"), tone="quiet"),
                        ],
                    )
                )
        groups.append(Group(label, rows))
    return Table(
        title,
        head,
        groups,
        [
            f"Jobs x iodepth of every host. Below each figure: the published one (its depth is what is {meaning}) and "
            "the difference; fitted: the model may be fitted to it.",
        ],
    )


def _agreement(system: _Measured, drive: _Measured | None) -> list[Block]:
    pairs: list[Pair] = []
    for measured, loads in ((drive, DRIVE_LOADS), (system, SYSTEM_LOADS)):
        for mix, (_, ops) in MIXES.items():
            for load, depth in loads.items():
                for op in ops:
                    point = measured.point(mix, load, op) if measured else None
                    if point is None or measured is None:
                        continue
                    known = {"iodepth": depth, "op": op}
                    rate = find(measured.catalog, f"fio-{mix}", "iops", **known)
                    latency = find(measured.catalog, f"fio-{mix}", "latency_us", **known)
                    pairs.append((point.iops, rate, "iops"))
                    pairs.append((point.mean_us, latency, "latency_us"))
    devices = [measured.catalog for measured in (system, drive) if measured]
    return [Points([*agreement(pairs), *reasons(devices)])] if pairs else []


def _controller(system: _Measured) -> Table | None:
    rows = []
    for mix, (label, ops) in MIXES.items():
        for load, depth in SYSTEM_LOADS.items():
            added_us = system.times_us(mix, load).get(CONTROLLER)
            points = [point for op in ops if (point := system.point(mix, load, op))]
            if added_us is None or not points:
                continue
            n = sum(point.n or 0 for point in points)
            mean_us = sum((point.mean_us or 0) * (point.n or 0) for point in points) / n
            cells = [beside(added_us, _added_row(system, mix, depth, ops[0]), "latency_us", 1)]
            cells.append(Item(f"{100 * added_us / mean_us:.1f}"))
            rows.append(Row(Item(f"{label}, {load.replace('x', ' x ')}"), cells))
    if not rows:
        return None
    head = [Item("In the controller", "us"), Item("Share of the latency", "%")]
    note = (
        "Mean per I/O in the controller's pipelines; waiting for its link to the drives is listed apart below. Of "
        "mixes the published figure is that of reads."
    )
    return Table("The controller's own latency", head, [Group("", rows)], [note])


def _added_row(system: _Measured, mix: str, depth: int, op: str) -> PublishedRow | None:
    return find(system.catalog, f"fio-{mix}", "latency_us", iodepth=depth, op=op, added=True)


def _added(system: _Measured, drive: _Measured) -> list[Block]:
    rows, texts = [], []
    whole, alone = PER_DRIVE
    for mix, (label, ops) in MIXES.items():
        for op in ops:
            behind, direct = system.point(mix, whole, op), drive.point(mix, alone, op)
            if behind is None or direct is None or not behind.mean_us or not direct.mean_us:
                continue
            added_us = behind.mean_us - direct.mean_us
            half = f", {op}" if len(ops) > 1 else ""
            rows.append(
                Row(
                    Item(f"{label}{half}"),
                    [
                        Item(f"{behind.mean_us:.1f}"),
                        Item(f"{direct.mean_us:.1f}"),
                        Item(
                            f"{added_us:+.1f}",
                            f"{100 * added_us / behind.mean_us:+.0f} % of the total",
                            tone="strong",
                        ),
                        Item(plain(behind.limited_by or "–"), tone="quiet"),
                    ],
                )
            )
            texts.append((label + half, added_us, behind.limited_by or ""))
    if not rows:
        return []
    head = [
        Item("System, mean", "us"),
        Item("Drive, mean", "us"),
        Item("Added", "us"),
        Item("The system is limited by", ""),
    ]
    worst = max(texts, key=lambda text: text[1])
    sentence = (
        f"With as much in flight per drive as the drive alone has, the system adds most to {worst[0]}: "
        f"{worst[1]:+.0f} us, most of it waiting where the system is limited ({worst[2]})."
    )
    table = Table("Added at equal load per drive (6 x 32 per host against 1 x 32)", head, [Group("", rows)])
    return [Prose([sentence]), table]


def _times(system: _Measured) -> Table | None:
    loads = [
        (f"{label}, {load.replace('x', ' x ')}", times)
        for mix, (label, _) in MIXES.items()
        for load in SYSTEM_LOADS
        if (times := system.times_us(mix, load))
    ]
    if not loads:
        return None
    parts = list(dict.fromkeys(part for _, times in loads for part in times))
    rows = [_time_row(part, [times for _, times in loads]) for part in parts]
    kept = [row for row in rows if row is not None]
    return Table("Part of the way", [Item(label, "us") for label, _ in loads], [Group("", kept)])


def _time_row(part: str, times: Sequence[dict[str, float]]) -> Row | None:
    values = [spent.get(part, 0.0) for spent in times]
    if max(values) < 0.05:
        return None
    return Row(Item(plain(part)), [Item(f"{value:.1f}") for value in values])
