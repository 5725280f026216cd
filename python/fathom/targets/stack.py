"""What lies on what: the bytes of devices and files that make up every block device. Decides nothing.

Partitions, loop devices, device-mapper, md and bcache are followed down to disks and files. Two devices whose bytes
overlap anywhere on the way are relatives: what uses one of them uses the other. A device-mapper or md device lies
somewhere on its members. The kernel keeps those of one member apart, and only they are trusted to be apart.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fathom.targets import sysfs
from fathom.targets.mounts import SYS, dev_of_path, dev_text, mount_of
from fathom.targets.syscalls import device_ioctl
from fathom.targets.sysfs import SECTOR_BYTES, BlockDevice
from fathom.targets.target import FileId

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO64_BYTES = 232

Container = str | FileId
"""What bytes lie in: a device by its `major:minor`, or a regular file."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A range of bytes. `somewhere`: only some of them, known to device-mapper or md alone."""

    container: Container
    start: int
    end: int
    somewhere: bool = False

    def meets(self, other: "Extent") -> bool:
        """Returns whether the two may have bytes in common."""
        return (
            self.container == other.container
            and self.start < other.end
            and other.start < self.end
            and not (self.somewhere and other.somewhere)
        )


class Backing(NamedTuple):
    """What a loop device takes its bytes from, as the kernel says: a file or device, and where in it they begin."""

    path: str
    container: Container
    offset: int


class Stacks:
    """A snapshot of all block devices, and what they lie on."""

    def __init__(self, sys: Path = SYS) -> None:
        """Lists the devices; what they lie on is read when it is asked for."""
        self._sys = sys
        self._extents = cache(self._walk)
        disks = [BlockDevice(entry.resolve(), sys) for entry in (sys / "block").glob("*")]
        self.devices = [
            device
            for disk in disks
            if not disk.hidden and disk.size_bytes
            for device in (disk, *disk.partitions)
        ]

    def extents(self, device: BlockDevice, *, through_files: bool = False) -> tuple[Extent, ...]:
        """Returns where the device's bytes lie, itself included; `through_files` goes on below the files of loop
        devices.
        """
        return self._extents(device, through_files)

    def below(self, device: BlockDevice, *, through_files: bool = False) -> dict[Container, bool]:
        """Maps what the device lies on, itself included, to whether it lies only somewhere on it."""
        return {
            extent.container: extent.somewhere
            for extent in reversed(self.extents(device, through_files=through_files))
        }

    def relatives(self, device: BlockDevice, *, through_files: bool = False) -> list[BlockDevice]:
        """Returns all other devices that have bytes in common with the device: below it, on it, or beside it.

        `through_files` adds the loop devices over files of a file system that is on it.
        """
        own = self.extents(device)
        return [
            other
            for other in self.devices
            if other != device and self._meets(own, other, through_files=through_files)
        ]

    def _meets(self, own: tuple[Extent, ...], other: BlockDevice, *, through_files: bool) -> bool:
        theirs = self.extents(other, through_files=through_files)
        return any(one.meets(another) for one in own for another in theirs)

    def _walk(self, device: BlockDevice, through_files: bool) -> tuple[Extent, ...]:
        found: dict[Extent, None] = {}
        queue = [(device, 0, device.size_bytes, False)]
        while queue:
            one, start, end, somewhere = queue.pop(0)
            extent = Extent(one.dev, start, end, somewhere)
            if extent in found:
                continue
            found[extent] = None
            if one.is_partition:
                at = (sysfs.number(one.directory / "start") or 0) * SECTOR_BYTES
                queue.append((one.disk, at + start, at + end, somewhere))
            queue += [(slave, 0, slave.size_bytes, True) for slave in one.slaves]
            if backing := backing_of(one):
                at = backing.offset
                if isinstance(backing.container, FileId):
                    found[Extent(backing.container, at + start, at + end, somewhere)] = None
                    host = _host_of(backing.container, backing.path, self._sys) if through_files else None
                    queue += [(host, 0, host.size_bytes, True)] if host else []
                elif lower := sysfs.by_dev(backing.container, self._sys):
                    queue.append((lower, at + start, at + end, somewhere))
        return tuple(found)


def backing_of(device: BlockDevice) -> Backing | None:
    """Returns what a loop device lies on; None for all others.

    The kernel's own answer names the file by inode, which holds for removed files and other names too. Where it may not
    be asked, for want of permission, the path that sysfs shows is looked up.
    """
    return next(iter(backings_of(device)), None)


def backings_of(device: BlockDevice) -> list[Backing]:
    """Returns what the kernel and the path in sysfs each say that a loop device lies on, the kernel first."""
    path = sysfs.text(device.directory / "loop/backing_file")
    if path is None:
        return []
    asked = _asked(device) if device.sys == SYS else None
    return [backing for backing in (asked, _looked_up(device, path)) if backing]


def _asked(device: BlockDevice) -> Backing | None:
    info = bytearray(_LOOP_INFO64_BYTES)
    try:
        device_ioctl(device.node, _LOOP_GET_STATUS64, info)
    except OSError:
        return None
    on_device, inode, as_device, offset = struct.unpack_from("<4Q", info)
    container = dev_text(as_device) if as_device else FileId(on_device, inode)
    return Backing(sysfs.text(device.directory / "loop/backing_file") or "", container, offset)


def _looked_up(device: BlockDevice, path: str) -> Backing | None:
    offset = sysfs.number(device.directory / "loop/offset") or 0
    if dev := dev_of_path(path):
        return Backing(path, dev, offset)
    try:
        return Backing(path, FileId.of(Path(path).stat()), offset)
    except OSError:
        return None


def _host_of(file: FileId, path: str, sys: Path) -> BlockDevice | None:
    """Returns the device of the file system that a file is on; one of them where it has several."""
    if device := sysfs.by_dev(dev_text(file.device), sys):
        return device
    # btrfs gives its files a device number that no device has.
    mount = mount_of(Path(path))
    dev = dev_of_path(mount.source) if mount else None
    return sysfs.by_dev(dev, sys) if dev else None


def loops_under(device: BlockDevice) -> Iterator[tuple[BlockDevice, Backing]]:
    """Yields the loop devices from the device down to the first that is none, each with what it lies on."""
    one: BlockDevice | None = device
    while one and (backing := backing_of(one)):
        yield one, backing
        one = sysfs.by_dev(backing.container, device.sys) if isinstance(backing.container, str) else None
