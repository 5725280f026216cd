"""Whether a drive whose zones are written in order can take the writes of a trace, or of a step."""

import json

from fathom import _core
from fathom._core import Job
from fathom.errors import UsageError
from fathom.targets.target import Target

_END_BYTES = 1 << 20
"""Requests leave at most that much at the end of a device."""
OTHER_DRIVE = "take a drive without such zones, unless the program can write zones in order"


def check_order(parameters_json: str, *, writes: bool, name: str = "", hint: str = OTHER_DRIVE) -> None:
    """Raises UsageError where a trace writes, and the zones of a twin with these parameters take writes in order only.

    The twin itself would advise other patterns, which a trace does not have.
    """
    if writes and json.loads(parameters_json).get("zone_bytes"):
        place = f"{name}: " if name else ""
        raise UsageError(
            f"{place}its zones take writes at their write pointers only, and a trace writes where it was recorded",
            hint,
        )


def check_write_pointers(step: str, job: Job, target: Target) -> None:
    """Raises UsageError for writes that a real host-managed device must refuse: at random, or in several passes.

    Zones that may be written anywhere lie at the start of such disks, so only regions that reach the end are judged.
    """
    raw = target.kind == "device" and target.makes is None
    if raw and target.identity.zoned == "host-managed":
        _check_pass(step, job, target, f"{target.path}/btrfs")


def check_zones_of_twin(step: str, job: Job, target: Target, parameters_json: str) -> None:
    """Raises UsageError for a job that the zones of a twin with these parameters must refuse, whatever they hold."""
    if target.identity.file_system or not json.loads(parameters_json).get("zone_bytes"):
        return
    try:
        _core.TwinDevice(parameters_json, 1).check(job)
    except _core.BackendError as error:
        raise UsageError(f"{target.name}: step {step}: {error}") from error
    _check_pass(step, job, target, f"{target.name}/btrfs")


def _check_pass(step: str, job: Job, target: Target, file_system: str) -> None:
    """Raises UsageError for writes that are not one pass in order. `file_system` names the target with one that is."""
    if "write" not in job.weights:
        return
    start, length = job.region_on(target.capacity_bytes, target.logical_block_bytes)
    one_pass = job.pattern.kind == "sequential" and not job.ends_by_time and (job.region_multiple or 0) <= 1
    if job.pattern.kind == "zones" or one_pass or start + length < target.capacity_bytes - _END_BYTES:
        return
    if job.pattern.kind != "sequential":
        how = "writes at random places"
    elif job.ends_by_time:
        how = "goes over its region until its time is over"
    else:
        how = "goes over its region again"
    raise UsageError(
        f"{target.name}: step {step} {how}, and this host-managed zoned device takes writes at the write pointers of "
        "its zones only",
        f"take a method with pattern = {{ zones = N }}, or a file system that writes zones in order: {file_system}",
    )
