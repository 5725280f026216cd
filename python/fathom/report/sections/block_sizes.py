"""Disks under a file system by block size: order x direction x block for each drive, published beside, and limits."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from fathom.analysis.finding import joined
from fathom.catalog.models import PublishedRow
from fathom.output.text import capacity, percent_digits, span
from fathom.report.blocks import Block, Group, Item, Points, Row, Section, Table
from fathom.report.comparison import Comparison
from fathom.report.drive_array import (
    ALL_REACHED,
    BLOCKS,
    IN_MEMORY,
    KINDS,
    ONE_READER,
    SCATTERED,
    Disk,
    called,
    called_together,
    disks,
    is_sequential,
    ratio,
    reference_of,
)
from fathom.report.reference import rows_naming
from fathom.report.style import grouped, slot

ORDER = 21
MIB_PER_MB = 2**20 / 1e6
SHORT_STROKE = 0.1
"""Share of the surface below which seeks are much shorter than the average over all of it."""
ALONE = 1.5
"""Fewer I/O in flight at a drive leave it nothing to order."""
NONE = Item("–", tone="quiet", title="not measured, or nothing published")


def build(comparison: Comparison) -> Section | None:
    """Returns the section, None for runs of other methods."""
    found = disks(comparison)
    if not found:
        return None
    blocks: list[Block] = [_table(found)]
    blocks += _limits(found)
    if spread := _spread(found):
        blocks.append(spread)
    return Section("block-sizes", "By block size, order and direction", blocks, short="Block sizes")


def _table(found: Sequence[Disk]) -> Table:
    sources: list[str] = []
    groups = [_group(kind, title, found, sources) for kind, title in KINDS.items()]
    several = any(disk.parts for disk in found)
    footnotes = [
        "Figures are per drive"
        f"{'; all drives of an array work at once, and their total is divided by their number' if several else ''}. "
        "Sequential in MB/s (10⁶ B/s), random in IOPS; ± is half the 95 % interval of the mean rate. "
        "Ratios have their 95 % interval; level: it includes 1.",
        "Rates are those that reached the medium, without the transient at the start of a step (MSER-5) in which "
        "caches fill. The line beneath shows what the host saw where its page cache took more. The results have "
        "whole windows, cache included.",
        f"memory: what the host saw is more than {IN_MEMORY:g} times what arm and platters allow. The verdict leaves "
        "such a workload out.",
        *(f"[{number}] {source}" for number, source in enumerate(sources, 1)),
    ]
    return Table("One drive", [Item(label) for label, _ in BLOCKS.values()], groups, footnotes)


def _group(kind: str, title: str, found: Sequence[Disk], sources: list[str]) -> Group:
    steps = [f"{block}-{kind}" for block in BLOCKS]
    unit = "MB/s" if is_sequential(steps[0]) else "IOPS"
    rows = [
        Row(Item(disk.name, slot=slot(disk.column.index)), [_figure(disk, step) for step in steps])
        for disk in found
    ]
    if reference := reference_of(found):
        rows += [
            Row(
                Item("Ratio", f"{disk.name} / {reference.name}"),
                [_ratio(disk, reference, step) for step in steps],
            )
            for disk in found
            if disk is not reference
        ]
    published = tuple(dict.fromkeys(row for disk in found for row in rows_naming(disk.catalog or "")))
    if published:
        cells = [_published(published, kind, block, sources) for block in BLOCKS]
        rows.append(Row(Item("Published"), cells))
    return Group(f"{title}, {unit}", rows)


def _figure(disk: Disk, step: str) -> Item:
    value = disk.value(step)
    if value is None:
        return NONE
    width = disk.half_width_pct(step)
    said = [f"± {width:.1f} %" if width is not None else "no interval"]
    if start_s := disk.transient_s(step):
        said.append(f"after {start_s} s")
    if disk.reached(step) < ALL_REACHED:
        said.append(f"{grouped(value / disk.reached(step))} with the cache")
    if disk.in_memory(step):
        said.append("memory")
    return Item(grouped(value), " · ".join(said), tone="strong")


def _ratio(disk: Disk, reference: Disk, step: str) -> Item:
    found = ratio(disk, reference, step)
    if found is None:
        return NONE
    level = " · level" if found.verdict == "level" else ""
    return Item(f"{found.ratio:.2f}", f"{span(found.low, found.high)}{level}")


def _published(rows: Sequence[PublishedRow], kind: str, block: str, sources: list[str]) -> Item:
    """Returns the published figures of the block, or of order and direction without one; a range is two rows."""
    exact = [row for row in rows if row.workload == f"fio-{block}-{kind}"]
    stated = exact or [row for row in rows if row.workload == f"fio-{kind}"]
    relations = [row for row in rows if row.workload == f"fio-{block}-{kind}-relation"]
    if not stated and not relations:
        return NONE
    row = (stated or relations)[0]
    if row.source not in sources:
        sources.append(row.source)
    mark = f"[{sources.index(row.source) + 1}]"
    if not stated:
        return Item("no figure", f"{row.subject} {mark}", tone="quiet", title=row.note or "")
    said = [
        row.role,
        *(["block not stated"] if not exact else []),
        mark,
    ]
    return Item(_values(stated, kind, BLOCKS[block][1]), " · ".join(said), title=row.note or "")


def _values(rows: Sequence[PublishedRow], kind: str, block_bytes: int) -> str:
    values = [value for row in rows if (value := _in_unit(row, kind, block_bytes)) is not None]
    bounds = {row.bound for row in rows}
    if len(values) > 1 and bounds == {"at-least", "at-most"}:
        return f"{grouped(min(values))} to {grouped(max(values))}"
    sign = {"at-least": "≥ ", "at-most": "≤ "}.get(rows[0].bound or "", "")
    return sign + grouped(values[0]) if values else "–"


def _in_unit(row: PublishedRow, kind: str, block_bytes: int) -> float | None:
    """Returns the row's figure as the table shows it: MB/s for sequential I/O, else IOPS."""
    mbps = row.mbps or (row.mibps * MIB_PER_MB if row.mibps else None)
    if kind.startswith("seq"):
        return mbps or (row.iops * block_bytes / 1e6 if row.iops else None)
    return row.iops or (mbps * 1e6 / block_bytes if mbps else None)


