"""When a section ends, in fio's options: by time, I/Os, bytes or passes over its region."""

from fathom.exports.fio_workload import Workload
from fathom.exports.units import NAME_IT, NoCounterpartError, bytes_of, size_text, time_text, whole


def end_options(workload: Workload) -> list[str]:
    """Returns what ends the section; nothing where each job goes through its region once. Raises NoCounterpartError."""
    until = workload.job
    options: list[str] = []
    if (count := until.count) is not None:
        options += _count(workload, count, sized=until.bytes is None and until.region_multiple is None)
    if until.bytes is not None:
        options.append(f"io_size={size_text(_equal_part(workload, until.bytes))}")
    elif until.region_multiple is not None:
        options += _passes(
            workload, until.region_multiple, in_bytes=count is not None or _ends_at_lap(workload)
        )
    if (time_ns := workload.whole.time_ns) is not None:
        options.append(f"runtime={time_text(time_ns)}")
        if until.count is until.bytes is until.region_multiple is None:
            options.append("time_based")
    return options


def exceeds_pass(workload: Workload) -> bool:
    """Returns whether a job goes on after a pass of its part: by volume, or by bytes of a known length."""
    job = workload.job
    ends = [job.count, job.bytes, job.region_multiple]
    if _ends_at_lap(workload) and any(end is not None for end in ends):
        return True
    volumes: list[float] = [] if job.region_multiple is None else [job.region_multiple]
    if region_bytes := bytes_of(job.region_size, workload.place):
        volumes += [] if job.bytes is None else [job.bytes / region_bytes]
        volumes += [] if job.count is None else [job.count * workload.sizes[-1] / region_bytes]
    return bool(volumes) and min(volumes) * workload.parts / workload.numjobs > 1


def _equal_part(workload: Workload, amount_bytes: int) -> int:
    sizes = workload.sizes
    unit_bytes = sizes[0] if len(sizes) == 1 else 1
    if amount_bytes % (workload.numjobs * unit_bytes):
        raise NoCounterpartError(
            f"bytes that do not divide equally into whole blocks over {workload.numjobs} jobs"
        )
    return amount_bytes // workload.numjobs


def _count(workload: Workload, count: int, *, sized: bool) -> list[str]:
    """Sets the number of I/Os; fio ends by its size too, which is therefore large enough."""
    flushes = workload.flushes or workload.job.flush_every
    if flushes or count % workload.numjobs:
        raise NoCounterpartError(
            "a count with flushes, which fio leaves out of its count"
            if flushes
            else f"a count that does not divide equally over {workload.numjobs} jobs"
        )
    each = count // workload.numjobs
    most_bytes = size_text(each * workload.sizes[-1])
    return [f"number_ios={each}", *([f"io_size={most_bytes}"] if sized else [])]


def _ends_at_lap(workload: Workload) -> bool:
    """Returns whether fio would end with a lap over gaps: it goes round only at the end of the target."""
    job = workload.job
    whole_target = job.region_size.fraction == 1.0 and not (
        job.region_start.fraction or job.region_start.bytes
    )
    return workload.kind == "strided" and (workload.parts > 1 or not whole_target)


def _passes(workload: Workload, multiple: float, *, in_bytes: bool) -> list[str]:
    """Returns a multiple of the region; each job does its part of its own size.

    `in_bytes` says that loops would do more: fio counts each anew by `number_ios`, and ends it with a lap over gaps.
    """
    passes = multiple * workload.parts / workload.numjobs
    laps = workload.kind == "strided"
    if (loops := whole(passes)) and not (in_bytes and (loops > 1 or laps)):
        return [f"loops={loops}"] if loops > 1 else []
    if not loops and not (in_bytes and laps) and passes < 1 and (percent := whole(100 * passes)):
        return [f"io_size={percent}%"]
    region_bytes = bytes_of(workload.job.region_size, workload.place)
    if region_bytes is None:
        why = (
            "needs a length in bytes"
            if in_bytes
            else f"gives {workload.numjobs} jobs no whole percentage each"
        )
        raise NoCounterpartError(f"{multiple:g} times a region, which {why}: {NAME_IT}")
    unit_bytes = workload.sizes[-1]
    return [
        f"io_size={size_text(round(multiple * region_bytes) // workload.numjobs // unit_bytes * unit_bytes)}"
    ]
