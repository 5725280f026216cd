"""What is captured: whole disks, and partitions as devices of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathom.errors import UsageError
from fathom.targets.mounts import dev_of_path, mount_of
from fathom.targets.sysfs import SECTOR_BYTES, BlockDevice, by_dev, number


@dataclass(frozen=True)
class Part:
    """A device of the trace, in bytes of its disk; a whole disk has no end."""

    name: str
    start_bytes: int = 0
    end_bytes: int | None = None


@dataclass
class Disk:
    """A disk that the kernel traces, `dev` is its `major:minor`, with what is wanted of it."""

    dev: str
    node: Path
    parts: list[Part] = field(default_factory=list)


def chosen_disks(paths: Sequence[Path]) -> list[Disk]:
    """Returns the disks to trace. Raises UsageError for what is no block device, or named twice."""
    found: dict[str, Disk] = {}
    for path in paths:
        device = _device(path)
        disk = found.setdefault(device.disk.dev, Disk(device.disk.dev, device.disk.node))
        part = _part(device)
        if any(part.name == other.name for other in disk.parts):
            raise UsageError(f"{path} is named twice", "name it once")
        disk.parts.append(part)
        if len(disk.parts) > 1 and any(part.end_bytes is None for part in disk.parts):
            raise UsageError(
                f"{disk.node} and a partition of it", "name the disk, or the partitions to be told apart"
            )
    return list(found.values())


def writes_to(folder: Path, disks: Sequence[Disk]) -> Disk | None:
    """Returns the disk on which a folder lies, where that is one of these."""
    mount = mount_of(folder)
    device = by_dev(mount.dev) if mount is not None else None
    below = {one.dev for one in device.below()} if device is not None else set()
    return next((disk for disk in disks if disk.dev in below), None)


def _device(path: Path) -> BlockDevice:
    dev = dev_of_path(path)
    device = by_dev(dev) if dev is not None else None
    if device is None:
        raise UsageError(
            f"{path}: {'no block device' if path.exists() else 'no such device'}",
            "name a disk or a partition, such as /dev/nvme0n1; `fathom devices` lists them",
        )
    return device


def _part(device: BlockDevice) -> Part:
    if not device.is_partition:
        return Part(device.name)
    start_bytes = (number(device.directory / "start") or 0) * SECTOR_BYTES
    return Part(device.name, start_bytes, start_bytes + device.size_bytes)
