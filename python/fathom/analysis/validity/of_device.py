"""Rules on the device and the way to it: link, page cache, foreign I/O, heat."""

from collections.abc import Iterable

from fathom._core import MOVES_DATA, Job
from fathom.analysis.run_view import OFF_DEVICE, PAGE_CACHE, RunView
from fathom.analysis.validity.note import Level, Note
from fathom.output.text import in_others, percent
from fathom.runs.document import TargetRecord
from fathom.targets.telemetry_names import ARRAY_COPYING, ARRAY_DEGRADED, CONTROLLER_RESETS, PATH_DOWN, PATHS

FOREIGN_MOST = 0.001
FOREIGN_LEAST_BYTES = 1 << 20
METADATA_MOST = 0.01
"""Share of foreign traffic that a file system writes itself; for file targets."""
CACHED_BELOW = 0.9


def beyond_link(view: RunView) -> Iterable[Note]:
    """Yields a note where more came back than the link can carry."""
    for target in view.real_targets:
        limit_mbps = link_mbps(target)
        if limit_mbps is None:
            continue
        for figures in (view.steps | view.part_steps).values():
            # A link carries reads and writes at once, each at full rate. What is trimmed or zeroed does not pass it.
            rows = [row for row in figures.rows if row.target == target.name and row.op in MOVES_DATA]
            fastest = max((row.mbps or 0.0 for row in rows), default=0.0)
            if fastest > limit_mbps:
                yield Note(
                    "beyond-link",
                    "error",
                    target.name,
                    figures.step,
                    f"{fastest:,.0f} MB/s exceeds the link's {limit_mbps:,.0f} MB/s: part of it came from a cache "
                    "of the host",
                    "use direct I/O and a target larger than memory",
                )


def cached(view: RunView) -> Iterable[Note]:
    """Yields a note where part of the I/O did not reach the device."""
    moved, jobs = _moved_on_device(view), view.jobs
    for (target, step), device_bytes in _device_bytes(view).items():
        own = moved.get((target, step), 0)
        if own <= FOREIGN_LEAST_BYTES or device_bytes >= CACHED_BELOW * own:
            continue
        level = "error" if device_bytes < own / 2 else "warning"
        text = f"only {percent(device_bytes / own)} of the bytes reached the device: "
        if step in jobs and jobs[step].direct:
            reads = any("read" in job.weights for job in view.workloads(step))
            yield Note(
                OFF_DEVICE,
                level,
                target,
                step,
                f"{text}I/O was direct; the file system "
                + (
                    "answered reads of blocks never written without its device"
                    if reads
                    else "compresses, or writes elsewhere too"
                ),
                "write the whole file with direct I/O in an earlier step"
                if reads
                else "mount it without compression, or test the device itself",
            )
        else:
            yield Note(
                PAGE_CACHE,
                level,
                target,
                step,
                f"{text}the page cache served the rest",
                "use direct I/O on a file system that supports it, or test the device itself",
            )


def foreign(view: RunView) -> Iterable[Note]:
    """Yields a note where other programs did I/O on the device: one per target and level, on the worst step."""
    kinds = {target.name: target.kind for target in view.document.targets}
    moved = _moved_on_device(view)
    found: dict[tuple[str, Level], list[tuple[float, float, str]]] = {}
    for (target, step), device_bytes in _device_bytes(view).items():
        if target in view.totals and target not in view.members:
            continue
        own = moved.get((target, step), 0)
        # What is under way when the window ends reaches the device too, and is in no second.
        foreign = device_bytes - own - _most_in_flight_bytes(view.jobs.get(step))
        if own and foreign > FOREIGN_LEAST_BYTES and foreign / device_bytes > FOREIGN_MOST:
            share = foreign / device_bytes
            level: Level = "info" if share < METADATA_MOST and kinds[target] != "device" else "warning"
            found.setdefault((target, level), []).append((share, foreign, step))
    for (target, level), steps in found.items():
        share, foreign, step = max(steps)
        others = in_others("less of it", len(steps) - 1, "step")
        yield Note(
            "foreign-io",
            level,
            target,
            step,
            (
                f"{percent(share, '.1f')} of the device's traffic ({foreign / 1000000.0:,.0f} MB) was not this "
                f"test's{others}"
            ),
            "stop what else uses the drive; on a file, the file system's own writes count here",
        )


def throttled(view: RunView) -> Iterable[Note]:
    """Yields a note where something was throttled by heat."""
    names = {name for name in view.telemetry.sums if "throttle" in name}
    for name in sorted(names):
        for (target, step), amount in view.total(name).items():
            if amount > 0:
                what = "processors" if name.startswith("cpu") else "drive"
                text = f"thermal throttling of the {what} ({name} {amount:,.0f}) during this step"
                yield Note(
                    "throttled",
                    "warning",
                    target,
                    step or None,
                    text,
                    "improve cooling, let the drive cool down, repeat",
                )


def path_down(view: RunView) -> Iterable[Note]:
    """Yields a note where a path to a drive was down: one a target, of the step in which it was so longest."""
    paths = view.means(PATHS)
    found: dict[str, list[tuple[float, str]]] = {}
    for (target, step), down_s in view.total(PATH_DOWN).items():
        if target and step and down_s > 0:
            found.setdefault(target, []).append((down_s, step))
    for target, steps in found.items():
        down_s, step = max(steps)
        count, watched_s = (
            round(paths.get((target, step), 1.0)),
            view.seconds(PATHS).get((target, step), down_s),
        )
        others = in_others("less", len(steps) - 1, "step")
        yield Note(
            "path-down",
            "warning",
            target,
            step,
            (
                f"{_which_path(count)} to the drive was down for {down_s:.1f} of {watched_s:.1f} s with this step"
                f"{others}"
                f"{_longest(view, target, step)}"
            ),
            "`nvme list-subsys` shows the paths; repeat with all of them live",
        )


