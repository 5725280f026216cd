"""What a capture makes of the kernel's records, and what it says where it cannot begin."""

import errno
import mmap
import os
import subprocess
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer

import numpy as np
import pyarrow.parquet as pq
import pytest
from samples import EXPECTED, SAMPLES, blktrace_files
from test_formats import of_text, read
from typer.testing import CliRunner

from fathom import _core
from fathom.capture import session
from fathom.capture.captured import CapturedTrace
from fathom.capture.disks import Disk, Part
from fathom.capture.session import Asked, record, refused
from fathom.cli import app
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.traces.anonymous import AnonymousTrace
from fathom.traces.batch import Trace
from fathom.traces.convert import convert
from fathom.traces.opening import open_blktrace, open_trace

COLUMNS = "time_us,op,offset,size,device,process"
MIB = 1 << 20


def captured(folder: Path, *parts: Part, wanted: tuple[str, ...] = ()) -> CapturedTrace:
    """The sample of blktrace, as that of a disk with parts."""
    files = []
    for cpu, content in enumerate(blktrace_files()):
        files.append(folder / f"x.blktrace.{cpu}")
        files[-1].write_bytes(content)
    disk = Disk("259:0", Path("/dev/nvme0n1"), list(parts))
    return CapturedTrace(open_blktrace("capture", files), [disk], wanted)


def test_advice_on_the_name_of_a_capture_names_options_that_the_command_takes():
    with pytest.raises(UsageError) as refused_name:
        CliRunner().invoke(app, ["capture", "/dev/null", "--out", "trace"], catch_exceptions=False)
    advice = str(refused_name.value)
    assert "end it in .parquet, .csv or .iolog" in advice
    assert "--to" not in advice


def test_a_disk_keeps_every_io_under_its_own_name(tmp_path: Path):
    trace = captured(tmp_path, Part("nvme0n1"))
    ios = read(trace)
    assert ios.offset_bytes.tolist() == [512 * one.sector for one in EXPECTED]
    assert ios.issue_ns.tolist() == [1000 * one.issue_us for one in EXPECTED]
    assert (trace.devices, trace.left_out) == (["nvme0n1"], 0)


def test_a_second_disk_without_a_block_trace_leaves_no_file_of_the_first_in_the_way_of_tracepoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    raw = tmp_path / "records"
    raw.mkdir()

    def capture(nodes: list[Path], folder: Path, *_: object, tracepoints: bool = False) -> str:
        (folder / "sda.blktrace.0").open("x").close()
        if not tracepoints:
            raise OSError(errno.ENOTTY, "no block trace", str(nodes[1]))
        return "capture"

    for place in ("debug/block", "tracing/instances"):
        (tmp_path / place).mkdir(parents=True)
    monkeypatch.setattr(_core, "Capture", capture)
    asked = Asked([], tmp_path / "out", debugfs=tmp_path / "debug", tracefs=tmp_path / "tracing")
    disks = [Disk("8:0", Path("/dev/sda")), Disk("8:16", Path("/dev/sdb"))]
    assert session._started(asked, disks, raw) == ("tracepoints", "capture")


def test_partitions_are_told_apart_and_count_from_their_start(tmp_path: Path):
    low, high = Part("nvme0n1p1", 512 * 2048, 512 * 4096), Part("nvme0n1p2", 512 * 4096, 512 * 5000)
    trace = captured(tmp_path, low, high)
    ios = read(trace)
    inside = [one for one in EXPECTED if 2048 <= one.sector < 5000]
    assert [trace.devices[one] for one in ios.device] == [
        "nvme0n1p1" if one.sector < 4096 else "nvme0n1p2" for one in inside
    ]
    assert ios.offset_bytes.tolist() == [
        512 * (one.sector - (2048 if one.sector < 4096 else 4096)) for one in inside
    ]
    assert ios.issue_ns[0] == 0
    assert trace.left_out == len(EXPECTED) - len(inside) == 2


def test_a_flush_goes_to_the_first_partition_of_its_disk(tmp_path: Path):
    text = "1,F,0,0,259:0,a\n2,W,8192,4096,259:0,a\n"
    disk = Disk("259:0", Path("/dev/x"), [Part("x1", 0, 4096), Part("x2", 8192, 1 << 20)])
    trace = CapturedTrace(of_text(tmp_path, text, COLUMNS), [disk])
    ios = read(trace)
    assert [trace.devices[one] for one in ios.device] == ["x1", "x2"]


