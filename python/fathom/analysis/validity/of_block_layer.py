"""Rules on what the kernel's block layer does to I/O: limits of a control group, splitting, a scheduler."""

from collections.abc import Iterable

from fathom._core import MOVES_DATA
from fathom.analysis.interval_sums import Key
from fathom.analysis.run_view import IO_LIMIT, RunView
from fathom.analysis.validity.note import Note
from fathom.output.text import in_others, size
from fathom.targets.io_limits import limits_reached

_ORDERS_MUCH = "bfq"


def io_limit(view: RunView) -> Iterable[Note]:
    """Yields a note on each step whose rate came near what the control group of this process, or of a host's, may do.

    An array is judged by what the limits of all its drives come to, unless one of them came near its own. A total over
    hosts is not judged, because each host has limits of its own.
    """
    bound, near = view.document.bound_by_limits, dict[Key, Note]()
    for (name, step), figures in (view.part_steps | view.steps).items():
        own = bound.get(name)
        if own is None or any((part.name, step) in near for part in view.document.parts_of(own)):
            continue
        moved = ((row.op, row.iops or 0.0, 1e6 * (row.mbps or 0.0)) for row in figures.rows)
        if reached := limits_reached(own.identity, moved):
            said = " and ".join(f"{limit.amount} of {limit.direction}s" for limit in reached)
            said += " on all drives together" if own.kind == "array" else ""
            near[name, step] = Note(
                IO_LIMIT,
                "warning",
                name,
                step,
                f"the control group of this process allows {said}: that may set the rate, and not the target",
                "raise the limit (io.max of cgroup v2, blkio.throttle of v1), or run outside of the group",
            )
    return near.values()


def split_io(view: RunView) -> Iterable[Note]:
    """Yields a note where the kernel splits I/O: one a target, of its largest block."""
    for target in view.real_targets:
        most, command = (target.identity.get(f"{what}_bytes_max") for what in ("io", "command"))
        if not isinstance(most, int):
            continue
        steps = view.measured_on(target.name)
        split = {step: largest for step in steps if (largest := _largest_moved(view, step)) > most}
        if not split:
            continue
        step = max(split, key=lambda one: split[one])
        more = command if isinstance(command, int) and command > most else None
        yield Note(
            "split-io",
            "info",
            target.name,
            step,
            f"the kernel splits I/O of {size(split[step])} into commands of at most {size(most)}: rates and latencies "
            f"are those of whole I/Os{in_others('split too', len(split) - 1, 'step')}",
            f"write up to {more >> 10} into queue/max_sectors_kb of the device, or use smaller blocks"
            if more
            else f"for one command an I/O, use blocks of at most {size(most)}",
        )


def _largest_moved(view: RunView, step: str) -> int:
    """Returns the largest block that a step reads or writes by direct I/O, bytes; 0 where there is none."""
    return max(
        (
            size_bytes
            for job in view.workloads(step)
            if job.direct
            for op, sizes in job.block_sizes.items()
            if op in MOVES_DATA
            for size_bytes in sizes
        ),
        default=0,
    )


def io_scheduler(view: RunView) -> Iterable[Note]:
    """Yields a note where a scheduler of the kernel orders the I/O of an SSD. Zoned devices need one."""
    for target in view.real_targets:
        scheduler, zoned = (target.identity.get(what) for what in ("scheduler", "zoned"))
        if target.identity.get("rotational") is not False or zoned not in (None, "none"):
            continue
        if isinstance(scheduler, str) and scheduler != "none":
            yield Note(
                "io-scheduler",
                "warning" if scheduler == _ORDERS_MUCH else "info",
                target.name,
                None,
                f"the kernel's I/O scheduler {scheduler} orders what the drive gets, and takes processor time: it may "
                "affect rates and latencies",
                "write `none` into queue/scheduler of the device, unless the scheduler is part of the test",
            )
