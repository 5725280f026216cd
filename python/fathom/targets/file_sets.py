"""Targets that are sets of files: laying them out in a directory of Fathom's own, and holding that while a run lasts.

`own_set` says which sets are Fathom's. Nothing else is written, and nothing else is removed. Every file is reached from
the open directory, name by name, through no link.
"""

import errno
import os
from collections.abc import Container, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from fathom._core import FileSet
from fathom.errors import NEW_RUN, FathomError, RefusedError
from fathom.output.marked import attribute
from fathom.output.text import size
from fathom.targets.file_hold import in_use, lock, while_written
from fathom.targets.file_identity import notes_on, where_text
from fathom.targets.file_making import Lacking, allocate, check_inodes
from fathom.targets.file_path import explained, free_bytes, target_path
from fathom.targets.file_users import users_of_any
from fathom.targets.files import directory_of
from fathom.targets.own_file import ATTRIBUTE, Foreign
from fathom.targets.own_set import (
    Entry,
    OwnSet,
    entries_of,
    examine_set,
    fits,
    known_names,
    known_set,
    mark_set,
    mark_set_closed,
    mark_set_open,
    unmark_set,
)
from fathom.targets.page_cache import direct_align_bytes
from fathom.targets.safety import Refusal, refuse
from fathom.targets.syscalls import rename_new
from fathom.targets.target import FileId, Target

DIRECTORY_NAME = "fathom-files"
_FILE_MODE, _DIRECTORY_MODE = 0o600, 0o700
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def set_target(directory: Target, files: FileSet) -> Target:
    """Returns the set of files in the directory that a target `dir:PATH` names; makes nothing."""
    path = target_path(directory).with_name(DIRECTORY_NAME)
    return replace(
        directory,
        kind="files",
        path=path,
        capacity_bytes=files.total_bytes,
        files=files,
        label=f"{files.count:,} files, {size(files.total_bytes)}, {where_text(directory.identity)}",
        notes=notes_on(directory_of(directory) / DIRECTORY_NAME, path, directory.identity),
    )


def check_set(target: Target, *, writes: bool) -> list[Refusal]:
    """Returns the reasons not to use the set. `hold_set` checks free space, permissions and O_DIRECT.

    What is held was looked through before, so of it only names and kinds are looked at.
    """
    path = target_path(target)
    if not os.path.lexists(path):
        return []
    try:
        found = _held(path) if target.held else examine_set(path)
        refusals = [Refusal("held", f"in use by {user}") for user in _users(path)] if writes else []
    except OSError as error:
        raise explained(path, error) from error
    if isinstance(found, Foreign):
        advice = "" if found is Foreign.UNMARKED else " (remove it if you can spare it)"
        refusals.append(Refusal("not-own", f"{path} exists and {found.value}, so it is not used{advice}"))
    began_with = target.identity.file_uuid
    if isinstance(found, OwnSet) and began_with is not None and found.uuid != began_with:
        refusals.append(Refusal("not-own", "is not the set of files that this run began with", NEW_RUN))
    return refusals


def _held(path: Path) -> OwnSet | Foreign:
    found = known_set(path)
    if isinstance(found, Foreign):
        return found
    fd = os.open(path, _DIRECTORY)
    try:
        return found if fits(found.files, list(entries_of(fd))) else Foreign.CHANGED
    finally:
        os.close(fd)


def _users(path: Path) -> list[str]:
    try:
        fd = os.open(path, _DIRECTORY)
    except OSError:
        return []
    try:
        return users_of_any({FileId.of(one.status) for one in entries_of(fd) if not one.is_directory})
    finally:
        os.close(fd)


@contextmanager
def hold_set(target: Target, *, writes: bool) -> Iterator[Target]:
    """Lays the files out where they are not there yet, and keeps other Fathom runs off them while they are measured.

    Nothing is laid out or removed before the directory is locked (flock: exclusive to write, shared to read). An own
    set of another layout is removed. Gives the target with the directory that is held, and its alignment for O_DIRECT.

    Raises RefusedError when another run has it, or another directory has taken its place. Raises FathomError when there
    is no room, no permission or no O_DIRECT; what this call made and could not finish is removed again.
    """
    path = target_path(target)
    fd, made = _opened(target)
    try:
        lock(fd, target, exclusive=writes or made)
        held = replace(target, held=FileId.of(os.fstat(fd)))
        check_held_set(held)
        refuse(target.name, check_set(held, writes=writes))
        held, found = _prepared(fd, held, made=made)
        if not writes:
            lock(fd, target, exclusive=False)
        held = replace(held, identity=replace(held.identity, file_uuid=found.uuid))
        mark = (partial(mark_set_open, fd, path, found), partial(mark_set_closed, fd, path, found))
        with while_written(path, *mark) if writes else nullcontext():
            yield held
    finally:
        os.close(fd)