def test_a_process_is_found_by_a_name_that_the_kernel_cuts(tmp_path: Path):
    text = "1,R,0,4096,259:0,backup-service-\n2,R,0,4096,259:0,backup\n"
    recorded = of_text(tmp_path, text, "time_us,op,offset,size,device,process")
    disk = Disk("259:0", Path("/dev/nvme0n1"), [Part("nvme0n1")])
    assert len(read(CapturedTrace(recorded, [disk], ("backup-service-daemon",)))) == 1


@pytest.mark.parametrize(("wanted", "count"), [("fio", 10), ("1234", 10), ("other", 0), ("12", 0)])
def test_only_a_process_is_kept_by_name_or_number(wanted: str, count: int, tmp_path: Path):
    trace = captured(tmp_path, Part("nvme0n1"), wanted=(wanted,))
    assert sum(map(len, trace.batches())) == count
    assert trace.left_out == 10 - count


def anonymous(folder: Path, text: str) -> Trace:
    return AnonymousTrace(lambda: of_text(folder, text, COLUMNS))


def test_anonymous_places_keep_order_reuse_and_runs(tmp_path: Path):
    drawn = np.random.default_rng(3)
    offsets = (4096 * drawn.integers(0, 1 << 28, 400)).tolist()
    offsets += [offsets[7], offsets[7] + 4096, offsets[11] - 4096]
    text = "".join(f"{time},R,{offset},4096,sda,db\n" for time, offset in enumerate(offsets))
    before, after = read(of_text(tmp_path, text, COLUMNS)), read(anonymous(tmp_path, text))
    assert np.array_equal(np.argsort(before.offset_bytes), np.argsort(after.offset_bytes))
    distance, moved = (np.diff(np.sort(one.offset_bytes).astype(np.int64)) for one in (before, after))
    near = distance < MIB
    assert np.array_equal(distance[near], moved[near])
    assert np.all(moved[~near] >= 4096)
    assert int(after.offset_bytes.min()) < MIB
    assert int(after.offset_bytes.max()) < 2 * MIB * len(offsets)


def test_pieces_with_a_gap_between_them_do_not_touch(tmp_path: Path):
    ends, begins = 10 * MIB - 4096, 500 * MIB
    text = (
        f"1,R,{ends},4096,sda,db\n2,R,{begins},4096,sda,db\n3,F,0,0,sda,db\n4,W,{begins},{3 * MIB},sda,db\n"
    )
    ios = read(anonymous(tmp_path, text))
    assert ios.offset_bytes.tolist() == [MIB - 4096, 2 * MIB, 0, 2 * MIB]


def test_anonymous_places_take_memory_for_what_is_touched_and_not_for_the_space_between(tmp_path: Path):
    offsets = [0, 250 << 40, (250 << 40) + MIB - 512, 8 * MIB]
    text = "".join(f"{number},R,{offset},1024,259:0,a\n" for number, offset in enumerate(offsets))
    tracemalloc.start()
    ios = read(anonymous(tmp_path, text))
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    first, far, behind, near = ios.offset_bytes.tolist()
    assert (first, near, far) == (0, 2 * MIB, 4 * MIB)
    assert behind == far + MIB - 512
    assert most_bytes < 16 * MIB


