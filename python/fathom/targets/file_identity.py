"""Where a file lies: its file system and the drive below it, and what to know of that before a run."""

import os
from dataclasses import replace
from pathlib import Path

from fathom.targets import sysfs
from fathom.targets.mounts import Mount, dev_of_path
from fathom.targets.target import Identity

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})

NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "orangefs", "smb3", "virtiofs"}
    | {f"fuse.{name}" for name in ("ceph-fuse", "glusterfs", "juicefs", "rclone", "s3fs", "sshfs")}
)
"""Types, as mountinfo names them, whose files another machine keeps: a server, or the host of this virtual one."""


def identity_of(mount: Mount | None) -> Identity:
    """Returns the file system, and the one block device below it."""
    if mount is None:
        return Identity(file_system="unknown")
    dev = (
        dev_of_path(mount.source)
        if mount.dev.startswith("0:") and mount.source.startswith("/")
        else mount.dev
    )
    device = sysfs.readable_by_dev(dev) if dev else None
    below = device.identity() if device else Identity()
    return replace(
        below,
        file_system=mount.file_system,
        mount_point=mount.point,
        mount_options=mount.options,
        server=mount.source if mount.file_system in NETWORK_FILE_SYSTEMS else None,
    )


def where_text(identity: Identity) -> str:
    """Returns where a file lies: `on vda (ext4)`, `on nas:/export (nfs4)`, `in memory (tmpfs)`."""
    below = identity.model or identity.device or identity.server or "an unnamed device"
    where = "in memory" if in_memory(identity) else f"on {below}"
    return f"{where} ({identity.file_system})"


def notes_on(typed: Path, path: Path, identity: Identity) -> tuple[str, ...]:
    """Returns what to know of a path before a run: that it is in memory or on a server, and that links lead to it."""
    notes: list[str] = []
    if in_memory(identity):
        notes.append(f"{path} is on {identity.file_system}: figures are those of memory, not of a drive")
    if identity.server is not None:
        notes.append(
            f"{path} is on {identity.server} ({identity.file_system}): figures include the network and the server, "
            "whose memory may answer reads"
        )
    if Path(os.path.normpath(typed)) != path:
        notes.append(f"{typed} is {path}, through symbolic links")
    return tuple(notes)


def in_memory(identity: Identity) -> bool:
    """Returns whether a file lies in memory: its figures are not those of a drive."""
    return identity.file_system in MEMORY_FILE_SYSTEMS
