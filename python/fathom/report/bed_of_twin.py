"""The test bed that a twin stands for: the bench of its published results, and what a simulated system is made of."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    targets = _targets(column)
    try:
        devices = {entry: load_device(entry) for _, entry in targets}
        drives = tuple(_drives(targets, devices))
    except FathomError:
        title = "A twin that this version's catalogue does not know"
        return TestBed(title, "", ((Component("drive", column.label),),), simulated=True)
    benches = list(_benches(column, devices.values()))
    enclosures = [machine for device in devices.values() for machine in device.machines]
    machines = [*(benches[0].machines if benches else ()), *enclosures]
    tools = dict.fromkeys(machine.tool for bench in benches for machine in bench.machines if machine.tool)
    title = " and ".join(dict.fromkeys(bench.label for bench in benches))
    source = "; ".join(dict.fromkeys(bench.source for bench in benches))
    return TestBed(title, source, (*_stages(machines, list(tools)), drives), simulated=True)


def _targets(column: Column) -> Counter[tuple[str, str]]:
    """Returns how many of each twin are loaded at once, by label and catalogue entry."""
    own = column.target.catalog
    parts = column.run.document.parts_of(column.target)
    if len(parts) < 2:
        return Counter([(column.label, own or next((part.catalog or "" for part in parts), ""))])
    if column.target.has_members:
        return Counter((part.label, part.catalog or "") for part in parts)
    entry = own or next((part.catalog for part in parts if part.catalog), "")
    return Counter({("", entry): len(parts)})


def _benches(column: Column, devices: Iterable[Device]) -> Iterator[System]:
    """Yields each bench once from which the twin's measured steps were driven."""
    own = [device.twin.bench for device in devices if device.twin]
    measured = {point.step for point in column.run.points if point.target == column.target.name}
    steps = (step for name, step in column.run.raw_steps.items() if name in measured)
    asked = [step.get("bench") for step in steps if isinstance(step, dict)]
    for name in dict.fromkeys(name for bench in asked for name in ([str(bench)] if bench else own)):
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


def _drives(targets: Counter[tuple[str, str]], devices: Mapping[str, Device]) -> Iterator[Component]:
    """Yields the drives of each simulated system, or each simulated drive with its number in the target."""
    for (label, entry), count in targets.items():
        device = devices[entry]
        members = device.twin.members if device.twin else {}
        if not members:
            yield _drive(label or device.identity.label, device, count)
        for name, each in members.items():
            member = load_device(name)
            yield _drive(member.identity.label, member, count * each)


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
