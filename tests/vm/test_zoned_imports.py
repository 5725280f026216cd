"""Imported fio job files on the kernel's zoned devices: what they ask for, beside fio and the device's zone report."""

import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from block_events import Event, ReportedZone, active_zones, events_of, zones_of
from vm_guest import sh

import fathom
from fathom.imports import import_method
from fathom.runs.reader import Run
from fathom.targets.parse import parse_target
from fathom.targets.safety import destroy_token

MIB = 1 << 20
ZNS = Path("/dev/nvme1n1")
BLOCK = 512 << 10
PAUSE_S = 0.02
#: The first zone that a job has, behind the conventional ones.
FIRST = 8
USUAL = ("rw=randwrite", f"bs={BLOCK}", "direct=1", "ioengine=psync", "zonemode=zbd", f"offset={FIRST}z")


@pytest.fixture(params=["smr", "zns"])
def disk(request: pytest.FixtureRequest) -> Path:
    """A zoned device, all its zones empty: zones that are writable as a whole, or up to a capacity."""
    path: Path = request.getfixturevalue("smr") if request.param == "smr" else ZNS
    sh("blkzone", "reset", str(path))
    if all(event.op != "reset-all" for event in events_of(path, lambda: sh("blkzone", "reset", str(path)))):
        pytest.skip("the trace of this kernel does not name commands of zones")
    return path


def zone_bytes(disk: Path) -> int:
    first, second = zones_of(disk)[:2]
    return second.start - first.start


def job_file(folder: Path, disk: Path, *options: str) -> Path:
    """A job with these options instead or besides. A zone is a unit of lengths, as `z` is in fio."""
    asked = {text.partition("=")[0]: text for text in (f"filename={disk}", *USUAL, *options)}
    zone = zone_bytes(disk)
    lines = [re.sub(r"=(\d+)z$", lambda at: f"={int(at[1]) * zone}", text) for text in asked.values()]
    path = folder / "job.fio"
    path.write_text("\n".join(["[x]", *lines, ""]))
    return path


def by_fio(path: Path, disk: Path) -> tuple[list[Event], int]:
    """What fio asks for, and the resets that it counts."""
    said: list[str] = []
    events = events_of(disk, lambda: said.append(sh("fio", str(path))))
    resets = re.findall(r"(\d+) zone resets", said[0])
    return of_jobs(events), sum(map(int, resets))


def by_fathom(path: Path, disk: Path) -> tuple[list[Event], int]:
    """What Fathom asks for by the imported method, and the resets that it counts."""
    method = path.with_suffix(".toml")
    method.write_text(import_method(path)[0])
    out = path.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    token = destroy_token(parse_target(str(disk)).identity)
    events = events_of(disk, lambda: fathom.run(str(method), str(disk), destroy=[token], out=out))
    [run] = out.glob("*/run.json")
    notes = [note.text for note in Run.open(run.parent).document.notes]
    counts = (re.search(r"(\d+) zone\(s\) were reset", text) for text in notes)
    return of_jobs(events), sum(int(count[1]) for count in counts if count)


BOTH: dict[str, Callable[[Path, Path], tuple[list[Event], int]]] = {"fio": by_fio, "fathom": by_fathom}


def of_jobs(events: Sequence[Event]) -> list[Event]:
    """The requests of jobs: not what is read to know the disk, in less than a block of theirs."""
    return [event for event in events if event.op != "read" or event.size >= BLOCK]


