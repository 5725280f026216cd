"""The path of a file target: what is there, how much room is around it, and why it cannot be used."""

import errno
import os
import stat
from pathlib import Path

from fathom.errors import NEW_RUN, FathomError, RefusedError, UsageError
from fathom.targets import sysfs
from fathom.targets.target import Target


def target_path(target: Target) -> Path:
    """Returns where a target's file or directory is. Raises UsageError where it has none."""
    if target.path is None:
        raise UsageError(f"{target.name} is not a file", "give file:PATH or dir:PATH")
    return target.path


def place(path: Path) -> Path:
    """Returns where the file is, through all symbolic links above it; the name itself is not followed.

    Raises UsageError for links that lead in a circle.
    """
    try:
        return path.parent.resolve() / path.name
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path}: symbolic links lead in a circle", "check the path") from error


def status_of(path: Path) -> os.stat_result | None:
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


def free_bytes(directory: Path) -> int:
    """Returns what an ordinary user may still write; the blocks kept for root are left to root."""
    room = os.statvfs(directory)
    return room.f_bavail * room.f_frsize


def allocated_bytes(status: os.stat_result) -> int:
    """Returns the room that a file has on its file system, holes left out."""
    return status.st_blocks * sysfs.SECTOR_BYTES


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


def replaced(path: Path) -> RefusedError:
    """Returns the refusal of a path that leads to another file than before."""
    return RefusedError(f"{path}: another file has taken its place since it was checked", NEW_RUN)
