"""Whether a step fits its target: what cannot be run there at all, and why."""

from collections.abc import Sequence
from pathlib import Path

from fathom import _core
from fathom._core import Job
from fathom.catalog.load import load_device
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.method.job import of_parts
from fathom.method.method import Method, Step
from fathom.output.text import duration, size
from fathom.plan.slices import check_slice, parameters_of, simulated_bytes
from fathom.plan.zones import HOST_MANAGED, check_order, check_write_pointers, check_zones_of_twin
from fathom.targets.target import KIND_IN_WORDS, Kind, Target
from fathom.traces.prepare import extent_of


def check_fits(method: Method, target: Target) -> None:
    """Raises UsageError where a step does not fit its target.

    A region may be smaller than one of the step's blocks, or larger than the target. The engine may refuse the job on a
    real target. A shortened method may not fill a real SSD. A step that is left out on the target always fits.
    """
    for one in target.members or (target,):
        _check_device(one)
    _check_fills(method, target)
    _check_file_system(method, target)
    capacity_bytes = target.unit_capacity_bytes
    for _, step in method.steps_on(target):
        if inapplicable(step, target):
            continue
        if step.job.stream_targets and not target.parts:
            raise UsageError(
                f"{target.name}: step {step.name} has streams on some of several targets",
                "give the targets together: array:TARGET,TARGET",
            )
        jobs = _divided(step, target, len(target.parts)) if target.parts else [step.job]
        own = jobs if target.members else [step.job]
        for one, whole in zip(target.members or (target,), own, strict=True):
            if one.kind == "twin":
                _check_simulated(step.name, whole, one)
            elif one.kind == "device":
                _check_of_devices(step.name, whole, one)
            for job in whole.streams.values() or (whole,):
                _check_takes(step.name, job, one, method.slice_bytes)
        for job in step.job.streams.values() or (step.job,):
            region_bytes = job.region_on(capacity_bytes, target.logical_block_bytes)[1]
            block_bytes = job.largest_block_bytes
            if region_bytes < block_bytes:
                raise UsageError(
                    f"{target.name}: step {step.name} has a region of {size(region_bytes)} there, but blocks of "
                    f"{size(block_bytes)}",
                    "use a larger target, --size or region, or smaller blocks",
                )
            if region_bytes > capacity_bytes:
                raise UsageError(
                    f"{target.name}: step {step.name} has a region of {size(region_bytes)}, but the target only "
                    f"{size(capacity_bytes)}",
                    "use a larger target or --size, or a region in percent",
                )
    check_slice(method, target)


def check_split(method: Method, target: Target, hosts: int) -> None:
    """Raises UsageError where a step's load cannot be divided over the hosts; 0 of them: this machine loads it."""
    for _, step in method.steps_on(target):
        if hosts:
            _divided(step, target, hosts, hosts=True)
        elif not target.parts and any(job.uneven for job in step.job.streams.values() or (step.job,)):
            raise UsageError(
                f"{target.name}: step {step.name} splits its load by shares, and there is one target",
                "name several as array:TARGET,TARGET, or leave split out",
            )


def _divided(step: Step, target: Target, parts: int, *, hosts: bool = False) -> list[Job]:
    """Returns the job of each part. Raises UsageError, with target and step, for a load that cannot be split so."""
    try:
        return of_parts(step.job, parts, hosts=hosts)
    except FathomError as error:
        raise UsageError(f"{target.name}: step {step.name}: {error.message}", error.hint) from error


def _check_file_system(method: Method, target: Target) -> None:
    """Raises UsageError for a file system on the twin of a system: such twins are made bare."""
    for twin in target.members or (target,):
        file_system = twin.identity.file_system
        if twin.kind != "twin" or twin.catalog is None or not file_system:
            continue
        if load_device(twin.catalog).is_system:
            bare = twin.name.removesuffix(f"/{file_system}")
            by_method = method.file_system == file_system
            raise UsageError(
                f"{bare}: "
                + (
                    f"{method.name} puts {file_system} on each drive"
                    if by_method
                    else f"it cannot get {file_system}"
                )
                + ", and a system has its own file system, or none",
                "name the twin of a drive" + ("" if method.file_system else f", or {bare}"),
            )


