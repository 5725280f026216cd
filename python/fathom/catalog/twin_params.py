"""The parameters of a device's twin as crate `twin` takes them: the device's own, its bench, and a system's drives."""

from __future__ import annotations

import json
from hashlib import sha256
from math import prod
from typing import TYPE_CHECKING

from fathom.catalog.load import load_device
from fathom.catalog.read import load_system
from fathom.catalog.store import CatalogError

if TYPE_CHECKING:
    from fathom.catalog.models import Device

SYSTEM_DRIVE_BYTES = 2 << 30
"""Most that a system's twin simulates of one of its drives, as of an SSD's twin by `slice_bytes`."""
SYSTEM_BLOCK_BYTES = 512
DIGITS = 16
"""Digits of a digest of parameters: enough that no two sets of them ever have the same."""
SLICE_ROWS = 64
"""Superblocks of a slice, at least: with fewer, cleaning has too few to choose from."""
_ROW = ("planes_per_die", "nand_page_bytes", "pages_per_program", "channels", "dies_per_channel")
"""Parameters whose product is what all dies program at once."""


def twin_params_json(
    device: Device, bench: str | None = None, sharing: int = 1, slice_bytes: int | None = None
) -> str:
    """Returns the parameters of a device's twin: name to value, the bench under `host`.

    Args:
        device: the device, with what its user set.
        bench: name of the system to drive it from; the device's own bench if absent.
        sharing: devices that share the bench, this one included.
        slice_bytes: most that an SSD's twin simulates of it, to a power of two of its capacity; more where that
            holds fewer than `SLICE_ROWS` programs of every die. A zoned one's zones keep their size, so it is left
            as it is.

    Raises:
        CatalogError: the device has no twin, or the bench is unknown.
    """
    if device.twin is None:
        raise CatalogError(f"{device.name} has no [twin]: the catalogue lists it, but it cannot be simulated")
    own_hosts = device.hosts if device.is_system else None
    host = load_system(bench or device.twin.bench).share(sharing, own_hosts)
    if device.is_system:
        return json.dumps({**_system_params(device), "host": host})
    values = device.own_params
    if slice_bytes and "slice_denominator" in values and "zone_bytes" not in values:
        values["slice_denominator"] = _slices(device, slice_bytes)
    return json.dumps({**values, "host": host})


def parameters_sha256(device: Device) -> str | None:
    """Returns the first 16 hexadecimal digits of the SHA-256 of a twin's parameters, on its own bench and unsliced.

    None for a device without a twin. Raises CatalogError for an unknown bench.
    """
    if device.twin is None:
        return None
    ordered = json.dumps(json.loads(twin_params_json(device)), sort_keys=True)
    return sha256(ordered.encode()).hexdigest()[:DIGITS]


def _system_params(system: Device) -> dict[str, object]:
    own = system.own_params
    kind, capacity_bytes = str(own.pop("kind")), own.pop("capacity_bytes")
    members = (
        [(load_device(name), count) for name, count in system.twin.members.items()] if system.twin else []
    )
    if not members:
        raise CatalogError(f"{system.name}: [twin.members] names no drive; a system has at least one")
    for drive, _ in members:
        if drive.twin is None or drive.twin.kind != "ssd":
            raise CatalogError(f"{system.name}: {drive.name} is no SSD, and drives of a system are")
    slices = max(_slices(drive, SYSTEM_DRIVE_BYTES) for drive, _ in members)
    return {
        "kind": "system",
        "capacity_bytes": capacity_bytes,
        "block_bytes": SYSTEM_BLOCK_BYTES,
        "drives": [{"count": count, "ssd": _member_params(drive, slices)} for drive, count in members],
        "between": {kind: own},
    }


def _member_params(drive: Device, slices: int) -> dict[str, object]:
    parameters: dict[str, object] = json.loads(twin_params_json(drive))
    del parameters["kind"]
    return parameters | {"slice_denominator": slices}


def _slices(drive: Device, slice_bytes: int) -> int:
    """Returns the number of slices; the twin simulates one. It is the file's, or more as `slice_bytes` asks."""
    values = drive.own_params
    least = 1 << max(0, -(-drive.capacity_bytes // slice_bytes) - 1).bit_length()
    return max(
        int(values.get("slice_denominator", 1)), min(least, _most_slices(drive.capacity_bytes, values))
    )


def _most_slices(capacity_bytes: int, values: dict[str, bool | int | float | str]) -> int:
    """Returns the largest power of two of slices that are still large enough."""
    row_bytes = prod(max(1, int(values.get(name, 1))) for name in _ROW)  # The model refuses what is below 1.
    return 1 << (max(1, capacity_bytes // (SLICE_ROWS * row_bytes)).bit_length() - 1)
