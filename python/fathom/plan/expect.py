"""What a step writes and how long it takes if the drive keeps its rated speed. Measures nothing.

Only a twin is known by its data sheet; of any other target, volumes given in bytes are known and nothing else.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal

from fathom.analysis.surprises import RATED_DEPTH
from fathom.errors import UsageError
from fathom.method.method import Job, Step
from fathom.method.ops import MOVES_DATA
from fathom.sizing.drive import Drive, rated_drive
from fathom.sizing.needs import Op
from fathom.targets.target import Target

WHOLE = 0.95
"""From this share of a drive on a region is the whole drive."""


@dataclass(frozen=True)
class Expected:
    """One step on one target. `None`: it depends on a speed that nobody states.

    `bound`: the volume is the most or the least that it writes in its time. The step has fewer I/Os in flight than the
    rated speed takes. Or it uses a part of the drive, whose rating is that of random writes to all of it.
    """

    time_s: float | None
    written_bytes: int | None
    bound: Literal["most", "least"] | None = None


@dataclass(frozen=True)
class Endurance:
    """What a drive may be written in its life, and how that is stated."""

    written_bytes: float
    basis: str
    source: str


def rating_of(target: Target) -> Drive | None:
    """Returns the data sheet of a twin's drive; None for other targets and where there is no row of its capacity."""
    if target.catalog is None:
        return None
    try:
        return rated_drive(target.catalog)
    except UsageError:
        return None


def endurance_of(drive: Drive | None, units: int = 1) -> Endurance | None:
    """Returns the rated endurance of that many drives together, None where nobody states it."""
    figure = drive.figures.get(("endurance", None)) if drive else None
    return Endurance(units * figure.value, figure.basis, figure.source) if figure else None


def expect(step: Step, target: Target, drive: Drive | None) -> Expected:
    """Returns what the step writes and how long it takes if the target keeps its rated rates.

    A point of a curve writes its share of the maximum, and so does a step with `offered`. A search for a capacity is
    counted as the maximum. The drives of an array do all of it at once.
    """
    each = _expect_of_unit(step, target, drive)
    units = max(1, len(target.parts))
    return replace(each, written_bytes=None if each.written_bytes is None else units * each.written_bytes)


def _expect_of_unit(step: Step, target: Target, drive: Drive | None) -> Expected:
    if step.kind == "purge":
        # Deallocating takes seconds on a device of any size.
        return Expected(0.0, 0)
    job = step.job
    moved_most = job.bytes
    if job.region_multiple is not None:
        moved_most = round(job.region_multiple * job.region_size(target.unit_capacity_bytes))
    write_share, moved_bps = _at_rated_speed(job, drive)
    if moved_bps is not None and (of_maximum := step.place or step.offered) is not None:
        moved_bps *= min(of_maximum.share or 1.0, 1.0)
    time_s, moved_bytes = job.time_s, moved_most
    if moved_bps:
        if moved_most is not None:
            time_s = _least(job.time_s, moved_most / moved_bps)
        if job.time_s is not None:
            moved_bytes = _least(moved_most, job.time_s * moved_bps)
    if write_share == 0:
        return Expected(time_s, 0)
    written_bytes = None if moved_bytes is None else round(write_share * moved_bytes)
    by_time = moved_bytes != moved_most
    return Expected(time_s, written_bytes, _bound(job, target.unit_capacity_bytes) if by_time else None)


def _bound(job: Job, capacity_bytes: int) -> Literal["most", "least"] | None:
    """Returns how a random load in a given time differs from the rated one, of the whole drive at depth."""
    if job.pattern == "sequential":
        return None
    if job.threads * job.iodepth < RATED_DEPTH:
        return "most"
    return "least" if job.region_size(capacity_bytes) < WHOLE * capacity_bytes else None


def _least(known: float | None, other: float) -> float:
    return other if known is None else min(known, other)


def _at_rated_speed(job: Job, drive: Drive | None) -> tuple[float, float | None]:
    """Returns the share of writes in the bytes that the job moves, and bytes moved per second, where rated.

    Operations of a mix take turns, so the time of a mean I/O is the mean of their times.
    """
    total_bytes = written_bytes = 0.0
    time_s: float | None = 0.0
    for entry in json.loads(job.json)["mix"]["ops"]:
        if entry["op"] not in MOVES_DATA:
            continue
        op: Op = "read" if entry["op"] == "read" else "write"
        weight_of_sizes = sum(one["weight"] for one in entry["sizes"])
        for one in entry["sizes"]:
            count = entry["weight"] * one["weight"] / weight_of_sizes
            moved = count * one["size_bytes"]
            total_bytes += moved
            written_bytes += moved if op == "write" else 0
            rate_bps = _rated_bps(drive, op, one["size_bytes"], job.pattern)
            time_s = None if time_s is None or rate_bps is None else time_s + moved / rate_bps
    if not total_bytes:
        return 0.0, None
    return written_bytes / total_bytes, total_bytes / time_s if time_s else None


def _rated_bps(drive: Drive | None, op: Op, block_bytes: int, pattern: str) -> float | None:
    """Returns the sequential rating, or for jumps that of random I/O as far as the sequential one allows."""
    if drive is None or (bandwidth := drive.figures.get(("bandwidth", op))) is None:
        return None
    if pattern == "sequential":
        return bandwidth.value
    iops = drive.figures.get(("iops", op))
    return None if iops is None else min(bandwidth.value, iops.value * block_bytes)