def _check_fills(method: Method, target: Target) -> None:
    """Raises UsageError for a real SSD where the method shortens its fill, which only the slice of a twin allows."""
    if method.quick is None or method.slice_bytes is None:
        return
    if all(one.kind != "device" or one.identity.rotational for one in target.members or (target,)):
        return
    steps = [step for _, step in method.steps_on(target)]
    if not any(step.kind == "fill" or _writes_in_order(step.job) for step in steps):
        raise UsageError(
            f"{target.name}: {method.name} does not fill a drive, so it cannot show steady state",
            "take a twin, or a method that fills a drive, such as four-corners",
        )
    time_s = sum(step.job.time_s or 0.0 for step in steps) * method.quick.divide_times_by
    raise UsageError(
        f"{target.name}: shortened, {method.name} does not fill a drive, so it cannot show steady state",
        f"run it without --quick, which takes {duration(time_s)}",
    )


def _writes_in_order(job: Job) -> bool:
    return "write" in job.weights and job.pattern.kind == "sequential"


def _check_device(target: Target) -> None:
    """Raises RefusedError or UsageError for a device that no job can run on, before its size judges the regions."""
    if target.kind != "device":
        return
    if target.capacity_bytes == 0:
        raise RefusedError(
            f"{target.name} refused: has no medium (size 0)",
            "insert one; an NVMe namespace may have a block format that the kernel does not use: `nvme format`",
            ("empty",),
        )
    if target.passthrough and target.identity.block_metadata_bytes:
        raise UsageError(
            f"{target.name}: its blocks carry {target.identity.block_metadata_bytes} B of metadata, which passthrough "
            "jobs do not send",
            "use the block device, or a format without metadata",
        )


def _check_takes(step: str, job: Job, target: Target, slice_bytes: int | None) -> None:
    """Raises UsageError for I/O that the target, or what loads it, never does: it would end the run at that step."""
    kept_open = None if job.pattern.kind != "zones" or job.pattern.in_order else job.pattern.open
    if kept_open and "write" in job.weights and job.iodepth > kept_open:
        raise UsageError(
            f"{target.name}: step {step} has an iodepth of {job.iodepth}, but only {kept_open} zones open, and a zone "
            "takes one write at a time",
            f"use iodepth = {kept_open}, zones = {job.iodepth}, or append",
        )
    if target.kind == "twin":
        if target.catalog is None:
            return
        parameters = parameters_of(target.catalog, slice_bytes)
        if job.pattern.kind != "replay":
            check_zones_of_twin(step, job, target, parameters)
        else:
            check_order(parameters, writes=job.writes, name=target.name)
            simulated = simulated_bytes(parameters)
            what = f"its twin simulates {size(simulated)} of {size(target.unit_capacity_bytes)}"
            _check_reach(job, target, simulated, what, "use --offsets wrap or scale")
        return
    if job.iodepth > _core.ENGINE_IODEPTH_MAX:
        raise UsageError(
            f"{target.name}: step {step} has an iodepth of {job.iodepth}; a load thread keeps at most "
            f"{_core.ENGINE_IODEPTH_MAX} I/O in flight there",
            "take a smaller iodepth and more threads",
        )
    _check_command_size(step, job, target)
    check_write_pointers(step, job, target)
    if job.verifies and target.kind in ("null", "nop"):
        raise UsageError(
            f"{target.name}: step {step} verifies data, but this target keeps none",
            "use a file or a device, or leave content.verify out",
        )
    without_zones = target.kind != "device" or target.makes is not None or target.identity.zoned == "none"
    if "append" in job.weights and (without_zones or not target.passthrough):
        raise UsageError(
            f"{target.name}: step {step} appends to zones, but this target accepts no zone appends",
            'use the NVMe generic device (/dev/ngXnY) of a zoned namespace, a zoned twin, or mix = "write"',
        )
    capacity_bytes = target.unit_capacity_bytes
    hint = "use --offsets wrap or scale, a larger target or --size"
    _check_reach(job, target, capacity_bytes, f"the target has {size(capacity_bytes)}", hint)
    if job.pattern.kind == "zones" and without_zones:
        raise UsageError(
            f"{target.name}: step {step} has the pattern zones, but this target has no zones",
            'use a zoned device, a zoned twin, or pattern = "sequential"',
        )


def _check_of_devices(step: str, job: Job, target: Target) -> None:
    """Raises UsageError for what the engine would refuse at that step, behind those that have erased the device."""
    if "allocate" in job.weights:
        raise UsageError(
            f"{target.name}: step {step} reserves room (allocate), which is of files",
            f"take a file: {target.path}/ext4 makes one" if target.makes is None else "leave it out",
        )
    if target.makes is not None or target.identity.zoned != HOST_MANAGED:
        return
    if job.gpu:
        raise UsageError(
            f"{target.name}: step {step} reads to a GPU, and reads of zoned devices end in host memory",
            "leave gpu out of a copy of the method, or take a device without zones",
        )
    if job.writes and not job.direct:
        raise UsageError(
            f"{target.name}: step {step} writes through the page cache, which does not keep the order of zones",
            "take direct = true",
        )


