"""File targets: which files Fathom made, making them with room reserved, and the scratch file of a review.

Only files that Fathom made and nobody else wrote to are ever written: `own_file` says which those are. A file is a
block longer than what a load sees of it.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from uuid import uuid4

from fathom.errors import NEW_RUN, FathomError, RefusedError, UsageError
from fathom.output.text import size
from fathom.targets import sysfs
from fathom.targets.contents import find_unknown
from fathom.targets.file_users import users_of
from fathom.targets.mounts import Mount, dev_of_path, mount_of
from fathom.targets.own_file import (
    TRAILER_BYTES,
    Foreign,
    OwnFile,
    examine,
    file_bytes,
    mark_closed,
    mark_open,
    mark_own,
    own,
    unmark,
)
from fathom.targets.safety import Refusal, refuse
from fathom.targets.syscalls import fallocate, statx
from fathom.targets.target import FileId, Identity, Kind, Target
from fathom.text_file import check_utf8

SCRATCH_NAME = "fathom-scratch.bin"
SET_NAME = "fathom-set-{number:04}.bin"
SCRATCH_BYTES = 4 << 30
_MIN_SCRATCH_BYTES = 64 << 20
_SIZE_STEP_BYTES = 1 << 20
_RESERVED_SHARE = 0.10
_UNKNOWN_ALIGN_BYTES = 4096
_SPARE = (Foreign.COPIED, Foreign.OLDER, Foreign.CHANGED)
"""Files that Fathom may have made: the user may not need them."""
_MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def file_target(path: Path, size_bytes: int | None) -> Target:
    """Describes `file:PATH`; makes nothing. An existing file keeps its size unless another is asked for.

    Raises UsageError for paths that cannot be a file target, RefusedError for symlinks and special files.
    """
    typed = path.absolute()
    path = _place(typed)
    status = _lstat(path)
    if status is None and not size_bytes:
        raise UsageError(
            f"file:{typed}: does not exist, and no size above 0 is given",
            "add --size, for example --size 1GiB",
        )
    found = own(path) if status else None
    capacity = size_bytes or (found.capacity_bytes if found else status.st_size if status else 0)
    if status and capacity > status.st_size and not found:
        raise RefusedError(
            f"file:{typed}: has {size(status.st_size)} and was not made by Fathom, so it is not extended to "
            f"{size(capacity)}",
            "give another path",
        )
    return _describe(typed, f"file:{typed}", "file", capacity)


def dir_target(directory: Path, size_bytes: int | None) -> Target:
    """Describes `dir:PATH`: Fathom's own file in the directory, by default 4 GiB where that fits."""
    directory = directory.absolute()
    if not directory.is_dir():
        raise UsageError(f"dir:{directory}: is not a directory", "create it, or write file:PATH for a file")
    path = directory / SCRATCH_NAME
    if size_bytes:
        _lstat(_place(path))
        return _describe(path, f"dir:{directory}", "dir", size_bytes)
    return replace(_planned(path, SCRATCH_BYTES), name=f"dir:{directory}", kind="dir")


def directory_of(target: Target) -> Path:
    """Returns the directory that a target `dir:PATH` names."""
    return Path(target.name.removeprefix("dir:"))


