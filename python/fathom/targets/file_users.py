"""Who else uses a regular file, by whatever name: loop devices, swap, and the locks of other processes."""

import fcntl
import os
import struct
from pathlib import Path

from fathom.targets import sysfs
from fathom.targets.mounts import PROC, SYS
from fathom.targets.target import FileId

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO64_BYTES = 232
_F_OFD_GETLK = 36
_FLOCK = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""


def users_of(path: Path) -> list[str]:
    """What uses the file at `path`, in words; processes may read what they like."""
    file = FileId.of(path.lstat())
    loops = [
        entry.parent.name
        for entry in sorted(SYS.glob("block/loop*/loop"))
        if file in (_asked(entry.parent.name), _looked_up(entry / "backing_file"))
    ]
    return [*loops, *(["swap"] if file in _swap_files() else []), *_lockers(path)]


def _asked(loop: str) -> FileId | None:
    """The backing file as the kernel says, which holds for removed and hidden names too; root may ask."""
    info = bytearray(_LOOP_INFO64_BYTES)
    try:
        fd = os.open(f"/dev/{loop}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.ioctl(fd, _LOOP_GET_STATUS64, info)
    except OSError:
        return None
    finally:
        os.close(fd)
    device, inode = struct.unpack_from("<2Q", info)
    return FileId(device, inode)


def _looked_up(backing: Path) -> FileId | None:
    return _file_at(sysfs.text(backing) or "")


def _swap_files() -> list[FileId | None]:
    lines = (sysfs.text(PROC / "swaps") or "").splitlines()[1:]
    return [_file_at(line.split()[0].replace("\\040", " ")) for line in lines]


def _file_at(path: str) -> FileId | None:
    try:
        return FileId.of(Path(path).stat())
    except (OSError, ValueError):
        return None


def _lockers(path: Path) -> list[str]:
    """Who holds a lock of POSIX or of an open file description on any byte of it, as data bases and editors do."""
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
