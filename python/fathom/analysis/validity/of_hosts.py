"""Rules on the machines that made the load: processors, networks, sockets, hypervisors, hosts that lag."""

from collections.abc import Iterable, Mapping
from statistics import median

from fathom.analysis.balance import jain
from fathom.analysis.run_view import RunView, StepFigures
from fathom.analysis.validity.note import Note
from fathom.method.job import is_uneven
from fathom.output.text import in_others, percent
from fathom.runs.document import TargetRecord
from fathom.statistics.limits import CLIENT_BUSY_PCT
from fathom.targets.file_identity import is_network_file_system
from fathom.targets.target import REAL_KINDS
from fathom.targets.telemetry_names import CPU_QUOTA, NIC_BUSY

CPU_MOST = 0.85
GENERATOR_BUSY = "utilisation: load generator CPU"
"""Telemetry of each second: share of the load threads' time in which they worked or waited for a core."""
NIC_MOST = 0.85
QUOTA_MOST_PCT = 10.0
STEAL_MOST_PCT = 1.0
STRAGGLER = 0.8
"""Part of the median of the others below which a host or a drive is named."""
NETWORK_TRANSPORTS = ("nvme-tcp", "nvme-rdma", "nvme-fc")
NETWORK_DEVICES = ("nbd", "rbd", "drbd")


def generator_cpu(view: RunView) -> Iterable[Note]:
    """Yields a note where the load generator had no processor time left: one note a target, of the step in which it
    had least.

    Threads that spin until the next arrival use processor time but have it left, as their busy time shows. For threads
    that poll a device this is unknown.
    """
    worked = view.means(GENERATOR_BUSY)
    user, system = view.total("cpu_user_ns"), view.total("cpu_sys_ns")
    seconds = view.seconds("cpu_user_ns")
    allowed = view.document.environment.get("threads_allowed")
    real = {one.name for one in view.document.targets if one.kind in REAL_KINDS} - set(view.totals.values())
    found: dict[str, list[tuple[float, int, str]]] = {}
    for key, figures in (view.steps | view.part_steps).items():
        threads = figures.rows[0].threads or 1
        cores = min(threads, allowed) if isinstance(allowed, int) else threads
        if key[0] not in real or not seconds.get(key) or worked.get(key, 0.0) <= CPU_MOST:
            continue
        busy = (user.get(key, 0.0) + system.get(key, 0.0)) / 1e9 / seconds[key] / cores
        if busy > CPU_MOST:
            found.setdefault(key[0], []).append((busy, cores, key[1]))
    for target, steps in found.items():
        busy, cores, step = max(steps)
        yield Note(
            "generator-cpu",
            "warning",
            target,
            step,
            f"the load generator used {percent(busy)} of its {cores} {'core' if cores == 1 else 'cores'}: the "
            f"host, not the drive, may set the figure{in_others('the same', len(steps) - 1, 'step')}",
            "add threads on more cores, or fewer and larger I/Os",
        )


def client_limits(view: RunView) -> Iterable[Note]:
    """Yields a note where the hosts, not the target, limit the figure.

    One per target, on the step in which their processors are busiest. Nothing limits a load that was served at the rate
    asked for.
    """
    real = {target.name: target for target in view.document.targets if target.kind in (*REAL_KINDS, "array")}
    fleets = {total for part, total in view.totals.items() if part not in view.members}
    found: dict[str, list[tuple[float, str, str]]] = {}
    for (target, step), figures in (view.steps | view.part_steps).items():
        if target not in real or target in view.members or target in fleets or figures.kept_up:
            continue
        # A host of a fleet samples for its part, a machine alone for all that it loads.
        shares = view.means_of((None, step)) | view.means_of((target, step))
        if said := list(_used_up(shares, over_network=_over_network(real[target]))):
            found.setdefault(target, []).append((shares.get("cpu_busy", 0.0), step, " and ".join(said)))
    for target, steps in found.items():
        _, step, said = max(steps, key=lambda one: one[0])
        client = _part(view, target) if target in view.totals else "this machine"
        yield Note(
            "client-limits",
            "warning",
            target,
            step,
            (
                f"the client, not the target, is the limit: {client} "
                f"{said}{in_others('the same', len(steps) - 1, 'step')}"
            ),
            "load from more or faster hosts; the target `nop:` shows what this host can do",
        )


def absent_hosts(view: RunView) -> Iterable[Note]:
    """Yields a note where a step was measured without all hosts of the run: its total is that of the others."""
    found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for key in view.steps:
        if absent := view.absent.get(key):
            found.setdefault((key[0], *absent), []).append(key)
    for (total, *absent), keys in found.items():
        hosts = sum(part_of == total for part_of in view.totals.values())
        names = ", ".join(_part(view, one) for one in absent)
        yield Note(
            "absent-host",
            "error",
            total,
            keys[0][1],
            f"{names} did not load it: the figures are those of {hosts - len(absent)} of {hosts} hosts"
            f"{in_others('the same', len(keys) - 1, 'step')}",
            "mend the host; then `fathom resume` with all hosts measures these steps again",
        )


