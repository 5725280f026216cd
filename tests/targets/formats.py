"""Images of what a device may hold: made by the formats' own tools where Debian has them, else by their documents."""

import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
SIZE = 16 * MIB


@dataclass(frozen=True)
class Image:
    """How an image is made, and by which rule and word a device that holds it is refused."""

    make: Callable[[Path], None]
    says: str
    rule: str = "signed"
    size: int = SIZE


def tool(*command: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        subprocess.run([*command, str(path)], check=True, capture_output=True)

    return make


def put(*pieces: tuple[int, bytes]) -> Callable[[Path], None]:
    """Bytes at offsets; negative ones count from the end."""

    def make(path: Path) -> None:
        with path.open("r+b") as file:
            for offset, content in pieces:
                file.seek(offset, 0 if offset >= 0 else 2)
                file.write(content)

    return make


def without_first_block(*options: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        tool("mkfs.ext4", "-q", "-F", *options)(path)
        put((0, bytes(64 << 10)))(path)

    return make


def cramfs(path: Path) -> None:
    tree = path.with_suffix(".tree")
    tree.mkdir()
    (tree / "file").write_text("content")
    built = path.with_suffix(".built")
    subprocess.run(["mkfs.cramfs", str(tree), str(built)], check=True, capture_output=True)
    put((0, built.read_bytes()))(path)


def sun_label() -> bytes:
    label = bytearray(512)
    label[:16] = b"Acme 8 GB drive "
    label[508:510] = b"\xda\xbe"
    left = 0
    for word in struct.unpack(">256H", label):
        left ^= word
    struct.pack_into(">H", label, 510, left)
    return bytes(label)


def jmicron() -> bytes:
    words = [*struct.unpack("<2H", b"JM\x01\x00"), *range(1, 62)]
    return struct.pack("<64H", *words, -sum(words) & 0xFFFF)


def via() -> bytes:
    sector = bytearray(b"\x55\xaa\x01" + bytes(range(47)) + bytes(462))
    sector[50] = sum(sector[:50]) & 0xFF
    return bytes(sector)


ATARI = struct.pack(">B3sII", 1, b"GEM", 2, 1024)
HFS = b"BD" + bytes(16) + struct.pack(">HI", 1000, 4096) + bytes(40)
FAT = (
    b"\xeb\x3c\x90MSDOS5.0"
    + struct.pack("<HBHBHHB", 512, 4, 1, 2, 512, 32768, 0xF8)
    + bytes(488)
    + b"\x55\xaa"
)
NILFS = struct.pack("<IHHHHII", 2, 0, 0x3434, 280, 0, 0, 2).ljust(64, b"\0")
LVM1 = struct.pack("<2sHII", b"HM", 1, 0, 1024)

IMAGES: Mapping[str, Image] = {
    "ext4": Image(tool("mkfs.ext4", "-q", "-F"), "ext2/ext3/ext4"),
    "ext4 external journal": Image(tool("mke2fs", "-q", "-F", "-O", "journal_dev"), "ext2/ext3/ext4"),
    "ext4 without its first superblock": Image(without_first_block(), "ext2/ext3/ext4", size=256 * MIB),
    "ext4 of 1 KiB blocks without its first superblock": Image(
        without_first_block("-b", "1024"), "ext2/ext3/ext4"
    ),
    "ext4 of 2 KiB blocks without its first superblock": Image(
        without_first_block("-b", "2048"), "ext2/ext3/ext4", size=128 * MIB
    ),
    "xfs": Image(tool("mkfs.xfs", "-q", "-f"), "xfs", size=512 * MIB),
    "btrfs": Image(tool("mkfs.btrfs", "-q", "-f"), "btrfs", size=256 * MIB),
    "btrfs with only its second superblock": Image(put((64 * MIB + 64, b"_BHRfS_M")), "btrfs", size=65 * MIB),
    "f2fs": Image(tool("mkfs.f2fs", "-q", "-f"), "f2fs", size=128 * MIB),
    "nilfs2": Image(tool("mkfs.nilfs2", "-q", "-f"), "nilfs2", size=256 * MIB),
    "minix": Image(tool("mkfs.minix", "-1"), "minix"),
    "minix2": Image(tool("mkfs.minix", "-2"), "minix"),
    "minix3": Image(tool("mkfs.minix", "-3"), "minix"),
    "bfs": Image(tool("mkfs.bfs"), "bfs"),
    "cramfs": Image(cramfs, "cramfs"),
    "vfat": Image(tool("mkfs.vfat"), "vfat"),
    "exfat": Image(tool("mkfs.exfat"), "exfat"),
    "udf": Image(tool("mkudffs", "--utf8", "-b", "512"), "udf", size=32 * MIB),
    "udf of 4 KiB blocks": Image(tool("mkudffs", "--utf8", "-b", "4096"), "udf", size=32 * MIB),
    "swap": Image(tool("mkswap"), "swap"),
    "nilfs2 without the rest": Image(put((1024, NILFS)), "nilfs2"),
    "nilfs2 with only its second superblock": Image(put((SIZE - 4096, NILFS)), "nilfs2"),
    "f2fs with only its second superblock": Image(put((5 * 1024, b"\x10\x20\xf5\xf2")), "f2fs"),
    "exfat with only its second boot sector": Image(put((12 * 512, b"\xeb\x76\x90EXFAT   ")), "exfat"),
    "vfat with only its second boot sector": Image(put((6 * 512, FAT)), "vfat"),
    "udf without the rest": Image(put((32 * 1024 + 2048, b"\0NSR02")), "udf"),
    "fat without a name": Image(put((0, FAT)), "vfat"),
    "ntfs with only its last sector": Image(put((-512, b"\xeb\x52\x90NTFS    ")), "ntfs"),
    "hfs classic": Image(put((1024, HFS)), "hfs"),
    "hfs+ with only its second volume header": Image(put((-1024, b"H+\0\4")), "hfs+"),
    "refs": Image(put((0, b"\xeb\x52\x90ReFS\0\0\0\0"), (0, b"\0\0\0ReFS\0")), "refs"),
    "ufs1": Image(put((8192 + 1372, struct.pack("<I", 0x00011954))), "ufs1"),
    "ufs1, big-endian": Image(put((8192 + 1372, struct.pack(">I", 0x00011954))), "ufs1"),
    "ufs2": Image(put((65536 + 1372, struct.pack("<I", 0x19540119))), "ufs2"),
    "befs": Image(put((512 + 32, b"1SFB")), "befs"),
    "drbd": Image(put((-4096 + 60, bytes.fromhex("8374026b"))), "drbd"),
    "drbd 9": Image(put((-4096 + 60, bytes.fromhex("8374026d"))), "drbd"),
    "lvm1": Image(put((0, LVM1)), "lvm1"),
    "lsi raid": Image(put((-512, b"$XIDE$")), "lsi raid"),
    "adaptec raid": Image(put((-512, bytes.fromhex("37fc4d1e"))), "adaptec raid"),
    "nvidia raid": Image(put((-1024, b"NVIDIA")), "nvidia raid"),
    "silicon raid": Image(put((-512 + 0x60, b"\0\0\0\x2f")), "silicon raid"),
    "promise raid": Image(put((-63 * 512, b"Promise Technology, Inc.")), "promise raid"),
    "highpoint 37x raid": Image(put((9 * 512 + 32, struct.pack("<I", 0x5A7816F3))), "highpoint raid"),
    "highpoint 45x raid": Image(put((-11 * 512, struct.pack("<I", 0x5A7816F3))), "highpoint raid"),
    "jmicron raid": Image(put((-512, jmicron())), "jmicron raid"),
    "via raid": Image(put((-512, via())), "via raid"),
    "ddf raid, second place": Image(put((-257 * 512, b"\xde\x11\xde\x11")), "ddf raid"),
    "windows dynamic disk": Image(put((-512, b"PRIVHEAD")), "windows ldm"),
    "Apple partition map": Image(put((512, b"PM\0\0")), "Apple partition map", "partitioned"),
    "Sun label": Image(put((0, sun_label())), "Sun label", "partitioned"),
    "BSD label": Image(put((512, struct.pack("<I", 0x82564557))), "BSD disk label", "partitioned"),
    "SGI volume header": Image(put((0, b"\x0b\xe5\xa9\x41")), "SGI volume header", "partitioned"),
    "Amiga RDB": Image(put((3 * 512, b"RDSK")), "Amiga RDB", "partitioned"),
    "Atari": Image(put((0x1C6, ATARI)), "Atari table", "partitioned"),
    "AIX label": Image(put((0, b"\xc9\xc2\xd4\xc1")), "AIX label", "partitioned"),
}