def _check_command_size(step: str, job: Job, target: Target) -> None:
    """Raises UsageError for blocks that are more than one command, which nothing splits by passthrough."""
    most_bytes = target.identity.command_bytes_max
    largest_bytes = max((one for op in _core.MOVES_DATA for one in job.block_sizes.get(op, ())), default=0)
    if target.passthrough and most_bytes is not None and largest_bytes > most_bytes:
        raise UsageError(
            f"{target.name}: step {step} has blocks of {size(largest_bytes)}; by passthrough a block is one command, "
            f"and the drive takes at most {size(most_bytes)}",
            "take smaller blocks, or the block device, where the kernel splits them",
        )


def _check_simulated(step: str, job: Job, target: Target) -> None:
    """Raises UsageError for I/O that no twin does, because its effect is unknown or is of a kernel or a file."""
    workloads = list(job.streams.values()) or [job]
    if job.sync is not None and job.writes:
        raise UsageError(
            f"{target.name}: step {step} has sync, and how long drives take to make a write safe is unknown to twins",
            "leave it out, or put flushes behind writes by flush_every = 1",
        )
    if any(one.priority is not None or one.priority_shares for one in workloads):
        raise UsageError(
            f"{target.name}: step {step} has a priority, and twins have no I/O scheduler of a kernel",
            "leave it out",
        )
    if job.journal:
        raise UsageError(
            f"{target.name}: step {step} keeps a journal of its writes, and twins hold no data to compare it with",
            "leave journal out, or name a file or a device",
        )
    if "allocate" in job.weights:
        raise UsageError(
            f"{target.name}: step {step} reserves room in a file, and twins hold no files",
            "leave out allocate, or name a file",
        )


def _check_reach(job: Job, target: Target, capacity_bytes: int, what: str, hint: str) -> None:
    """Raises UsageError where a trace with its offsets as recorded reaches beyond the capacity, which `what` names."""
    if job.pattern.kind != "replay" or job.pattern.offsets != "as-is" or job.pattern.file is None:
        return
    reach_bytes = extent_of(Path(job.pattern.file))
    if reach_bytes is not None and reach_bytes > capacity_bytes:
        raise UsageError(f"{target.name}: the trace reaches {size(reach_bytes)}, and {what}", hint)


def check_measures(method: Method, targets: Sequence[Target]) -> None:
    """Raises UsageError when every measured step would be left out, on every target."""
    steps = [(target, step) for target in targets for _, step in method.steps_on(target)]
    measuring = [(target, step) for target, step in steps if step.kind in ("measure", "point")]
    reasons = [(step.name, inapplicable(step, target)) for target, step in measuring or steps]
    known = [f"step {name} left out: {why}" for name, why in dict.fromkeys(reasons) if why]
    if reasons and all(why for _, why in reasons):
        more = f", and {len(known) - 1} more reasons" if len(known) > 1 else ""
        raise UsageError(
            f"{targets[0].name}: nothing to measure: {known[0]}{more}", "take another target or method"
        )


def inapplicable(step: Step, target: Target) -> str | None:
    """Returns why a step cannot be run on a target at all, or None. The text appears in the report."""
    odd_kinds: set[Kind] = {
        one.kind for one in target.members or (target,) if one.kind not in ("device", "twin")
    }
    if step.kind == "purge" and odd_kinds:
        return (
            f"{KIND_IN_WORDS[min(odd_kinds)]} cannot be purged, so the state of the drive beneath is unknown"
        )
    handles, named = target.placement_handles, max(step.job.placement, default=0)
    if handles is not None and named >= handles:
        if handles > 1:
            why = f"placement handle {named} is named, but the target has {handles}, counted from 0"
        else:
            why = "placement handles are named, but the target or namespace has none to choose from (FDP)"
        return why
    sizes = {one for sizes in step.job.block_sizes.values() for one in sizes}
    odd = sorted(one for one in sizes if one % target.logical_block_bytes)
    if odd:
        blocks = ", ".join(f"{one} B" for one in odd)
        return f"{blocks} are not multiples of the target's {target.logical_block_bytes} B blocks"
    return None
