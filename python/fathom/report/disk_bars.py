"""Rates of disks as bars: a panel per order and direction, a group per block size, a bar per disk."""

from collections.abc import Sequence

from fathom.report.axes import Axis, rounded
from fathom.report.blocks import Chart, Figure, Group, Item, Row, Table
from fathom.report.charts import Bars, bar_chart
from fathom.report.drive_array import BLOCKS, KINDS, SCATTERED, Disk, is_sequential
from fathom.report.findings import Gate
from fathom.report.legend import legend_of
from fathom.report.predicted import WHISKERS, bar_range, settled_spread
from fathom.report.style import grouped, slot


def by_block(found: Sequence[Disk], out: Gate) -> Figure:
    """Returns a panel for every order and direction that any disk was measured in; `out` is the report's gate."""
    kinds = {kind: title for kind, title in KINDS.items() if SCATTERED not in kind and _blocks(kind, found)}
    caption = (
        "What reached the medium of one drive: sequential in MB/s, random in IOPS. Figures that caches took most of "
        "are left out."
    )
    bars = {kind: _bars(kind, found, out) for kind in kinds}
    caption += WHISKERS * any(one.whiskers for of_kind in bars.values() for one in of_kind)
    legend = legend_of([disk.column for disk in found])
    charts = [_chart(kind, title, _blocks(kind, found), bars[kind]) for kind, title in kinds.items()]
    return Figure(charts, caption, _table(kinds, found), legend, columns=2)


def _blocks(kind: str, found: Sequence[Disk]) -> list[str]:
    """Returns the block sizes that any disk has a figure of."""
    return [block for block in BLOCKS if any(_value(disk, f"{block}-{kind}") for disk in found)]


def _value(disk: Disk, step: str) -> float | None:
    return None if disk.in_memory(step) else disk.value(step)


def _bars(kind: str, found: Sequence[Disk], out: Gate) -> list[Bars]:
    """Returns the bars of each disk, one per block size, with the ranges of settled twins."""
    blocks = _blocks(kind, found)
    bars = []
    for disk in found:
        known = [_value(disk, f"{block}-{kind}") for block in blocks]
        values = [None if value is None else rounded(value) for value in known]
        spreads = [settled_spread(disk.column, f"{block}-{kind}", BLOCKS[block][1], out) for block in blocks]
        ranges = [bar_range(*one) for one in zip(spreads, values, strict=True)]
        bars.append(Bars(disk.column.short, slot(disk.column.index), values, ranges))
    return bars


def _chart(kind: str, title: str, blocks: Sequence[str], bars: Sequence[Bars]) -> Chart:
    unit = "MB/s" if is_sequential(f"{blocks[0]}-{kind}") else "IOPS"
    option = bar_chart(Axis("", "count", low=0), [BLOCKS[block][0] for block in blocks], bars, width_px=11)
    height_px = 46 + len(blocks) * (12 + 15 * len(bars))
    return Chart(
        f"disks-{kind}",
        title,
        sub=unit,
        option=option,
        summary=f"{title} by block size; the table below has the figures.",
        height_px=height_px,
    )


def _table(kinds: dict[str, str], found: Sequence[Disk]) -> Table:
    groups = [
        Group(
            title,
            [
                Row(Item(BLOCKS[block][0]), [_cell(_value(disk, f"{block}-{kind}")) for disk in found])
                for block in _blocks(kind, found)
            ],
        )
        for kind, title in kinds.items()
    ]
    return Table("Block", [Item(disk.name, slot=slot(disk.column.index)) for disk in found], groups)


def _cell(value: float | None) -> Item:
    return Item("–", tone="quiet") if value is None else Item(grouped(value))
