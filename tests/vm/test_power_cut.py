"""A power cut of the host under load: QEMU is killed with signal 9, which takes the guest's memory, its page cache
and the volatile caches of its drives. What the write journal says was acknowledged is looked for after the next boot,
on a drive without a write cache, on one with a volatile one, and on drives that lie."""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
MIB = 1 << 20
GIB = 1 << 30
BLOCK = 4096
SECTOR = 512
LOAD_S = 6.0
"""At least, of the slower of the two drives."""
LEAST = 4000
"""Writes to each drive in either half of the load: several flushes, on however slow a host."""
WINDOW_S = 1.0
"""A write whose acknowledgement was told so long before the cut, and the longest that the journal says it was behind,
must be in it: for the sync that the cut ended, in a guest that is starved of CPU."""
MOST_CUTS = 6
"""Where a cut loses nothing of the volatile cache, it came right behind a flush, and the power is cut once more."""
HEADER_BYTES = 512
RECORD = struct.Struct("<6Q")
FLUSH = (0, 0)
"""Size and number of the record of a flush."""
SIGNATURE = struct.Struct("<8s5Q")
FORGETFUL = range(8 * MIB, 9 * MIB, BLOCK)
"""Blocks of the drive without a cache that fall back to what they were in the middle of the load."""


class Record(NamedTuple):
    """A write or flush that was acknowledged."""

    offset: int
    number: int
    issued_ns: int
    acked_ns: int
    size: int


@dataclass
class Cut:
    """What is left after the cut."""

    drives: Path
    results: Path
    arguments: str
    told: list[tuple[float, str, int]] = field(default_factory=list)
    """What the guest printed: how long before the cut in s, drive, writes acknowledged on it until then."""
    earlier: bytes = b""
    """What `FORGETFUL` held in the middle of the load."""

    @property
    def plain(self) -> Path:
        return self.drives / "nvme.img"

    def told_before(self, name: str, seconds: float) -> int:
        """Writes acknowledged on a drive by what the guest had printed so long before the cut."""
        return max(
            (writes for before, drive, writes in self.told if drive == name and before > seconds), default=0
        )

    def boot(self, *command: str, pid: Path | None = None) -> subprocess.Popen[str]:
        pidfile = f" -pidfile {pid}" if pid else ""
        lab = [
            str(HERE / "vmlab"),
            "run",
            "-t",
            "300",
            "-d",
            str(self.drives),
            "-a",
            self.arguments + pidfile,
        ]
        guest = [sys.executable, str(HERE / "power_cut_guest.py"), *command]
        run = [*lab, "--", "env", f"PYTHONPATH={os.environ['PYTHONPATH']}", "PYTHONUNBUFFERED=1", *guest]
        return subprocess.Popen(run, stdout=subprocess.PIPE, text=True)

    def verified(self, *names: str) -> dict[str, dict]:
        """Boots the guest on the drives as they are and verifies in it; the reports."""
        guest = self.boot("verify", str(self.results), *names)
        output, _ = guest.communicate(timeout=400)
        assert guest.returncode == 0, output
        reports = {name: json.loads((self.results / f"{name}.json").read_text()) for name in names}
        print(*self.told, *reports.values(), sep="\n")
        return reports

    def records(self, name: str) -> Iterator[tuple[int, Record]]:
        """Run and records of the drive's journals, read by this test's own code."""
        for path in (self.results / name).glob("*.journal"):
            data = path.read_bytes()
            run = json.loads(data[:HEADER_BYTES])["run"]
            records = data[HEADER_BYTES:]
            whole = len(records) // RECORD.size * RECORD.size
            yield from ((run, Record(*fields[:5])) for fields in RECORD.iter_unpack(records[:whole]))

    def journaled(self, name: str) -> dict[tuple[int, int], tuple[int, int]]:
        """By (number, run): offset and size of every write in the journals."""
        return {(one.number, run): (one.offset, one.size) for run, one in self.records(name) if one.size}

    def unflushed(self, name: str) -> int:
        """Writes in the journals that no flush in them can have made durable."""
        records = [one for _, one in self.records(name)]
        flushed_ns = max((one.issued_ns for one in records if (one.size, one.number) == FLUSH), default=0)
        return sum(one.size > 0 and one.acked_ns > flushed_ns for one in records)


