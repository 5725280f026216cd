"""The caches of disks that random writes fill before they come at the rate that lasts. Behind them a disk has no state
that earlier writes change, unlike an SSD. It measures nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathom._core import Job
from fathom.analysis.mechanics import VIRTUAL
from fathom.catalog.models.base import values_of
from fathom.prediction.interval import known_device
from fathom.runs.document import TargetRecord

WRITE_CACHE_BYTES = 512 << 20
"""The write cache assumed of a real disk, which does not report its size. It is the largest of the catalogue's twins:
half of the MG11's 1 GiB.
"""
MEDIA_CACHE_BYTES = (20e9, 100e9)
"""About the least and the most that media caches of drive-managed SMR disks hold (docs/explanation/disk-twin.md)."""


@dataclass(frozen=True)
class Cache:
    """What takes random writes before the medium; of several disks, all theirs."""

    name: str
    holds_bytes: float


def writes_at_random(job: Job) -> bool:
    """Returns whether earlier random writes may change its figures."""
    return "write" in job.weights and job.pattern.kind != "sequential"


def cache_of(drives: Sequence[TargetRecord], job: Job) -> Cache | None:
    """Returns the cache of disks that a job's random writes fill first.

    None where a drive is no disk, may have zones that take random writes, or has a file system. Its region must be
    overwritten.
    """
    caches = [media_cache_of(drive) or _write_cache_of(drive, job) for drive in drives]
    known = [cache for cache in caches if cache]
    if not known or len(known) < len(caches):
        return None
    largest = max(known, key=lambda cache: cache.holds_bytes)
    return Cache(largest.name, largest.holds_bytes * len(known))


def media_cache_of(drive: TargetRecord) -> Cache | None:
    """Returns the media cache of a disk with drive-managed SMR: of a real one that says so, the most that they hold."""
    identity = drive.identity
    if _is_disk(drive) and identity.get("drive_managed") and not identity.get("file_system"):
        return Cache("media cache", MEDIA_CACHE_BYTES[1])
    value = _parameters_of(drive)
    if value is None or value["tracks"] != "drive-managed":
        return None
    return Cache("media cache", int(value["media_cache_bytes"]))


def rewrites_in_place(drive: TargetRecord) -> bool:
    """Returns whether it is the twin of a conventional disk: a write causes no other, whatever was written before."""
    value = _parameters_of(drive)
    return value is not None and value["tracks"] == "conventional"


def may_be_shingled(drive: TargetRecord) -> bool:
    """Returns whether a real disk reports no zones, as drive-managed SMR does too, and does not say that it is one."""
    identity = drive.identity
    return _is_disk(drive) and identity.get("zoned") == "none" and not identity.get("drive_managed")


def _is_disk(drive: TargetRecord) -> bool:
    """Returns whether it is a real disk."""
    identity = drive.identity
    rotates = identity.get("rotational") is True and identity.get("transport") not in VIRTUAL
    return drive.kind == "device" and rotates


def _write_cache_of(drive: TargetRecord, job: Job) -> Cache | None:
    if may_be_shingled(drive) and not drive.identity.get("file_system"):
        return Cache("write cache", WRITE_CACHE_BYTES)
    value = _parameters_of(drive)
    if value is None:
        return None
    # The cache is full when its memory or its table of ranges is.
    extents_bytes = int(value["write_cache_extents"]) * job.largest_block_bytes
    return Cache("write cache", min(int(value["write_cache_bytes"]), extents_bytes))


def _parameters_of(drive: TargetRecord) -> Mapping[str, bool | int | float | str] | None:
    """Returns the parameters of a disk's twin without a file system, whose page cache would take the writes."""
    device = known_device(drive.catalog) if drive.kind == "twin" else None
    if (
        device is None
        or device.twin is None
        or device.twin.kind != "disk"
        or drive.identity.get("file_system")
    ):
        return None
    return values_of(device.twin.parameters)
