"""The magic numbers of what may be on a device: one row per format and place. Data only; `signatures` looks for them.

Offsets and bytes are those of the formats' own headers and documents. Rows with a negative offset count from the end of
the device. Formats whose magic has fewer than four bytes, or whose place depends on the device, are in `structures`.
"""

import struct
from dataclasses import dataclass

_KIB = 1 << 10
_MIB = 1 << 20
_GIB = 1 << 30
_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Magic:
    """Bytes that mark a format at one offset; a negative offset counts from the end of the device."""

    name: str
    offset: int
    magic: bytes


_PAGES = (4 * _KIB, 8 * _KIB, 16 * _KIB, 64 * _KIB)
_LUKS2_SECOND_HEADERS = tuple(_KIB * kib for kib in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096))
_BCACHE = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
_BCACHEFS = bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")
_MD = 0xA92B4EFC
_UFS_SUPERBLOCKS = (0, 8 * _KIB, 64 * _KIB, 256 * _KIB)
_UFS_MAGIC_AT = 1372
# Sectors from the end at which Promise's controllers have kept their metadata (dmraid, pdc.h).
_PROMISE_SECTORS = (16, 63, 255, 256, 399, 591, 675, 735, 911, 951, 974, 991, 3087)


def _both_orders(name: str, offset: int, value: int) -> tuple[Magic, Magic]:
    """Returns a 32-bit magic of formats that exist in both byte orders."""
    return Magic(name, offset, struct.pack("<I", value)), Magic(name, offset, struct.pack(">I", value))