def qcow2(path: Path, size: int) -> None:
    """An empty image. QEMU keeps its maps in memory until a flush: what was written to new places since the last one
    is lost with QEMU, as with a drive's volatile cache (QEMU, docs/interop/qcow2.rst)."""
    cluster_bits = 12
    cluster = 1 << cluster_bits
    tables = size // (cluster * cluster // 8)
    table_clusters = -(-tables * 8 // cluster)
    l1, refcount_table, refcount_block = (
        cluster,
        (1 + table_clusters) * cluster,
        (2 + table_clusters) * cluster,
    )
    head = struct.pack(
        ">4sIQIIQIIQQIIQQQQII",
        *(b"QFI\xfb", 3, 0, 0, cluster_bits, size, 0, tables, l1, refcount_table, 1, 0, 0, 0, 0, 0, 4, 104),
    )
    counts = struct.pack(f">{3 + table_clusters}H", *[1] * (3 + table_clusters))
    with path.open("wb") as image:
        image.write(head)
        image.seek(refcount_table)
        image.write(struct.pack(">Q", refcount_block))
        image.seek(refcount_block)
        image.write(counts.ljust(cluster, b"\0"))


def disk(name: str, path: Path) -> str:
    drive = f"if=none,id={name},file={path},format=qcow2,cache=writeback,discard=ignore"
    return f"-drive {drive} -device virtio-blk-pci,drive={name}"


def killed_under_load(cut: Cut) -> None:
    """Boots, loads both drives, and kills QEMU after a while."""
    pid = cut.results / "pid"
    guest = cut.boot("load", "plain", "volatile", pid=pid)
    told: list[tuple[float, str, int]] = []

    def listen() -> None:
        for line in guest.stdout or ():
            name, writes = line.split()
            told.append((time.monotonic(), name, int(writes)))

    deadline = time.monotonic() + 200

    def loaded(least: int) -> None:
        """Waits until so many writes were told of both drives, and half the time of the load."""
        while len({name for _, name, writes in told if writes >= least}) < 2 and time.monotonic() < deadline:
            assert guest.poll() is None
            time.sleep(0.1)
        time.sleep(LOAD_S / 2)

    listener = Thread(target=listen)
    listener.start()
    try:
        loaded(LEAST)
        with cut.plain.open("rb") as image:
            image.seek(FORGETFUL.start)
            cut.earlier = image.read(FORGETFUL.stop - FORGETFUL.start)
        loaded(2 * LEAST)
    finally:
        cut_at = time.monotonic()
        os.kill(int(pid.read_text()), signal.SIGKILL)
    guest.wait(60)
    listener.join(60)
    cut.told = [(cut_at - at, name, writes) for at, name, writes in told]


def cut_once(drives: Path, results: Path) -> Cut:
    """Cuts the power under load, with fresh drives."""
    drives.mkdir()
    results.mkdir(parents=True)
    for name, size in (("journal", GIB), ("volatile", GIB)):
        qcow2(drives / f"{name}.qcow2", size)
    arguments = " ".join(disk(name, drives / f"{name}.qcow2") for name in ("journal", "volatile"))
    cut = Cut(drives, results, arguments)
    killed_under_load(cut)
    return cut


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Cut, dict[str, dict]]]]:
    """Power cuts and what was found after each, up to the first that lost something of the volatile cache."""
    drives = tmp_path_factory.mktemp("drives")
    results = HERE.parents[1] / "target" / "power-cut"
    shutil.rmtree(results, ignore_errors=True)
    done: list[tuple[Cut, dict[str, dict]]] = []
    while len(done) < MOST_CUTS and not (done and done[-1][1]["volatile"]["wrong"]):
        if done:
            shutil.rmtree(done[-1][0].drives)
        number = str(len(done))
        cut = cut_once(drives / number, results / number)
        done.append((cut, cut.verified("plain", "volatile")))
    yield done
    shutil.rmtree(results)
    shutil.rmtree(drives)


