"""The page cache between a load and its file: whether O_DIRECT goes past it, and making it forget."""

import errno
import os
from pathlib import Path

from fathom.errors import FathomError
from fathom.targets.file_path import explained
from fathom.targets.syscalls import statx
from fathom.targets.target import Target


def direct_align_bytes(target: Target, path: Path, *, writes: bool) -> int | None:
    """Opens the file as the engine will; gives the alignment that O_DIRECT asks for, None where nothing reports it."""
    flags = (os.O_RDWR if writes else os.O_RDONLY) | os.O_DIRECT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise no_direct_io(target) from error
        raise explained(path, error) from error
    aligned = statx(path).direct_align_bytes
    if aligned == 0:
        raise no_direct_io(target)
    return aligned


def no_direct_io(target: Target) -> FathomError:
    """Returns why a target cannot be measured past the page cache."""
    kind = target.identity.file_system or "its file system"
    return FathomError(
        f"{target.name}: {kind} as mounted has no O_DIRECT; the page cache would be measured instead",
        "choose a place on another file system",
    )


def drop_cached(path: Path) -> None:
    """Writes what is dirty and lets the kernel forget the target's pages: what is read next comes from the drive.

    The kernel need not obey: the engine reports what stayed, and what the device moved shows it (note `page-cache`).
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
