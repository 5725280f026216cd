"""What is on a device already, by Fathom's own table: file systems, swap, volume managers, encryption, partitions.

Reads the places where each format keeps its magic number (`magics`) or a structure that makes sense (`structures`) and
names what it finds. `contents` asks libblkid too, and looks for data that neither knows.
"""

import errno
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from fathom.targets.magics import FORMATS, TABLES, Magic
from fathom.targets.structures import STRUCTURES

_KIB = 1024
_ATARI_PARTITIONS = 0x1C6
_ATARI_KINDS = (b"GEM", b"BGM", b"XGM", b"LNX", b"SWP", b"RAW", b"MIX", b"UNX")


@dataclass(frozen=True, slots=True)
class Signature:
    """A format whose mark is on a device, and where."""

    name: str
    offset: int
    length: int


def find_signatures(fd: int, size_bytes: int) -> list[str]:
    """Returns the names of all formats whose signature is on the device, each once, in the order they were found.

    Raises OSError when a place that must be looked at cannot be read.
    """
    return list(dict.fromkeys(found.name for found in signatures(fd, size_bytes)))


def signatures(fd: int, size_bytes: int) -> Iterator[Signature]:
    """Yields all signatures with their places. Raises OSError when a place that must be looked at cannot be read."""
    yield from _magics(fd, size_bytes, FORMATS)
    for form in STRUCTURES:
        for place in form.places(size_bytes):
            found = read_at(fd, place, form.length, size_bytes) if place >= 0 else b""
            if found and form.known(found):
                yield Signature(form.name, place, form.length)


def find_partition_table(fd: int, size_bytes: int) -> str | None:
    """Names the partition table and how many partitions it lists, or None.

    Raises OSError when a place that must be looked at cannot be read.
    """
    for block_bytes in (512, 4 * _KIB):
        if read_at(fd, block_bytes, 8, size_bytes) == b"EFI PART":
            return f"GPT with {_gpt_entries(fd, block_bytes, size_bytes)} partition(s)"
        if read_at(fd, -block_bytes, 8, size_bytes) == b"EFI PART":
            return "GPT (only its backup at the end is left)"
    first = read_at(fd, 0, 512, size_bytes)
    found = next(_magics(fd, size_bytes, TABLES), None)
    return found.name if found else _mbr(first) or _sun(first) or _atari(first, size_bytes)


def read_at(fd: int, offset: int, length: int, size_bytes: int) -> bytes:
    """Returns `length` bytes at `offset`, from the end where it is negative; nothing when they do not lie on the
    device.

    Raises OSError where they cannot be read.
    """
    start = offset if offset >= 0 else size_bytes + offset
    if start < 0 or start + length > size_bytes:
        return b""
    found = os.pread(fd, length, start)
    if len(found) != length:
        raise OSError(errno.EIO, f"it ends before byte {start + length}")
    return found


def _magics(fd: int, size_bytes: int, table: tuple[Magic, ...]) -> Iterator[Signature]:
    for row in table:
        length = len(row.magic)
        if read_at(fd, row.offset, length, size_bytes) == row.magic:
            place = row.offset if row.offset >= 0 else size_bytes + row.offset
            yield Signature(row.name, place, length)


def _gpt_entries(fd: int, block_bytes: int, size_bytes: int) -> int:
    """Returns the number of entries in use (UEFI 2.10, 5.3): start, count and entry size of the array stand at 72, 80,
    84.
    """
    header = read_at(fd, block_bytes, 92, size_bytes).ljust(92, b"\0")
    start, count, entry_bytes = struct.unpack_from("<QII", header, 72)
    length = min(count, 1024) * min(entry_bytes, 4 * _KIB)
    array = read_at(fd, start * block_bytes, length, size_bytes) if entry_bytes >= 128 else b""
    return sum(any(array[at : at + 16]) for at in range(0, len(array), max(entry_bytes, 1)))


def _mbr(sector: bytes) -> str | None:
    """Names an MBR: 55 AA at the end and four entries whose boot flag is 0 or 80h; also an empty one."""
    if sector[510:512] != b"\x55\xaa":
        return None
    entries = [sector[at : at + 16] for at in range(446, 510, 16)]
    if any(entry[0] not in (0, 0x80) for entry in entries):
        return None
    used = sum(entry[4] != 0 and entry[12:16] != bytes(4) for entry in entries)
    return f"MBR with {used} partition(s)"


def _sun(sector: bytes) -> str | None:
    """Names a Sun label: the magic DABE, and 256 words whose XOR is 0."""
    if sector[508:510] != b"\xda\xbe":
        return None
    left = 0
    for word in struct.unpack(">256H", sector):
        left ^= word
    return "Sun label" if left == 0 else None


def _atari(sector: bytes, size_bytes: int) -> str | None:
    """Names an Atari (AHDI) table: four entries of flag, three letters, start and length. Each used one must fit the
    device.
    """
    entries = [
        struct.unpack_from(">B3sII", sector, _ATARI_PARTITIONS + 12 * number)
        for number in range(4 if sector else 0)
    ]
    used = [
        entry
        for entry in entries
        if entry[0] & 1
        and entry[1] in _ATARI_KINDS
        and entry[2]
        and 512 * (entry[2] + entry[3]) <= size_bytes
    ]
    return f"Atari table with {len(used)} partition(s)" if used else None
