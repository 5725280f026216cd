"""File targets described: `file:PATH`, `dir:PATH` and `dir:PATH*N`. Nothing is made.

Only files that Fathom made and nobody else wrote to are ever written: `own_file` says which those are. A file is a
block longer than what a load sees of it.
"""

from dataclasses import replace
from pathlib import Path

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.output.text import size
from fathom.targets.file_identity import identity_of, in_memory, notes_on, where_text
from fathom.targets.file_path import allocated_bytes, free_bytes, place, status_of
from fathom.targets.mounts import mount_of
from fathom.targets.own_file import own
from fathom.targets.syscalls import statx
from fathom.targets.target import Kind, Target
from fathom.text_file import check_utf8

SCRATCH_NAME = "fathom-scratch.bin"
SET_NAME = "fathom-set-{number:04}.bin"
SCRATCH_BYTES = 4 << 30
_MIN_SCRATCH_BYTES = 64 << 20
_SIZE_STEP_BYTES = 1 << 20
_RESERVED_SHARE = 0.10
_UNKNOWN_ALIGN_BYTES = 4096


def file_target(path: Path, size_bytes: int | None) -> Target:
    """Describes `file:PATH`; makes nothing. An existing file keeps its size unless another is asked for.

    Raises UsageError for paths that cannot be a file target, RefusedError for symlinks and special files.
    """
    typed = path.absolute()
    path = place(typed)
    status = status_of(path)
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
    described = _describe(typed, f"file:{typed}", "file", capacity)
    return replace(described, foreign=status is not None and not found)


def dir_target(directory: Path, size_bytes: int | None) -> Target:
    """Describes `dir:PATH`: Fathom's own file in the directory, by default 4 GiB where that fits."""
    directory = directory.absolute()
    if not directory.is_dir():
        raise UsageError(f"dir:{directory}: is not a directory", "create it, or write file:PATH for a file")
    path = directory / SCRATCH_NAME
    if size_bytes:
        status_of(place(path))
        return _describe(path, f"dir:{directory}", "dir", size_bytes)
    return replace(planned(path, SCRATCH_BYTES), name=f"dir:{directory}", kind="dir")


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
    return [planned(path, SCRATCH_BYTES // count) for path in paths]


def planned(path: Path, want_bytes: int) -> Target:
    """Returns Fathom's own file: `want_bytes`, or less so that a tenth of the free space stays free.

    A smaller size and a memory file system are said in the target's notes. Raises FathomError when not even 64 MiB fit.
    """
    directory = path.parent
    status = status_of(place(path))
    usable = int(free_bytes(directory) * (1 - _RESERVED_SHARE)) + (allocated_bytes(status) if status else 0)
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


def _describe(typed: Path, name: str, kind: Kind, capacity_bytes: int) -> Target:
    check_utf8(name)
    path = place(typed)
    mount = mount_of(path.parent)
    identity = identity_of(mount)
    block_bytes = identity.logical_block_bytes or _UNKNOWN_ALIGN_BYTES
    if capacity_bytes < block_bytes:
        raise UsageError(
            f"{name}: is smaller than one block of {block_bytes} bytes", "give a larger --size or file"
        )
    aligned = statx(path).direct_align_bytes if status_of(path) else None
    return Target(
        name=name,
        kind=kind,
        path=path,
        capacity_bytes=capacity_bytes // block_bytes * block_bytes,
        logical_block_bytes=block_bytes,
        direct_align_bytes=block_bytes if aligned is None else aligned,
        identity=identity,
        label=f"{path.name if in_memory(identity) else 'file'} {where_text(identity)}",
        notes=notes_on(typed, path, identity),
    )