def _limits(found: Sequence[Disk]) -> list[Block]:
    """Returns a table of measured figures beside the limits of arm and platters, and conclusions in words."""
    known = [disk for disk in found if disk.mechanics]
    if not known:
        return []
    rows = [Row(label, [tell(disk) for disk in known]) for label, tell in LIMITS]
    rows = [row for row in rows if any(cell is not NONE for cell in row.cells)]
    head = [Item(disk.name, slot=slot(disk.column.index)) for disk in known]
    bases = dict.fromkeys(disk.mechanics.basis for disk in known if disk.mechanics)
    table = Table(
        "Limits of the mechanics", head, [Group("", rows)], [f"Limits: {basis}." for basis in bases]
    )
    makers = (_short_strokes, _many_readers, _memory, _reordered, _caching, _zones)
    return [table, Points([text for make in makers for text in make(known)])]


def _outer(disk: Disk) -> Item:
    rate, times = disk.value("1m-seq-read"), disk.times_the_medium("1m-seq-read")
    if rate is None or times is None or disk.mechanics is None or disk.mechanics.outer_mbps is None:
        return NONE
    outer = f"{100 * times:.0f} % of the {disk.mechanics.outer_mbps:.0f} of the outermost tracks"
    return Item(grouped(rate), f"{rate / MIB_PER_MB:.0f} MiB/s · {outer}")


def _inner(disk: Disk) -> Item:
    if disk.mechanics is None or disk.mechanics.inner_mbps is None:
        return NONE
    return Item(grouped(disk.mechanics.inner_mbps), "a limit, not measured: the file lies outside")