@pytest.fixture(scope="module")
def cut(cuts: list[tuple[Cut, dict[str, dict]]]) -> Cut:
    return cuts[-1][0]


@pytest.fixture(scope="module")
def after_boot(cuts: list[tuple[Cut, dict[str, dict]]]) -> dict[str, dict]:
    return cuts[-1][1]


def test_every_acknowledged_write_is_on_a_drive_without_a_cache(after_boot: dict[str, dict]) -> None:
    report = after_boot["plain"]
    assert (report["wrong"], report["journals"]) == ({}, 2)


@pytest.mark.parametrize("name", ["plain", "volatile"])
def test_the_journal_has_every_write_that_was_told_before_the_cut(
    name: str, cut: Cut, after_boot: dict[str, dict]
) -> None:
    report = after_boot[name]
    assert 0 < report["behind_ns"] < LOAD_S / 2 * 1e9
    assert report["writes"] >= cut.told_before(name, WINDOW_S + report["behind_ns"] / 1e9) > 1000
    assert len(cut.journaled(name)) == report["writes"]


def test_a_volatile_cache_loses_only_what_was_not_flushed(cuts: list[tuple[Cut, dict[str, dict]]]) -> None:
    for cut, reports in cuts:
        report, unflushed = reports["volatile"], cut.unflushed("volatile")
        assert report["wrong"].keys() <= {"unwritten", "stale", "torn"}
        assert sum(report["wrong"].values()) <= unflushed < report["writes"] / 2
        assert report["wrong_though_flushed"] == 0
    assert cuts[-1][1]["volatile"]["wrong"], f"{len(cuts)} cuts lost nothing that was not flushed"


def test_a_drive_that_lies_is_caught_with_each_offset(cut: Cut, after_boot: dict[str, dict]) -> None:
    """Blocks that fell back to an earlier state, one torn, two that changed places, and one with a bit flipped."""
    assert after_boot["plain"]["wrong"] == {}
    known = cut.journaled("plain")
    expected = {"corrupt": 1, "misdirected": 2, "stale": 0, "torn": 1, "unwritten": 0}
    offsets: list[int] = []
    with cut.plain.open("r+b") as image:

        def block(offset: int) -> bytes:
            image.seek(offset)
            return image.read(BLOCK)

        def is_journaled(offset: int) -> bool:
            magic, place, _, _, number, run = SIGNATURE.unpack(block(offset)[: SIGNATURE.size])
            return magic.startswith(b"fathom") and place == offset and (number, run) in known

        for offset, at in zip(FORGETFUL, range(0, len(cut.earlier), BLOCK), strict=True):
            was = cut.earlier[at : at + BLOCK]
            # One whose last write the journal does not know may hold more than the journal asks for; it is left alone.
            if was != block(offset) and is_journaled(offset):
                expected["stale" if any(was) else "unwritten"] += 1
                offsets.append(offset)
                image.seek(offset)
                image.write(was)
        torn, rotten, one, other = [
            offset for offset in range(16 * MIB, 32 * MIB, BLOCK) if is_journaled(offset)
        ][:4]
        swapped = {one: block(other), other: block(one)}
        for offset, data in swapped.items():
            image.seek(offset)
            image.write(data)
        image.seek(torn + 3 * SECTOR)
        image.write(bytes(BLOCK - 3 * SECTOR))
        last = block(rotten)[-1]
        image.seek(rotten + BLOCK - 1)
        image.write(bytes([last ^ 1]))
    report = cut.verified("plain")["plain"]
    assert min(expected.values()) > 0
    assert report["wrong"] == expected
    assert report["wrong_though_flushed"] > 0
    told = [int(text.split(" bytes at ")[1].split(",")[0]) for text in report["reported"]]
    assert told == offsets[:10]
