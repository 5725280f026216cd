"""Where requests go, in fio's options: pattern, region, the step between requests and their alignment."""

import math

from fathom.exports.fio_workload import Workload
from fathom.exports.units import NoCounterpartError, extent_text, size_text, whole, whole_percent


def pattern_options(workload: Workload) -> list[str]:
    """Returns the order of the requests. Raises NoCounterpartError."""
    pattern = workload.job.pattern
    match workload.kind:
        case "uniform":
            return ["norandommap"]
        case "random-once":
            workload.one_size("every block once")
            return []
        case "zipf":
            theta = pattern.theta or 0.0
            if whole(theta) == 1:
                raise NoCounterpartError("zipf of 1, which fio does not draw")
            return ["norandommap", f"random_distribution=zipf:{theta:g}"]
        case "pareto":
            return ["norandommap", f"random_distribution=pareto:{pattern.share or 0.0:g}"]
        case "mixed":
            return ["norandommap", f"percentage_random={_jumps(workload)}"]
        case "hot-spots":
            return ["norandommap", f"random_distribution=zoned:{_bands(workload)}"]
        case "zones":
            if workload.numjobs > 1:
                raise NoCounterpartError("zones that each thread keeps open for itself")
            return ["zonemode=zbd", *_zones(workload)]
        case "strips":
            return _strips(workload)
        case "one-pass":
            raise NoCounterpartError(
                "writes of all flash in one pass, which only later versions of fio have (sprandom)"
            )
        case _:
            return []


def _zones(workload: Workload) -> list[str]:
    """Returns how many zones are open, how a write chooses one, and when one with room is reset."""
    pattern = workload.job.pattern
    if pattern.empties or (pattern.ends and not pattern.in_order):
        raise NoCounterpartError("zones that are emptied before, or not written again")
    if pattern.ends and (workload.job.bytes is not None or workload.job.region_multiple != 1):
        raise NoCounterpartError('an end with the last zone, without one such as volume = "1x"')
    if pattern.in_order:
        if not pattern.ends:
            workload.note("it ends with the last zone, where Fathom goes on with the first")
        return []
    lines = [f"max_open_zones={pattern.open}"] if pattern.open else []
    if not pattern.once:
        lines.append("norandommap")
    if pattern.zone_reset:
        if not pattern.once:
            raise NoCounterpartError("zones that are reset with room, and not chosen by random-once")
        above, every = pattern.zone_reset
        # Rounded down: fio takes the whole part of the inverse.
        lines += [
            f"zone_reset_threshold={above:g}",
            f"zone_reset_frequency={math.floor(1e9 / every) / 1e9:.9g}",
        ]
    return lines


def _strips(workload: Workload) -> list[str]:
    """Returns strided zones, which fio goes through to the end of the target, whatever its `size` is."""
    pattern, job = workload.job.pattern, workload.job
    size_bytes = workload.one_size("strips")
    whole_target = job.region_size.fraction == 1.0 and not job.region_start.fraction
    if not whole_target or (pattern.strip_bytes or 0) % size_bytes:
        raise NoCounterpartError("strips of a part of the target, or that are not whole blocks")
    if workload.numjobs > 1 and job.thread_positions != "start":
        raise NoCounterpartError("strips that the threads divide")
    workload.note("it ends where the target ends within a strip, where Fathom goes on with the first")
    return [
        "zonemode=strided",
        f"zonesize={size_text(pattern.strip_bytes or 0)}",
        f"zoneskip={size_text(pattern.gap_bytes or 0)}",
    ]


def _jumps(workload: Workload) -> str:
    pattern = workload.job.pattern
    jumps = {"read": pattern.read or 0.0, "write": pattern.write or 0.0}
    ops = workload.ops
    shares = [jumps["read" if op.op == "read" else "write"] for op in ops]
    texts = [str(whole_percent(share, "jumps")) for share in shares]
    return ",".join(dict.fromkeys(texts))


def _bands(workload: Workload) -> str:
    bands = workload.job.pattern.bands
    areas, accesses = sum(area for area, _ in bands), sum(access for _, access in bands)
    shares = [(access / accesses, area / areas) for area, access in bands]
    texts = ["/".join(str(whole_percent(share, "hot spots")) for share in pair) for pair in shares]
    return ":".join(texts)


def region_options(workload: Workload) -> list[str]:
    """Returns the part of the target, and the parts into which the jobs divide it. Raises NoCounterpartError."""
    start, length, parts = workload.job.region_start, workload.job.region_size, workload.parts
    options: list[str] = []
    if start.bytes or start.fraction:
        options.append(f"offset={extent_text(start, workload.place, 'a region that starts at a part')}")
    unit_bytes = workload.sizes[-1] if parts > 1 else 1
    what = "a part for each job" if parts > 1 else "a region"
    size = extent_text(length, workload.place, what, parts, unit_bytes)
    if length.up_to is not None and workload.place.capacity_bytes is None:
        workload.note(f"a target of less than {size} uses its own size")
    if size != "100%":
        options.append(f"size={size}")
    if parts > 1:
        options.append(f"offset_increment={size}")
        _note_parts(workload)
    return options


def _note_parts(workload: Workload) -> None:
    """Notes how jobs that divide a region differ from threads. Within one pass they do not."""
    passes = workload.job.region_multiple
    if passes is not None and passes <= 1:
        return
    workload.note(
        "each job stays in its own part of the region, where Fathom's threads share every pass"
        if workload.kind == "random-once"
        else "each job goes round in its own part of the region, where Fathom's threads go on into the next"
    )


def step_text(workload: Workload) -> str:
    """Returns the distance from the end of one request to the next."""
    if workload.kind not in ("backwards", "strided"):
        return ""
    size_bytes = workload.one_size(f"{workload.kind} requests")
    if workload.kind == "backwards":
        return f":-{size_text(2 * size_bytes)}"
    gap_bytes = (workload.job.pattern.stride_bytes or 0) - size_bytes
    if gap_bytes <= 0:
        raise NoCounterpartError("a stride that is no longer than a block")
    workload.note("each lap begins at the start again, where Fathom's next one covers the gaps")
    return f":{size_text(gap_bytes)}"


def align_options(workload: Workload) -> list[str]:
    """Returns what offsets are multiples of. Raises NoCounterpartError."""
    align_bytes = workload.job.align_bytes
    if any(op.align_bytes for op in workload.ops):
        aligns = [op.align_bytes or op.sizes[0][0] for op in workload.ops]
        return [f"blockalign={','.join(map(size_text, aligns))}"]
    random = workload.kind in ("uniform", "zipf", "pareto", "hot-spots")
    if align_bytes is None:
        if random and len(workload.sizes) > 1:
            workload.note(
                "offsets are multiples of the smallest block, where Fathom's are multiples of each block's "
                "own size"
            )
        return []
    if random:
        return [f"blockalign={size_text(align_bytes)}"]
    if any(size_bytes % align_bytes for size_bytes in workload.sizes):
        raise NoCounterpartError("alignment of requests that are not drawn at random each")
    return []
