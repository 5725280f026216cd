"""Whether the file systems of this machine have room for the files of targets, before any is made."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from fathom.targets.file_making import lacking_bytes, no_room
from fathom.targets.file_path import free_bytes, target_path
from fathom.targets.file_sets import check_room_of_set
from fathom.targets.target import FILE_KINDS, Target


def check_room(targets: Iterable[Target]) -> None:
    """Raises FathomError where a file system has too little room for all files of the targets that it holds."""
    lacking: dict[int, list[tuple[Path, int]]] = {}
    for target in _single(targets):
        if target.kind == "files":
            check_room_of_set(target)
        elif target.kind in FILE_KINDS and not target.foreign:
            path = target_path(target)
            found = (path, lacking_bytes(target))
            lacking.setdefault(path.parent.stat().st_dev, []).append(found)
    for files in lacking.values():
        free = free_bytes(files[0][0].parent)
        if (needed := sum(lacks for _, lacks in files)) > free:
            raise no_room(max(files, key=lambda file: file[1])[0], needed, free, len(files))


def _single(targets: Iterable[Target]) -> Iterator[Target]:
    for target in targets:
        yield from target.members or (target,)
