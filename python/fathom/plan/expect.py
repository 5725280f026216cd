"""What a step writes and how long it takes if the drive keeps its rated speed. Measures nothing.

Only a twin has a data sheet; for any other target, only volumes given in bytes are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fathom import _core
from fathom._core import Job
from fathom.analysis.surprises import RATED_DEPTH
from fathom.errors import UsageError
from fathom.method.method import Step
from fathom.sizing.drive import Drive, rated_drive
from fathom.sizing.needs import Op
from fathom.targets.target import Identity, Target
from fathom.targets.zones import pass_bytes

WHOLE = 0.95
"""A region of at least this share counts as the whole drive."""


@dataclass(frozen=True)
class Expected:
    """One step on one target. `None`: it depends on an unknown speed. `bound`: the volume is only an upper or lower
    limit. Upper: fewer I/Os are in flight than the rating needs, or a target of unknown speed may be too slow for it.
    Upper too: the load pauses between its I/Os.
    Lower: random writes go to a part of the drive, and the rating is for the whole.
    """

    time_s: float | None
    written_bytes: int | None
    bound: Literal["most", "least"] | None = None


@dataclass(frozen=True)
class Endurance:
    """The rated endurance of a drive, and its source."""

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
    """Returns the rated endurance of that many drives together, None where it is not stated."""
    figure = drive.figures.get(("endurance", None)) if drive else None
    return Endurance(units * figure.value, figure.basis, figure.source) if figure else None


def expect(step: Step, target: Target, drive: Drive | None) -> Expected:
    """Returns what the step writes and how long it takes if the target keeps its rated rates.

    A point of a curve writes its share of the maximum, and so does a step with `offered`. A search for a capacity is
    counted as the maximum. Open load writes what it is offered, unless the drive is slower. Every drive of an array
    does all of it, at the same time.
    """
    each = _expect_of_unit(step, target, drive)
    units = max(1, len(target.parts))
    return replace(each, written_bytes=None if each.written_bytes is None else units * each.written_bytes)


def _expect_of_unit(step: Step, target: Target, drive: Drive | None) -> Expected:
    if step.kind == "purge":
        # Deallocating takes seconds on a device of any size.
        return Expected(0.0, 0)
    job = step.job
    moved_most = _most_moved(job, target.identity, target.unit_capacity_bytes)
    write_share, moved_bps = _at_rated_speed(job, drive)
    if moved_bps is not None and (of_maximum := step.place or step.offered) is not None:
        moved_bps *= min(of_maximum.share or 1.0, 1.0)
    # A load that is split is for all drives of an array together.
    sharing = max(1, len(target.parts)) if job.is_split(False) else 1
    if moved_bps and moved_most and job.rate_iops:
        # Open load, as of a replay at recorded times, is as fast as it is offered, unless the drive is slower.
        moved_bps = min(moved_bps, job.rate_iops / sharing * _mean_moved(job))
    if moved_bps and job.think_ns:
        # The interactive response time law, for a target that takes no time.
        moved_bps = min(
            moved_bps, job.threads * job.iodepth * 1e9 / job.think_ns / sharing * _mean_moved(job)
        )
    time_s, moved_bytes = job.time_s, moved_most
    if moved_bps:
        if moved_most is not None:
            time_s = _least(job.time_s, moved_most / moved_bps)
        if job.time_s is not None:
            moved_bytes = _least(moved_most, job.time_s * moved_bps)
    if write_share == 0:
        return Expected(time_s, 0)
    bound = _bound(job, target.unit_capacity_bytes)
    if job.time_s is not None and (offered_bps := _offered(job)) is not None:
        moved, written = (one / sharing for one in offered_bps)
        if moved_bps is None or moved <= moved_bps:
            short = moved_bps is None or bound == "most"
            return Expected(job.time_s, round(written * job.time_s), "most" if short else None)
    counted = all(own.count and own.rate_iops for own in job.streams.values())
    if job.streams and (job.time_s is None or counted):
        return Expected(job.time_s, _written_by_streams(job, target))
    written_bytes = None if moved_bytes is None else round(write_share * moved_bytes)
    if moved_bps is None and moved_most is not None and job.time_s is not None:
        return Expected(time_s, written_bytes, "most")
    return Expected(time_s, written_bytes, bound if moved_bytes != moved_most else None)


def _offered(job: Job) -> tuple[float, float] | None:
    """Returns the bytes per second that an open load moves and writes if the target keeps up.

    None for closed load, and for one that ends by a volume or a count too.
    """
    moved = written = 0.0
    for own in job.streams.values() or (job,):
        if own.rate_iops is None or own.count or own.bytes is not None or own.region_multiple is not None:
            return None
        write_share, _ = _at_rated_speed(own, None)
        own_bps = own.rate_iops * _mean_moved(own)
        moved += own_bps
        written += write_share * own_bps
    return moved, written


def _written_by_streams(job: Job, target: Target) -> int | None:
    """Returns the bytes that streams with ends of their own write to a drive, on average over those of an array.

    None where a stream ends by time alone.
    """
    units = max(1, len(target.parts))
    written_bytes = 0.0
    for name, own in job.streams.items():
        moved_bytes = _most_moved(own, target.identity, target.unit_capacity_bytes)
        if moved_bytes is None:
            return None
        write_share, _ = _at_rated_speed(own, None)
        drives = len(job.stream_targets.get(name, ())) or units
        written_bytes += write_share * moved_bytes * drives / units
    return round(written_bytes)


def _most_moved(job: Job, identity: Identity, capacity_bytes: int) -> int | None:
    """Returns the bytes after which a job ends; as many I/Os of mean size where it counts them. None where it ends by
    time alone.
    """
    if job.region_multiple is not None:
        return round(job.region_multiple * pass_bytes(job, identity, capacity_bytes))
    if job.bytes is not None or job.count is None:
        return job.bytes
    return round(job.count * _mean_moved(job))


def _mean_moved(job: Job) -> float:
    """Returns the mean bytes of an I/O; operations that move no data count with none."""
    weight = sum(entry.weight for entry in job.ops)
    data = (entry for entry in job.ops if entry.op in _core.MOVES_DATA)
    return sum(entry.weight / weight * _mean_size(entry.sizes) for entry in data)


def _mean_size(sizes: Sequence[tuple[int, float]]) -> float:
    return sum(size * weight for size, weight in sizes) / sum(weight for _, weight in sizes)


def _bound(job: Job, capacity_bytes: int) -> Literal["most", "least"] | None:
    """Returns whether the volume of a load is an upper or a lower limit; None where it is neither."""
    if thinks(job):
        return "most"
    if job.pattern.kind == "sequential":
        return None
    if job.threads * job.iodepth < RATED_DEPTH:
        return "most"
    return "least" if job.region_on(capacity_bytes)[1] < WHOLE * capacity_bytes else None


def thinks(job: Job) -> bool:
    """Returns whether a closed load, or a stream of it, pauses between its I/Os."""
    return any(own.thinks for own in job.streams.values() or (job,))


def _least(known: float | None, other: float) -> float:
    return other if known is None else min(known, other)


def _at_rated_speed(job: Job, drive: Drive | None) -> tuple[float, float | None]:
    """Returns the share of writes in the bytes that the job moves, and its rated bytes per second.

    Operations of a mix take turns, so the time of a mean I/O is the mean of their times.
    """
    total_bytes = written_bytes = 0.0
    time_s: float | None = 0.0
    for entry in job.ops:
        if entry.op not in _core.MOVES_DATA:
            continue
        op: Op = "write" if entry.op in _core.WRITES else "read"
        weight_of_sizes = sum(weight for _, weight in entry.sizes)
        for size_bytes, weight in entry.sizes:
            count = entry.weight * weight / weight_of_sizes
            moved = count * size_bytes
            total_bytes += moved
            written_bytes += moved if op == "write" else 0
            rate_bps = _rated_bps(drive, op, size_bytes, job.pattern.kind)
            time_s = None if time_s is None or rate_bps is None else time_s + moved / rate_bps
    if not total_bytes:
        return 0.0, None
    return written_bytes / total_bytes, total_bytes / time_s if time_s else None


def _rated_bps(drive: Drive | None, op: Op, block_bytes: int, pattern: str) -> float | None:
    """Returns the sequential rating in B/s; for random I/O its own rating, at most the sequential one."""
    if drive is None or (bandwidth := drive.figures.get(("bandwidth", op))) is None:
        return None
    if pattern == "sequential":
        return bandwidth.value
    iops = drive.figures.get(("iops", op))
    return None if iops is None else min(bandwidth.value, iops.value * block_bytes)
