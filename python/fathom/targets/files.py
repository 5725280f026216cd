"""File targets: which files Fathom made, making them with room reserved, and the scratch file of a review.

Only files that carry Fathom's mark are ever written. The mark is the extended attribute `user.fathom`; where
the file system keeps none, a side-car `.NAME.fathom-mark`. It holds the file's birth time (its inode number
where there is no birth time), so that a copy, or another file of the same name, is not taken for Fathom's.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from fathom.errors import NEW_RUN, FathomError, RefusedError, UsageError
from fathom.targets import sysfs
from fathom.targets.mounts import PROC, SYS, Mount, dev_of_path, mount_of
from fathom.targets.safety import Refusal, refuse
from fathom.targets.syscalls import fallocate, statx
from fathom.targets.target import FileId, Identity, Kind, Target
from fathom.text import size
from fathom.text_file import check_utf8

SCRATCH_NAME = "fathom-scratch.bin"
SET_NAME = "fathom-set-{number:04}.bin"
SCRATCH_BYTES = 4 << 30
_MIN_SCRATCH_BYTES = 64 << 20
_SIZE_STEP_BYTES = 1 << 20
_RESERVED_SHARE = 0.10
_UNKNOWN_ALIGN_BYTES = 4096
_MARK = "user.fathom"
_MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def file_target(path: Path, size_bytes: int | None) -> Target:
    """Describes `file:PATH`; makes nothing. An existing file keeps its size unless another is asked for.

    Raises UsageError for paths that cannot be a file target, RefusedError for symlinks and special files.
    """
    path = path.absolute()
    status = _lstat(path)
    if status is None and not size_bytes:
        raise UsageError(
            f"file:{path}: does not exist and no size above 0 is given", "add --size, for example --size 1GiB"
        )
    capacity = size_bytes or (status.st_size if status else 0)
    if status and capacity > status.st_size and not is_own(path):
        raise RefusedError(
            f"file:{path}: has {size(status.st_size)} and was not made by Fathom, so it is not extended to "
            f"{size(capacity)}",
            "give another path",
        )
    return _describe(path, f"file:{path}", "file", capacity)


def dir_target(directory: Path, size_bytes: int | None) -> Target:
    """Describes `dir:PATH`: Fathom's own file in the directory, by default 4 GiB where that fits."""
    directory = directory.absolute()
    if not directory.is_dir():
        raise UsageError(f"dir:{directory}: is not a directory", "create it, or write file:PATH for a file")
    path = directory / SCRATCH_NAME
    if size_bytes:
        _lstat(path)
        return _describe(path, f"dir:{directory}", "dir", size_bytes)
    return replace(_planned(path, SCRATCH_BYTES), name=f"dir:{directory}", kind="dir")


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
    or restored holds such files: their mark is that of another inode.

    Raises FathomError when not even 64 MiB fit, RefusedError for symlinks and special files of the name.
    """
    directory = (directory or _scratch_directory()).absolute()
    names = chain((SCRATCH_NAME,), (SCRATCH_NAME.replace(".", f"-{number}.") for number in count(2)))
    paths = (directory / name for name in names)
    return _planned(next(path for path in paths if _lstat(path) is None or is_own(path)), want_bytes)


def _planned(path: Path, want_bytes: int) -> Target:
    """Fathom's own file: `want_bytes`, or less so that a tenth of the free space stays free.

    A smaller size and a memory file system are said in the target's notes. Raises FathomError when not even 64 MiB fit.
    """
    directory = path.parent
    status = _lstat(path)
    usable = int(_free_bytes(directory) * (1 - _RESERVED_SHARE)) + (_allocated_bytes(status) if status else 0)
    size_bytes = min(want_bytes, usable) // _SIZE_STEP_BYTES * _SIZE_STEP_BYTES
    if size_bytes < min(want_bytes, _MIN_SCRATCH_BYTES):
        raise FathomError(
            f"{directory}: {size(usable)} can be used, a scratch file needs {size(_MIN_SCRATCH_BYTES)}",
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
    """Reasons not to use the file; room, permissions and O_DIRECT are found out when it is prepared."""
    path = _path(target)
    if _lstat(path) is None:
        return []
    refusals = [Refusal("held", f"in use by {user}") for user in _kernel_users(path)] if writes else []
    if writes and not is_own(path):
        refusals.append(Refusal("not-own", "exists and was not made by Fathom, so it is not overwritten"))
    return refusals


def prepare_file(target: Target, *, writes: bool) -> Target:
    """Makes the file where it does not exist, gives an own file its size, and tries O_DIRECT.

    Returns the target with the alignment that its file system asks for.

    Raises FathomError when there is no room, no permission or no O_DIRECT. A file that this call made and
    could not finish is removed again.
    """
    path = _path(target)
    status = _lstat(path)
    if status is None or (is_own(path) and status.st_size != target.capacity_bytes):
        reserved = _reserve(path, target.capacity_bytes, status)
        note = (
            f"{path}: {target.identity.file_system} reserves no space: a full disk shows only while writing"
        )
        target = target if reserved else replace(target, notes=(*target.notes, note))
    try:
        aligned = _direct_align_bytes(target, path, writes)
    except FathomError:
        if status is None:
            remove_file(target)
        raise
    return target if aligned is None else replace(target, direct_align_bytes=aligned)


@contextmanager
def hold_file(target: Target, *, writes: bool) -> Iterator[Target]:
    """Keeps other Fathom runs off the file while it is measured (flock: exclusive to write, shared to read).

    Gives the target with the file that is held. Where the file system has no locks, as some network file systems, there
    is nothing to keep others off with.

    Raises RefusedError when another run has it, or another file has taken its place.
    """
    fd = os.open(_path(target), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, (fcntl.LOCK_EX if writes else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RefusedError(
                f"{target.name} refused: another Fathom run is using it", "wait for it"
            ) from error
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
        held = replace(target, held=FileId.of(os.fstat(fd)))
        check_held(held)
        refuse(target.name, check_file(held, writes=writes))
        yield held
    finally:
        os.close(fd)


def check_held(target: Target) -> None:
    """Passes when the name still leads to the file that is held. Raises RefusedError."""
    path = _path(target)
    status = _lstat(path)
    if target.held and (status is None or FileId.of(status) != target.held):
        raise _replaced(path)


def drop_cached(path: Path) -> None:
    """Writes what is dirty and lets the kernel forget the target's pages: what is read next comes from the drive.

    The kernel need not obey: the engine tells what stayed, and what the device moved shows it (note `page-cache`).
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def is_own(path: Path) -> bool:
    """Whether Fathom made the file at `path`."""
    try:
        mark = os.getxattr(path, _MARK, follow_symlinks=False)
    except OSError:
        try:
            mark = _side_car(path).read_bytes()
        except OSError:
            return False
    return mark == _mark(path)