def test_anonymous_names_are_numbers(tmp_path: Path):
    convert(anonymous(tmp_path, "1,R,0,512,sda,db\n2,R,0,512,sdb,web\n"), tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["device"].to_pylist() == ["device-0", "device-1"]
    assert table["process"].to_pylist() == ["process-0", "process-1"]
    assert table["pid"].null_count == table["cpu"].null_count == 2
    assert b"web" not in (tmp_path / "out.parquet").read_bytes()


def test_lost_records_are_stored_in_the_trace_and_said(tmp_path: Path):
    out = tmp_path / "out.parquet"
    convert(of_text(tmp_path, SAMPLES["blkparse"].text), out, lost=3)
    again = open_trace(out)
    assert again.findings.lost == 3
    convert(again, tmp_path / "again.parquet")
    assert open_trace(tmp_path / "again.parquet").findings.lost == 3


def asked(folder: Path, device: Path) -> Asked:
    return Asked([device], folder / "out.parquet", 1.0, debugfs=folder / "debug", tracefs=folder / "tracing")


def refusal(folder: Path, device: Path) -> FathomError:
    with pytest.raises(FathomError) as caught:
        record(asked(folder, device), Event())
    assert "\n" not in str(caught.value)
    assert list(folder.glob("out.parquet*")) == []
    return caught.value


@pytest.fixture
def disk() -> Path:
    found = next((one for one in Path("/dev").glob("loop[0-9]*") if one.is_block_device()), None)
    if found is None:
        pytest.skip("needs a block device")
    return found


def test_a_file_is_no_device_to_capture(tmp_path: Path):
    (tmp_path / "file").touch()
    assert "no block device" in str(refusal(tmp_path, tmp_path / "file"))
    assert "no such device" in str(refusal(tmp_path, tmp_path / "none"))


def test_without_either_file_system_of_the_kernel_both_mounts_are_named(disk: Path, tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    error = refusal(tmp_path, disk)
    assert isinstance(error, UsageError)
    assert f"mount -t debugfs debugfs {tmp_path}/debug" in str(error)
    assert f"mount -t tracefs tracefs {tmp_path}/tracing" in str(error)


@pytest.fixture
def tracefs(tmp_path: Path) -> Iterator[Path]:
    """Where the kernel has tracepoints, mounted for the test alone."""
    folder = tmp_path / "tracing"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tracefs", "tracefs", folder], capture_output=True, check=False)
    if done.returncode or not (folder / "instances").is_dir():
        pytest.skip("needs the right to mount tracefs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Path]:
    """A loop device over a file of 16 MiB, with the sectors that the file has."""
    file = tmp_path / "disk"
    file.write_bytes(bytes(16 * MIB))
    command = ["losetup", "--find", "--show", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("needs the right to set up a loop device")
    device = Path(done.stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_tracepoints_record_every_io_of_the_disk_alone_with_its_time_and_leave_nothing(
    tracefs: Path, loop: Path, tmp_path: Path
):
    def load() -> None:
        block = mmap.mmap(-1, 4096)
        file = os.open(loop, os.O_RDWR | os.O_DIRECT)
        for place in offsets:
            os.preadv(file, [block], place)
            os.pwritev(file, [block], place + 4096)
        os.close(file)
        ended.set()

    drawn = np.random.default_rng(5)
    offsets: list[int] = (8192 * drawn.integers(0, 2000, 100)).tolist()
    want = asked(tmp_path, loop)
    assert not want.has_block_trace
    ended = Event()
    Timer(0.5, load).start()
    done = record(replace(want, duration_s=30.0), ended)
    assert (done.via, done.lost, done.converted.ios) == ("tracepoints", 0, 200)
    ios = read(open_trace(want.out))
    operations = [_core.TRACE_OPERATIONS[number] for number in ios.operation]
    assert list(zip(operations, ios.offset_bytes.tolist(), strict=True)) == [
        one for place in offsets for one in (("read", place), ("write", place + 4096))
    ]
    assert set(ios.size_bytes.tolist()) == {4096}
    assert 0 < ios.latency_ns.min() <= ios.latency_ns.max() < 10_000_000_000
    assert not list((tracefs / "instances").glob(f"fathom-{loop.name}"))


def test_a_trace_that_goes_on_is_named_and_one_left_behind_is_ended(
    tracefs: Path, loop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tracefs / "instances" / f"fathom-{loop.name}").mkdir()
    error = refusal(tmp_path, loop)
    assert f"{loop} is traced already" in str(error)
    monkeypatch.setattr(session, "TRACEFS", tracefs)
    session.end_left_behind(loop)
    assert not (tracefs / "instances" / f"fathom-{loop.name}").exists()


@pytest.fixture
def nobody() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_without_root_the_right_is_named(disk: Path, tmp_path: Path, nobody: None):
    with pytest.raises(RefusedError, match="CAP_SYS_ADMIN") as caught:
        record(asked(tmp_path, disk), Event())
    assert "\n" not in str(caught.value)


def test_an_output_that_exists_stays(disk: Path, tmp_path: Path):
    (tmp_path / "out.parquet").write_text("mine")
    with pytest.raises(RefusedError, match="exists"):
        record(asked(tmp_path, disk), Event())
    assert (tmp_path / "out.parquet").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EBUSY, "--end"),
        (errno.ENOTTY, "CONFIG_BLK_DEV_IO_TRACE"),
        (errno.EPERM, "locked down"),
        (errno.ENOMEM, "--buffer"),
        (errno.ENXIO, "No such device"),
    ],
)
def test_each_refusal_of_the_kernel_says_what_to_do(number: int, words: str):
    error = refused(OSError(number, os.strerror(number), "/dev/x"))
    assert words in str(error)
    assert "/dev/x" in str(error)