def _opened(target: Target) -> tuple[int, bool]:
    """Opens the directory; returns it, and whether it was made here, which locks it.

    Raises RefusedError where one came meanwhile, FathomError where none can be made.
    """
    path = target_path(target)
    try:
        if os.path.lexists(path):
            return os.open(path, _DIRECTORY), False
        _check_room(path, _files(target), None)
        return _new_directory(target, path), True
    except FileExistsError as error:
        raise in_use(target) if isinstance(known_set(path), OwnSet) else _replaced(path) from error
    except OSError as error:
        raise explained(path, error) from error


def _new_directory(target: Target, path: Path) -> int:
    """Makes the set's directory, locked and marked; returns it open. Raises OSError, also where one has its name.

    It gets its name last, so that no other run sees it unmarked. Where its mark is a side-car it has its name at once.
    """
    if attribute(path.parent, ATTRIBUTE) is None:
        return _own_directory(target, path)
    unnamed = path.with_name(f".{path.name}.{uuid4()}")
    fd = _own_directory(target, unnamed)
    try:
        named = rename_new(unnamed, path)
    except OSError:
        _drop(fd, unnamed)
        raise
    if named:
        return fd
    _drop(fd, unnamed)
    return _own_directory(target, path)


def _own_directory(target: Target, path: Path) -> int:
    path.mkdir(mode=_DIRECTORY_MODE)
    fd = os.open(path, _DIRECTORY)
    try:
        lock(fd, target, exclusive=True)
        mark_set(path, str(uuid4()), _files(target))
    except OSError:
        _drop(fd, path)
        raise
    return fd


def _drop(fd: int, path: Path) -> None:
    os.close(fd)
    path.rmdir()


def _prepared(fd: int, target: Target, *, made: bool) -> tuple[Target, OwnSet]:
    """Lays the files out in the open and locked directory where they are not there yet, with their room reserved.

    Returns the target as `hold_set` gives it, and the set. Its mark is closed, so that readers may join.
    """
    path, files = target_path(target), _files(target)
    found = examine_set(path)
    if isinstance(found, Foreign):
        raise _replaced(path)
    if _is_laid_out(found, files):
        return _aligned(target, path, files), found
    other = not found.files.has_layout_of(files)
    # Readers hold it shared, beside others.
    lock(fd, target, exclusive=True)
    try:
        if not made:
            _check_room(path, files, found)
        if other:
            _empty(fd, found)
            found = mark_set(path, str(uuid4()), files)
        if not _lay_out(path, files):
            note = f"{path}: {target.identity.file_system} reserves no space: a full disk shows up only during writes"
            target = replace(target, notes=(*target.notes, note))
        target = _aligned(target, path, files)
        mark_set_closed(fd, path, found)
    except (OSError, FathomError) as error:
        if made or other:
            _undo(path)
        if not isinstance(error, OSError):
            raise
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(path, files) from error
        raise explained(path, error) from error
    return target, found


def _aligned(target: Target, path: Path, files: FileSet) -> Target:
    """Returns the target with the alignment that its file system asks for. Raises FathomError without O_DIRECT."""
    first, _ = files.paths()[0]
    aligned = direct_align_bytes(target, path / first, writes=True)
    return target if aligned is None else replace(target, direct_align_bytes=aligned)


def _undo(path: Path) -> None:
    """Removes a directory that was just made, and what was laid out in it."""
    with suppress(OSError, RefusedError):
        remove_set(path)


def check_room_of_set(target: Target) -> Lacking:
    """Returns what the files that are not there yet take of their file system. Raises FathomError without that room."""
    path, files = target_path(target), _files(target)
    found = known_set(path) if os.path.lexists(path) else None
    if found is None or (isinstance(found, OwnSet) and not _is_laid_out(found, files)):
        return _check_room(path, files, found)
    return Lacking(path, 0)


