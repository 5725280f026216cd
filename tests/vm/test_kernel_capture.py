"""Captures of the kernel's own devices are what fio says that it did: every request once, none damaged or lost."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from vm_guest import sh

import fathom as package
from fathom._core import TRACE_OPERATIONS
from fathom.capture.session import TRACEFS, Asked, Done, Via, end_left_behind, record
from fathom.errors import RefusedError
from fathom.plan.replay import Replay
from fathom.targets.safety import block_device, destroy_token
from fathom.traces.batch import NO_LATENCY
from fathom.traces.opening import open_trace

Seen = Counter[tuple[str, int, int]]
COUNT = 3000
COLUMNS = ("operation", "offset_bytes", "size_bytes", "flags", "pid")
MIX = "--rw=randrw --bssplit=4k/50:8k/30:64k/20 --ba=4k --direct=1 --ioengine=libaio --iodepth=8 --size=64m"


def null_disk() -> Path:
    sh("modprobe", "null_blk", "nr_devices=0")
    folder = Path("/sys/kernel/config/nullb/nullb7")
    if not folder.exists():
        folder.mkdir()
        for name, value in (("size", "1024"), ("blocksize", "512"), ("power", "1")):
            (folder / name).write_text(value)
    return (
        Path("/dev/nullb7")
        if Path("/dev/nullb7").exists()
        else Path(f"/dev/nullb{(folder / 'index').read_text().strip()}")
    )


def loop_disk() -> Path:
    sh("modprobe", "loop")
    image = Path("/dev/shm/image")
    image.touch()
    with image.open("r+b") as file:
        file.truncate(256 << 20)
    return Path(sh("losetup", "--show", "--find", "--direct-io=off", str(image)).strip())


@pytest.fixture(scope="module")
def disks() -> dict[str, Path]:
    found = {"nvme": Path("/dev/nvme2n1"), "null_blk": null_disk(), "loop": loop_disk()}
    for disk in found.values():
        # A request that is merged into another is one request, where fio counts two.
        Path(f"/sys/block/{disk.name}/queue/nomerges").write_text("2")
    return found


@contextmanager
def capturing(out: Path, *devices: Path, via: Via | None = None) -> Iterator[list[Done]]:
    """Captures what fio does while the block runs; the list then has the result."""
    found: list[Done] = []
    ended, begun = Event(), Event()
    # Debian's fio of another release is started by its loader, whose name the kernel keeps.
    asked = Asked(devices, out, processes=("fio", "ld.so"), via=via)

    def work() -> None:
        found.append(record(asked, ended, lambda waited_s, copied_bytes: begun.set()))

    thread = Thread(target=work)
    thread.start()
    try:
        assert begun.wait(60)
        yield found
    finally:
        ended.set()
        thread.join(120)


def capture_until_asked(asked: Asked) -> None:
    ended = Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    record(asked, ended)


@contextmanager
def capturing_process(asked: Asked) -> Iterator[int]:
    """A capture in a process of its own, from when it has begun until Ctrl-C: its number."""
    # A fork, since a new interpreter takes a minute on a guest that shares its host.
    process = get_context("fork").Process(target=capture_until_asked, args=(asked,))
    process.start()
    assert process.pid is not None
    records = asked.out.with_name(f"{asked.out.name}.records")
    deadline = time.monotonic() + 60
    while not (records.exists() and list(records.iterdir())):
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    try:
        yield process.pid
    finally:
        if process.is_alive():
            os.kill(process.pid, signal.SIGINT)
        process.join(120)


def fio(disk: Path, log: Path, *more: str, count: int = COUNT) -> None:
    command = ["fio", "--name=a", f"--filename={disk}", *MIX.split(), f"--number_ios={count}", *more]
    sh(*command, f"--write_iolog={log}", "--output=/dev/null")


def seen(path: Path, without: str | None = None) -> Seen:
    """Counts each operation, offset and size of a trace, but of processes whose name begins with `without`."""
    found: Seen = Counter()
    trace = open_trace(path)
    for batch in trace.batches():
        others = [
            number
            for number, name in enumerate(trace.processes)
            if without is not None and name.startswith(without)
        ]
        kept = ~np.isin(batch.process, others)
        names = [TRACE_OPERATIONS[one] for one in batch.operation[kept]]
        places, sizes = batch.offset_bytes[kept].tolist(), batch.size_bytes[kept].tolist()
        found.update(zip(names, places, sizes, strict=True))
    return found


@pytest.mark.parametrize("kind", ["nvme", "null_blk", "loop"])
def test_a_capture_equals_the_log_of_fio_per_operation_size_and_offset(
    kind: str, disks: dict[str, Path], tmp_path: Path
) -> None:
    for number in range(int(os.environ.get("FATHOM_VM_CAPTURES", "2"))):
        out, log = tmp_path / f"{number}.parquet", tmp_path / f"{number}.log"
        with capturing(out, disks[kind]) as found:
            fio(disks[kind], log, f"--randseed={number}")
        [done] = found
        assert seen(out) == seen(log)
        faults = done.findings
        assert (done.converted.ios, done.lost, faults.wrong, faults.unfinished) == (COUNT, 0, 0, 0)
        ios = next(iter(open_trace(out).batches()))
        assert not (ios.latency_ns == NO_LATENCY).any()
        assert set(np.unique(ios.cpu).tolist()) <= {0, 1}


@pytest.mark.parametrize("name", ["nvme", "null_blk", "loop"])
def test_tracepoints_and_the_block_trace_record_the_same_requests(
    name: str, disks: dict[str, Path], tmp_path: Path
) -> None:
    if not (TRACEFS / "instances").is_dir():
        sh("mount", "-t", "tracefs", "tracefs", str(TRACEFS))
    outs = tmp_path / "tracepoints.parquet", tmp_path / "block-trace.parquet"
    with (
        capturing(outs[0], disks[name], via="tracepoints") as one,
        capturing(outs[1], disks[name], via="block-trace") as other,
    ):
        fio(disks[name], tmp_path / "log", "--fsync=50")
    assert [(done.via, done.lost) for done in (*one, *other)] == [("tracepoints", 0), ("block-trace", 0)]
    traces = [open_trace(out) for out in outs]
    ours, theirs = ([*trace.batches()] for trace in traces)
    assert sum(map(len, ours)) >= COUNT
    for column in COLUMNS:
        our_own, their_own = (
            np.concatenate([getattr(batch, column) for batch in batches]) for batches in (ours, theirs)
        )
        assert np.array_equal(our_own, their_own), column
    # Names have numbers in the order in which each trace first has them.
    our_names, their_names = (
        [trace.processes[number] for batch in batches for number in batch.process]
        for trace, batches in zip(traces, (ours, theirs), strict=True)
    )
    assert our_names == their_names


def test_partitions_are_captured_as_devices_of_their_own(disks: dict[str, Path], tmp_path: Path) -> None:
    disk = disks["nvme"]
    mib = 2048
    for number in (1, 2):
        sh("addpart", str(disk), str(number), str(number * 600 * mib), str(512 * mib))
    parts = [Path(f"{disk}p1"), Path(f"{disk}p2")]
    out = tmp_path / "out.parquet"
    with capturing(out, *parts) as found:
        for part in parts:
            fio(part, tmp_path / f"{part.name}.log", count=500)
    assert found
    trace = open_trace(out)
    assert sum(map(len, trace.batches())) == 1000
    assert sorted(trace.devices) == [part.name for part in parts]
    assert seen(out) == seen(tmp_path / f"{parts[0].name}.log") + seen(tmp_path / f"{parts[1].name}.log")
    for number in (1, 2):
        sh("delpart", str(disk), str(number))


def test_what_finds_no_room_in_the_buffers_is_counted(disks: dict[str, Path], tmp_path: Path) -> None:
    asked = Asked([disks["null_blk"]], tmp_path / "out.parquet", buffer_bytes=1 << 19)
    with capturing_process(asked) as process:
        # A reader that does not come for a while: the kernel goes on until its buffers are full.
        os.kill(process, signal.SIGSTOP)
        fio(disks["null_blk"], tmp_path / "log", count=20_000)
        os.kill(process, signal.SIGCONT)
    trace = open_trace(asked.out)
    assert trace.findings.lost > 0
    assert 0 < sum(map(len, trace.batches())) < 20_000


def test_a_trace_that_a_killed_capture_left_can_be_ended(disks: dict[str, Path], tmp_path: Path) -> None:
    disk = disks["loop"]
    with capturing_process(Asked([disk], tmp_path / "a.parquet")) as process:
        os.kill(process, signal.SIGKILL)
        time.sleep(0.5)
    with pytest.raises(RefusedError, match=f"`fathom capture {disk} --end`"):
        record(Asked([disk], tmp_path / "b.parquet", 1.0), Event())
    end_left_behind(disk)
    with capturing(tmp_path / "c.parquet", disk) as found:
        fio(disk, tmp_path / "log", count=100)
    assert found[0].converted.ios == 100


@pytest.mark.parametrize("kind", ["nvme", "null_blk", "loop"])
def test_a_replay_of_a_log_of_fio_has_its_ios_per_operation_size_and_offset(
    kind: str, disks: dict[str, Path], tmp_path: Path
) -> None:
    disk, log, out = disks[kind], tmp_path / "log", tmp_path / "replayed.parquet"
    fio(disk, log)
    replay = Replay(log, fill="none", align_bytes=4096)
    token = destroy_token(block_device(disk).identity())
    with capturing_process(Asked([disk], out)):
        package.run(
            "replay", [str(disk)], replay=replay, out=tmp_path / "runs", destroy=[token], unknown_data=True
        )
    expected = seen(log)
    assert sum(expected.values()) == COUNT
    # The checks before a run read the disk too, in a thread of the interpreter.
    assert seen(out, without="python") == expected


def test_a_replay_is_captured_on_the_device_that_it_runs_on(disks: dict[str, Path], tmp_path: Path) -> None:
    disk = disks["loop"]
    rows = "".join(f"{n},{'RW'[n % 2]},{4096 * (n * 7919 % 4096)},4096\n" for n in range(500))
    (tmp_path / "trace.csv").write_text(f"time_ms,op,offset,size\n{rows}")
    sh("dd", "if=/dev/zero", f"of={disk}", "bs=1M", "count=256", "conv=fsync")
    replay = Replay(tmp_path / "trace.csv", fill="none")
    out, token = tmp_path / "replayed.parquet", f"{disk.name}:/dev/shm/image"
    with capturing_process(Asked([disk], out)):
        package.run("replay", [str(disk)], replay=replay, out=tmp_path / "runs", destroy=[token])
    expected = seen(tmp_path / "trace.csv")
    assert len(expected) == 500
    assert expected - seen(out) == Counter()
