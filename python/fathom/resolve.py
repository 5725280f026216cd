"""From the texts a user types to targets, with the catalogue behind `twin:`; from a run back to its targets."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from fathom.catalog import load_device
from fathom.catalog.settings import split
from fathom.runs.document import RunDocument
from fathom.targets.parse import TwinFacts, parse_targets
from fathom.targets.safety import ensure_same
from fathom.targets.target import Identity, Target

#: Blocks of twins whose parameters state none: the unit of their mapping.
TWIN_BLOCK_BYTES = 4096


def resolve_targets(texts: Sequence[str], size_bytes: int | None = None) -> list[Target]:
    """The targets of a command line; `size_bytes` is the size of files that Fathom makes.

    Raises UsageError for what is no target or no entry of the catalogue.
    """
    return parse_targets(texts, size_bytes=size_bytes, twins=_twin_facts)


def targets_of_run(
    document: RunDocument, resolve: Callable[[Sequence[str], int | None], list[Target]] = resolve_targets
) -> list[Target]:
    """The targets that a run began with, found again by `resolve`.

    Raises RefusedError when a device is no longer the one that the run began with.
    """
    found = []
    for record in document.targets:
        if record.part_of is not None:
            continue
        files = record.kind in ("file", "dir")
        [target] = resolve([record.name], record.capacity_bytes if files else None)
        if record.kind == "device" or target.makes:
            ensure_same(record.name, Identity.from_json(record.identity), target.identity)
        found.append(replace(target, made=target.makes is not None))
    return found


def _twin_facts(name: str) -> TwinFacts:
    device = load_device(name)
    settings = split(name)[1].replace(",", ", ").replace("=", " ")
    stated = device.twin.parameters.get("block_bytes") if device.twin else None
    return TwinFacts(
        label=f"{device.identity.label}, {settings}" if settings else device.identity.label,
        capacity_bytes=device.capacity_bytes,
        logical_block_bytes=int(stated.value) if stated else TWIN_BLOCK_BYTES,
        placement_handles=device.placement_handles,
    )
