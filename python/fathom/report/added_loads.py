"""What a run of `added-latency` measured at each load, and which loads put as much on each drive."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from fathom.columns.schema import Point
from fathom.prediction.interval import known_device
from fathom.report.comparison import Column, Comparison
from fathom.report.findings import Gate
from fathom.report.style import plain

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
"""Loads of a simulated system and its drive with as much in flight per drive (24 drives, four hosts)."""
LOADS = (*DRIVE_LOADS, *SYSTEM_LOADS, PER_DRIVE[0])


@dataclass(frozen=True)
class Measured:
    """A column's points by workload, load and operation, without those of the steps that are `left_out`."""

    column: Column
    left_out: Collection[str] = ()

    def point(self, mix: str, load: str, op: str) -> Point | None:
        """Returns the point of a workload at a load, for one of its operations; None where it has none."""
        step = f"{mix}-{load}"
        if step in self.left_out:
            return None
        return next(
            (
                point
                for point in self.column.run.points
                if (point.target, point.step, point.op) == (self.column.target.name, step, op)
            ),
            None,
        )

    def times_us(self, mix: str, load: str) -> dict[str, float]:
        """Returns the mean time per I/O in each part of a system, us."""
        step = f"{mix}-{load}"
        return {} if step in self.left_out else self.column.run.times_us(self.column.target.name, step)

    def claimed(self, out: Gate) -> "Measured":
        """Returns it without the steps that support no claim; `out` is the report's gate."""
        return replace(self, left_out=frozenset(step for short, step in out if short == self.column.short))

    @property
    def catalog(self) -> str | None:
        """The twin's entry in the catalogue; None for real targets."""
        return self.column.target.catalog

    @property
    def published_loads(self) -> Mapping[str, int]:
        """The loads that published rows may have, with the depth that they give them."""
        return published_loads(self.catalog)

    @property
    def name(self) -> str:
        """The column's name for people."""
        return plain(self.column.label)

    def alike(self) -> tuple[str, str] | None:
        """Returns the loads, of this system and of a drive alone, that put as much in flight on each drive.

        The numbers of hosts and drives decide. None where no two loads are alike.
        """
        if self.catalog:
            return PER_DRIVE
        document, target = self.column.run.document, self.column.target
        drives = max(1, len(document.drives_of(target)))
        hosts = sum(not part.is_drive_of(target) for part in document.parts_of(target)) or 1
        for load in LOADS:
            jobs = [job for name, job in self.column.run.jobs.items() if name.endswith(f"-{load}")]
            if not jobs:
                continue
            threads, iodepth = map(int, load.split("x"))
            of_drives = 1 if jobs[0].is_split() else drives
            for alone, depth in DRIVE_LOADS.items():
                if hosts * threads * iodepth * of_drives == depth * drives:
                    return load, alone
        return None


def ways_of(comparison: Comparison) -> list[list[Measured]]:
    """Returns what the method measured, way by way: the system first, its drive last, parts of the way between them.

    A run of several targets is a way of its own; runs of one target each are one way together.
    """
    measured = [column for column in comparison.columns if column.run.asks_for(METHOD, METHOD)]
    by_run: dict[int, list[Measured]] = {}
    for column in measured:
        by_run.setdefault(id(column.run), []).append(Measured(column))
    whole = [way for way in by_run.values() if len(way) > 1]
    return whole or ([[Measured(column) for column in measured]] if measured else [])


def published_loads(device: str | None) -> Mapping[str, int]:
    """Returns the loads that published rows of a catalogue's device may have, with the depth that they give them."""
    known = known_device(device)
    return SYSTEM_LOADS if known and known.starts_settled else DRIVE_LOADS


def jobs_of(load: str) -> int:
    """Returns the jobs of a load: 3 of `3x32`."""
    return int(load.partition("x")[0])


def times_sign(load: str) -> str:
    """Returns a load for people: `3 x 32`, jobs x iodepth."""
    return load.replace("x", " x ")