def remove_file(target: Target) -> None:
    """Removes the target's file and side-car if Fathom made them; leaves all others."""
    path = _path(target)
    if _lstat(path) is not None and is_own(path):
        path.unlink()
        _side_car(path).unlink(missing_ok=True)


def _direct_align_bytes(target: Target, path: Path, writes: bool) -> int | None:
    """Opens the file as the engine will; gives the alignment that O_DIRECT asks for, None where nothing tells."""
    flags = (os.O_RDWR if writes else os.O_RDONLY) | os.O_DIRECT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise _no_direct_io(target) from error
        raise _explained(path, error) from error
    aligned = statx(path).direct_align_bytes
    if aligned == 0:
        raise _no_direct_io(target)
    return aligned


def _reserve(path: Path, size_bytes: int, status: os.stat_result | None) -> bool:
    """Makes or resizes an own file and reserves its blocks, so that a full disk shows beforehand.

    Returns whether the file system can reserve blocks.
    """
    held = _allocated_bytes(status) if status else 0
    free = _free_bytes(path.parent)
    if size_bytes - held > free:
        raise _no_room(path, size_bytes - held, free)
    try:
        if status is None:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        else:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _explained(path, error) from error
    try:
        if status is None:
            _set_mark(path)
        elif FileId.of(os.fstat(fd)) != FileId.of(status):
            raise _replaced(path)
        os.ftruncate(fd, size_bytes)
        fallocate(fd, size_bytes)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return False
        _undo(path, fd, status)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(path, size_bytes - held, free) from error
        raise _explained(path, error) from error
    finally:
        os.close(fd)
    return True


def _undo(path: Path, fd: int, status: os.stat_result | None) -> None:
    if status is not None:
        os.ftruncate(fd, status.st_size)
        return
    path.unlink()
    _side_car(path).unlink(missing_ok=True)


def _mark(path: Path) -> bytes:
    """What the mark of the file now at `path` must say.

    A copy has another inode, even where it was made within one tick of the clock that dates births; a file that
    was given the inode of a removed one was born later.
    """
    return f"fathom-file/2 inode={path.lstat().st_ino} born={statx(path).born_ns}".encode()