def _commands(disk: Disk) -> Item:
    iops = disk.iops("4k-seq-write")
    return NONE if iops is None else Item(grouped(iops), "memory" if disk.in_memory("4k-seq-write") else "")


def _random(step: str) -> Callable[[Disk], Item]:
    def tell(disk: Disk) -> Item:
        iops, depth = disk.iops(step), disk.outstanding(step)
        if iops is None or depth is None:
            return NONE
        return Item(grouped(iops), f"{depth:.1f} in flight over {capacity(_touched(disk))}")

    return tell


def _alone(disk: Disk) -> Item:
    limits = disk.mechanics
    if limits is None:
        return NONE
    parts = (
        f"{limits.seek_us / 1e3:.1f} + {limits.half_turn_us / 1e3:.2f} + {limits.overhead_us / 1e3:.1f} ms"
    )
    return Item(grouped(limits.full_stroke_iops), f"1 / ({parts})")


def _scattered(disk: Disk) -> Item:
    told = []
    for step in disk.cells:
        before, after = disk.value(step.removesuffix(f"-{SCATTERED}")), disk.value(step)
        if step.endswith(SCATTERED) and before and after:
            told.append((BLOCKS[step.partition("-")[0]][0], before, after))
    if not told:
        return NONE
    rest = " · ".join(f"{block}: {before:.0f} before" for block, before, _ in told)
    return Item(" / ".join(f"{after:.1f}" for _, _, after in told), rest)


LIMITS: tuple[tuple[Item, Callable[[Disk], Item]], ...] = (
    (Item("1 MiB sequential read", "MB/s"), _outer),
    (Item("Innermost tracks", "MB/s"), _inner),
    (Item("4 KiB sequential write", "commands/s"), _commands),
    (Item("4 KiB random read", "IOPS"), _random("4k-rand-read")),
    (Item("4 KiB random read, one reader on each drive", "IOPS"), _random(f"4k-rand-read-{ONE_READER}")),
    (Item("One at a time, whole surface", "IOPS: 1 / (seek + half a turn + overhead)"), _alone),
    (Item("In order after random writes", "MB/s"), _scattered),
)


def _short_strokes(found: Sequence[Disk]) -> list[str]:
    reading = [
        (disk, iops, disk.mechanics.full_stroke_iops)
        for disk in found
        if disk.mechanics and (iops := disk.iops("4k-rand-read"))
    ]
    if not reading:
        return []
    said = joined([f"{iops / whole:.1f} times ({disk.name})" for disk, iops, whole in reading])
    whole = joined(list(dict.fromkeys(f"{whole:.0f}" for *_, whole in reading)))
    share = max(_touched(disk) / (disk.tb * 1e12) for disk in found)
    covers = f"the file covers {percent_digits(share, 2)} of the surface"
    if share < SHORT_STROKE:
        covers += f", so that seeks are short: over the full stroke the figure is clearly lower, {whole}"
    alone = all((disk.outstanding("4k-rand-read") or 0) < ALONE for disk, *_ in reading)
    why = "With one at a time there is nothing to re-order, and" if alone else "Commands are re-ordered, and"
    return [
        f"Random reads of 4 KiB are {said} what an arm manages one at a time over the whole surface. {why} {covers}."
    ]


def _many_readers(found: Sequence[Disk]) -> list[str]:
    """Returns the gain from command ordering: the same reads with one and with several in flight at each drive."""
    said = [
        f"{disk.name} at {BLOCKS[block][0]} {together:.0f} IOPS, {together / alone:.1f} times those of one reader"
        for disk in found
        for block in BLOCKS
        if (together := disk.iops(f"{block}-rand-read"))
        and (alone := disk.iops(f"{block}-rand-read-{ONE_READER}"))
    ]
    if not said:
        return []
    return [
        f"8 readers on each drive let it order their commands: {'; '.join(said)}. "
        "The source of the method says 8 threads per disk; its figures are nearer to those of one reader, and why is "
        "not known."
    ]


