"""The test bed of a real target, from its run directory: the machine, what is in the path, the drives below."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from fathom.output.text import capacity, size
from fathom.report.comparison import Column, part_name
from fathom.report.style import plain
from fathom.report.test_bed import Component, TestBed
from fathom.runs.document import RunDocument, TargetRecord
from fathom.targets.io_limits import recorded_limits

GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""PCIe generation by 10^9 transfers per second and lane."""
FABRICS = {"nvme-tcp": "NVMe over TCP", "nvme-rdma": "NVMe over RDMA", "nvme-fc": "NVMe over Fibre Channel"}
LINKS = {
    "nvme": "PCIe",
    "sata": "SATA",
    "sas": "SAS",
    "usb": "USB",
    "iscsi": "iSCSI",
    "nvme-loop": "NVMe loopback",
}
NOTHING = {"null": "Nothing behind it: Fathom's own floor", "nop": "The kernel's io_uring alone"}

Identity = Mapping[str, JsonValue]


def bed_of_run(column: Column) -> TestBed:
    """Returns the machine of the column's run with the devices of its target."""
    document, target = column.run.document, column.target
    parts = document.drives_of(target) or [target]
    # Several files may lie on one device.
    drives = [*{str(one.identity.get("dev") or one.name): one for one in parts}.values()]
    hosts = [one for one in document.parts_of(target) if not one.is_drive_of(target)]
    stages = (tuple(_hosts(document, target, hosts)), *_between(parts))
    return TestBed(
        "The machine of this run" if len(hosts) < 2 else "The hosts of this run",
        "read by Fathom when the run began",
        (*stages, tuple(_alike([_drive(drive) for drive in drives]))),
        simulated=False,
    )


def _alike(pieces: list[Component]) -> Iterator[Component]:
    """Yields each distinct component once, with its number."""
    for piece, count in Counter(pieces).items():
        yield replace(piece, count=count)


def _hosts(document: RunDocument, target: TargetRecord, hosts: list[TargetRecord]) -> Iterator[Component]:
    facts = tuple(_machine(document))
    if hosts:
        note = ("note", "the facts are those of the host that led the run")
        for host in hosts:
            yield Component("host", plain(part_name(host, target)), 1, (*facts, note))
    else:
        yield Component("host", _host_title(document.environment), 1, facts)


def _host_title(environment: Identity) -> str:
    kind = str(environment.get("virtualisation") or "none")
    if container := environment.get("container"):
        return f"Container ({plain(str(container))})" + ("" if kind == "none" else " in a virtual machine")
    return "Host" if kind == "none" else f"Virtual machine ({plain(kind)})"


def _machine(document: RunDocument) -> Iterator[tuple[str, str]]:
    """Yields the facts on the machine in run.json, as the table names them."""
    facts = document.environment
    sockets, cores, model = facts.get("sockets"), facts.get("cores"), facts.get("cpu_model")
    if model:
        sizes = f", {cores} cores" if cores else ""
        yield "processor", f"{f'{sockets} x ' if sockets and sockets != 1 else ''}{plain(str(model))}{sizes}"
    if memory := facts.get("memory_bytes"):
        yield "memory", size(cast("int", memory))
    if distribution := facts.get("distribution"):
        yield "operating system", plain(str(distribution))
    if kernel := facts.get("kernel"):
        yield "kernel", plain(str(kernel))
    version = document.versions.get("fathom") or ""
    yield "tool", f"Fathom {plain(version)}".strip()


def _between(drives: list[TargetRecord]) -> Iterator[tuple[Component, ...]]:
    """Yields a fabric and a file system where the drives are reached through one."""
    fabrics = dict.fromkeys(
        Component("switch", FABRICS[transport])
        for drive in drives
        if (transport := str(drive.identity.get("transport"))) in FABRICS
    )
    if fabrics:
        yield tuple(fabrics)
    systems = dict.fromkeys(
        Component("software", f"{plain(str(name))} file system", 1, tuple(_mount(drive.identity)))
        for drive in drives
        if (name := drive.identity.get("file_system"))
    )
    if systems:
        yield tuple(systems)


def _mount(identity: Identity) -> Iterator[tuple[str, str]]:
    if options := identity.get("mount_options"):
        yield "software", f"mounted {plain(str(options))}"


def _drive(target: TargetRecord) -> Component:
    identity = target.identity
    several = f"{count} drives" if (count := identity.get("drives")) else None
    known = several or identity.get("model") or identity.get("device") or target.label or target.name
    title = NOTHING.get(target.kind) or plain(str(known))
    return Component("drive", title, 1, tuple(_drive_facts(target)), uplink=_link(identity))


def _drive_facts(target: TargetRecord) -> Iterator[tuple[str, str]]:
    identity = target.identity
    if firmware := identity.get("firmware"):
        yield "firmware", plain(str(firmware))
    if layers := identity.get("layers"):
        yield "through", plain(", ".join(map(str, cast("list[object]", layers))))
    if limits := [f"{one.direction} {one.amount}" for one in recorded_limits(identity)]:
        yield "limits", f"control group: {', '.join(limits)}"
    if target.kind not in NOTHING:
        yield "capacity", capacity(cast("int", identity.get("size_bytes") or target.known_bytes))


def _link(identity: Identity) -> str:
    """Returns the link of a drive: `PCIe Gen4 x4`, `SATA`; empty if the kernel does not report it."""
    transport = str(identity.get("transport") or "")
    speed, lanes = identity.get("link_speed_gtps"), identity.get("link_width_lanes")
    if isinstance(speed, int | float) and speed in GENERATIONS and lanes:
        return f"PCIe Gen{GENERATIONS[speed]} x{lanes}"
    return LINKS.get(transport, "" if transport in FABRICS else plain(transport))
