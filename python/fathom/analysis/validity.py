"""Validity notes: what a reader has to know before trusting a figure, each with its own figure and what to do next.

A rule is a small function from a run to notes; it reads what the run recorded and guesses nothing. What a run did not
record is not judged. Thresholds come from the shared statistics in docs/explanation/statistics.md.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from fathom.analysis.balance import jain
from fathom.analysis.percentiles import QUANTILES
from fathom.analysis.steady import change_points
from fathom.analysis.uncertainty import percentile_allowed
from fathom.analysis.view import JobJson, RunView, StepFigures
from fathom.runs.document import NoteRecord, TargetRecord
from fathom.targets.telemetry import CPU_QUOTA, NIC_BUSY

Level = Literal["info", "warning", "error"]

DEPTH_LEAST = 0.95
LITTLE_GAP = 0.05
CPU_MOST = 0.85
FOREIGN_MOST = 0.001
FOREIGN_LEAST_BYTES = 1 << 20
METADATA_MOST = 0.01
"""On a file, foreign traffic up to this share is what a file system writes for itself."""
CACHED_BELOW = 0.9
SMALL_REGION = 0.10
SUSTAINED_LEAST = 0.99
NIC_MOST = 0.85
QUOTA_MOST_PCT = 10.0
STRAGGLER = 0.8
"""Part of the median of the others below which a host or a drive is named."""
REAL = ("device", "file", "dir")
NETWORK_FILE_SYSTEMS = (
    "nfs",
    "cifs",
    "smb",
    "ceph",
    "lustre",
    "beegfs",
    "gpfs",
    "wekafs",
    "glusterfs",
    "9p",
    "fuse",
)
NETWORK_TRANSPORTS = ("nvme-tcp", "nvme-rdma", "nvme-fc")
NETWORK_DEVICES = ("nbd", "rbd", "drbd")
STEAL_MOST_PCT = 1.0
WINDOW_SLACK = 0.01
LEVEL_LEAST = 0.10
"""Levels of a rate nearer to each other than this are not told apart."""
UNMAPPED_LEAST = 0.005
"""Fewer reads of blocks never written move no figure by what it is known to: the end of a region that the fill's block
does not divide has some."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know; without target or step it holds for all."""

    rule: str
    level: Level
    target: str | None
    step: str | None
    text: str
    next_step: str

    def record(self) -> NoteRecord:
        """As run.json keeps it."""
        return NoteRecord(
            rule=self.rule,
            level=self.level,
            target=self.target,
            step=self.step,
            text=self.text,
            next_step=self.next_step,
        )


Rule = Callable[[RunView], Iterable[Note]]


def notes(view: RunView) -> list[Note]:
    """Every note on the run, the gravest first; notes of one level in the order of the rules."""
    order = ("error", "warning", "info")
    return sorted((note for rule in RULES for note in rule(view)), key=lambda note: order.index(note.level))


def _unfinished(view: RunView) -> Iterable[Note]:
    status = view.document.status
    if status in ("interrupted", "failed"):
        text = f"the run was {status}: what is shown is what was measured until then"
        yield Note("unfinished", "warning", None, None, text, f"`fathom resume {view.document.id}` goes on")


def _quick(view: RunView) -> Iterable[Note]:
    quick = view.document.quick
    if quick:
        yield Note(
            "quick-run",
            "warning",
            None,
            None,
            f"quick run: durations are divided by {quick.divide_times_by:g}, volumes by {quick.divide_volumes_by:g} "
            f"and preconditioning by {quick.divide_preconditioning_by:g}; steady state is not claimed",
            "leave out --quick before quoting a figure",
        )


def _errors(view: RunView) -> Iterable[Note]:
    for (target, step), count in view.errors().items():
        many = "1 I/O failed" if count == 1 else f"{count:,} I/Os failed"
        text = f"{many}; failed I/O is in no rate or latency"
        yield Note(
            "errors", "error", target, step, text, "look at the kernel log and the drive's SMART data first"
        )