def stragglers(view: RunView) -> Iterable[Note]:
    """Yields a note on a host or a drive far behind the others: Jain's index says that there is one, not which.

    A load that is split in shares, or of streams on some targets only, is meant to be uneven, and not judged. Unlike
    twins are not judged either, nor what has no figures because too much of its I/O failed.
    """
    unlike = {one.name for one in view.document.targets if one.kind == "twin" and one.has_members}
    by_step: dict[tuple[str, str], dict[str, StepFigures]] = {}
    for (part, step), figures in view.part_steps.items():
        job = view.jobs.get(step)
        if (job and is_uneven(job)) or view.totals[part] in unlike:
            continue
        by_step.setdefault((view.totals[part], step), {})[part] = figures
    for (total, step), parts in by_step.items():
        idle = [
            part
            for part in view.totals
            if view.totals[part] == total
            and (part, step) in view.loaded
            and not view.intervals.ops_of((part, step))
        ]
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
                    f"{_part(view, part)} did {rate:,.0f} {unit}, {percent(rate / usual)} of "
                    f"{f'the median of the {len(others)} others' if len(others) > 1 else 'the other'} "
                    f"({usual:,.0f}); Jain's index over all is {index:.3f}",
                    "check its processors, path and health first: the total includes its share",
                )


def cpu_steal(view: RunView) -> Iterable[Note]:
    """Yields a note where a hypervisor took processor time."""
    mean_pct = view.mean("cpu_steal")
    if mean_pct is not None and mean_pct > STEAL_MOST_PCT:
        yield Note(
            "cpu-steal",
            "warning",
            None,
            None,
            f"the hypervisor took {mean_pct:.1f} % of the processor time: other guests affect these figures",
            "measure on a host without other guests, or repeat and compare the intervals",
        )


def governor(view: RunView) -> Iterable[Note]:
    """Yields a note where the processors may sleep."""
    governor = view.document.environment.get("governor")
    if view.real_targets and isinstance(governor, str) and governor != "performance":
        yield Note(
            "governor",
            "warning",
            None,
            None,
            f"CPU frequency governor is {governor}: at low load, latency includes waking the processor",
            "run `cpupower frequency-set -g performance` before the test",
        )


def power_state(view: RunView) -> Iterable[Note]:
    """Yields a note where drives were held in a power state for the run."""
    match view.document.environment.get("power_state"):
        case {"number": int(number), "most_w": dict(most_w)}:
            limits = "; ".join(f"{drive} may draw {watts:g} W at most" for drive, watts in most_w.items())
            yield Note(
                "power-state",
                "info",
                None,
                None,
                f"the drives were held in power state {number} for this run"
                + (f": {limits}" if limits else ""),
                "compare with a run in power state 0",
            )
        case _:
            return


def numa(view: RunView) -> Iterable[Note]:
    """Yields a note where some I/O crosses between sockets."""
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
            f"the drive is on NUMA node {node}, the load threads {where}: some I/O crosses between sockets",
            f"`numactl --cpunodebind={node} --membind={node} fathom run ...`",
        )


def virtual_disk(view: RunView) -> Iterable[Note]:
    """Yields a note where the host of a virtual machine may cache or throttle the disk."""
    hypervisor = view.document.environment.get("virtualisation")
    if view.real_targets and isinstance(hypervisor, str) and hypervisor != "none":
        yield Note(
            "virtual-disk",
            "warning",
            None,
            None,
            f"this machine is virtual ({hypervisor}): the host may cache and throttle its disks, which cannot be "
            "seen from here",
            "take these figures for this virtual machine's disk, not for a drive",
        )


def _used_up(shares: Mapping[str, float], *, over_network: bool) -> Iterable[str]:
    """Yields in words the resources that a client has used up, by its telemetry in percent."""
    if (busy := shares.get("cpu_busy", 0.0)) > CLIENT_BUSY_PCT:
        yield f"had its processors {busy:.0f} % busy"
    if (used := shares.get(CPU_QUOTA, 0.0)) > QUOTA_MOST_PCT:
        yield f"had used up its control group's CPU quota in {used:.0f} % of the periods"
    for name, share in shares.items():
        if over_network and name.startswith(NIC_BUSY) and share > 100 * NIC_MOST:
            yield f"had its network interface {name.removeprefix(NIC_BUSY)} at {share:.0f} % of its speed"


def _part(view: RunView, part: str) -> str:
    """Returns a part's name for people: `TOTAL#K` for drives, `HOST:TOTAL` for hosts."""
    total = view.totals[part]
    if part in view.members:
        return part
    drive = part.startswith(f"{total}#")
    return f"drive {part.removeprefix(f'{total}#')}" if drive else f"host {part.removesuffix(f':{total}')}"


def _over_network(target: TargetRecord) -> bool:
    """Returns whether I/O leaves the host: a file system of the network, NVMe over a fabric, a network block device."""
    file_system, device = (str(target.identity.get(key) or "") for key in ("file_system", "device"))
    return (
        is_network_file_system(file_system)
        or target.identity.get("transport") in NETWORK_TRANSPORTS
        or device.removeprefix("/dev/").startswith(NETWORK_DEVICES)
    )
