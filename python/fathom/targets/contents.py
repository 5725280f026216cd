"""What a device holds: formats and partition tables that Fathom's own table or libblkid knows, or data nobody knows.

Either of the two decides: what one of them knows is there. Where neither knows anything, the first and last MiB and 64
places between are read: all must be blank or data that Fathom's engine wrote. Decides nothing about writing.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from fathom import _core
from fathom.targets import libblkid
from fathom.targets.signatures import find_partition_table, find_signatures, read_at, signatures

PLACES = 64
PLACE_BYTES = 4096
_SECTOR_BYTES = 512
_EDGE_BYTES = 1 << 20
_SHOWN_BYTES = 8
_GOLDEN_RATIO = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class UnknownData:
    """Bytes that are neither blank nor Fathom's own: the first that were found."""

    offset: int
    first: bytes

    def __str__(self) -> str:
        """Return them as a refusal shows them."""
        return f"first bytes {self.first.hex(' ')} at {self.offset}"


@dataclass(frozen=True, slots=True)
class Contents:
    """What is on a device. `unknown` is looked for only where nothing is known."""

    table: str | None
    formats: tuple[str, ...]
    unknown: UnknownData | None = None

    @property
    def known(self) -> bool:
        """Whether a format or a partition table was found."""
        return bool(self.table or self.formats)


def examine(fd: int, size_bytes: int, *, sample: bool, apart_from: tuple[int, int] = (0, 0)) -> Contents:
    """Returns what the open device or file holds; `sample` asks for data that no format explains.

    Such data are not looked for in `apart_from`: start and end of a part, in bytes.
    Raises OSError when a place that must be looked at cannot be read.
    """
    found = Contents(find_partition_table(fd, size_bytes), tuple(find_signatures(fd, size_bytes)))
    if not found.known:
        theirs = libblkid.probe(fd, size_bytes)
        found = Contents(theirs.table, theirs.formats)
    if found.known or not sample:
        return found
    return Contents(None, (), find_unknown(fd, size_bytes, apart_from))


def find_unknown(fd: int, size_bytes: int, apart_from: tuple[int, int] = (0, 0)) -> UnknownData | None:
    """Returns the first data that are neither blank nor Fathom's own, at both ends and 64 places between.

    Passes over the part from `apart_from[0]` to `apart_from[1]`, in bytes. Raises OSError when a place cannot be read.
    """
    # Without it the kernel would read ahead behind each of the places.
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    # Fathom's own data are known by whole sectors.
    places = sampled_places(size_bytes // _SECTOR_BYTES * _SECTOR_BYTES)
    for start, length in _without(places, apart_from):
        data = read_at(fd, start, length, size_bytes)
        at = _core.first_foreign(data)
        if at is not None:
            at += len(data[at:]) - len(data[at:].lstrip(b"\0"))
            return UnknownData(start + at, data[at : at + _SHOWN_BYTES])
    return None


def _without(places: list[tuple[int, int]], part: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yields what is left of the places where the sectors of a part are taken away."""
    low = part[0] // _SECTOR_BYTES * _SECTOR_BYTES
    high = -(-part[1] // _SECTOR_BYTES) * _SECTOR_BYTES
    for start, length in places:
        end = start + length
        before, after = min(end, low), max(start, high)
        if low >= high or end <= low or high <= start:
            yield start, length
            continue
        if start < before:
            yield start, before - start
        if after < end:
            yield after, end - after


def sampled_places(size_bytes: int) -> list[tuple[int, int]]:
    """Returns start and length of what is looked at, in ascending order: the same for every device of a size.

    Each of 64 equal parts has one place, at shares that the golden ratio spreads, so that no period of the data hides.
    """
    edge = min(_EDGE_BYTES, size_bytes)
    last = size_bytes - edge
    part_bytes = size_bytes // PLACES
    starts = [
        int(number * part_bytes + part_bytes * (number * _GOLDEN_RATIO % 1)) // PLACE_BYTES * PLACE_BYTES
        for number in range(PLACES)
    ]
    between = [(start, PLACE_BYTES) for start in starts if edge <= start <= last - PLACE_BYTES]
    return [(0, edge), *between, *([(last, edge)] if last > 0 else [])]


def blank(fd: int, size_bytes: int) -> None:
    """Overwrites with zeroes all places that `examine` looks at and finds something: what a run itself wrote there.

    Raises OSError when a place cannot be written.
    """
    marked = [(found.offset, found.length) for found in signatures(fd, size_bytes)]
    for start, length in [*sampled_places(size_bytes), *marked]:
        os.pwrite(fd, bytes(length), start)
    os.fsync(fd)