def _beyond_link(view: RunView) -> Iterable[Note]:
    for target in view.real_targets:
        limit_mbps = link_mbps(target)
        if limit_mbps is None:
            continue
        for figures in (view.steps | view.part_steps).values():
            # A link carries reads and writes at once, each at full rate.
            rows = [row for row in figures.rows if row["target"] == target.name]
            fastest = max((row["mbps"] for row in rows), default=0.0)
            if fastest > limit_mbps:
                yield Note(
                    "beyond-link",
                    "error",
                    target.name,
                    figures.step,
                    f"{fastest:,.0f} MB/s is more than the link can carry ({limit_mbps:,.0f} MB/s): "
                    "part of it came from a cache of the host",
                    "use direct I/O and a target larger than memory",
                )


def _cached(view: RunView) -> Iterable[Note]:
    moved = _moved_on_device(view)
    for (target, step), device_bytes in _device_bytes(view).items():
        own = moved.get((target, step), 0)
        if own > FOREIGN_LEAST_BYTES and device_bytes < CACHED_BELOW * own:
            yield Note(
                "page-cache",
                "error" if device_bytes < own / 2 else "warning",
                target,
                step,
                f"only {device_bytes / own:.0%} of the bytes reached the device: the rest was served by the page cache",
                "use direct I/O on a file system that has it, or test the device itself",
            )


def _not_steady(view: RunView) -> Iterable[Note]:
    for (target, step), figures in view.steps.items():
        if any(row["steady"] is False for row in figures.rows):
            verdict = view.verdicts.get((target, figures.rows[0]["workload"]))
            yield Note(
                "not-steady",
                "warning",
                target,
                step,
                (verdict or "steady state was not reached before this was measured")
                + ": measured longer, it may come out lower",
                "give the precondition more time",
            )


def _level_change(view: RunView) -> Iterable[Note]:
    """Where a closed load runs at several rates, so that the mean of the window is none of them: one note a target."""
    by_target: dict[str, list[tuple[float, str, str]]] = {}
    for (target, step), figures in view.steps.items():
        rates = view.rates(figures)
        changes = [] if figures.rows[0]["offered_iops"] else change_points(rates)
        if not changes:
            continue
        levels = [float(part.mean()) for part in np.split(rates, changes)]
        least, most = min(levels), max(levels)
        if most < (1 + LEVEL_LEAST) * least:
            continue
        if len(changes) == 1:
            when = f"after {changes[0] / len(rates):.0%} of the window, from {levels[0]:,.0f} to {levels[1]:,.0f}"
        else:
            when = f"{len(changes)} times in the window, between {least:,.0f} and {most:,.0f}"
        by_target.setdefault(target, []).append((most / max(least, 1.0), step, f"{when} {figures.unit}"))
    for target, found in by_target.items():
        _, step, when = max(found)
        more = len(found) - 1
        others = f"; so it does in {'another step' if more == 1 else f'{more} other steps'}" if more else ""
        yield Note(
            "level-change",
            "info",
            target,
            step,
            f"the rate changes level {when}: the mean is none of these{others}",
            "see when in the section Over time; caches that fill, heat, and parts of the load that end early do this",
        )


def _depth(view: RunView) -> Iterable[Note]:
    for (target, step), figures in view.steps.items():
        asked, kept = figures.asked_depth, figures.outstanding
        if asked and kept is not None and kept < DEPTH_LEAST * asked:
            yield Note(
                "achieved-depth",
                "warning",
                target,
                step,
                f"{kept:.1f} of {asked} I/Os were in flight on average ({kept / asked:.0%}): "
                "the load was lighter than asked",
                "raise iodepth or threads beyond what is needed, or look for what blocks submission",
            )


def _little(view: RunView) -> Iterable[Note]:
    for (target, step), figures in view.steps.items():
        kept = figures.outstanding or figures.asked_depth
        if not kept or figures.mean_us is None:
            continue
        implied = figures.iops * figures.mean_us / 1e6
        gap = implied / kept - 1
        if abs(gap) > LITTLE_GAP:
            yield Note(
                "littles-law",
                "warning",
                target,
                step,
                f"IOPS x mean latency gives {implied:.1f} I/Os in flight, {kept:.1f} were ({gap:+.0%}): "
                "rate and latency do not describe the same I/O",
                "look for stalls or a ramp inside the window, and for errors",
            )


def _unsustained(view: RunView) -> Iterable[Note]:
    for (target, step), figures in view.steps.items():
        offered, backlog = figures.rows[0]["offered_iops"], figures.rows[0]["backlog"] or 0
        if offered and figures.iops < SUSTAINED_LEAST * offered:
            yield Note(
                "unsustained",
                "info",
                target,
                step,
                f"{offered:,.0f} IOPS were offered and {figures.iops:,.0f} done, {backlog:,} I/Os were waiting "
                "at the end: response latency grows with the length of the run",
                "read service latency here, or a point at a lower rate",
            )


