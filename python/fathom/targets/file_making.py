"""Making the file of a target, with its room reserved, giving it another size, and removing it."""

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from fathom.errors import FathomError
from fathom.output.marked import attribute
from fathom.output.text import size
from fathom.targets.file_hold import in_use, lock
from fathom.targets.file_path import (
    allocated_bytes,
    explained,
    free_bytes,
    replaced,
    status_of,
    target_path,
)
from fathom.targets.own_file import ATTRIBUTE, OwnFile, file_bytes, mark_closed, mark_own, own, unmark
from fathom.targets.page_cache import direct_align_bytes
from fathom.targets.syscalls import fallocate
from fathom.targets.target import FileId, Target


def prepare_file(target: Target, *, writes: bool) -> Target:
    """Makes the file where it does not exist, gives an own file its size, and tries O_DIRECT.

    Returns the target with the alignment that its file system asks for.

    Raises FathomError when there is no room, no permission or no O_DIRECT. A file that this call made and
    could not finish is removed again.
    """
    path = target_path(target)
    status = status_of(path)
    found = own(path) if status else None
    if status is None or (found and found.capacity_bytes != target.capacity_bytes):
        reserved = _reserve(target, path, status, found)
        note = f"{path}: {target.identity.file_system} reserves no space: a full disk shows up only during writes"
        target = target if reserved else replace(target, notes=(*target.notes, note))
    try:
        aligned = direct_align_bytes(target, path, writes=writes)
    except FathomError:
        if status is None:
            remove_file(target)
        raise
    return target if aligned is None else replace(target, direct_align_bytes=aligned)


def _reserve(target: Target, path: Path, status: os.stat_result | None, found: OwnFile | None) -> bool:
    """Makes or resizes an own file and reserves its blocks, so that a full disk shows beforehand.

    Returns whether the file system can reserve blocks.
    """
    size_bytes = file_bytes(target.capacity_bytes)
    held = allocated_bytes(status) if status else 0
    free = free_bytes(path.parent)
    if size_bytes - held > free:
        raise no_room(path, size_bytes - held, free)
    nameless = False
    try:
        if status is None:
            fd, nameless = _new_file(path)
        else:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _not_made(target, path, error) from error
    try:
        lock(fd, target, exclusive=True)
        if status is not None and FileId.of(os.fstat(fd)) != FileId.of(status):
            raise replaced(path)
        os.ftruncate(fd, size_bytes)
        reserved = allocate(fd, size_bytes)
        # A run that began with the file in another size must not go on: what it had filled is not there any more.
        mark_own(fd, path, str(uuid4()), target.capacity_bytes)
        if nameless:
            _name(fd, path)
    except OSError as error:
        if not nameless:
            _undo(path, fd, found)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_room(path, size_bytes - held, free) from error
        raise _not_made(target, path, error) from error
    finally:
        os.close(fd)
    return reserved


def _new_file(path: Path) -> tuple[int, bool]:
    """Opens a new file; returns it, and whether it has no name yet. Raises OSError, also where one has that name.

    A file that gets its name last is never seen half made, and a killed run leaves none. Its mark cannot be a side-car,
    which another run that makes the same file would replace.
    """
    try:
        fd = os.open(path.parent, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
    else:
        if attribute(fd, ATTRIBUTE) is not None:
            return fd, True
        os.close(fd)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), False


def _name(fd: int, path: Path) -> None:
    """Gives an open file that has no name its name. Raises OSError where something has that name."""
    # With a directory given, Python asks linkat(2) to follow the link that /proc has for the descriptor.
    os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)


def _not_made(target: Target, path: Path, error: OSError) -> FathomError:
    """Returns why a file could not be made or opened; one that came meanwhile may be another run's."""
    if error.errno != errno.EEXIST:
        return explained(path, error)
    return in_use(target) if own(path) else replaced(path)


def allocate(fd: int, size_bytes: int) -> bool:
    """Reserves the room of a file of that size; returns False where the file system reserves none. Raises OSError."""
    try:
        fallocate(fd, size_bytes)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return False
    return True


def _undo(path: Path, fd: int, found: OwnFile | None) -> None:
    """Restores the size of a file that could not grow; its trailer is still there. Removes a new file."""
    if found is not None:
        os.ftruncate(fd, found.size_bytes)
        mark_closed(fd, path, found)
        return
    path.unlink()
    unmark(path)


def remove_file(target: Target) -> None:
    """Removes the target's file and side-car if Fathom made them; leaves all others."""
    path = target_path(target)
    if status_of(path) is not None and own(path):
        path.unlink()
        unmark(path)


@dataclass(frozen=True, slots=True)
class Lacking:
    """What a target's files that are not there yet take of their file system."""

    path: Path
    bytes: int
    inodes: int = 0
    files: int = 1


def lacking(target: Target) -> Lacking:
    """Returns what making the file, or giving it its size, takes of its file system."""
    path = target_path(target)
    status = status_of(path)
    found = own(path) if status else None
    if status is not None and not (found and found.capacity_bytes != target.capacity_bytes):
        return Lacking(path, 0)
    held = allocated_bytes(status) if status else 0
    return Lacking(path, max(0, file_bytes(target.capacity_bytes) - held), 0 if status else 1)


def no_room(path: Path, need_bytes: int, free_bytes: int) -> FathomError:
    """Returns the error of a file that has no room."""
    return FathomError(
        f"{path}: not enough space: needs {size(need_bytes)}, {path.parent} has {size(free_bytes)} free",
        "give a smaller --size or another place",
    )


def check_inodes(lacking: Sequence[Lacking]) -> None:
    """Raises FathomError where the file system of all these has too few inodes for them together."""
    path = max(lacking, key=lambda one: one.inodes).path
    room = os.statvfs(path.parent)
    wanted = sum(one.inodes for one in lacking)
    # File systems that make inodes as they need them state no number.
    if room.f_files and wanted > room.f_favail:
        needs = (
            f"needs {wanted:,}" if len(lacking) == 1 else f"{len(lacking)} targets need {wanted:,} together"
        )
        raise FathomError(
            f"{path}: not enough inodes: {needs}, {path.parent} has {room.f_favail:,} free",
            "give fewer files or another place",
        )
