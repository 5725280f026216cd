"""Which files Fathom made: a mark on the file and a trailer inside it, which must agree with what the kernel says.

The mark is the extended attribute `user.fathom`, or where the file system keeps none a side-car `.NAME.fathom-mark` of
the same user. It holds inode, time of birth, size, a random UUID, and when Fathom last wrote to the file. The trailer
is a block behind the bytes that a load sees and holds the UUID again. So a copy, a restored backup, another file of the
name and another name of the file are not taken for Fathom's. A file that others wrote to since is not either.
"""

import os
import re
import stat
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from fathom.output.marked import attribute, own_text, put_attribute, write_side_car
from fathom.targets.syscalls import statx

TRAILER_BYTES = 4096
ATTRIBUTE = "user.fathom"
"""The name of the mark, on a file and on the directory of a set."""
_VERSION = "fathom-file/3"
_OLDER = (b"fathom-file/1", b"fathom-file/2")
_FORM = re.compile(
    rf"{_VERSION} inode=(?P<inode>\d+) born=(?P<born>\d+|unknown) size=(?P<size>\d+) uuid=(?P<uuid>[0-9a-f-]{{36}})"
    r" written=(?P<written>\d+|open)"
)
_TRAILER = re.compile(rf"{_VERSION} uuid=(?P<uuid>[0-9a-f-]{{36}}) capacity=(?P<capacity>\d+)\n")


class Foreign(Enum):
    """Why a file is not Fathom's to write; the value completes "exists and ..."."""

    UNMARKED = "was not made by Fathom"
    COPIED = "was not made by Fathom, but copied from a file that was"
    OLDER = "was made by an earlier version of Fathom, whose mark does not show later changes by others"
    LINKED = "has several names (hard links)"
    CHANGED = "was changed by others since Fathom wrote it"


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that Fathom made: `capacity_bytes` is what a load sees of it, `size_bytes` includes the trailer.

    `written_ns` is the file's time of change when Fathom let it go; None while a run writes to it, and after one that
    was killed.
    """

    uuid: str
    inode: int
    born_ns: int | None
    size_bytes: int
    capacity_bytes: int
    written_ns: int | None

    @property
    def _mark(self) -> bytes:
        born = "unknown" if self.born_ns is None else self.born_ns
        written = "open" if self.written_ns is None else self.written_ns
        return (
            f"{_VERSION} inode={self.inode} born={born} size={self.size_bytes} uuid={self.uuid} written={written}"
        ).encode()

    @property
    def _trailer(self) -> bytes:
        text = f"{_VERSION} uuid={self.uuid} capacity={self.capacity_bytes}\n"
        return text.encode().ljust(TRAILER_BYTES, b"\0")


def file_bytes(capacity_bytes: int) -> int:
    """Returns the size of a file whose load sees that many bytes."""
    return -(-capacity_bytes // TRAILER_BYTES) * TRAILER_BYTES + TRAILER_BYTES


def examine(path: Path) -> OwnFile | Foreign:
    """Returns the file if Fathom made it and nobody else has written to it, else the reason why not."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Foreign.UNMARKED
    try:
        return _examine(fd, path)
    finally:
        os.close(fd)


def own(path: Path) -> OwnFile | None:
    """Returns the file at `path` if it is Fathom's, None otherwise."""
    found = examine(path)
    return found if isinstance(found, OwnFile) else None


def mark_own(fd: int, path: Path, uuid: str, capacity_bytes: int) -> OwnFile:
    """Makes the open file, which has its size, Fathom's: writes trailer and mark. Raises OSError."""
    status = os.fstat(fd)
    made = OwnFile(uuid, status.st_ino, statx(fd).born_ns, status.st_size, capacity_bytes, None)
    os.pwrite(fd, made._trailer, status.st_size - TRAILER_BYTES)
    _sync(fd, status.st_size)
    _set_mark(fd, path, made)
    return made


def mark_open(fd: int, path: Path, found: OwnFile) -> None:
    """Marks the file as being written by a run, so that any time of change is accepted."""
    if found.written_ns is not None:
        _set_mark(fd, path, replace(found, written_ns=None))


def mark_closed(fd: int, path: Path, found: OwnFile) -> None:
    """Keeps in the mark the time of change after Fathom's last write."""
    os.fsync(fd)
    _set_mark(fd, path, replace(found, written_ns=os.fstat(fd).st_mtime_ns))


def unmark(path: Path) -> None:
    """Removes the side-car of a file that was removed."""
    _side_car(path).unlink(missing_ok=True)


def _examine(fd: int, path: Path) -> OwnFile | Foreign:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return Foreign.UNMARKED
    if status.st_nlink > 1:
        return Foreign.LINKED
    text = _mark_text(fd, path)
    if text.startswith(_OLDER):
        return Foreign.OLDER
    mark = _FORM.fullmatch(text.decode("ascii", "replace"))
    if mark is None:
        return Foreign.UNMARKED
    born = None if mark["born"] == "unknown" else int(mark["born"])
    if (int(mark["inode"]), born) != (status.st_ino, statx(fd).born_ns):
        return Foreign.COPIED
    if int(mark["size"]) != status.st_size or status.st_size <= TRAILER_BYTES:
        return Foreign.CHANGED
    trailer = os.pread(fd, TRAILER_BYTES, status.st_size - TRAILER_BYTES)
    inside = _TRAILER.match(trailer.decode("ascii", "replace"))
    if inside is None:
        return Foreign.CHANGED
    written = None if mark["written"] == "open" else int(mark["written"])
    found = OwnFile(
        mark["uuid"], status.st_ino, born, status.st_size, int(inside["capacity"]), written_ns=written
    )
    whole = trailer == found._trailer and file_bytes(found.capacity_bytes) == status.st_size
    unchanged = written is None or written == status.st_mtime_ns
    return found if whole and unchanged else Foreign.CHANGED


def _mark_text(fd: int, path: Path) -> bytes:
    found = attribute(fd, ATTRIBUTE)
    return found if found is not None else own_text(_side_car(path)) or b""


def _set_mark(fd: int, path: Path, made: OwnFile) -> None:
    if not put_attribute(fd, ATTRIBUTE, made._mark):
        write_side_car(_side_car(path), made._mark)


def _side_car(path: Path) -> Path:
    return path.with_name(f".{path.name}.fathom-mark")


def _sync(fd: int, size_bytes: int) -> None:
    """Makes the trailer durable and lets the page cache forget it: a load shall find none of its file there."""
    os.fsync(fd)
    os.posix_fadvise(fd, size_bytes - TRAILER_BYTES, TRAILER_BYTES, os.POSIX_FADV_DONTNEED)
