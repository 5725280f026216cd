"""What the sections on `drive-array-filesystem` share: its workloads, and the figures of one drive of each target."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from fathom.analysis.finding import joined
from fathom.analysis.mechanics import Mechanics, limits_of
from fathom.columns.schema import Point
from fathom.report.comparison import Cell, Column, Comparison
from fathom.runs.document import TargetRecord
from fathom.statistics.levels import mser5
from fathom.statistics.series import Floats
from fathom.statistics.uncertainty import Comparison as Ratio
from fathom.statistics.uncertainty import compare, repeats_interval
from fathom.targets.twin_names import twin_name

METHOD = "drive-array-filesystem"
BLOCKS = {
    "4k": ("4 KiB", 4 << 10),
    "64k": ("64 KiB", 64 << 10),
    "1m": ("1 MiB", 1 << 20),
    "32m": ("32 MiB", 32 << 20),
}
KINDS = {
    "seq-read": "Sequential read",
    "seq-write": "Sequential write",
    "rand-read": "Random read",
    "rand-write": "Random write",
}
SCATTERED = "scattered"
"""Ends the names of sequential reads of the file that random writes have scattered."""
ONE_READER = "one-reader"
"""Ends the names of random reads by one reader on each drive, where the others have eight."""
ENDINGS = {SCATTERED: " of the scattered file", ONE_READER: ", one reader on each drive"}
IN_MEMORY = 1.25
"""A rate this many times the most that the medium allows is that of the host's memory: it decides nothing.

Up to a ninth more comes from the load: one in ten random writes to 50 GiB hits a page that is dirty already. Such a
page reaches the disk once; 5 GB of 32 GiB may be dirty for each drive. Figures leave it out where media writes are
counted.
"""
ALL_REACHED = 0.995
"""Part of the writes from which all of them count as written to the medium."""


def is_sequential(step: str) -> bool:
    """Returns whether a step's headline is a rate in MB/s; else it is IOPS."""
    return "-seq-" in step


def called(step: str) -> str:
    """Returns a step in words: `64 KiB random read`."""
    block, _, kind = step.partition("-")
    ending = next((ending for ending in ENDINGS if kind.endswith(f"-{ending}")), "")
    kind = kind.removesuffix(f"-{ending}")
    return f"{BLOCKS[block][0]} {KINDS.get(kind, kind).lower()}{ENDINGS.get(ending, '')}"


def called_together(steps: Collection[str]) -> str:
    """Returns steps in words, all block sizes of a kind as one: `all sequential writes and 64 KiB random write`."""
    left, said = list(steps), []
    for kind, name in KINDS.items():
        whole = [f"{block}-{kind}" for block in BLOCKS]
        if set(whole) <= set(left):
            said.append(f"all {name.lower()}s")
            left = [step for step in left if step not in whole]
    return joined([*said, *(called(step) for step in left)])


