"""Whether the file systems of this machine have room for the files of targets, before any is made."""

from collections.abc import Iterable, Iterator

from fathom.errors import FathomError
from fathom.output.text import size
from fathom.targets.file_making import Lacking, check_inodes, lacking, no_room
from fathom.targets.file_path import free_bytes
from fathom.targets.file_sets import check_room_of_set
from fathom.targets.target import FILE_KINDS, Target


def check_room(targets: Iterable[Target]) -> None:
    """Raises FathomError where a file system has too little room for all files of the targets that it holds."""
    by_device: dict[int, list[Lacking]] = {}
    for target in _single(targets):
        if target.kind == "files":
            found = check_room_of_set(target)
        elif target.kind in FILE_KINDS and not target.foreign:
            found = lacking(target)
        else:
            continue
        if found.bytes or found.inodes:
            by_device.setdefault(found.path.parent.stat().st_dev, []).append(found)
    for several in by_device.values():
        _check_together(several)


def _check_together(several: list[Lacking]) -> None:
    """Raises FathomError where one file system has too little room, or too few inodes, for all of these."""
    largest = max(several, key=lambda one: one.bytes)
    free = free_bytes(largest.path.parent)
    needed = sum(one.bytes for one in several)
    if needed > free and len(several) == 1:
        raise no_room(largest.path, needed, free)
    if needed > free:
        files = sum(one.files for one in several)
        raise FathomError(
            f"{largest.path}: not enough space: {files:,} files need {size(needed)} together, {largest.path.parent} "
            f"has {size(free)} free",
            "give a smaller --size, fewer or smaller files, or another place",
        )
    check_inodes(several)


def _single(targets: Iterable[Target]) -> Iterator[Target]:
    for target in targets:
        yield from target.members or (target,)
