"""Zones of a block device, as the kernel reports them (linux/blkzoned.h)."""

import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fathom._core import Job
from fathom.targets.syscalls import device_ioctl
from fathom.targets.target import Identity

HOST_MANAGED = "host-managed"
"""What `queue/zoned` says of a device whose zones take writes at their write pointers only."""

_BLKREPORTZONE = 0xC0101282
"""`_IOWR(0x12, 130, 16 bytes)`."""
_HEADER = struct.Struct("<QII")
"""struct blk_zone_report: first sector, number of zones, flags."""
_ZONE = struct.Struct("<QQQBB6xQ24x")
"""struct blk_zone: start, length, write pointer, type, condition, capacity; in sectors."""
_AT_ONCE = 1024
_HAS_CAPACITY = 1
"""The report fills in each zone's capacity (Linux 5.9)."""
_SEQUENTIAL_REQUIRED = 2
_SECTOR_BYTES = 512


class ZoneSizes(NamedTuple):
    """From the start of one zone to that of the next, and how much from its start can be written."""

    zone_bytes: int
    capacity_bytes: int


class _Zone(NamedTuple):
    """One zone of the kernel's report; `kind` is the `type` of struct blk_zone."""

    start_sector: int
    sectors: int
    capacity_sectors: int
    kind: int


def with_zones(identity: Identity, node: Path) -> Identity:
    """Returns the identity of a device with the sizes of its zones, where it is one that must be written in order."""
    sizes = zone_sizes(node) if identity.zoned == HOST_MANAGED else None
    if sizes is None:
        return identity
    return replace(identity, zone_bytes=sizes.zone_bytes, zone_capacity_bytes=sizes.capacity_bytes)


def zones_of_twin(parameters: Mapping[str, bool | int | float | str]) -> ZoneSizes | None:
    """Returns the sizes of a twin's zones that are written in order; None without, as on a drive-managed disk."""
    zone_bytes = int(parameters.get("zone_bytes", 0))
    if not zone_bytes or parameters.get("tracks", HOST_MANAGED) != HOST_MANAGED:
        return None
    return ZoneSizes(zone_bytes, int(parameters.get("zone_capacity_bytes", zone_bytes)))


def pass_bytes(job: Job, identity: Identity, capacity_bytes: int) -> int:
    """Returns the bytes of one pass of a job over its region: by zones, what the whole zones in it take."""
    start, length = job.region_on(capacity_bytes)
    if job.pattern.kind != "zones" or not identity.zone_bytes or not identity.zone_capacity_bytes:
        return length
    first, end = -(-start // identity.zone_bytes), (start + length) // identity.zone_bytes
    return max(0, end - first) * identity.zone_capacity_bytes


def zone_sizes(node: Path) -> ZoneSizes | None:
    """Returns the sizes of the first zone that is written in order, or None where nobody can know them."""
    sector = 0
    try:
        while zones := _zones_from(node, sector):
            for zone in zones:
                if zone.kind == _SEQUENTIAL_REQUIRED:
                    return ZoneSizes(zone.sectors * _SECTOR_BYTES, zone.capacity_sectors * _SECTOR_BYTES)
            sector = zones[-1].start_sector + zones[-1].sectors
    except OSError:
        return None
    return None


def _zones_from(node: Path, sector: int) -> list[_Zone]:
    """Returns some zones from a sector on. Raises OSError as ioctl(2) does."""
    report = bytearray(_HEADER.size + _AT_ONCE * _ZONE.size)
    _HEADER.pack_into(report, 0, sector, _AT_ONCE, 0)
    device_ioctl(node, _BLKREPORTZONE, report)
    _, count, flags = _HEADER.unpack_from(report)
    zones: list[_Zone] = []
    for i in range(count):
        start, length, _, kind, _, capacity = _ZONE.unpack_from(report, _HEADER.size + i * _ZONE.size)
        zones.append(_Zone(start, length, capacity if flags & _HAS_CAPACITY else length, kind))
    return zones
