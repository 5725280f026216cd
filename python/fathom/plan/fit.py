"""Whether a step fits its target: what cannot be run there at all, and why."""

from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from fathom import _core
from fathom._core import Job
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import UsageError
from fathom.method.job import of_parts
from fathom.method.method import Method, Step
from fathom.output.text import duration, size
from fathom.plan.zones import check_order
from fathom.targets.target import KIND_IN_WORDS, Kind, Target
from fathom.traces.prepare import extent_of


def check_fits(method: Method, target: Target) -> None:
    """Raises UsageError where a step does not fit its target.

    A region may be smaller than one of the step's blocks, or larger than the target. The engine may refuse the job on a
    real target. A shortened method may not fill a real SSD.
    """
    _check_fills(method, target)
    capacity_bytes = target.unit_capacity_bytes
    for _, step in method.steps_on(target):
        if step.job.stream_targets and not target.parts:
            raise UsageError(
                f"{target.name}: step {step.name} has streams on some of several targets",
                "give the targets together: array:TARGET,TARGET",
            )
        jobs = of_parts(step.job, len(target.parts)) if target.parts else [step.job]
        own = jobs if target.members else [step.job]
        for one, whole in zip(target.members or (target,), own, strict=True):
            for job in whole.streams.values() or (whole,):
                _check_takes(step.name, job, one)
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
    _check_slice(method, target)


def _check_slice(method: Method, target: Target) -> None:
    """Raises UsageError for a region in bytes that is larger than what the target's twin simulates of it."""
    if target.kind != "twin" or target.catalog is None or target.parts or target.identity.file_system:
        return
    capacity_bytes = target.unit_capacity_bytes
    in_bytes = [
        (region_bytes, step.name)
        for _, step in method.steps_on(target)
        for job in step.job.streams.values() or (step.job,)
        if (region_bytes := job.region_on(capacity_bytes)[1]) == job.region_on(2 * capacity_bytes)[1]
    ]
    if not in_bytes:
        return
    most_bytes, step = max(in_bytes, key=itemgetter(0))
    simulated_bytes = _simulated_bytes(_parameters(target.catalog, method.slice_bytes))
    if most_bytes > simulated_bytes:
        raise UsageError(
            f"{target.name}: step {step} has a region of {size(most_bytes)}, but the twin simulates only "
            f"{size(simulated_bytes)} of {size(capacity_bytes)}",
            "use a region in percent",
        )


def _check_fills(method: Method, target: Target) -> None:
    """Raises UsageError for a real SSD where the method shortens its fill, which only the slice of a twin allows."""
    if method.quick is None or method.slice_bytes is None:
        return
    if all(one.kind != "device" or one.identity.rotational for one in target.members or (target,)):
        return
    time_s = sum(step.job.time_s or 0.0 for _, step in method.steps_on(target)) * method.quick.divide_times_by
    raise UsageError(
        f"{target.name}: shortened, {method.name} does not fill a drive, so it cannot show steady state",
        f"run it without --quick, which takes {duration(time_s)}",
    )


def _check_takes(step: str, job: Job, target: Target) -> None:
    """Raises UsageError for more in flight than a ring of the engine holds, and for zones where there are none."""
    if target.kind == "twin":
        if job.pattern.kind == "replay" and target.catalog is not None:
            parameters = _parameters(target.catalog, None)
            check_order(parameters, writes=job.writes, name=target.name)
            simulated_bytes = _simulated_bytes(parameters)
            whole = size(target.unit_capacity_bytes)
            what = f"its twin simulates {size(simulated_bytes)} of {whole}"
            _check_reach(job, target, simulated_bytes, what, "use --offsets wrap or scale")
        return
    if job.iodepth > _core.ENGINE_IODEPTH_MAX:
        raise UsageError(
            f"{target.name}: step {step} has an iodepth of {job.iodepth}; a load thread keeps at most "
            f"{_core.ENGINE_IODEPTH_MAX} I/O in flight there",
            "take a smaller iodepth and more threads",
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


def _check_reach(job: Job, target: Target, capacity_bytes: int, what: str, hint: str) -> None:
    """Raises UsageError where a trace with its offsets as recorded reaches beyond the capacity, which `what` names."""
    if job.pattern.kind != "replay" or job.pattern.offsets != "as-is" or job.pattern.file is None:
        return
    reach_bytes = extent_of(Path(job.pattern.file))
    if reach_bytes is not None and reach_bytes > capacity_bytes:
        raise UsageError(f"{target.name}: the trace reaches {size(reach_bytes)}, and {what}", hint)


def _parameters(device: str, slice_bytes: int | None) -> str:
    from fathom.catalog import load_device

    return twin_params_json(load_device(device), None, slice_bytes=slice_bytes)


@lru_cache(maxsize=16)
def _simulated_bytes(parameters_json: str) -> int:
    """Returns what a twin simulates of its device. A cluster's is not made for each plan and check of a run."""
    return _core.TwinDevice(parameters_json, 1).capacity_bytes


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
            why = f"it writes with handle {named}, but the target has {handles} placement handles"
        else:
            why = "it writes by placement handles, but the target has none to choose from (FDP)"
        return why
    sizes = {one for sizes in step.job.block_sizes.values() for one in sizes}
    odd = sorted(one for one in sizes if one % target.logical_block_bytes)
    if odd:
        blocks = ", ".join(f"{one} B" for one in odd)
        return f"{blocks} are not multiples of the target's {target.logical_block_bytes} B blocks"
    return None
