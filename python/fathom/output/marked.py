"""How Fathom marks a file as its own: an extended attribute, or a side-car file where the file system keeps none.

Only who may write a file can set its attributes, so an attribute says at least that. A side-car says nothing but who
wrote it. It counts only when that is the caller, and never beside a file that could have carried an attribute.
"""

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_UNSUPPORTED = errno.EOPNOTSUPP
_MOST_BYTES = 4096


def attribute(file: Path | int, name: str) -> bytes | None:
    """Returns the attribute of a file or descriptor, empty where it is not set; None where the file system keeps none.

    A symbolic link is not followed.
    """
    try:
        if isinstance(file, int):
            return os.getxattr(file, name)
        return os.getxattr(file, name, follow_symlinks=False)
    except OSError as error:
        return None if error.errno == _UNSUPPORTED else b""


def put_attribute(fd: int, name: str, value: bytes) -> bool:
    """Sets the attribute; returns False where the file system keeps none. Raises OSError for any other reason."""
    try:
        os.setxattr(fd, name, value)
    except OSError as error:
        if error.errno != _UNSUPPORTED:
            raise
        return False
    return True


def own_text(side_car: Path) -> bytes | None:
    """Returns what a side-car says that this user alone could have written; None where there is none such."""
    try:
        fd = os.open(side_car, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        only_mine = status.st_uid == os.geteuid() and status.st_nlink == 1 and not status.st_mode & 0o022
        return file.read(_MOST_BYTES) if stat.S_ISREG(status.st_mode) and only_mine else None


def write_side_car(side_car: Path, text: bytes) -> None:
    """Writes the side-car anew, in the place of whatever has its name; a link there is not followed."""
    fd, name = tempfile.mkstemp(prefix=".fathom-", dir=side_car.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(fd)
        Path(name).replace(side_car)
    except OSError:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