def _touched(disk: Disk) -> float:
    """Returns bytes of a drive that the steps address."""
    target = disk.column.target
    each = round(target.known_bytes / disk.drives * (target.scale or 1))
    return max(job.region_on(each)[1] for job in disk.column.run.jobs.values())


def _memory(found: Sequence[Disk]) -> list[str]:
    return [
        f"{names}: {steps} came out faster than arm and platters can be (up to {times:.1f} times), so that is no rate "
        "of the disk but of the page cache, which a longer window outlasts."
        for names, steps, times in _beyond(found, Disk.times_the_medium)
    ]


def _reordered(found: Sequence[Disk]) -> list[str]:
    writes = [f"{block}-rand-write" for block in BLOCKS]
    return [
        f"{names}: {steps} are up to {times:.1f} times what an arm can do for each of them apart. The page cache puts "
        "them in order, and copy-on-write lays them side by side; reading the file in order pays for it afterwards."
        for names, steps, times in _beyond(
            found, lambda disk, step: disk.times_the_arm(step) if step in writes else None
        )
    ]


def _beyond(
    found: Sequence[Disk], times: Callable[[Disk, str], float | None]
) -> Iterator[tuple[str, str, float]]:
    """Returns disks with the same steps beyond a limit: their names, the steps, and the greatest ratio."""
    alike: dict[tuple[str, ...], list[Disk]] = {}
    for disk in found:
        if steps := tuple(step for step in disk.cells if (times(disk, step) or 0) > IN_MEMORY):
            alike.setdefault(steps, []).append(disk)
    for steps, ones in alike.items():
        most = max(times(disk, step) or 0 for disk in ones for step in steps)
        yield joined([disk.name for disk in ones]), called_together(steps), most


def _caching(found: Sequence[Disk]) -> list[str]:
    faster = {
        disk.name: [
            BLOCKS[block][0]
            for block in BLOCKS
            if (read := disk.value(f"{block}-seq-read"))
            and (write := disk.value(f"{block}-seq-write"))
            and write > 1.005 * read
        ]
        for disk in found
    }
    said = [f"{name} at {joined(blocks)}" for name, blocks in faster.items() if blocks]
    if not said:
        return []
    return [
        f"Sequential writes are faster than reads ({'; '.join(said)}): a write has ended when it is in the page cache, "
        "and what is dirty at the end of the window is written later."
    ]


def _zones(found: Sequence[Disk]) -> list[str]:
    names = [disk.name for disk in found if disk.mechanics and disk.mechanics.host_managed]
    if not names:
        return []
    return [
        f"{joined(names)}: outside its conventional zones it takes writes only at the write pointer of a zone. The "
        "random writes here are those of the file: the file system lays them in order, and the drive sees none."
    ]


def _spread(found: Sequence[Disk]) -> Table | None:
    """Returns least, median and greatest drive of each array."""
    # Hosts that load an array do not record what they do on each of its drives.
    arrays = [(disk, rows) for disk in found if len(disk.parts) > 1 and (rows := _spread_rows(disk))]
    if not arrays:
        return None
    head = [Item(text) for text in ("Least", "Median", "Greatest", "Spread")]
    groups = [Group(f"{disk.name}: {disk.drives} drives", rows) for disk, rows in arrays]
    notes = ["Spread: (greatest - least) / median. MB/s of sequential workloads, IOPS of random ones."]
    return Table("Drive by drive", head, groups, notes)


def _spread_rows(disk: Disk) -> list[Row]:
    names = {part.name for part in disk.parts}
    rows = []
    for step, cell in disk.cells.items():
        own = [
            value
            for point in disk.column.run.points
            if point.step == step
            and point.target in names
            and point.op == cell.point.op
            and (value := point.mbps if is_sequential(step) else point.iops) is not None
        ]
        if not own or not (middle := median(own)):
            continue
        figures = [Item(grouped(value)) for value in (min(own), middle, max(own))]
        width = Item(percent_digits((max(own) - min(own)) / middle, 2), tone="strong")
        rows.append(Row(Item(called(step)), [*figures, width]))
    return rows
