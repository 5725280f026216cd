"""Data that no format explains: foreign ones are refused, blank places and what Fathom's engine wrote are not."""

import json
import os
import random
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from loop_devices import Loops, sh

from fathom._core import Job
from fathom.errors import RefusedError
from fathom.load.backend import EngineBackend
from fathom.targets import libblkid
from fathom.targets.claim import check_target, claim
from fathom.targets.contents import blank, examine, find_unknown, sampled_places
from fathom.targets.discover import discover
from fathom.targets.parse import device_target
from fathom.targets.safety import NO_LIBBLKID, Refusal, check_device, destroy_token

MIB = 1 << 20
SIZE = 64 * MIB


def put(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def holding(loops: Loops, offset: int, content: bytes, size: int = SIZE) -> Path:
    path = loops.image(size)
    put(path, offset, content)
    return loops.attach(path)


def of_unknown(node: Path) -> list[str]:
    return [refusal.reason for refusal in check_device(node) if refusal.rule == "unknown-data"]


def written(node: Path, **job: object) -> Path:
    """The device after Fathom's engine has written to it."""
    target = device_target(node)
    text = {
        "mix": "write",
        "block": "4KiB",
        "pattern": "sequential",
        "load": {"iodepth": 4},
        "until": {"bytes": "8MiB"},
    } | job
    with claim(target, writes=True, destroy_tokens=[destroy_token(target.identity)]) as ready:
        EngineBackend([ready]).start(Job(json.dumps(text)), seed=5).result()
    assert any(node.open("rb").read(MIB))
    return node


def test_a_database_on_a_raw_device_is_refused_with_its_first_bytes(loops: Loops, tmp_path: Path):
    database = tmp_path / "database"
    with sqlite3.connect(database) as connection:
        connection.execute("create table thesis (chapter text)")
    node = holding(loops, 0, database.read_bytes())
    assert of_unknown(node) == ["holds unknown data (first bytes 53 51 4c 69 74 65 20 66 at 0)"]


@pytest.mark.parametrize("offset", [0, 4096, MIB - 1, SIZE - MIB, SIZE - 1])
def test_one_byte_in_the_first_or_last_mib_is_unknown_data(loops: Loops, offset: int):
    assert of_unknown(holding(loops, offset, b"x"))[0].endswith(f" at {offset})")


@pytest.mark.parametrize("number", [1, 20, 40, 62])
def test_data_at_any_of_the_places_between_are_unknown_data(loops: Loops, number: int):
    start, length = sampled_places(SIZE)[number]
    assert of_unknown(holding(loops, start + length - 1, b"x"))


def test_the_places_are_spread_over_the_whole_device_whatever_its_size():
    for size in (8 * MIB, SIZE, 7_681_501_126_656, 22_000_969_973_760):
        places = sampled_places(size)
        assert sum(length for _, length in places) <= 2 * MIB + 64 * 4096
        assert places == sorted(places)
        assert all(start % 4096 == 0 and start + length <= size for start, length in places)
        starts = [start for start, _ in places]
        assert max(b - a for a, b in pairwise(starts)) < 2.1 * size / 64 + MIB


@pytest.mark.parametrize("size", [512, 4096, MIB, MIB + 512, 2 * MIB])
def test_small_devices_are_looked_at_whole(tmp_path: Path, size: int):
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(size - 1) + b"x")
    fd = os.open(disk, os.O_RDWR)
    try:
        found = find_unknown(fd, size)
        assert found is not None
        assert found.offset == size - 1
        blank(fd, size)
        assert find_unknown(fd, size) is None
    finally:
        os.close(fd)


@pytest.mark.parametrize("content", [b"\0", b"\xff"], ids=["zeros", "ones"])
def test_a_blank_device_is_safe(loops: Loops, content: bytes):
    path = loops.image(8 * MIB)
    path.write_bytes(content * (8 * MIB))
    assert check_device(loops.attach(path)) == []


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"block": "512B"},
        {"block": "64KiB"},
        {"mix": {"read": 30, "write": 70}, "pattern": "uniform"},
        {"content": {"compressible": "50%"}},
        {"content": {"compressible": "97%"}},
        {"content": {"compressible": "100%"}},
        {"content": {"dedup": "60%"}},
        {"content": {"verify": 1}},
    ],
    ids=lambda job: json.dumps(job),
)
def test_what_a_run_wrote_is_known_again(loops: Loops, job: dict[str, object]):
    assert check_device(written(loops.attach(8 * MIB), **job)) == []


def test_foreign_data_over_what_a_run_wrote_are_refused(loops: Loops):
    node = written(loops.attach(8 * MIB))
    start, _ = sampled_places(8 * MIB)[30]
    put(node, start, b"InnoDB page")
    assert of_unknown(node) == [f"holds unknown data (first bytes {b'InnoDB p'.hex(' ')} at {start})"]


