"""Formats that no long magic number marks: short ones beside which other fields must make sense, and moving ones.

Each row of `STRUCTURES` says where to look, how much to read, and how to know the format. A short magic alone would be
found in one of 65,536 random sectors. So its neighbours are looked at too: random data would not get them right.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

_KIB = 1 << 10
_SECTOR = 512
_MD = struct.pack("<I", 0xA92B4EFC)
_EXT_JOURNAL_DEVICE = 0x8
_ZFS_LABEL = 256 * _KIB


@dataclass(frozen=True, slots=True)
class Structure:
    """A format that `known` recognises from `length` bytes at each of the places for a device of a size."""

    name: str
    places: Callable[[int], tuple[int, ...]]
    length: int
    known: Callable[[bytes], bool]


def _at(*offsets: int) -> Callable[[int], tuple[int, ...]]:
    """Returns a function that gives these places for any device; negative ones count from its end."""
    return lambda size_bytes: tuple(at if at >= 0 else size_bytes + at for at in offsets)


def _is_ext(superblock: bytes) -> bool:
    """Returns whether it is ext: the 16-bit magic, and fields beside it that random data would not match (ext4.h)."""
    if superblock[56:58] != b"\x53\xef":
        return False
    inodes, blocks, log_block, revision, incompatible = (
        struct.unpack_from("<I", superblock, offset)[0] for offset in (0, 4, 24, 76, 96)
    )
    sound = blocks > 0 and log_block <= 6 and revision <= 1
    return sound and (inodes > 0 or bool(incompatible & _EXT_JOURNAL_DEVICE))


def _ext_backups(size_bytes: int) -> tuple[int, ...]:
    """Returns the copies of the superblock (sparse_super): in groups 1, 3, 5, 7, 9 of eight times a block's bytes in
    blocks.
    """
    places = []
    for block_bytes in (1 * _KIB, 2 * _KIB, 4 * _KIB, 64 * _KIB):
        first = 1 if block_bytes == _KIB else 0
        places += [(first + group * 8 * block_bytes) * block_bytes for group in (1, 3, 5, 7, 9)]
    return tuple(place for place in places if place < size_bytes)


def _is_nilfs(superblock: bytes) -> bool:
    """nilfs2_ondisk.h: revision 2, the 16-bit magic, the length of the superblock, the block size."""
    revision, _, magic, length = struct.unpack_from("<IHHH", superblock)
    (log_block,) = struct.unpack_from("<I", superblock, 20)
    return magic == 0x3434 and revision == 2 and 64 <= length <= _KIB and log_block <= 6


def _is_minix(superblock: bytes) -> bool:
    """minix_fs.h, versions 1, 2 and 3 in both byte orders: the magic, and bitmaps of some length."""
    for order in "<>":
        _, _, inode_maps, zone_maps, first_zone, log_zone, _, magic = struct.unpack_from(
            f"{order}6HIH", superblock
        )
        if magic in (0x137F, 0x138F, 0x2468, 0x2478):
            return bool(inode_maps and zone_maps and first_zone) and log_zone <= 8
        _, _, inode_maps, zone_maps, first_zone, log_zone = struct.unpack_from(f"{order}I5H", superblock)
        (magic,) = struct.unpack_from(f"{order}H", superblock, 24)
        if magic == 0x4D5A:
            return bool(inode_maps and zone_maps and first_zone) and log_zone <= 8
    return False


def _is_hfs(block: bytes) -> bool:
    """Returns whether it is HFS, by its master directory block (Inside Macintosh: Files): allocation blocks are some
    number of whole sectors.
    """
    blocks, block_bytes = struct.unpack_from(">HI", block, 18)
    return block[:2] == b"BD" and blocks > 0 and block_bytes > 0 and block_bytes % _SECTOR == 0


def _is_fat(sector: bytes) -> bool:
    """Returns whether it is a FAT boot sector without its name (Microsoft's FAT specification, section 3)."""
    (sector_bytes,) = struct.unpack_from("<H", sector, 11)
    cluster, (reserved,), fats, media = (
        sector[13],
        struct.unpack_from("<H", sector, 14),
        sector[16],
        sector[21],
    )
    return (
        sector[510:512] == b"\x55\xaa"
        and sector[0] in (0xEB, 0xE9)
        and sector_bytes in (512, 1024, 2048, 4096)
        and cluster > 0
        and cluster & (cluster - 1) == 0
        and reserved > 0
        and fats in (1, 2)
        and (media == 0xF0 or media >= 0xF8)
    )


def _is_lvm1(header: bytes) -> bool:
    """lvm1's disk header: its version, then where its own data begin."""
    version, start, length = struct.unpack_from("<HII", header, 2)
    return header[:2] == b"HM" and version in (1, 2) and start == 0 and 0 < length <= 64 * _KIB


def _is_via(sector: bytes) -> bool:
    """Returns whether it ends a member of a VIA RAID (dmraid, via.h): the 51st byte is the sum of the 50 before."""
    return (
        sector[:2] == b"\x55\xaa"
        and sector[2] <= 1
        and any(sector[3:50])
        and sum(sector[:50]) & 0xFF == sector[50]
    )


def _is_jmicron(sector: bytes) -> bool:
    """Returns whether it ends a member of a JMicron RAID (dmraid, jm.h): 64 words whose sum is 0 or 1."""
    return sector[:2] == b"JM" and sum(struct.unpack_from("<64H", sector)) & 0xFFFF in (0, 1)


def _is_xenix(superblock: bytes) -> bool:
    """Returns whether it is a Xenix superblock: the magic at its end, then the block size (sysv_fs.h)."""
    return any(
        struct.unpack_from(f"{order}II", superblock) in ((0x2B5544, 1), (0x2B5544, 2)) for order in "<>"
    )


def _md_end_places(size_bytes: int) -> tuple[int, ...]:
    """Returns where md metadata 0.90 and 1.0 lie: the last aligned 64 KiB; the last 8 KiB, aligned to 4 KiB."""
    sectors = size_bytes // _SECTOR
    return (size_bytes & ~(64 * _KIB - 1)) - 64 * _KIB, ((sectors - 16) & ~7) * _SECTOR


def _zfs_rings(size_bytes: int) -> tuple[int, ...]:
    """Returns the uberblock rings of the four vdev labels (ZFS on-disk specification): two in front, two behind."""
    end = size_bytes // _ZFS_LABEL * _ZFS_LABEL
    return tuple(
        start + 128 * _KIB for start in (0, _ZFS_LABEL, end - 2 * _ZFS_LABEL, end - _ZFS_LABEL) if start >= 0
    )


def _has_uberblock(ring: bytes) -> bool:
    magics = (struct.pack("<Q", 0x00BAB10C), struct.pack(">Q", 0x00BAB10C))
    return any(ring[offset : offset + 8] in magics for offset in range(0, len(ring), _KIB))


def _nilfs_second(size_bytes: int) -> tuple[int, ...]:
    """Returns the second superblock: in the last whole 4 KiB (NILFS_SB2_OFFSET_BYTES)."""
    return ((size_bytes // (4 * _KIB) - 1) * 4 * _KIB,)


STRUCTURES: tuple[Structure, ...] = (
    Structure("ext2/ext3/ext4", _at(1 * _KIB), 128, _is_ext),
    Structure("ext2/ext3/ext4", _ext_backups, 128, _is_ext),
    Structure("nilfs2", _at(1 * _KIB), 64, _is_nilfs),
    Structure("nilfs2", _nilfs_second, 64, _is_nilfs),
    Structure("minix", _at(1 * _KIB), 64, _is_minix),
    Structure("hfs", _at(1 * _KIB, -1 * _KIB), 64, _is_hfs),
    Structure("vfat", _at(0, 6 * _SECTOR), _SECTOR, _is_fat),
    Structure("xenix", _at(1 * _KIB + 0x3F8), 8, _is_xenix),
    Structure("lvm1", _at(0), 16, _is_lvm1),
    Structure("via raid", _at(-_SECTOR), _SECTOR, _is_via),
    Structure("jmicron raid", _at(-_SECTOR), _SECTOR, _is_jmicron),
    Structure(
        "md raid",
        _md_end_places,
        4,
        lambda word: word in (_MD, _MD[::-1]),
    ),
    Structure("zfs", _zfs_rings, 128 * _KIB, _has_uberblock),
)
