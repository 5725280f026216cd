"""Where a file lies: its file system and the drive below it, and what to know of that before a run."""

import os
from dataclasses import replace
from pathlib import Path

from fathom.targets import sysfs
from fathom.targets.mounts import Mount, dev_of_path
from fathom.targets.target import Identity

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})


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
    return replace(below, file_system=mount.file_system, mount_point=mount.point, mount_options=mount.options)


def where_text(identity: Identity) -> str:
    """Returns where a file lies: `on vda (ext4)`, `in memory (tmpfs)`."""
    below = identity.model or identity.device or "an unnamed device"
    where = "in memory" if in_memory(identity) else f"on {below}"
    return f"{where} ({identity.file_system})"


def notes_on(typed: Path, path: Path, identity: Identity) -> tuple[str, ...]:
    """Returns what to know of a path before a run: that it is in memory, and that links lead to it."""
    caveat = f"{path} is on {identity.file_system}: figures are those of memory, not of a drive"
    linked = f"{typed} is {path}, through symbolic links"
    led = Path(os.path.normpath(typed)) != path
    return (*([caveat] if in_memory(identity) else ()), *([linked] if led else ()))


def in_memory(identity: Identity) -> bool:
    """Returns whether a file lies in memory: its figures are not those of a drive."""
    return identity.file_system in MEMORY_FILE_SYSTEMS