def test_a_copy_of_what_a_run_wrote_in_which_one_bit_was_changed_is_foreign(loops: Loops):
    node = written(loops.attach(8 * MIB))
    byte = node.open("rb").read(600)[599]
    put(node, 599, bytes([byte ^ 1]))
    assert of_unknown(node)


def test_unknown_data_take_a_second_word_beside_the_token(loops: Loops):
    target = device_target(holding(loops, 5 * MIB, b"x" * 60 * 4096 * 4))
    put(Path(target.name), 0, b"x")
    token = destroy_token(target.identity)
    with pytest.raises(RefusedError, match="--unknown-data, with --destroy") as caught:
        check_target(target, writes=True, destroy_tokens=[token])
    assert caught.value.rules == ("unknown-data",)
    with pytest.raises(RefusedError, match="this destroys all data"):
        check_target(target, writes=True, unknown_data=True)
    with claim(target, writes=True, destroy_tokens=[token], unknown_data=True):
        pass
    with (
        pytest.raises(RefusedError, match="unknown data"),
        claim(target, writes=True, destroy_tokens=[token]),
    ):
        pass


@pytest.mark.parametrize("make", [("mkfs.ext4", "-q"), ("mkswap",)], ids=["ext4", "swap"])
def test_the_second_word_lifts_no_other_refusal(loops: Loops, make: tuple[str, ...]):
    node = loops.attach()
    sh(*make, node)
    target = device_target(node)
    with pytest.raises(RefusedError, match="holds"):
        check_target(target, writes=True, destroy_tokens=[destroy_token(target.identity)], unknown_data=True)


def test_reading_is_not_concerned_and_looks_for_nothing(loops: Loops, monkeypatch: pytest.MonkeyPatch):
    target = device_target(holding(loops, 0, b"x"))
    monkeypatch.setattr("fathom.targets.contents.find_unknown", lambda *_: pytest.fail("it was sampled"))
    assert check_target(target, writes=False) == target


def test_a_read_only_device_is_not_sampled(loops: Loops):
    path = loops.image(SIZE)
    put(path, 0, b"x")
    assert [refusal.rule for refusal in check_device(loops.attach(path, "--read-only"))] == ["read-only"]


def test_a_device_with_a_known_format_says_that_and_not_unknown_data(loops: Loops):
    node = loops.attach()
    sh("mkfs.ext4", "-q", node)
    assert check_device(node) == [Refusal("signed", "holds ext2/ext3/ext4")]


def test_the_list_of_devices_names_unknown_data(loops: Loops):
    node = holding(loops, 0, b"x")
    (report,) = [one for one in discover() if one.target.name == str(node)]
    assert report.verdict == "refused: holds unknown data (first bytes 78 00 00 00 00 00 00 00 at 0)"


def test_sampling_reads_two_mib_and_64_places_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(1 << 40)
    read = os.pread
    lengths: list[int] = []

    def counted(fd: int, length: int, offset: int) -> bytes:
        lengths.append(length)
        return read(fd, length, offset)

    fd = os.open(disk, os.O_RDONLY)
    try:
        monkeypatch.setattr(os, "pread", counted)
        assert find_unknown(fd, 1 << 40) is None
        assert lengths.count(4096) <= 64
        assert sum(lengths) <= 2 * MIB + 64 * 4096
    finally:
        os.close(fd)


def test_a_run_without_libblkid_says_so(loops: Loops, monkeypatch: pytest.MonkeyPatch):
    target = device_target(loops.attach())
    tokens = [destroy_token(target.identity)]
    assert NO_LIBBLKID not in check_target(target, writes=True, destroy_tokens=tokens).notes
    monkeypatch.setattr("fathom.targets.libblkid._library", lambda: None)
    assert NO_LIBBLKID in check_target(target, writes=True, destroy_tokens=tokens).notes


def test_libblkid_names_every_format_that_is_there_at_once(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(SIZE))
    sh("mkfs.ext4", "-q", "-F", disk)
    put(disk, SIZE - 4096 + 60, bytes.fromhex("8374026b"))
    fd = os.open(disk, os.O_RDONLY)
    try:
        assert set(libblkid.probe(fd, SIZE).formats) == {"ext4", "drbd"}
        assert set(examine(fd, SIZE, sample=True).formats) == {"ext2/ext3/ext4", "drbd"}
    finally:
        os.close(fd)


def test_random_data_of_another_writer_are_never_taken_for_fathoms(tmp_path: Path):
    disk = tmp_path / "disk"
    for seed in range(20):
        disk.write_bytes(random.Random(seed).randbytes(MIB))
        fd = os.open(disk, os.O_RDONLY)
        try:
            assert find_unknown(fd, MIB)
        finally:
            os.close(fd)