def controller_reset(view: RunView) -> Iterable[Note]:
    """Yields a note where the kernel reset a drive's controller: one a target, of the step with most resets."""
    found: dict[str, list[tuple[float, str]]] = {}
    for (target, step), resets in view.total(CONTROLLER_RESETS).items():
        if target and step and resets > 0:
            found.setdefault(target, []).append((resets, step))
    for target, steps in found.items():
        resets, step = max(steps)
        often = "once" if resets == 1 else f"{resets:.0f} times"
        yield Note(
            "controller-reset",
            "warning",
            target,
            step,
            f"the kernel reset the drive's controller {often} during this step: I/O waited meanwhile"
            f"{in_others('reset too', len(steps) - 1, 'step')}{_longest(view, target, step)}",
            "the kernel's log (`dmesg`) says why; repeat once no reset happens",
        )


def array_state(view: RunView) -> Iterable[Note]:
    """Yields a note where an md array lacked a member, and one where it copied data of its own: one each a target."""
    kinds = (
        ("array-degraded", ARRAY_DEGRADED, "lacked a member", "add the member that `cat /proc/mdstat` lacks"),
        (
            "array-copying",
            ARRAY_COPYING,
            "copied or compared data of its own",
            "wait until `cat /proc/mdstat` shows no resync, recovery or check",
        ),
    )
    for rule, name, did, advice in kinds:
        watched = view.seconds(name)
        found: dict[str, list[tuple[float, str]]] = {}
        for (target, step), for_s in view.total(name).items():
            if target and step and for_s > 0:
                found.setdefault(target, []).append((for_s, step))
        for target, steps in found.items():
            for_s, step = max(steps)
            of_s = watched.get((target, step), for_s)
            others = in_others("less", len(steps) - 1, "step")
            yield Note(
                rule,
                "warning",
                target,
                step,
                f"the md array {did} for {for_s:.1f} of {of_s:.1f} s with this step{others}",
                f"{advice}, then repeat",
            )


def _which_path(count: int) -> str:
    return "the only path" if count == 1 else f"one of {count} paths"


def _longest(view: RunView, target: str, step: str) -> str:
    """Returns how long the longest I/O took and how many failed, in words."""
    figures = (view.steps | view.part_steps).get((target, step))
    if figures is None:
        return ""
    longest_us = max((row.max_us or 0.0 for row in figures.rows), default=0.0)
    failed = sum(row.errors or 0 for row in figures.rows)
    lost = "no I/O failed" if not failed else f"{failed:,} I/Os failed"
    return f": {lost}, the longest took {longest_us / 1e6:.3g} s" if longest_us else f": {lost}"


def link(view: RunView) -> Iterable[Note]:
    """Yields a note where the link runs below what the drive can do."""
    for target in view.real_targets:
        now, most = _link_of(target, ""), _link_of(target, "max_")
        if now and most and now[0] * now[1] < most[0] * most[1]:
            yield Note(
                "link-below-maximum",
                "warning",
                target.name,
                None,
                f"the link runs at {now[0]:g} GT/s x{now[1]}, but the drive supports {most[0]:g} GT/s x{most[1]}",
                "try another slot or cable, and look for corrected errors on the link",
            )


def link_mbps(target: TargetRecord) -> float | None:
    """Returns the raw rate of the target's PCIe link in one direction, 10^6 B/s, after line coding; `None` where not
    known.

    8b/10b up to 5 GT/s, 128b/130b from 8 GT/s on (PCI Express Base Specification 4.2).
    """
    link = _link_of(target, "")
    if link is None:
        return None
    coding = 128 / 130 if link[0] >= 8 else 8 / 10
    return link[0] * link[1] * coding * 1000 / 8


def _link_of(target: TargetRecord, which: str) -> tuple[float, int] | None:
    speed = target.identity.get(f"link_{which}speed_gtps")
    width = target.identity.get(f"link_{which}width_lanes")
    return (speed, width) if isinstance(speed, int | float) and isinstance(width, int) else None


def _device_bytes(view: RunView) -> dict[tuple[str, str], float]:
    """Returns the bytes that the device moved per (target, step), where its counters are known."""
    read, written = view.total("device_read"), view.total("device_written")
    return {
        (target, step): read[target, step] + written.get((target, step), 0.0)
        for target, step in read
        if target
    }


def _most_in_flight_bytes(job: Job | None) -> int:
    """Returns the most bytes that a job has under way at once; 0 where the run keeps none."""
    if job is None:
        return 0
    streams = [*job.streams.values()] or [job]
    return sum(one.threads * one.iodepth * one.largest_block_bytes for one in streams)


def _moved_on_device(view: RunView) -> dict[tuple[str, str], int]:
    """Returns the bytes that each step moved on a target's device. Array members that share a device each count all of
    them.
    """
    moved = view.moved_bytes()
    devices = {one.name: one.identity.get("dev") for one in view.document.targets if one.name in view.members}
    for (target, step), own in list(moved.items()):
        for other, device in devices.items():
            if other != target and device is not None and devices.get(target) == device:
                moved[other, step] = moved.get((other, step), 0) + own
    return moved