@dataclass(frozen=True)
class Disk:
    """A target of the method, seen as one of its equal drives."""

    column: Column
    name: str
    """Its label, without the words that all targets of the method have in common."""
    cells: dict[str, Cell]
    """By step."""

    @cached_property
    def parts(self) -> list[TargetRecord]:
        """The drives of an array, those of its first host where hosts load it; none for a single one."""
        return self.column.run.document.drives_of(self.column.target)

    @property
    def drives(self) -> int:
        """How many drives work at once."""
        return max(1, len(self.parts))

    @cached_property
    def mechanics(self) -> Mechanics | None:
        """What a drive of it can do at most."""
        return limits_of(self.column.target)

    @property
    def catalog(self) -> str | None:
        """The drive's name in the catalogue, and in price lists."""
        return twin_name(self.column.target.name)

    @property
    def tb(self) -> float:
        """Capacity of one drive, 10^12 bytes."""
        target = self.column.target
        whole = target.identity.get("size_bytes") if target.kind != "twin" else None
        return (whole if isinstance(whole, int) else target.known_bytes) / self.drives / 1e12

    def transient_s(self, step: str) -> int:
        """Returns whole seconds at the start of a step in which caches took what the disk could not: MSER-5, else 0."""
        return mser5(self.cells[step].rates) if step in self.cells else 0

    def reached(self, step: str) -> float:
        """Returns the part of what the host wrote that reached the medium where media writes are counted."""
        point = self.point(step)
        return min(1.0, point.waf) if point and point.waf else 1.0

    def repeats(self, step: str) -> list[Floats]:
        """Returns a drive's IOPS at the medium in every whole second behind the transient, of each repeat."""
        scale = self.reached(step) / self.drives
        return [rates[mser5(rates) :] * scale for rates in self.cells[step].repeats]

    def iops(self, step: str) -> float | None:
        """Returns a drive's IOPS at the medium behind the transient; over the window where it has no seconds."""
        if (cell := self.cells.get(step)) is None or not cell.point.iops:
            return None
        means = [float(rates.mean()) for rates in self.repeats(step) if len(rates)]
        return sum(means) / len(means) if means else cell.point.iops * self.reached(step) / self.drives

    def host_iops(self, step: str) -> float | None:
        """Returns the same as the host saw it, with what its page cache took and the medium never did."""
        iops = self.iops(step)
        return None if iops is None else iops / self.reached(step)

    def value(self, step: str) -> float | None:
        """Returns a drive's MB/s where the step is sequential, else its IOPS; behind the transient."""
        iops, point = self.iops(step), self.point(step)
        if iops is None or point is None or not is_sequential(step):
            return iops
        return iops * point.block_bytes / 1e6 if point.block_bytes else None

    def point(self, step: str) -> Point | None:
        """Returns the step's row of the whole target over its whole window."""
        return self.cells[step].point if step in self.cells else None

    def half_width_pct(self, step: str) -> float | None:
        """Returns half the 95 % interval of the mean rate, in percent of it; None with too few seconds, or drifting
        ones.
        """
        found = repeats_interval(self.repeats(step)) if step in self.cells else None
        return 50 * (found.high - found.low) / found.mean if found and found.mean else None

    def outstanding(self, step: str) -> float | None:
        """Returns I/O in flight at one drive."""
        if (point := self.point(step)) is None:
            return None
        return (point.outstanding or (point.threads or 1) * (point.iodepth or 1)) / self.drives

    def times_the_medium(self, step: str) -> float | None:
        """Returns the step's rate over the most that arm and platters allow; None where that is not known.

        For writes the most is the rate of the outermost tracks: a cache or a file system may have put them in order.
        """
        iops, point = self.host_iops(step), self.point(step)
        if self.mechanics is None or iops is None or point is None or not point.block_bytes:
            return None
        if step.endswith("rand-read"):
            return self.times_the_arm(step)
        outer = self.mechanics.outer_mbps
        return iops * point.block_bytes / 1e6 / outer if outer else None

    def times_the_arm(self, step: str) -> float | None:
        """Returns a random step's rate over the most that the arm manages for each of them apart."""
        iops, point, outstanding = self.host_iops(step), self.point(step), self.outstanding(step)
        if (
            self.mechanics is None
            or iops is None
            or not outstanding
            or point is None
            or not point.block_bytes
        ):
            return None
        return iops / self.mechanics.most_iops(outstanding, point.block_bytes)

    def in_memory(self, step: str) -> bool:
        """Returns whether the rate is beyond the drive's mechanics, and so that of a cache."""
        return (self.times_the_medium(step) or 0) > IN_MEMORY


def disks(comparison: Comparison) -> list[Disk]:
    """Returns the targets that the method ran on."""
    columns = [column for column in comparison.columns if column.run.asks_for("verdict", METHOD)]
    found = []
    for column, name in zip(columns, _short_names([column.short for column in columns]), strict=True):
        cells = [cell for corner in comparison.corners if (cell := corner.cell(column))]
        found.append(Disk(column, name, {cell.step.name: cell for cell in cells}))
    return found


def _short_names(labels: Sequence[str]) -> list[str]:
    """Returns `WD HC560 (CMR), btrfs` and `WD HC650 (SMR), btrfs` as `HC560 (CMR)` and `HC650 (SMR)`."""
    words = [label.split(" ") for label in labels]
    shortest = min(map(len, words), default=0)
    if len(words) < 2 or shortest < 2:
        return list(labels)
    first = next((i for i in range(shortest) if len({w[i] for w in words}) > 1), shortest - 1)
    last = next(
        (i for i in range(shortest - first) if len({w[-1 - i] for w in words}) > 1), shortest - first - 1
    )
    return [" ".join(word[first : len(word) - last]).rstrip(",") for word in words]


def ratio(disk: Disk, reference: Disk, step: str) -> Ratio | None:
    """Returns a drive's rate over the reference's behind the transients, with its 95 % interval; None where it is not
    known.
    """
    if step not in disk.cells or step not in reference.cells:
        return None
    return compare(disk.repeats(step), reference.repeats(step))


def reference_of(found: Sequence[Disk]) -> Disk | None:
    """Returns the drive that others are held against: the first that takes writes anywhere; None with nothing to
    compare.
    """
    ordinary = [disk for disk in found if not (disk.mechanics and disk.mechanics.host_managed)]
    return (ordinary or list(found))[0] if len(found) > 1 else None
