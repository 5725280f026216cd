"""What a split would do: every check before the first command, and what ours will be. Changes nothing."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from fathom.errors import RefusedError, UsageError
from fathom.namespaces.drive import Drive
from fathom.namespaces.layout import MOST_HANDLES, Definition
from fathom.namespaces.manager import Facts, Manager
from fathom.namespaces.record import Record
from fathom.targets.sysfs import BlockDevice

MIB = 1 << 20
"""Multiple for sizes where the drive states none, as in nvme-cli."""
_NAME_IT = "name a namespace, such as /dev/nvme0n1; `fathom namespaces DEVICE` lists them"


def planned(manager: Manager, drive: Drive, namespace: int | None, count: int) -> Record:
    """Returns the record with which a namespace can be split into `count` equal ones.

    Raises RefusedError or UsageError where it cannot, OSError where the drive does not answer.
    """
    disks = drive.disks().get(namespace, []) if namespace is not None else []
    if namespace is None or not disks:
        raise UsageError(f"{drive.node}: --split needs the namespace that is to be split", _NAME_IT)
    node = disks[0].node
    facts = manager.facts()
    _check_able(manager, facts, node, disks)
    allocated = manager.allocated()
    others = tuple(one for one in allocated if one != namespace)
    controllers = manager.controllers_of(namespace)
    _check_controllers(node, drive, controllers)
    most = facts.able.namespaces_most
    if len(others) + count > most:
        raise RefusedError(
            f"{node}: {count} in its place would be {len(others) + count} namespaces, the drive has at most {most}",
            "split into fewer",
        )
    original, block_bytes = manager.definition(namespace, node, facts)
    granule = manager.granularity(facts, original) or MIB
    handles = original.handles and (*original.handles, *manager.free_handles(facts, original.endurance_group))
    return Record(
        serial=drive.serial,
        model=drive.model,
        stage="original",
        namespace=namespace,
        controllers=controllers,
        block_bytes=block_bytes,
        original=original,
        ours=equal_parts(original, count, -(-granule // block_bytes), handles),
        others=others,
    )


def equal_parts(
    one: Definition, count: int, granule_blocks: int, handles: tuple[int, ...]
) -> tuple[Definition, ...]:
    """Returns `count` definitions of one size, a multiple of the granule, each with a share of the handles.

    Handles are dealt out as a twin does: with fewer handles than namespaces, all have the same. Raises UsageError where
    a part would be empty.
    """
    size = one.size_blocks // count // granule_blocks * granule_blocks
    capacity = min(size, one.capacity_blocks // count // granule_blocks * granule_blocks)
    if not capacity:
        raise UsageError(
            f"--split {count}: the namespace is too small for that", "split it into fewer, or not at all"
        )
    return tuple(
        replace(one, size_blocks=size, capacity_blocks=capacity, handles=share)
        for share in _dealt_out(handles, count)
    )


def _dealt_out(handles: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    known = tuple(dict.fromkeys(handles))
    if len(known) < count:
        return [known[:MOST_HANDLES]] * count
    edges = [place * len(known) // count for place in range(count + 1)]
    return [known[low:high][:MOST_HANDLES] for low, high in pairwise(edges)]


def _check_able(manager: Manager, facts: Facts, node: Path, disks: list[BlockDevice]) -> None:
    if not manager.takes_changes(facts):
        raise RefusedError(
            f"{node}: the drive does not create and delete namespaces (OACS bit 3, log 05h)",
            "split another drive, or use its placement handles alone",
        )
    if any(disk.is_zoned for disk in disks):
        raise RefusedError(f"{node} is zoned: such namespaces are not made anew", "split another one")


def _check_controllers(node: Path, drive: Drive, controllers: tuple[int, ...]) -> None:
    if strange := [one for one in controllers if one not in drive.ports]:
        numbers = ", ".join(map(str, strange))
        raise RefusedError(
            f"{node} is attached to controllers that are not of this machine: {numbers}",
            "detach it there first",
        )