_LINUX = (
    Magic("xfs", 0, b"XFSB"),
    Magic("xfs log", 0, b"\xfe\xed\xba\xbe"),
    # The journal superblock (JBD2, version 1 and 2) of an external journal: in the block after the superblock.
    *(
        Magic("ext journal", block_bytes, b"\xc0\x3b\x39\x98\0\0\0" + version)
        for block_bytes in (2 * _KIB, 4 * _KIB, 64 * _KIB)
        for version in (b"\3", b"\4")
    ),
    Magic("btrfs", 64 * _KIB + 0x40, b"_BHRfS_M"),
    # In zones the first copy of the superblock is a log from the start of the device on.
    Magic("btrfs", 0x40, b"_BHRfS_M"),
    Magic("btrfs", 64 * _MIB + 0x40, b"_BHRfS_M"),
    Magic("btrfs", 256 * _GIB + 0x40, b"_BHRfS_M"),
    Magic("f2fs", 1 * _KIB, b"\x10\x20\xf5\xf2"),
    Magic("f2fs", 5 * _KIB, b"\x10\x20\xf5\xf2"),
    Magic("erofs", 1 * _KIB, b"\xe2\xe1\xf5\xe0"),
    Magic("squashfs", 0, b"hsqs"),
    Magic("squashfs", 0, b"sqsh"),
    *(found for offset in (0, 512) for found in _both_orders("cramfs", offset, 0x28CD3D45)),
    Magic("romfs", 0, b"-rom1fs-"),
    Magic("zonefs", 0, b"SFOZ"),
    Magic("ubifs", 0, b"\x31\x18\x10\x06"),
    Magic("ubi", 0, b"UBI#"),
    Magic("jfs", 32 * _KIB, b"JFS1"),
    Magic("jfs", 60 * _KIB, b"JFS1"),
    *(
        Magic("reiserfs", offset + 52, magic)
        for offset in (8 * _KIB, 64 * _KIB)
        for magic in (b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs")
    ),
    Magic("reiser4", 64 * _KIB, b"ReIsEr4"),
    Magic("gfs2", 64 * _KIB, b"\x01\x16\x19\x70\x00\x00\x00\x01"),
    *(Magic("ocfs2", offset, b"OCFSV2") for offset in (1 * _KIB, 2 * _KIB, 4 * _KIB, 8 * _KIB)),
    Magic("bfs", 0, b"\xce\xfa\xad\x1b"),
    *(Magic("swap", page - 10, magic) for page in _PAGES for magic in (b"SWAPSPACE2", b"SWAP-SPACE")),
    *(
        Magic("hibernation image", page - 10, magic)
        for page in _PAGES
        for magic in (b"S1SUSPEND\0", b"S2SUSPEND\0", b"ULSUSPEND\0", b"LINHIB0001")
    ),
)

_OTHER_SYSTEMS = (
    Magic("apfs", 32, b"NXSB"),
    *(Magic("hfs+", offset, b"H+\x00\x04") for offset in (1 * _KIB, -1 * _KIB)),
    *(Magic("hfsx", offset, b"HX\x00\x05") for offset in (1 * _KIB, -1 * _KIB)),
    Magic("iso9660", 32 * _KIB + 1, b"CD001"),
    Magic("high sierra", 32 * _KIB + 9, b"CDROM"),
    *(
        Magic("udf", 32 * _KIB + block_bytes + 1, magic)
        for block_bytes in (2 * _KIB, 4 * _KIB)
        for magic in (b"NSR02", b"NSR03")
    ),
    # The boot sector, and where each keeps its copy of it.
    *(Magic("ntfs", offset, b"NTFS    ") for offset in (3, -_SECTOR + 3)),
    *(Magic("exfat", offset, b"EXFAT   ") for offset in (3, 12 * _SECTOR + 3)),
    *(Magic("vfat", offset + 82, b"FAT32   ") for offset in (0, 6 * _SECTOR)),
    *(Magic("vfat", 54, magic) for magic in (b"FAT16   ", b"FAT12   ", b"FAT     ")),
    Magic("refs", 0, b"\0\0\0ReFS\0"),
    Magic("bitlocker", 3, b"-FVE-FS-"),
    Magic("hpfs", 8 * _KIB, b"\x49\xe8\x95\xf9"),
    *(
        found
        for name, value in [
            ("ufs1", 0x00011954),
            ("ufs1", 0x00095014),
            ("ufs1", 0x00195612),
            ("ufs1", 0x00612195),
            ("ufs1", 0x05231994),
            ("ufs2", 0x19540119),
        ]
        for offset in _UFS_SUPERBLOCKS
        for found in _both_orders(name, offset + _UFS_MAGIC_AT, value)
    ),
    *(Magic("befs", offset, magic) for offset in (32, 544) for magic in (b"BFS1", b"1SFB")),
    *_both_orders("sysv", 512 + 504, 0xFD187E20),
    *_both_orders("vxfs", 1 * _KIB, 0xA501FCF5),
    *(Magic("amiga ffs", 0, b"DOS" + bytes([flavour])) for flavour in range(8)),
    *(Magic("amiga pfs", 0, b"PFS" + bytes([flavour])) for flavour in (1, 2, 3)),
    Magic("amiga sfs", 0, b"SFS\0"),
    Magic("vmfs", 1 * _MIB, b"\x0d\xd0\x01\xc0"),
    Magic("vmfs", 2 * _MIB, b"\x5e\xf1\xab\x2f"),
)

_VOLUMES = (
    Magic("luks", 0, b"LUKS\xba\xbe"),
    *(Magic("luks", offset, b"SKUL\xba\xbe") for offset in _LUKS2_SECOND_HEADERS),
    Magic("filevault", 88, b"CS\x01\0"),
    *(Magic("lvm2", sector * 512 + 24, b"LVM2 001") for sector in range(4)),
    *_both_orders("md raid", 0, _MD),
    *_both_orders("md raid", 4 * _KIB, _MD),
    Magic("bcache", 4 * _KIB + 24, _BCACHE),
    Magic("bcachefs", 4 * _KIB + 24, _BCACHEFS),
    Magic("ceph bluestore", 0, b"bluestore block device"),
    Magic("oracle asm", 32, b"ORCLDISK"),
    Magic("stratis", 516, b"!Stra0tis\x86\xff\x02^\x41rh"),
    Magic("vdo", 0, b"dmvdo001"),
    Magic("dm-zoned", 0, b"DZBD"),
    Magic("dm-verity", 0, b"verity\0\0"),
    Magic("dm-integrity", 0, b"integrt\0"),
    Magic("dm snapshot", 0, b"SnAp"),
    Magic("windows ldm", 6 * _SECTOR, b"PRIVHEAD"),
    Magic("windows ldm", -_SECTOR, b"PRIVHEAD"),
    # drbd_int.h: the last 4 KiB, in which the magic follows seven words of 64 bits and the flags.
    *(Magic("drbd", -4 * _KIB + 60, struct.pack(">I", 0x83740267 + version)) for version in (4, 5, 6)),
)

_RAID_CONTROLLERS = (
    *(Magic("intel raid", offset, b"Intel Raid ISM Cfg Sig. ") for offset in (-1 * _KIB, -8 * _KIB)),
    *(Magic("ddf raid", offset, b"\xde\x11\xde\x11") for offset in (-_SECTOR, -257 * _SECTOR, -4 * _KIB)),
    Magic("lsi raid", -_SECTOR, b"$XIDE$"),
    Magic("adaptec raid", -_SECTOR, b"\x37\xfc\x4d\x1e"),
    *(
        Magic("highpoint raid", offset, struct.pack("<I", value))
        for offset in (9 * _SECTOR + 32, -11 * _SECTOR)
        for value in (0x5A7816F3, 0x5A7816FD)
    ),
    Magic("nvidia raid", -2 * _SECTOR, b"NVIDIA"),
    Magic("silicon raid", -_SECTOR + 0x60, b"\0\0\0\x2f"),
    *(Magic("promise raid", -_SECTOR * sector, b"Promise Technology, Inc.") for sector in _PROMISE_SECTORS),
)

FORMATS: tuple[Magic, ...] = (*_LINUX, *_OTHER_SYSTEMS, *_VOLUMES, *_RAID_CONTROLLERS)
"""What a device holds as a whole."""

TABLES: tuple[Magic, ...] = (
    *(Magic("Apple partition map", block_bytes, b"PM\0\0") for block_bytes in (512, 2 * _KIB, 4 * _KIB)),
    *(found for offset in (0, 64, 512) for found in _both_orders("BSD disk label", offset, 0x82564557)),
    Magic("SGI volume header", 0, b"\x0b\xe5\xa9\x41"),
    *(Magic("Amiga RDB", sector * _SECTOR, b"RDSK") for sector in range(16)),
    Magic("AIX label", 0, b"\xc9\xc2\xd4\xc1"),
    Magic("Solaris VTOC", 512 + 12, b"\xee\xde\x0d\x60"),
)
"""Partition tables that a few bytes give away; GPT, MBR, Sun and Atari take a closer look."""