@dataclass
class Followed:
    """Where write pointers stand after each request, from where they stood."""

    zones: dict[int, ReportedZone]
    pointers: dict[int, int] = field(default_factory=dict)
    resets: int = 0
    finished: int = 0
    most_active: int = 0
    written: int = 0

    def follow(self, events: Sequence[Event], size: int) -> "Followed":
        """Fails where a write is not at its pointer, or a read not below it."""
        self.pointers |= {start: zone.pointer for start, zone in self.zones.items()}
        for event in events:
            start = event.offset // size * size
            if event.op == "write":
                assert event.offset == self.pointers[start]
                assert event.offset + event.size <= self.zones[start].end
                self.pointers[start] += event.size
                self.written += event.size
            elif event.op == "read":
                # Before anything is written, a read finds nothing anywhere.
                nothing = not self.written and all(start == at for start, at in self.pointers.items())
                assert nothing or event.offset + event.size <= self.pointers[start]
            else:
                assert event.op in ("reset", "finish")
                assert event.offset == start
                self.pointers[start] = start if event.op == "reset" else self.zones[start].end
                self.resets += event.op == "reset"
                self.finished += event.op == "finish"
            active = sum(start < at < self.zones[start].end for start, at in self.pointers.items())
            self.most_active = max(self.most_active, active)
        return self


def followed(events: Sequence[Event], before: Sequence[ReportedZone], disk: Path) -> Followed:
    """The requests by the rules of zones; their end is what the device reports."""
    size = before[1].start - before[0].start
    state = Followed({zone.start: zone for zone in before if zone.sequential}).follow(events, size)
    assert {zone.start: zone.pointer for zone in zones_of(disk) if zone.sequential} == state.pointers
    return state


@contextmanager
def watched(disk: Path) -> Iterator[list[int]]:
    """How many zones the device itself reports as active, asked again and again meanwhile."""
    counts: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            counts.append(active_zones(disk))
            done.wait(PAUSE_S)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield counts
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("who", BOTH)
def test_zones_with_room_are_reset_by_fios_rule(disk: Path, tmp_path: Path, who: str) -> None:
    size, zones, block, above, every = zone_bytes(disk), 4, BLOCK, 0.3, 8
    per_pass = zones * size // block
    writes = 2 * per_pass + per_pass // 2
    path = job_file(
        tmp_path,
        disk,
        f"size={zones}z",
        f"io_size={writes * block}",
        f"zone_reset_threshold={above}",
        f"zone_reset_frequency={1 / every}",
    )
    before = zones_of(disk)
    capacity = (before[FIRST].end - before[FIRST].start) // block
    events, counted = BOTH[who](path, disk)
    state = followed(events, before, disk)
    assert state.resets == counted
    assert state.most_active <= zones
    held: Counter[int] = Counter()
    left, number, with_room, reset = every, 0, 0, None
    for event in events:
        zone = event.offset // size
        if event.op == "reset":
            assert reset is None
            reset = zone
            continue
        if number % per_pass == 0:
            left = every
        due = False
        if held.total() >= above * per_pass:
            left -= 1
            due = left == 0
            left = left or every
        expected = held[zone] > 0 and (due or held[zone] == capacity)
        assert (reset == zone) == expected, (number, held)
        if expected:
            with_room += held[zone] < capacity
            held[zone] = 0
        held[zone] += 1
        number, reset = number + 1, None
    assert number == writes
    assert with_room > 5


@pytest.mark.parametrize("who", BOTH)
def test_never_more_zones_are_open_than_asked_for(disk: Path, tmp_path: Path, who: str) -> None:
    size = zone_bytes(disk)
    path = job_file(
        tmp_path,
        disk,
        "size=5z",
        # Not whole blocks of a zone: what is left of one is given up.
        "bs=704k",
        "max_open_zones=3",
        "ioengine=libaio",
        "iodepth=3",
        f"io_size={4 * size}",
    )
    before = zones_of(disk)
    with watched(disk) as counts:
        events, counted = BOTH[who](path, disk)
    state = followed(events, before, disk)
    assert state.resets == counted
    assert state.most_active == 3
    assert 0 < max(counts) <= 3
    assert state.finished > 0


@pytest.mark.parametrize("disk", ["zns"], indirect=True)
@pytest.mark.parametrize("who", BOTH)
def test_jobs_together_keep_the_limit_of_all(disk: Path, tmp_path: Path, who: str) -> None:
    size = zone_bytes(disk)
    path = job_file(tmp_path, disk, "size=8z", "numjobs=2", "max_open_zones=4", f"io_size={2 * size}")
    before = zones_of(disk)
    events, counted = BOTH[who](path, disk)
    state = followed(events, before, disk)
    assert state.resets == counted
    assert state.most_active == 4
    assert state.written == 4 * size