def _set_mark(path: Path) -> None:
    mark = _mark(path)
    try:
        os.setxattr(path, _MARK, mark, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EPERM, errno.ENOSPC):
            raise
        _side_car(path).write_bytes(mark)


def _side_car(path: Path) -> Path:
    return path.with_name(f".{path.name}.fathom-mark")


def _describe(path: Path, name: str, kind: Kind, capacity_bytes: int) -> Target:
    check_utf8(name)
    mount = mount_of(path.parent)
    identity = _identity(mount)
    block_bytes = identity.logical_block_bytes or _UNKNOWN_ALIGN_BYTES
    if capacity_bytes < block_bytes:
        raise UsageError(
            f"{name}: is smaller than one block of {block_bytes} bytes", "give a larger --size or file"
        )
    aligned = statx(path).direct_align_bytes if _lstat(path) else None
    where = identity.model or identity.device or "an unnamed device"
    in_memory = mount is not None and mount.file_system in _MEMORY_FILE_SYSTEMS
    note = f"{path} is on {identity.file_system}: its figures are those of memory, not of a drive"
    return Target(
        name=name,
        kind=kind,
        path=path,
        capacity_bytes=capacity_bytes // block_bytes * block_bytes,
        logical_block_bytes=block_bytes,
        direct_align_bytes=block_bytes if aligned is None else aligned,
        identity=identity,
        label=f"{path.name} in memory ({identity.file_system})"
        if in_memory
        else f"file on {where} ({identity.file_system})",
        notes=(note,) if in_memory else (),
    )


def _identity(mount: Mount | None) -> Identity:
    """The file system, and the one block device below it."""
    if mount is None:
        return Identity(file_system="unknown")
    dev = (
        dev_of_path(mount.source)
        if mount.dev.startswith("0:") and mount.source.startswith("/")
        else mount.dev
    )
    device = sysfs.by_dev(dev) if dev else None
    below = device.identity() if device else Identity()
    return replace(below, file_system=mount.file_system, mount_point=mount.point, mount_options=mount.options)


def _lstat(path: Path) -> os.stat_result | None:
    """The status of a regular file, None when nothing is there.

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
        raise RefusedError(f"{path}: is a symbolic link", f"give the file itself: file:{path.resolve()}")
    raise RefusedError(f"{path}: is not a regular file", "choose another path")


def _kernel_users(path: Path) -> list[str]:
    """Loop devices and swap that use the file; processes may read what they like."""
    loops = [
        entry.parent.parent.name
        for entry in SYS.glob("block/loop*/loop/backing_file")
        if sysfs.text(entry) == str(path.resolve())
    ]
    swaps = [line.split()[0] for line in (sysfs.text(PROC / "swaps") or "").splitlines()[1:]]
    return loops + (["swap"] if str(path.resolve()) in swaps else [])


def _scratch_directory() -> Path:
    """The first writable place on a disk: the user's cache, /var/tmp, else the working directory."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fathom"
    candidates = [cache, Path("/var/tmp"), Path.cwd()]
    for directory in candidates:
        existing = next(parent for parent in [directory, *directory.parents] if parent.is_dir())
        mount = mount_of(existing)
        if os.access(existing, os.W_OK) and not (mount and mount.file_system in _MEMORY_FILE_SYSTEMS):
            directory.mkdir(parents=True, exist_ok=True)
            return directory
    return Path.cwd()


def _free_bytes(directory: Path) -> int:
    """What an ordinary user may still write; the blocks kept for root are left to root."""
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


def _no_direct_io(target: Target) -> FathomError:
    kind = target.identity.file_system or "its file system"
    return FathomError(
        f"{target.name}: {kind} as mounted has no O_DIRECT, so the page cache would be measured",
        "choose a place on another file system",
    )


def _explained(path: Path, error: OSError) -> FathomError:
    known = {
        errno.EROFS: ("the file system is read-only", "choose another place"),
        errno.EACCES: ("no permission", "choose a path that you may write"),
        errno.EPERM: ("no permission; it may be immutable", "choose a path that you may write"),
        errno.ETXTBSY: ("it is in use as swap or as a program", "choose another path"),
        errno.EFBIG: ("the file system does not allow a file of this size", "give a smaller --size"),
    }
    what, hint = known.get(error.errno or 0, ((error.strerror or str(error)).lower(), "choose another place"))
    return FathomError(f"{path}: {what}", hint)


def _path(target: Target) -> Path:
    if target.path is None:
        raise UsageError(f"{target.name} is not a file", "give file:PATH or dir:PATH")
    return target.path
