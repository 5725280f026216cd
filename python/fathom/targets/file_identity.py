"""Where a file lies: its file system and the drive below it, and what to know of that before a run."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fathom.targets import sysfs
from fathom.targets.io_limits import with_io_limits
from fathom.targets.mounts import Mount, devices_of
from fathom.targets.sysfs import DM_CRYPT, BlockDevice
from fathom.targets.target import Identity

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})

_NETWORK = (
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "orangefs",
    "smb",
    "virtiofs",
    "wekafs",
)
"""How mountinfo's names begin of file systems whose files another machine keeps: a server, or a virtual one's host."""

_ZFS = "zfs"

_NETWORK_FUSE = frozenset({"ceph-fuse", "glusterfs", "juicefs", "rclone", "s3fs", "sshfs"})


def identity_of(mount: Mount | None) -> Identity:
    """Returns the file system, and the block device or devices below it."""
    if mount is None:
        return Identity(file_system="unknown")
    named = mount.file_system == _ZFS or is_network_file_system(mount.file_system)
    devices = [found for dev in sorted(devices_of(mount)) if (found := sysfs.readable_by_dev(dev))]
    return replace(
        with_io_limits(_below(devices), devices),
        file_system=mount.file_system,
        mount_point=mount.point,
        mount_options=mount.options,
        source=mount.source if named else None,
    )


def _below(devices: Sequence[BlockDevice]) -> Identity:
    """Returns what is known of the devices below one file system, and of the drive where they lie on one alone."""
    known = [device.identity() for device in devices]
    layers = tuple(dict.fromkeys(layer for one in known for layer in one.layers))
    drives = {drive for device in devices for drive in device.drives}
    if len(drives) == 1 and layers:
        (drive,) = drives
        below = replace(drive.identity(), layers=layers)
        return _of_stack(known[0], below) if len(known) == 1 else below
    if len(known) == 1:
        return known[0]
    return Identity(
        size_bytes=sum(device.size_bytes for device in devices) or None,
        logical_block_bytes=max((one.logical_block_bytes or 0 for one in known), default=0) or None,
        io_bytes_max=min((one.io_bytes_max for one in known if one.io_bytes_max), default=None),
        layers=layers,
        drives=len(drives) or None,
    )


def _of_stack(own: Identity, drive: Identity) -> Identity:
    """Returns the identity of a stacked device with what its one drive says of itself."""
    return replace(
        drive,
        device=own.device,
        dev=own.dev,
        diskseq=own.diskseq,
        wwid=own.wwid,
        namespace=None,
        size_bytes=own.size_bytes,
        logical_block_bytes=own.logical_block_bytes,
        zoned=own.zoned,
        io_bytes_max=own.io_bytes_max,
        mapped=own.mapped,
    )


def where_text(identity: Identity) -> str:
    """Returns where a file lies: `on vda (ext4)`, `on 2 drives through LVM (xfs)`, `in memory (tmpfs)`."""
    several = f"{identity.drives} drives" if identity.drives else None
    below = several or identity.model or identity.device or identity.source
    through = f" through {', '.join(identity.layers)}" if identity.layers else ""
    where = "in memory" if in_memory(identity) else f"on {below or 'an unnamed device'}{through}"
    return f"{where} ({identity.file_system})"


def notes_on(typed: Path, path: Path, identity: Identity) -> tuple[str, ...]:
    """Returns what to know of a path before a run: that it is in memory or on a server, and that links lead to it."""
    notes: list[str] = []
    if in_memory(identity):
        notes.append(f"{path} is on {identity.file_system}: figures are those of memory, not of a drive")
    if identity.file_system is not None and is_network_file_system(identity.file_system):
        notes.append(
            f"{path} is on {identity.source} ({identity.file_system}): figures include the network and the server, "
            "whose memory may answer reads"
        )
    if identity.file_system == _ZFS:
        notes.append(f"{path} is on ZFS: before OpenZFS 2.3 its cache answers reads, also with O_DIRECT")
    notes += encryption_notes(str(path), identity)
    # Two slashes in front may be a place of their own to POSIX, and are one to Linux.
    if Path("/" + os.path.normpath(typed).lstrip("/")) != path:
        notes.append(f"{typed} is {path}, through symbolic links")
    return tuple(notes)


def encryption_notes(name: str, identity: Identity) -> tuple[str, ...]:
    """Returns what to know of a target below which the kernel encrypts."""
    note = f"{name} is encrypted by {DM_CRYPT}: figures include its work on the processor"
    return (note,) if DM_CRYPT in identity.layers else ()


def is_network_file_system(name: str) -> bool:
    """Returns whether another machine keeps the files of a file system that mountinfo names so."""
    return name.startswith(_NETWORK) or name.removeprefix("fuse.") in _NETWORK_FUSE


def in_memory(identity: Identity) -> bool:
    """Returns whether a file lies in memory: its figures are not those of a drive."""
    return identity.file_system in MEMORY_FILE_SYSTEMS
