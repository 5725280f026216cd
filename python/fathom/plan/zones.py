"""Whether a drive whose zones are written in order can take the writes of a trace, or of a step."""

import json

from fathom import _core
from fathom._core import Job
from fathom.errors import UsageError
from fathom.output.text import size
from fathom.targets.target import Target
from fathom.targets.zones import HOST_MANAGED, ZoneSizes, zones_of_twin

_END_BYTES = 1 << 20
"""Requests leave at most that much at the end of a device."""
OTHER_DRIVE = "take a drive without such zones, unless the program can write zones in order"


def check_order(parameters_json: str, *, writes: bool, name: str = "", hint: str = OTHER_DRIVE) -> None:
    """Raises UsageError where a trace writes, and the zones of a twin with these parameters take writes in order only.

    The twin itself would advise other patterns, which a trace does not have.
    """
    if writes and zones_of_twin(json.loads(parameters_json)):
        place = f"{name}: " if name else ""
        raise UsageError(
            f"{place}its zones take writes at their write pointers only, and a trace writes where it was recorded",
            hint,
        )


def check_write_pointers(step: str, job: Job, target: Target) -> None:
    """Raises UsageError for writes that a host-managed device must refuse: at random, in several passes, several
    at once, or where a zone has a gap. The kernel may pass on two writes in flight in either order.
    """
    identity = target.identity
    if target.kind != "device" or target.makes is not None or identity.zoned != HOST_MANAGED:
        return
    in_flight = job.threads * job.iodepth
    at_once = f"keeps {in_flight} writes in flight" if in_flight > 1 else ""
    _check_pass(step, job, target, f"{target.path}/btrfs", at_once)
    if identity.zone_bytes and identity.zone_capacity_bytes:
        _check_gaps(step, job, target, ZoneSizes(identity.zone_bytes, identity.zone_capacity_bytes))


def check_zones_of_twin(step: str, job: Job, target: Target, parameters_json: str) -> None:
    """Raises UsageError for a job that the zones of a twin with these parameters must refuse, whatever they hold.

    A twin takes writes in the order in which they were issued, so it may have several at once.
    """
    zones = zones_of_twin(json.loads(parameters_json))
    if target.identity.file_system or zones is None:
        return
    try:
        _core.TwinDevice(parameters_json, 1).check(job)
    except _core.BackendError as error:
        raise UsageError(f"{target.name}: step {step}: {error}") from error
    _check_pass(step, job, target, f"{target.name}/btrfs")
    _check_gaps(step, job, target, zones)


def _check_gaps(step: str, job: Job, target: Target, zones: ZoneSizes) -> None:
    """Raises UsageError for writes in order that reach blocks behind the capacity of a zone, which none may write."""
    if "write" not in job.weights or job.pattern.kind == "zones":
        return
    start, length = job.region_on(target.capacity_bytes, target.logical_block_bytes)
    gap = start // zones.zone_bytes * zones.zone_bytes + zones.capacity_bytes
    if zones.capacity_bytes < zones.zone_bytes and start + length > gap:
        raise UsageError(
            f"{target.name}: step {step} writes through a region that ends at {size(start + length)}, and only "
            f"{size(zones.capacity_bytes)} of each zone of {size(zones.zone_bytes)} can be written",
            'take pattern = { zones = { open = "in-order", ends = true } }: one pass that leaves such blocks out',
        )


def _check_pass(step: str, job: Job, target: Target, file_system: str, at_once: str = "") -> None:
    """Raises UsageError for writes that are not one pass in order; `at_once` says how such a pass is out of order too.

    Zones that may be written anywhere lie at the start of disks, so only regions that reach the end are judged.
    `file_system` names the target with one that writes zones in order.
    """
    start, length = job.region_on(target.capacity_bytes, target.logical_block_bytes)
    reaches_end = start + length >= target.capacity_bytes - _END_BYTES
    if "write" not in job.weights or job.pattern.kind == "zones" or not reaches_end:
        return
    if job.pattern.kind != "sequential":
        how = "writes at random places"
    elif job.ends_by_time:
        how = "goes over its region until its time is over"
    elif (job.region_multiple or 0) > 1:
        how = "goes over its region again"
    else:
        how = at_once
    if how:
        raise UsageError(
            f"{target.name}: step {step} {how}, and this host-managed zoned device takes writes at the write pointers "
            "of its zones only",
            f"take a method with pattern = {{ zones = N }}, or a file system that writes zones in order: {file_system}",
        )