def test_zones_in_their_order_take_the_writes_that_fio_makes(disk: Path, tmp_path: Path) -> None:
    size = zone_bytes(disk)
    path = job_file(tmp_path, disk, "rw=write", "size=5z")
    asked: dict[str, list[Event]] = {}
    for who, events_by in BOTH.items():
        sh("blkzone", "reset", str(disk))
        for full in (FIRST, FIRST + 2):
            sh("blkzone", "finish", "-o", hex(full * size // 512), "-c", "1", str(disk))
        begun = (FIRST + 3) * size
        sh("dd", "if=/dev/zero", f"of={disk}", "bs=1M", "count=5", f"seek={begun // MIB}", "oflag=direct")
        before = zones_of(disk)
        asked[who], counted = events_by(path, disk)
        assert followed(asked[who], before, disk).resets == counted == 2
    assert asked["fathom"] == asked["fio"]


@pytest.mark.parametrize("rw", ["write", "randwrite"])
def test_zones_that_are_verified_are_emptied_filled_and_read_back(
    disk: Path, tmp_path: Path, rw: str
) -> None:
    size = zone_bytes(disk)
    path = job_file(tmp_path, disk, f"rw={rw}", "size=2z", "verify=crc32c", "verify_state_save=0")
    written: dict[str, list[Event]] = {}
    for who, events_by in BOTH.items():
        sh("blkzone", "reset", str(disk))
        sh("blkzone", "finish", "-o", hex(FIRST * size // 512), "-c", "1", str(disk))
        before = zones_of(disk)
        events, _ = events_by(path, disk)
        state = followed(events, before, disk)
        assert events[0] == Event("reset", FIRST * size, 0)
        written[who] = [event for event in events if event.op == "write"]
        read = {event.offset for event in events if event.op == "read"}
        if who == "fathom" or before[0].end - before[0].start == size or rw == "write":
            assert state.resets == 1
            assert read == {event.offset for event in written[who]}
            filled = sum(zone.end - zone.start for zone in before[FIRST : FIRST + 2])
            assert sum(event.size for event in written[who]) == filled
    if rw == "write":
        assert written["fathom"] == written["fio"]


@pytest.mark.parametrize(("disk", "how"), [("zns", "read"), ("smr", "randread")], indirect=["disk"])
def test_reads_stay_below_the_write_pointers(disk: Path, tmp_path: Path, how: str) -> None:
    size = zone_bytes(disk)
    for zone, count in ((0, 3), (1, 16), (3, 7)):
        at = (FIRST + zone) * size // MIB
        sh("dd", "if=/dev/zero", f"of={disk}", "bs=1M", f"count={count}", f"seek={at}", "oflag=direct")
    path = job_file(tmp_path, disk, f"rw={how}", "size=5z", "io_size=26m")
    before = zones_of(disk)
    asked = {who: events_by(path, disk)[0] for who, events_by in BOTH.items()}
    for events in asked.values():
        assert followed(events, before, disk).resets == 0
        assert sum(event.size for event in events) == 26 * MIB
        assert {event.op for event in events} == {"read"}
    if how == "read":
        assert asked["fathom"] == asked["fio"]


@pytest.mark.parametrize("disk", ["zns"], indirect=True)
@pytest.mark.parametrize("who", BOTH)
def test_reads_beside_writes_stay_below_the_pointers(disk: Path, tmp_path: Path, who: str) -> None:
    path = job_file(tmp_path, disk, "rw=randrw", "size=6z", "max_open_zones=2", "number_ios=300")
    before = zones_of(disk)
    events, counted = BOTH[who](path, disk)
    state = followed(events, before, disk)
    assert state.resets == counted
    assert state.most_active <= 2
    assert min(Counter(event.op for event in events if event.op != "reset").values()) > 100