def _generator_cpu(view: RunView) -> Iterable[Note]:
    user, system = view.total("cpu_user_ns"), view.total("cpu_sys_ns")
    seconds = view.seconds("cpu_user_ns")
    allowed = view.document.environment.get("threads_allowed")
    real = {target.name for target in view.real_targets} - set(view.totals.values()) | set(view.totals)
    for key, figures in (view.steps | view.part_steps).items():
        threads = figures.rows[0]["threads"] or 1
        cores = min(threads, allowed) if isinstance(allowed, int) else threads
        if key[0] not in real or not seconds.get(key):
            continue
        busy = (user.get(key, 0.0) + system.get(key, 0.0)) / 1e9 / seconds[key] / cores
        if busy > CPU_MOST:
            yield Note(
                "generator-cpu",
                "warning",
                *key,
                f"the load generator used {busy:.0%} of its {cores} {'core' if cores == 1 else 'cores'}: "
                "the figure may be the host's, not the drive's",
                "add threads on more cores, or fewer and larger I/Os",
            )


def _client_limits(view: RunView) -> Iterable[Note]:
    """Where the hosts that load a target have no more to give, so that the figure is theirs."""
    real = {target.name: target for target in view.document.targets if target.kind in (*REAL, "array")}
    fleets = {total for part, total in view.totals.items() if part not in view.members}
    for target, step in view.steps | view.part_steps:
        if target not in real or target in view.members or target in fleets:
            continue
        # A host of a fleet samples for its part, a machine alone for all that it loads.
        shares = view.means_of((None, step)) | view.means_of((target, step))
        if said := list(_used_up(shares, over_network=_over_network(real[target]))):
            client = _part(view, target) if target in view.totals else "this machine"
            yield Note(
                "client-limits",
                "warning",
                target,
                step,
                f"the client, not the target, limits: {client} {' and '.join(said)}",
                "load from more or faster hosts; `null:` as the target shows what this one can do",
            )


def _used_up(shares: Mapping[str, float], *, over_network: bool) -> Iterable[str]:
    """What a client has none left of, in words, by its telemetry in percent."""
    if (busy := shares.get("cpu_busy", 0.0)) > 100 * CPU_MOST:
        yield f"had its processors {busy:.0f} % busy"
    if (used := shares.get(CPU_QUOTA, 0.0)) > QUOTA_MOST_PCT:
        yield f"had used up its control group's share of the processors in {used:.0f} % of the periods"
    for name, share in shares.items():
        if over_network and name.startswith(NIC_BUSY) and share > 100 * NIC_MOST:
            yield f"had its network interface {name.removeprefix(NIC_BUSY)} at {share:.0f} % of its speed"


def _stragglers(view: RunView) -> Iterable[Note]:
    """A host or a drive far behind the others: Jain's index says that there is one, not which."""
    by_step: dict[tuple[str, str], dict[str, StepFigures]] = {}
    for (part, step), figures in view.part_steps.items():
        by_step.setdefault((view.totals[part], step), {})[part] = figures
    for (total, step), parts in by_step.items():
        idle = [part for part in view.totals if view.totals[part] == total and (part, step) in view.loaded]
        rates = dict.fromkeys(idle, 0.0) | {part: figures.headline for part, figures in parts.items()}
        unit = next(iter(parts.values())).unit
        index = jain(list(rates.values())) or 0.0
        for part, rate in rates.items():
            others = [other for name, other in rates.items() if name != part]
            if others and rate < STRAGGLER * (usual := median(others)):
                yield Note(
                    "straggler",
                    "warning",
                    part,
                    step,
                    f"{_part(view, part)} did {rate:,.0f} {unit}, {rate / usual:.0%} of "
                    f"{f'the median of the {len(others)} others' if len(others) > 1 else 'the other'} "
                    f"({usual:,.0f}); Jain's index over all is {index:.3f}",
                    "look at its own processors, path and health first: the total has its share in it",
                )


