import os
import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from loop_devices import sh

from fathom.targets.magics import FORMATS, Magic
from fathom.targets.signatures import find_partition_table, find_signatures

T = TypeVar("T")
SIZE = 8 << 20


def look(find: Callable[[int, int], T], path: Path) -> T:
    fd = os.open(path, os.O_RDONLY)
    try:
        return find(fd, path.stat().st_size)
    finally:
        os.close(fd)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def put(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset if offset >= 0 else SIZE + offset)
        file.write(content)


@pytest.mark.parametrize("magic", FORMATS, ids=lambda magic: f"{magic.name} at {magic.offset}")
def test_each_signature_is_found_whole_and_not_when_damaged(disk: Path, magic: Magic):
    put(disk, magic.offset, magic.magic)
    assert look(find_signatures, disk) == [magic.name]
    put(disk, magic.offset, bytes([magic.magic[0] ^ 0xFF]))
    assert look(find_signatures, disk) == []


@pytest.mark.parametrize("offset", [SIZE - 64 * 1024, SIZE - 8 * 1024], ids=["0.90", "1.0"])
def test_md_metadata_at_the_end_is_found(disk: Path, offset: int):
    put(disk, offset, struct.pack("<I", 0xA92B4EFC))
    assert look(find_signatures, disk) == ["md raid"]


@pytest.mark.parametrize("label", [0, 256 * 1024, SIZE - 512 * 1024, SIZE - 256 * 1024])
@pytest.mark.parametrize("order", ["<", ">"])
def test_any_of_the_four_zfs_labels_is_found(disk: Path, label: int, order: str):
    put(disk, label + 128 * 1024 + 37 * 1024, struct.pack(f"{order}Q", 0x00BAB10C))
    assert look(find_signatures, disk) == ["zfs"]


def test_zeros_and_random_data_carry_no_signature(tmp_path: Path, disk: Path):
    assert look(find_signatures, disk) == []
    assert look(find_partition_table, disk) is None
    noise = tmp_path / "noise"
    for seed in range(20):
        noise.write_bytes(random.Random(seed).randbytes(1 << 20))
        assert look(find_signatures, noise) == []
        assert look(find_partition_table, noise) is None


@pytest.mark.parametrize("size_bytes", [0, 1, 511, 512, 4096, 65536])
def test_devices_smaller_than_the_places_looked_at_do_no_harm(tmp_path: Path, size_bytes: int):
    tiny = tmp_path / "tiny"
    tiny.write_bytes(bytes(size_bytes))
    assert look(find_signatures, tiny) == []
    assert look(find_partition_table, tiny) is None


def test_a_device_shorter_than_it_says_is_an_error_and_not_a_clean_device(disk: Path):
    fd = os.open(disk, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="ends before"):
            find_signatures(fd, 2 * SIZE)
    finally:
        os.close(fd)


def blkid(path: Path, key: str) -> str:
    return subprocess.run(
        ["blkid", "-p", "-o", "value", "-s", key, path], capture_output=True, text=True, check=False
    ).stdout.strip()


@pytest.mark.parametrize(
    ("command", "ours", "theirs"),
    [
        (("mkfs.ext4", "-q", "-F"), "ext2/ext3/ext4", "ext4"),
        (("mkfs.ext2", "-q", "-F"), "ext2/ext3/ext4", "ext2"),
        (("mkfs.ext4", "-q", "-F", "-b", "1024"), "ext2/ext3/ext4", "ext4"),
        (("mkswap",), "swap", "swap"),
    ],
)
def test_what_libblkid_finds_is_found(disk: Path, command: tuple[str, ...], ours: str, theirs: str):
    sh(*command, disk)
    assert blkid(disk, "TYPE") == theirs
    assert look(find_signatures, disk) == [ours]


def gpt(block_bytes: int, used: int) -> bytes:
    header = bytearray(block_bytes)
    header[0:8] = b"EFI PART"
    struct.pack_into("<QII", header, 72, 2, 128, 128)
    entries = b"".join(os.urandom(16) + bytes(112) for _ in range(used)) + bytes(128 * (128 - used))
    return bytes(header) + entries


@pytest.mark.parametrize("block_bytes", [512, 4096])
@pytest.mark.parametrize("used", [0, 3])
def test_gpt_is_found_and_its_partitions_counted(disk: Path, block_bytes: int, used: int):
    put(disk, block_bytes, gpt(block_bytes, used))
    assert look(find_partition_table, disk) == f"GPT with {used} partition(s)"


def test_a_gpt_of_which_only_the_backup_is_left_is_found(disk: Path):
    put(disk, -512, b"EFI PART")
    assert look(find_partition_table, disk) == "GPT (only its backup at the end is left)"


@pytest.mark.parametrize("count", [0, 0xFFFFFFFF])
@pytest.mark.parametrize("entry_bytes", [0, 1, 0xFFFFFFFF])
def test_a_damaged_gpt_header_is_still_a_gpt(disk: Path, count: int, entry_bytes: int):
    header = bytearray(512)
    header[0:8] = b"EFI PART"
    struct.pack_into("<QII", header, 72, 2, count, entry_bytes)
    put(disk, 512, bytes(header))
    table = look(find_partition_table, disk)
    assert table is not None
    assert table.startswith("GPT")


def mbr(*types: int, flag: int = 0x80) -> bytes:
    entries = b"".join(struct.pack("<B3sB3sII", flag, b"", kind, b"", 2048, 2048) for kind in types)
    return bytes(446) + entries.ljust(64, b"\0") + b"\x55\xaa"


def test_mbr_is_found_as_libblkid_finds_it(disk: Path):
    put(disk, 0, mbr(0x83, 0x82))
    assert blkid(disk, "PTTYPE") == "dos"
    assert look(find_partition_table, disk) == "MBR with 2 partition(s)"


def test_an_empty_mbr_is_a_partition_table(disk: Path):
    put(disk, 0, mbr())
    assert look(find_partition_table, disk) == "MBR with 0 partition(s)"


def test_boot_code_marks_without_sound_entries_are_no_mbr(disk: Path):
    put(disk, 0, mbr(0x83, flag=0x17))
    assert look(find_partition_table, disk) is None
