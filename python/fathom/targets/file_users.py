"""Who else uses a regular file, by whatever name: loop devices, swap, and the locks of other processes."""

import fcntl
import os
import struct
from pathlib import Path

from fathom.targets import sysfs
from fathom.targets.mounts import read_usage
from fathom.targets.stack import backings_of
from fathom.targets.target import FileId

_F_OFD_GETLK = 36
_FLOCK = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""


def users_of(path: Path) -> list[str]:
    """Returns what uses the file at `path`, in words; processes may read what they like."""
    file = FileId.of(path.lstat())
    loops = [
        disk.name
        for disk in sysfs.all_disks()
        if any(backing.container == file for backing in backings_of(disk))
    ]
    swap = ["swap"] if file in read_usage(openers=False).swap_files else []
    return [*loops, *swap, *_lockers(path)]


def users_of_any(files: set[FileId]) -> list[str]:
    """Returns the loop devices on any of the files, and swap where one of them is that."""
    loops = [
        disk.name
        for disk in sysfs.all_disks()
        if any(backing.container in files for backing in backings_of(disk))
    ]
    return [*loops, *(["swap"] if read_usage(openers=False).swap_files & files else [])]


def _lockers(path: Path) -> list[str]:
    """Returns who holds a lock of POSIX or of an open file description on any byte of it, as data bases and
    editors do.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(fd, _F_OFD_GETLK, asked))
    except OSError:
        return []
    finally:
        os.close(fd)
    if kind == fcntl.F_UNLCK:
        return []
    return [f"process {process}, which has locked it" if process > 0 else "a process that has locked it"]