def _is_laid_out(found: OwnSet, files: FileSet) -> bool:
    return found.files.has_layout_of(files) and found.listing is not None


def _check_room(path: Path, files: FileSet, found: OwnSet | None) -> Lacking:
    """Returns what is not there yet. Raises FathomError where the file system lacks room or inodes for it."""
    held_bytes, held = 0, 0
    if found is not None:
        fd = os.open(path, _DIRECTORY)
        try:
            entries = list(entries_of(fd))
        finally:
            os.close(fd)
        held_bytes = sum(one.status.st_blocks * 512 for one in entries)
        held = len(entries)
    if files.total_bytes - held_bytes > free_bytes(path.parent):
        raise _no_room(path, files)
    wanted = files.count + len(files.directories()) + 1
    lacking = Lacking(path, max(0, files.total_bytes - held_bytes), max(0, wanted - held), files.count)
    check_inodes([lacking])
    return lacking


def _lay_out(path: Path, files: FileSet) -> bool:
    """Makes the directories and files that are not there yet; returns False where no room could be reserved.

    What a killed run has left renamed or made beside them is removed. Raises OSError.
    """
    fd = os.open(path, _DIRECTORY)
    reserved = True
    try:
        renamed, made = set(files.other_paths()), set(files.made_directories())
        for one in list(entries_of(fd)):
            _remove(fd, one, renamed, made)
        for directory in files.directories():
            with suppress(FileExistsError):
                os.mkdir(directory, _DIRECTORY_MODE, dir_fd=fd)
        for name, size_bytes in files.paths():
            reserved = _make_file(fd, name, size_bytes) and reserved
    finally:
        os.close(fd)
    return reserved


def _make_file(directory: int, name: str, size_bytes: int) -> bool:
    """Makes a file of that size, or gives one its size; returns False where no room could be reserved."""
    fd = os.open(name, _NEW_FILE, _FILE_MODE, dir_fd=directory)
    try:
        if os.fstat(fd).st_size == size_bytes:
            return True
        reserved = allocate(fd, size_bytes)
        os.ftruncate(fd, size_bytes)
        return reserved
    finally:
        os.close(fd)


def check_held_set(target: Target) -> None:
    """Passes when the name still leads to the directory that is held. Raises RefusedError."""
    path = target_path(target)
    try:
        status = path.lstat()
    except OSError as error:
        raise _replaced(path) from error
    if target.held and FileId.of(status) != target.held:
        raise _replaced(path)


def drop_cached_set(target: Target) -> None:
    """Writes what is dirty and lets the kernel forget the pages of all files of the set."""
    fd = os.open(target_path(target), _DIRECTORY)
    try:
        for name, _ in _files(target).paths():
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
    finally:
        os.close(fd)


def remove_set(path: Path) -> None:
    """Removes a set's directory with all that its own layout has there; leaves whatever else lies there, and with it
    the directory.

    Raises OSError where something is left.
    """
    found = known_set(path)
    if isinstance(found, Foreign):
        raise _replaced(path)
    fd = os.open(path, _DIRECTORY)
    try:
        _empty(fd, found)
    finally:
        os.close(fd)
    path.rmdir()
    unmark_set(path)


def _empty(fd: int, found: OwnSet) -> None:
    """Removes all that a set's layout has in its open directory."""
    directories, files = known_names(found.files)
    for one in reversed(list(entries_of(fd))):
        _remove(fd, one, files, directories)


def _remove(fd: int, one: Entry, files: Container[str], directories: Container[str]) -> None:
    if one.is_directory and one.path in directories:
        os.rmdir(one.path, dir_fd=fd)
    elif not one.is_directory and one.path in files:
        os.unlink(one.path, dir_fd=fd)


def _files(target: Target) -> FileSet:
    if target.files is None:
        raise TypeError(f"{target.name} is no set of files")
    return target.files


def _replaced(path: Path) -> RefusedError:
    return RefusedError(f"{path}: another directory has taken its place since it was checked", NEW_RUN)


def _no_room(path: Path, files: FileSet) -> FathomError:
    return FathomError(
        f"{path}: not enough space: {files.count:,} files need {size(files.total_bytes)}, {path.parent} has "
        f"{size(free_bytes(path.parent))} free",
        "give fewer or smaller files, or another place",
    )