def _cpu_steal(view: RunView) -> Iterable[Note]:
    mean_pct = view.mean("cpu_steal")
    if mean_pct is not None and mean_pct > STEAL_MOST_PCT:
        yield Note(
            "cpu-steal",
            "warning",
            None,
            None,
            f"the hypervisor took {mean_pct:.1f} % of the processor time: other guests are in these figures",
            "measure on a host of its own, or repeat and compare the intervals",
        )


def _foreign(view: RunView) -> Iterable[Note]:
    kinds = {target.name: target.kind for target in view.document.targets}
    moved = _moved_on_device(view)
    for (target, step), device_bytes in _device_bytes(view).items():
        if target in view.totals and target not in view.members:
            continue
        own = moved.get((target, step), 0)
        foreign = device_bytes - own
        if own and foreign > FOREIGN_LEAST_BYTES and foreign / device_bytes > FOREIGN_MOST:
            yield Note(
                "foreign-io",
                "info" if foreign / device_bytes < METADATA_MOST and kinds[target] != "device" else "warning",
                target,
                step,
                f"{foreign / device_bytes:.1%} of the device's traffic ({foreign / 1e6:,.0f} MB) was not this test's",
                "stop what else uses the drive; on a file, the file system's own writes are counted here",
            )


def _throttled(view: RunView) -> Iterable[Note]:
    names = {name for name in view.telemetry["name"].unique().to_pylist() if "throttle" in name}
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
                    "improve cooling, let it cool down, repeat",
                )


def _link(view: RunView) -> Iterable[Note]:
    for target in view.real_targets:
        now, most = _link_of(target, ""), _link_of(target, "max_")
        if now and most and now[0] * now[1] < most[0] * most[1]:
            yield Note(
                "link-below-maximum",
                "warning",
                target.name,
                None,
                f"the link runs at {now[0]:g} GT/s x{now[1]}, the drive can do {most[0]:g} GT/s x{most[1]}",
                "try another slot or cable, and look for corrected errors on the link",
            )


def _governor(view: RunView) -> Iterable[Note]:
    governor = view.document.environment.get("governor")
    if view.real_targets and isinstance(governor, str) and governor != "performance":
        yield Note(
            "governor",
            "warning",
            None,
            None,
            f"CPU frequency governor is {governor}: latency at low load includes waking the processor up",
            "`cpupower frequency-set -g performance` for the time of the test",
        )


def _numa(view: RunView) -> Iterable[Note]:
    environment = view.document.environment
    nodes, load = environment.get("numa_nodes"), environment.get("load_numa_nodes")
    for target in view.real_targets:
        node = target.identity.get("numa_node")
        if not isinstance(nodes, int) or nodes < 2 or not isinstance(node, int) or node < 0:
            continue
        if isinstance(load, list) and load == [node]:
            continue
        known = isinstance(load, list)
        where = (
            f"ran on node {', '.join(map(str, load))}"
            if isinstance(load, list)
            else "were not tied to a node"
        )
        yield Note(
            "remote-numa",
            "warning" if known else "info",
            target.name,
            None,
            f"the drive is at NUMA node {node}, the load threads {where}: some I/O crosses between sockets",
            f"`numactl --cpunodebind={node} --membind={node} fathom run ...`",
        )


def _unmapped(view: RunView) -> Iterable[Note]:
    unmapped = view.total("unmapped_reads")
    for key, figures in view.steps.items():
        reads = sum(row["n"] for row in figures.rows if row["op"] == "read")
        count = unmapped.get(key, 0)
        if reads and count > UNMAPPED_LEAST * reads:
            yield Note(
                "unmapped-reads",
                "warning",
                *key,
                f"{min(count / reads, 1.0):.1%} of the reads went to blocks never written: "
                "a device answers those without its medium",
                "fill the region first",
            )


def _compressible(view: RunView) -> Iterable[Note]:
    kinds = {
        "compressible": ("compressible-data", "compresses away: what compresses on its way writes less"),
        "dedup": ("duplicate-data", "are copies: what removes duplicates on its way writes less"),
    }
    for name, job in view.jobs.items():
        writes = any(op.get("op") in ("write", "append") for op in job["mix"]["ops"])
        for key, (rule, effect) in kinds.items():
            share = job.get("content", {}).get(key, 0.0)
            if share and writes:
                text = f"{share:.0%} of the written data {effect}"
                yield Note(rule, "info", None, name, text, "compare only with runs of the same share")