def file_set(directory: Path, count: int, size_bytes: int | None) -> list[Target]:
    """Describes `dir:PATH*N`: that many files of Fathom's own, each of the size, by default 4 GiB together.

    Raises UsageError where there is no such directory.
    """
    directory = directory.absolute()
    if not directory.is_dir():
        raise UsageError(f"dir:{directory}*{count}: {directory} is not a directory", "create it")
    paths = [directory / SET_NAME.format(number=number) for number in range(1, count + 1)]
    if size_bytes:
        return [file_target(path, size_bytes) for path in paths]
    return [_planned(path, SCRATCH_BYTES // count) for path in paths]


def scratch_file(directory: Path | None = None, want_bytes: int = SCRATCH_BYTES) -> Target:
    """Plans the scratch file of a review, beside any of its name that Fathom did not make.

    Without a directory the user's cache and /var/tmp are tried, memory file systems last. A directory that was copied
    or restored holds such files. Those that Fathom may have made and no longer writes to are said in the notes.

    Raises FathomError when not even 64 MiB fit, RefusedError for symlinks and special files of the name.
    """
    directory = (directory or _scratch_directory()).absolute()
    names = chain((SCRATCH_NAME,), (SCRATCH_NAME.replace(".", f"-{number}.") for number in count(2)))
    path, left = directory / next(names), list[str]()
    while _lstat(_place(path)) and isinstance(found := _looked_through(path), Foreign):
        left += [f"{path} is left in place: it {found.value}"] if found in _SPARE else []
        path = directory / next(names)
    target = _planned(path, want_bytes)
    return replace(target, notes=(*target.notes, *left))


def _planned(path: Path, want_bytes: int) -> Target:
    """Returns Fathom's own file: `want_bytes`, or less so that a tenth of the free space stays free.

    A smaller size and a memory file system are said in the target's notes. Raises FathomError when not even 64 MiB fit.
    """
    directory = path.parent
    status = _lstat(_place(path))
    usable = int(free_bytes(directory) * (1 - _RESERVED_SHARE)) + (_allocated_bytes(status) if status else 0)
    size_bytes = min(want_bytes, usable) // _SIZE_STEP_BYTES * _SIZE_STEP_BYTES
    if size_bytes < min(want_bytes, _MIN_SCRATCH_BYTES):
        raise FathomError(
            f"{directory}: a scratch file needs {size(_MIN_SCRATCH_BYTES)}, {size(usable)} can be used",
            "free some space or give another target, for example dir:PATH",
        )
    target = _describe(path, f"file:{path}", "file", size_bytes)
    if size_bytes < want_bytes:
        note = (
            f"scratch file is {size(size_bytes)} instead of {size(want_bytes)}: {directory} has no more room"
        )
        target = replace(target, notes=(*target.notes, note))
    return target


def check_file(target: Target, *, writes: bool) -> list[Refusal]:
    """Returns the reasons not to use the file. `prepare_file` checks free space, permissions and O_DIRECT."""
    path = target_path(target)
    if _lstat(path) is None:
        return []
    refusals = [Refusal("held", f"in use by {user}") for user in users_of(path)] if writes else []
    # What is held already was looked through before, and a load may be writing to it.
    found = examine(path) if target.held or not writes else _looked_through(path)
    if writes and isinstance(found, Foreign):
        advice = " (remove it if you can spare it)" if found in _SPARE else ""
        refusals.append(Refusal("not-own", f"exists and {found.value}, so it is not overwritten{advice}"))
    began_with = target.identity.file_uuid
    if isinstance(found, OwnFile) and began_with is not None and found.uuid != began_with:
        refusals.append(Refusal("not-own", "is not the file that this run began with"))
    return refusals


def _looked_through(path: Path) -> OwnFile | Foreign:
    """As `examine`; where a killed run left no time of change, only blanks and data of the engine may be in it."""
    found = examine(path)
    if isinstance(found, Foreign) or found.written_ns is not None:
        return found
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise explained(path, error) from error
    try:
        unknown = find_unknown(fd, found.size_bytes - TRAILER_BYTES)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        raise explained(path, error) from error
    finally:
        os.close(fd)
    return Foreign.CHANGED if unknown else found


def prepare_file(target: Target, *, writes: bool) -> Target:
    """Makes the file where it does not exist, gives an own file its size, and tries O_DIRECT.

    Returns the target with the alignment that its file system asks for.

    Raises FathomError when there is no room, no permission or no O_DIRECT. A file that this call made and
    could not finish is removed again.
    """
    path = target_path(target)
    status = _lstat(path)
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


@contextmanager
def hold_file(target: Target, *, writes: bool) -> Iterator[Target]:
    """Keeps other Fathom runs off the file while it is measured (flock: exclusive to write, shared to read).

    Gives the target with the file that is held. Some network file systems have no locks; there, nothing keeps other
    runs off.

    Raises RefusedError when another run has it, or another file has taken its place.
    """
    fd = os.open(target_path(target), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        lock(fd, target, exclusive=writes)
        held = replace(target, held=FileId.of(os.fstat(fd)))
        check_held(held)
        refuse(target.name, check_file(held, writes=writes))
        found = own(target_path(target))
        if found is None:
            yield held
            return
        identity = replace(held.identity, file_uuid=found.uuid)
        path = target_path(target)
        mark = (partial(mark_open, fd, path, found), partial(mark_closed, fd, path, found))
        with while_written(path, *mark) if writes else nullcontext():
            yield replace(held, identity=identity)
    finally:
        os.close(fd)


@contextmanager
def while_written(
    path: Path, mark_written: Callable[[], None], mark_done: Callable[[], None]
) -> Iterator[None]:
    """Marks a file or a set as written to by a run, and with its state when the run ends."""
    try:
        mark_written()
    except OSError as error:
        raise explained(path, error) from error
    try:
        yield
    finally:
        # A mark that stays open takes it for one that a killed run left, which is used again.
        with suppress(OSError):
            mark_done()


def lock(fd: int, target: Target, *, exclusive: bool) -> None:
    """Locks an open file or directory against other runs. Raises RefusedError when another one has it."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RefusedError(f"{target.name} refused: another Fathom run is using it", "wait for it") from error
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise


def check_held(target: Target) -> None:
    """Passes when the name still leads to the file that is held. Raises RefusedError."""
    path = target_path(target)
    status = _lstat(path)
    if target.held and (status is None or FileId.of(status) != target.held):
        raise _replaced(path)


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


def remove_file(target: Target) -> None:
    """Removes the target's file and side-car if Fathom made them; leaves all others."""
    path = target_path(target)
    if _lstat(path) is not None and own(path):
        path.unlink()
        unmark(path)


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


def _reserve(target: Target, path: Path, status: os.stat_result | None, found: OwnFile | None) -> bool:
    """Makes or resizes an own file and reserves its blocks, so that a full disk shows beforehand.

    Returns whether the file system can reserve blocks.
    """
    size_bytes = file_bytes(target.capacity_bytes)
    held = _allocated_bytes(status) if status else 0
    free = free_bytes(path.parent)
    if size_bytes - held > free:
        raise _no_room(path, size_bytes - held, free)
    create = os.O_CREAT | os.O_EXCL if status is None else 0
    try:
        fd = os.open(path, os.O_RDWR | create | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise explained(path, error) from error
    try:
        lock(fd, target, exclusive=True)
        if status is not None and FileId.of(os.fstat(fd)) != FileId.of(status):
            raise _replaced(path)
        os.ftruncate(fd, size_bytes)
        reserved = allocate(fd, size_bytes)
        mark_own(fd, path, found.uuid if found else str(uuid4()), target.capacity_bytes)
    except OSError as error:
        _undo(path, fd, found)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(path, size_bytes - held, free) from error
        raise explained(path, error) from error
    finally:
        os.close(fd)
    return reserved


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


def _place(path: Path) -> Path:
    """Returns where the file is, through all symbolic links above it; the name itself is not followed.

    Raises UsageError for links that lead in a circle.
    """
    try:
        return path.parent.resolve() / path.name
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path}: symbolic links lead in a circle", "check the path") from error


def _describe(typed: Path, name: str, kind: Kind, capacity_bytes: int) -> Target:
    check_utf8(name)
    path = _place(typed)
    mount = mount_of(path.parent)
    identity = _identity(mount)
    block_bytes = identity.logical_block_bytes or _UNKNOWN_ALIGN_BYTES
    if capacity_bytes < block_bytes:
        raise UsageError(
            f"{name}: is smaller than one block of {block_bytes} bytes", "give a larger --size or file"
        )
    aligned = statx(path).direct_align_bytes if _lstat(path) else None
    return Target(
        name=name,
        kind=kind,
        path=path,
        capacity_bytes=capacity_bytes // block_bytes * block_bytes,
        logical_block_bytes=block_bytes,
        direct_align_bytes=block_bytes if aligned is None else aligned,
        identity=identity,
        label=f"{path.name if _in_memory(identity) else 'file'} {where_text(identity)}",
        notes=notes_on(typed, path, identity),
    )


def notes_on(typed: Path, path: Path, identity: Identity) -> tuple[str, ...]:
    """Returns what to know of a path before a run: that it is in memory, and that links lead to it."""
    in_memory = f"{path} is on {identity.file_system}: figures are those of memory, not of a drive"
    linked = f"{typed} is {path}, through symbolic links"
    led = Path(os.path.normpath(typed)) != path
    return (*([in_memory] if _in_memory(identity) else ()), *([linked] if led else ()))


def where_text(identity: Identity) -> str:
    """Returns where a file lies: `on vda (ext4)`, `in memory (tmpfs)`."""
    below = identity.model or identity.device or "an unnamed device"
    where = "in memory" if _in_memory(identity) else f"on {below}"
    return f"{where} ({identity.file_system})"


def _in_memory(identity: Identity) -> bool:
    return identity.file_system in _MEMORY_FILE_SYSTEMS


def _identity(mount: Mount | None) -> Identity:
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


def _lstat(path: Path) -> os.stat_result | None:
    """Returns the status of a regular file, None when nothing is there.

    Raises UsageError or RefusedError for everything else.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UsageError(
                f"{path}: directory {path.parent} does not exist", "create it or choose another"
            ) from None
        return None
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or '').lower()}", "check the path") from error
    if stat.S_ISREG(status.st_mode):
        return status
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{path}: is a directory", f"write dir:{path}")
    if stat.S_ISBLK(status.st_mode):
        raise UsageError(f"{path}: is a block device", f"write {path} without file:")
    if stat.S_ISLNK(status.st_mode):
        raise RefusedError(f"{path}: is a symbolic link", f"name the file itself: file:{path.resolve()}")
    raise RefusedError(f"{path}: is not a regular file", "choose another path")


def _scratch_directory() -> Path:
    """Returns the first writable place on a disk: the user's cache, /var/tmp, else the working directory."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fathom"
    candidates = [cache, Path("/var/tmp"), Path.cwd()]
    for directory in candidates:
        existing = next(parent for parent in [directory, *directory.parents] if parent.is_dir())
        mount = mount_of(existing)
        if os.access(existing, os.W_OK) and not (mount and mount.file_system in _MEMORY_FILE_SYSTEMS):
            directory.mkdir(parents=True, exist_ok=True)
            return directory
    return Path.cwd()


def free_bytes(directory: Path) -> int:
    """Returns what an ordinary user may still write; the blocks kept for root are left to root."""
    room = os.statvfs(directory)
    return room.f_bavail * room.f_frsize


def _allocated_bytes(status: os.stat_result) -> int:
    return status.st_blocks * sysfs.SECTOR_BYTES


def _no_room(path: Path, need_bytes: int, free_bytes: int) -> FathomError:
    return FathomError(
        f"{path}: not enough space: needs {size(need_bytes)}, {path.parent} has {size(free_bytes)} free",
        "give a smaller --size or another place",
    )


def _replaced(path: Path) -> RefusedError:
    return RefusedError(f"{path}: another file has taken its place since it was checked", NEW_RUN)


def no_direct_io(target: Target) -> FathomError:
    """Returns why a target cannot be measured past the page cache."""
    kind = target.identity.file_system or "its file system"
    return FathomError(
        f"{target.name}: {kind} as mounted has no O_DIRECT; the page cache would be measured instead",
        "choose a place on another file system",
    )


def explained(path: Path, error: OSError) -> FathomError:
    """Returns why a path cannot be used, with what to do."""
    known = {
        errno.EROFS: ("the file system is read-only", "choose another place"),
        errno.EACCES: ("no permission", "choose a path that you may write"),
        errno.EPERM: ("no permission; it may be immutable", "choose a path that you may write"),
        errno.ETXTBSY: ("it is in use as swap or as a program", "choose another path"),
        errno.EFBIG: ("the file system does not allow a file of this size", "give a smaller --size"),
    }
    what, hint = known.get(error.errno or 0, ((error.strerror or str(error)).lower(), "choose another place"))
    return FathomError(f"{path}: {what}", hint)


def target_path(target: Target) -> Path:
    """Returns where a target's file or directory is. Raises UsageError where it has none."""
    if target.path is None:
        raise UsageError(f"{target.name} is not a file", "give file:PATH or dir:PATH")
    return target.path
