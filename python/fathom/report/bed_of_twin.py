"""The test bed that a twin stands for: the bench of its published results, and what a simulated system is made of."""

from collections.abc import Iterator, Sequence

from fathom.catalog import load_device, load_published, load_system
from fathom.catalog.data_sheet import data_sheet, ratings
from fathom.catalog.load import ratings_about
from fathom.catalog.models import Device, Machine, System
from fathom.errors import FathomError
from fathom.output.text import capacity
from fathom.report.comparison import Column
from fathom.report.test_bed import Component, TestBed

FACTS = {
    "cpu": "processor",
    "memory": "memory",
    "network": "network",
    "os": "operating system",
    "kernel": "kernel",
    "tool": "tool",
    "software": "software",
    "note": "note",
}
"""Key of a catalogue's machine and name in the table."""


def bed_of_twin(column: Column) -> TestBed:
    """Returns the bench and the drives of a twin. If this catalogue does not have it, they are unknown."""
    try:
        device = load_device(_entry(column))
        drives = tuple(_drives(column, device))
    except FathomError:
        title = "A twin that this version's catalogue does not know"
        return TestBed(title, "", ((Component("drive", column.label),),), simulated=True)
    benches = list(_benches(column, device))
    machines = [*(benches[0].machines if benches else ()), *device.machines]
    tools = dict.fromkeys(machine.tool for bench in benches for machine in bench.machines if machine.tool)
    title = " and ".join(dict.fromkeys(bench.label for bench in benches))
    source = "; ".join(dict.fromkeys(bench.source for bench in benches))
    return TestBed(title, source, (*_stages(machines, list(tools)), drives), simulated=True)


def _entry(column: Column) -> str:
    """Returns the catalogue entry of the twin; for several equal twins, that of the first."""
    parts = (part.catalog for part in column.run.document.parts_of(column.target))
    return column.target.catalog or next((entry for entry in parts if entry), "")


def _benches(column: Column, device: Device) -> Iterator[System]:
    """Yields each bench once from which the twin's measured steps were driven."""
    own = device.twin.bench if device.twin else ""
    measured = {point.step for point in column.run.points if point.target == column.target.name}
    steps = (step for name, step in column.run.raw_steps.items() if name in measured)
    for name in dict.fromkeys(str(step.get("bench") or own) for step in steps if isinstance(step, dict)):
        try:
            yield load_system(name)
        except FathomError:
            continue


def _stages(machines: Sequence[Machine], tools: Sequence[str]) -> Iterator[tuple[Component, ...]]:
    """Yields the machines of each role, in the order of the path."""
    for role in dict.fromkeys(machine.role for machine in machines):
        yield tuple(_machine(machine, tools) for machine in machines if machine.role == role)


def _machine(machine: Machine, tools: Sequence[str]) -> Component:
    stated = {name: text for key, name in FACTS.items() if (text := getattr(machine, key))}
    if machine.tool:
        stated["tool"] = ", ".join(tools)
    facts = tuple(stated.items())
    return Component(
        machine.role, machine.model, machine.count, facts, machine.link or "", machine.uplink or ""
    )


def _drives(column: Column, device: Device) -> Iterator[Component]:
    """Yields the drives of a simulated system, or the simulated drive with its number in the target."""
    members = device.twin.members if device.twin else {}
    if not members:
        parts = len(column.run.document.parts_of(column.target))
        yield _drive(column.label if parts < 2 else device.identity.label, device, max(1, parts))
    for name, count in members.items():
        member = load_device(name)
        yield _drive(member.identity.label, member, count)


def _drive(label: str, device: Device, count: int) -> Component:
    identity = device.identity
    facts = [("capacity", capacity(device.capacity_bytes))]
    if identity.form_factor:
        facts.append(("form factor", identity.form_factor))
    if device.published:
        published = load_published(device.published)
        facts += ratings(ratings_about(device, published)).items()
        facts += data_sheet(published.identity).items()
    return Component("drive", label, count, tuple(facts), uplink=(identity.interface or "").split(",")[0])