def _small_region(view: RunView) -> Iterable[Note]:
    measured = {step for _, step in view.steps}
    regions = {step: _region_bytes(job) for step, job in view.jobs.items() if step in measured}
    for target in view.real_targets:
        whole = target.identity.get("size_bytes")
        if not isinstance(whole, int) or whole <= 0 or not regions:
            continue
        widest = max(size(target.capacity_bytes) for size in regions.values())
        if widest < SMALL_REGION * whole:
            # Virtual disks call themselves rotational whatever is behind them.
            disk = target.identity.get("rotational") is True and target.identity.get("transport") != "virtio"
            effect = (
                "seeks are shorter than over the whole disk"
                if disk
                else "caches and mapping tables hold more of it"
            )
            yield Note(
                "small-region",
                "warning" if disk else "info",
                target.name,
                None,
                f"the test touched {_size(widest)}, {widest / whole:.2%} of the device: {effect}",
                "test a larger part before concluding for the whole device",
            )


def _cut_region(view: RunView) -> Iterable[Note]:
    meant = max((job["region"]["size"].get("up-to", 0) for job in view.jobs.values()), default=0)
    for target in view.document.targets:
        parts = sum(other.part_of == target.name for other in view.document.targets)
        capacity = target.capacity_bytes * (target.scale or 1) / max(1, parts)
        if target.part_of is None and capacity < meant:
            yield Note(
                "cut-region",
                "warning",
                target.name,
                None,
                f"the method means a region of {_size(meant)}, the target has {_size(capacity)}: caches hold more of "
                "it and seeks are shorter",
                "take a larger target or --size before comparing with others",
            )


def _virtual_disk(view: RunView) -> Iterable[Note]:
    hypervisor = view.document.environment.get("virtualisation")
    if view.real_targets and isinstance(hypervisor, str) and hypervisor != "none":
        yield Note(
            "virtual-disk",
            "warning",
            None,
            None,
            f"this machine is virtual ({hypervisor}): its disks may be cached and rationed by the host, "
            "which cannot be seen from here",
            "take these figures for this machine's disk as it is given to you, not for a drive",
        )


def _small_n(view: RunView) -> Iterable[Note]:
    for column, q in reversed(QUANTILES.items()):
        short: dict[str, list[tuple[str, int]]] = {}
        for (target, step), figures in view.steps.items():
            for row in figures.rows:
                if row["n"] and not percentile_allowed(row["n"], q):
                    short.setdefault(target, []).append((step, row["n"]))
        for target, found in short.items():
            steps = list(dict.fromkeys(step for step, _ in found))
            where = steps[0] if len(steps) == 1 else f"{len(steps)} steps"
            yield Note(
                "n-too-small",
                "info",
                target,
                steps[0] if len(steps) == 1 else None,
                f"{_percentile_name(column)} is left out in {where}: it takes {100 / (1 - q):,.0f} I/Os, "
                f"there were {min(n for _, n in found):,} at the fewest",
                "measure longer",
            )


def _slice(view: RunView) -> Iterable[Note]:
    for target in view.document.targets:
        if target.kind == "twin" and target.scale is not None and target.scale < 1:
            yield Note(
                "simulated-slice",
                "info",
                target.name,
                None,
                f"simulated slice 1/{1 / target.scale:.0f}: flash and mapping of a smaller drive of the same "
                "proportions, at full speed",
                "rates and WAF do not depend on it; times to fill or to settle are scaled",
            )


def _early(view: RunView) -> Iterable[Note]:
    twins = {target.name for target in view.document.targets if target.kind == "twin"}
    rows = view.points.select(["target", "step", "window_s"]).to_pylist()
    windows = {(row["target"], row["step"]): row["window_s"] for row in rows if row["target"] in twins}
    early = {step for (_, step), window_s in windows.items() if _ended_early(view, step, window_s)}
    if early:
        precision = max(view.precisions[step] for step in early)
        yield Note(
            "early-window",
            "info",
            None,
            None,
            f"twins ended the windows of {len(early)} of {len({step for _, step in windows})} steps before their "
            f"time, once mean rate and latency were known to {precision:.0%}; each figure stands with its window",
            "without `precision` in the method, every window is simulated in full",
        )


