"""What is on a device already: file systems, swap, volume managers, encryption, partition tables.

Reads the places where each format keeps its magic number and names what it finds. The offsets are those of
the formats' own headers (the same that libblkid and wipefs look at). Absence of a signature does not mean
absence of data, which is why writing still needs the device's token.
"""

import errno
import os
import struct
from dataclasses import dataclass

_KIB = 1024


@dataclass(frozen=True, slots=True)
class Magic:
    """Bytes that mark a format at one offset; a negative offset counts from the end of the device."""

    name: str
    offset: int
    magic: bytes


_LUKS2_SECOND_HEADERS = tuple(_KIB * kib for kib in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096))
_PAGES = (4 * _KIB, 8 * _KIB, 16 * _KIB, 64 * _KIB)
_BCACHE = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
_BCACHEFS = bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")
_MD = struct.pack("<I", 0xA92B4EFC)

MAGICS: tuple[Magic, ...] = (
    Magic("xfs", 0, b"XFSB"),
    Magic("xfs log", 0, b"\xfe\xed\xba\xbe"),
    Magic("btrfs", 64 * _KIB + 0x40, b"_BHRfS_M"),
    # In zones the first copy of the superblock is a log from the start of the device on.
    Magic("btrfs", 0x40, b"_BHRfS_M"),
    Magic("f2fs", 1 * _KIB, b"\x10\x20\xf5\xf2"),
    Magic("f2fs", 5 * _KIB, b"\x10\x20\xf5\xf2"),
    Magic("erofs", 1 * _KIB, b"\xe2\xe1\xf5\xe0"),
    Magic("squashfs", 0, b"hsqs"),
    Magic("squashfs", 0, b"sqsh"),
    Magic("jfs", 32 * _KIB, b"JFS1"),
    *(Magic("reiserfs", 64 * _KIB + 52, magic) for magic in (b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs")),
    Magic("gfs2", 64 * _KIB, b"\x01\x16\x19\x70\x00\x00\x00\x01"),
    *(Magic("ocfs2", offset, b"OCFSV2") for offset in (1 * _KIB, 2 * _KIB, 4 * _KIB, 8 * _KIB)),
    Magic("apfs", 32, b"NXSB"),
    Magic("hfs+", 1 * _KIB, b"H+\x00\x04"),
    Magic("hfsx", 1 * _KIB, b"HX\x00\x05"),
    Magic("iso9660", 32 * _KIB + 1, b"CD001"),
    *(Magic("udf", 34 * _KIB + 1, magic) for magic in (b"NSR02", b"NSR03")),
    Magic("ntfs", 3, b"NTFS    "),
    Magic("exfat", 3, b"EXFAT   "),
    Magic("bitlocker", 3, b"-FVE-FS-"),
    *(
        Magic("vfat", offset, magic)
        for offset, magic in ((82, b"FAT32   "), (54, b"FAT16   "), (54, b"FAT12   "))
    ),
    Magic("vfat", 54, b"FAT     "),
    Magic("vmfs", 2048 * _KIB, b"\x0d\xd0\x01\xc0"),
    *(Magic("swap", page - 10, magic) for page in _PAGES for magic in (b"SWAPSPACE2", b"SWAP-SPACE")),
    *(
        Magic("hibernation image", page - 10, magic)
        for page in _PAGES
        for magic in (b"S1SUSPEND\0", b"S2SUSPEND\0", b"ULSUSPEND\0", b"LINHIB0001")
    ),
    Magic("luks", 0, b"LUKS\xba\xbe"),
    *(Magic("luks", offset, b"SKUL\xba\xbe") for offset in _LUKS2_SECOND_HEADERS),
    *(Magic("lvm2", sector * 512 + 24, b"LVM2 001") for sector in range(4)),
    Magic("md raid", 0, _MD),
    Magic("md raid", 4 * _KIB, _MD),
    Magic("bcache", 4 * _KIB + 24, _BCACHE),
    Magic("bcachefs", 4 * _KIB + 24, _BCACHEFS),
    Magic("ceph bluestore", 0, b"bluestore block device"),
    Magic("oracle asm", 32, b"ORCLDISK"),
    Magic("stratis", 516, b"!Stra0tis\x86\xff\x02^\x41rh"),
    Magic("vdo", 0, b"dmvdo001"),
    Magic("dm-zoned", 0, b"DZBD"),
    Magic("intel raid", -1024, b"Intel Raid ISM Cfg Sig. "),
    Magic("ddf raid", -512, b"\xde\x11\xde\x11"),
)


def find_signatures(fd: int, size_bytes: int) -> list[str]:
    """Names of all formats whose signature is on the device, each once, in the order they were found.

    Raises OSError when a place that must be looked at cannot be read.
    """
    found = [m.name for m in MAGICS if _at(fd, m.offset, len(m.magic), size_bytes) == m.magic]
    found += [name for name, present in _structured(fd, size_bytes) if present]
    return list(dict.fromkeys(found))


def find_partition_table(fd: int, size_bytes: int) -> str | None:
    """Names the partition table and how many partitions it lists, or None.

    Raises OSError when a place that must be looked at cannot be read.
    """
    for block_bytes in (512, 4 * _KIB):
        if _at(fd, block_bytes, 8, size_bytes) == b"EFI PART":
            return f"GPT with {_gpt_entries(fd, block_bytes, size_bytes)} partition(s)"
        if _at(fd, -block_bytes, 8, size_bytes) == b"EFI PART":
            return "GPT (only its backup at the end is left)"
    return _mbr(_at(fd, 0, 512, size_bytes))


def _at(fd: int, offset: int, length: int, size_bytes: int) -> bytes:
    """`length` bytes at `offset`; nothing when they do not lie on the device."""
    start = offset if offset >= 0 else size_bytes + offset
    if start < 0 or start + length > size_bytes:
        return b""
    found = os.pread(fd, length, start)
    if len(found) != length:
        raise OSError(errno.EIO, f"it ends before byte {start + length}")
    return found


def _structured(fd: int, size_bytes: int) -> list[tuple[str, bool]]:
    """Formats whose magic is too short, or whose place depends on the size."""
    return [
        ("ext2/ext3/ext4", _is_ext(_at(fd, 1 * _KIB, 128, size_bytes))),
        ("md raid", any(_at(fd, place, 4, size_bytes) == _MD for place in _md_end_places(size_bytes))),
        (
            "zfs",
            any(_has_uberblock(_at(fd, place, 128 * _KIB, size_bytes)) for place in _zfs_rings(size_bytes)),
        ),
    ]


def _is_ext(superblock: bytes) -> bool:
    """The 16-bit magic of ext, and the neighbours that random data would not get right (ext4.h)."""
    if superblock[56:58] != b"\x53\xef":
        return False
    inodes, blocks, log_block, revision = (
        struct.unpack_from("<I", superblock, offset)[0] for offset in (0, 4, 24, 76)
    )
    return inodes > 0 and blocks > 0 and log_block <= 6 and revision <= 1


def _md_end_places(size_bytes: int) -> tuple[int, int]:
    """Where md metadata 0.90 and 1.0 lie: the last aligned 64 KiB; the last 8 KiB, aligned to 4 KiB."""
    sectors = size_bytes // 512
    return (size_bytes & ~(64 * _KIB - 1)) - 64 * _KIB, ((sectors - 16) & ~7) * 512


def _zfs_rings(size_bytes: int) -> tuple[int, ...]:
    """The uberblock rings of the four vdev labels (ZFS on-disk specification): two in front, two behind."""
    label = 256 * _KIB
    end = size_bytes // label * label
    return tuple(start + 128 * _KIB for start in (0, label, end - 2 * label, end - label) if start >= 0)


def _has_uberblock(ring: bytes) -> bool:
    magics = (struct.pack("<Q", 0x00BAB10C), struct.pack(">Q", 0x00BAB10C))
    return any(ring[offset : offset + 8] in magics for offset in range(0, len(ring), _KIB))


def _gpt_entries(fd: int, block_bytes: int, size_bytes: int) -> int:
    """Entries in use (UEFI 2.10, 5.3): start, count and entry size of the array stand at 72, 80, 84."""
    header = _at(fd, block_bytes, 92, size_bytes).ljust(92, b"\0")
    start, count, entry_bytes = struct.unpack_from("<QII", header, 72)
    length = min(count, 1024) * min(entry_bytes, 4 * _KIB)
    array = _at(fd, start * block_bytes, length, size_bytes) if entry_bytes >= 128 else b""
    return sum(any(array[at : at + 16]) for at in range(0, len(array), max(entry_bytes, 1)))


def _mbr(sector: bytes) -> str | None:
    """An MBR: 55 AA at the end and four entries whose boot flag is 0 or 80h; an empty table is one too."""
    if sector[510:512] != b"\x55\xaa":
        return None
    entries = [sector[at : at + 16] for at in range(446, 510, 16)]
    if any(entry[0] not in (0, 0x80) for entry in entries):
        return None
    used = sum(entry[4] != 0 and entry[12:16] != bytes(4) for entry in entries)
    return f"MBR with {used} partition(s)"