def _ended_early(view: RunView, step: str, window_s: float | None) -> bool:
    full_ns = view.jobs[step].get("until", {}).get("time_ns") if step in view.precisions else None
    return window_s is not None and full_ns is not None and window_s < (1 - WINDOW_SLACK) * full_ns / 1e9


def _backend(view: RunView) -> Iterable[Note]:
    said: dict[tuple[str, str], list[str]] = {}
    for remark in view.remarks:
        said.setdefault((remark.target, remark.text), []).append(remark.step)
    for (target, text), steps in said.items():
        fallback = "instead of io_uring" in text
        yield Note(
            "io-uring-fallback" if fallback else "load-generator",
            "warning",
            target,
            steps[0] if len(set(steps)) == 1 else None,
            text,
            "allow io_uring (container profile, kernel.io_uring_disabled) and repeat" if fallback else "",
        )


def _not_measured(view: RunView) -> Iterable[Note]:
    for target in (one.name for one in view.document.targets if one.kind in (*REAL, "array")):
        pairs = [text.partition(": ") for text in view.not_measured.get(target, ())]
        if pairs:
            listed = "; ".join(f"{subject} ({why})" for subject, _, why in pairs)
            text = f"not measured, and nothing estimated in its place: {listed}"
            yield Note("not-measured", "info", target, None, text, "")


RULES: tuple[Rule, ...] = (
    _errors,
    _beyond_link,
    _cached,
    _unfinished,
    _quick,
    _not_steady,
    _level_change,
    _depth,
    _little,
    _generator_cpu,
    _client_limits,
    _stragglers,
    _cpu_steal,
    _foreign,
    _throttled,
    _link,
    _governor,
    _numa,
    _unmapped,
    _virtual_disk,
    _small_region,
    _cut_region,
    _backend,
    _compressible,
    _unsustained,
    _slice,
    _early,
    _small_n,
    _not_measured,
)
"""Every rule, in the order in which notes of one level are shown."""


def link_mbps(target: TargetRecord) -> float | None:
    """Raw rate of the target's PCIe link in one direction, 10^6 B/s, after line coding; `None` where not known.

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
    """Bytes the device moved per (target, step), where its counters are known."""
    read, written = view.total("device_read"), view.total("device_written")
    return {
        (target, step): read[target, step] + written.get((target, step), 0.0)
        for target, step in read
        if target
    }


def _moved_on_device(view: RunView) -> dict[tuple[str, str], int]:
    """Bytes each step moved on a target's device: those of an array's members that share it count for each of them."""
    moved = view.moved_bytes()
    devices = {one.name: one.identity.get("dev") for one in view.document.targets if one.name in view.members}
    for (target, step), own in list(moved.items()):
        for other, device in devices.items():
            if other != target and device is not None and devices.get(target) == device:
                moved[other, step] = moved.get((other, step), 0) + own
    return moved


def _part(view: RunView, part: str) -> str:
    """What a person calls a part: drives are numbered behind their total's name, hosts stand in front of it."""
    total = view.totals[part]
    if part in view.members:
        return part
    drive = part.startswith(f"{total}#")
    return f"drive {part.removeprefix(f'{total}#')}" if drive else f"host {part.removesuffix(f':{total}')}"


def _over_network(target: TargetRecord) -> bool:
    """Whether I/O leaves the host: a file system of the network, NVMe over a fabric, a network block device."""
    file_system, device = (str(target.identity.get(key) or "") for key in ("file_system", "device"))
    return (
        file_system.startswith(NETWORK_FILE_SYSTEMS)
        or target.identity.get("transport") in NETWORK_TRANSPORTS
        or device.removeprefix("/dev/").startswith(NETWORK_DEVICES)
    )


def _region_bytes(job: JobJson) -> Callable[[int], float]:
    """Size of a job's region as a function of the target's capacity."""
    size = job["region"]["size"]
    if most := size.get("bytes") or size.get("up-to"):
        return lambda capacity: float(min(most, capacity))
    return lambda capacity: size["fraction"] * capacity


def _size(size_bytes: float) -> str:
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}"
    return f"{size_bytes / 2**20:.3g} MiB"


def _percentile_name(column: str) -> str:
    """`p9999_us` -> `p99.99`."""
    digits = column.removeprefix("p").removesuffix("_us")
    return f"p{digits[:2]}.{digits[2:]}" if len(digits) > 2 else f"p{digits}"
