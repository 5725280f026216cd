"""Traces of every format are read as what they record, and what is wrong in them is counted and shown."""

import gzip
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from samples import EXPECTED, SAMPLES, Sample, blktrace_files

from fathom._core import TRACE_FORMATS, TRACE_OPERATIONS
from fathom.errors import FathomError, UsageError
from fathom.traces.batch import NO_LATENCY, NO_NAME, Batch, Trace
from fathom.traces.convert import faults
from fathom.traces.opening import open_trace

LETTERS = {"R": "read", "W": "write"}


def read(trace: Trace) -> Batch:
    """All I/Os of a trace."""
    batches = list(trace.batches())
    return Batch(*(np.concatenate([getattr(one, name) for one in batches]) for name in Batch.__annotations__))


def of_text(folder: Path, text: str | bytes, columns: str | None = None, format: str | None = None) -> Trace:
    path = folder / "trace"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return open_trace(path, format, columns)


def test_every_format_has_a_sample():
    assert {sample.format for sample in SAMPLES.values()} | {"csv"} == set(TRACE_FORMATS)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_trace_is_recognised_and_read_as_what_it_records(sample: Sample, tmp_path: Path):
    trace = of_text(tmp_path, sample.text)
    ios = read(trace)
    assert trace.format == sample.format
    assert trace.findings.wrong == 0, trace.findings
    assert [TRACE_OPERATIONS[one] for one in ios.operation] == [LETTERS[one.letter] for one in EXPECTED]
    assert ios.offset_bytes.tolist() == [512 * one.sector for one in EXPECTED]
    assert ios.size_bytes.tolist() == [512 * one.sectors for one in EXPECTED]
    if "issue" in sample.has:
        assert ios.issue_ns.tolist() == [1000 * one.issue_us for one in EXPECTED]
    latencies = [1000 * one.latency_us if "latency" in sample.has else int(NO_LATENCY) for one in EXPECTED]
    assert ios.latency_ns.tolist() == latencies


@pytest.mark.parametrize(
    ("name", "devices", "processes"),
    [
        ("msr", ["hm.1"], []),
        ("alibaba", ["419"], []),
        ("blkparse", ["259:0"], ["fio"]),
        ("blktrace", ["259:0"], ["fio"]),
        ("perf", ["259:0"], ["my app"]),
        ("biosnoop", ["nvme0n1"], ["my app"]),
        ("iolog-3", ["/dev/sdb"], []),
    ],
)
def test_devices_and_processes_have_the_names_of_the_trace(
    name: str, devices: list[str], processes: list[str], tmp_path: Path
):
    trace = of_text(tmp_path, SAMPLES[name].text)
    read(trace)
    assert list(trace.devices) == devices
    assert list(trace.processes) == processes


def test_the_files_of_all_cpus_are_one_trace_by_the_name_of_any(tmp_path: Path):
    for cpu, content in enumerate(blktrace_files(3)):
        (tmp_path / f"nvme0n1.blktrace.{cpu}").write_bytes(content)
    whole = read(of_text(tmp_path, SAMPLES["blktrace"].text))
    for name in ("nvme0n1", "nvme0n1.blktrace.2"):
        ios = read(open_trace(tmp_path / name))
        assert ios.issue_ns.tolist() == whole.issue_ns.tolist()
        assert ios.latency_ns.tolist() == whole.latency_ns.tolist()


@pytest.mark.skipif(shutil.which("blkparse") is None, reason="blkparse is not installed")
def test_binary_files_are_read_as_blkparse_prints_them(tmp_path: Path):
    for cpu, content in enumerate(blktrace_files(2)):
        (tmp_path / f"x.blktrace.{cpu}").write_bytes(content)
    printed = subprocess.run(["blkparse", "-i", "x"], cwd=tmp_path, capture_output=True, check=True).stdout
    ours, theirs = read(open_trace(tmp_path / "x")), read(of_text(tmp_path, printed))
    for name in ("issue_ns", "latency_ns", "offset_bytes", "size_bytes", "operation", "flags"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_log_of_a_run_of_fio_has_every_io_of_the_run(tmp_path: Path):
    command = "fio --name=a --filename=data --size=1m --bs=4k --rw=randrw --number_ios=100 --write_iolog=log"
    done = subprocess.run(
        [*command.split(), "--output-format=json"], cwd=tmp_path, capture_output=True, check=True
    )
    assert done.returncode == 0
    ios = read(open_trace(tmp_path / "log"))
    written = [line.split() for line in (tmp_path / "log").read_text().splitlines()[1:]]
    expected = [(line[2], int(line[3]), int(line[4])) for line in written if line[2] in ("read", "write")]
    found = zip(
        [TRACE_OPERATIONS[one] for one in ios.operation], ios.offset_bytes, ios.size_bytes, strict=True
    )
    assert list(found) == expected


def test_columns_name_the_fields_of_a_csv_with_their_units(tmp_path: Path):
    text = "# when;what;x;where;how much\n1.5;r;-;3;2\n2.25;WFS;-;10;1\n"
    trace = of_text(tmp_path, text.replace("# when", "when"), "time_ms,op,_,offset_sectors,size_sectors")
    ios = read(trace)
    assert ios.issue_ns.tolist() == [0, 750_000]
    assert ios.offset_bytes.tolist() == [1536, 5120]
    assert ios.flags.tolist() == [0, 0b11]
    assert trace.findings.wrong == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("time_us,op,offset", "no size column"),
        ("time,op,offset,size", "needs a unit"),
        ("time_us,op,offset,size,colour", "colour"),
        ("time_us,time_s,op,offset,size", "two time columns"),
    ],
)
def test_columns_that_describe_no_trace_are_refused(columns: str, message: str, tmp_path: Path):
    with pytest.raises(UsageError, match=message):
        of_text(tmp_path, "1,R,0,512\n", columns)


def test_wrong_lines_are_counted_and_the_first_three_shown_with_their_numbers(tmp_path: Path):
    good = [f"{number},R,0,512" for number in range(6)]
    lines = [
        good[0],
        "x,R,0,512",
        good[1],
        "1,Z,0,512",
        "1,R,0",
        good[2],
        "1,R,-5,512",
        "1,R,9223372036854775807,1",
    ]
    trace = of_text(tmp_path, "\n".join(lines), "time_us,op,offset,size")
    assert len(read(trace)) == 3
    assert trace.findings.wrong == 5
    assert trace.findings.first_wrong == [
        (2, "time: not a number"),
        (4, 'op: "Z" is not known'),
        (5, "3 fields, expected 4"),
    ]


def test_only_a_flush_may_lack_its_place_or_its_length(tmp_path: Path):
    lines = ["0,R,0,512", "1,R,,512", "2,W,0,", "3,W,0,0", "4,D,512,", "5,F,,", "6,F,0,0"]
    trace = of_text(tmp_path, "\n".join(lines), "time_us,op,offset,size")
    assert len(read(trace)) == 3
    assert trace.findings.wrong == 4
    assert trace.findings.first_wrong == [
        (2, "offset: none, and only a flush has none"),
        (3, "size: none, and only a flush has none"),
        (4, "size: none, and only a flush has none"),
    ]


NO_LENGTH = {
    "iolog": "fio version 3 iolog\n1 a add\n2 a read 0 0\n3 a write 4096 0\n4 a sync 0 0\n5 a read 0 4096\n",
    "blkparse": (
        "8,0 0 1 0.000000001 7 D R 0 + 0 [fio]\n8,0 0 2 0.000000002 7 D D 8 + 0 [fio]\n"
        "8,0 0 3 0.000000003 7 D FN [fio]\n8,0 0 4 0.000000004 7 D R 0 + 8 [fio]\n"
    ),
    "biosnoop": (
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 fio 7 sda D 0 0 0.1\n0.2 fio 7 sda DS 8 0 0.1\n"
        "0.3 fio 7 sda FF 0 0 0.1\n0.4 fio 7 sda R 0 4096 0.1\n"
    ),
    "perf": (
        "fio 7 [000] 1.000001: block:block_rq_issue: 8,0 R 0 () 0 + 0 none,0,0 [fio]\n"
        "fio 7 [000] 1.000002: block:block_bio_queue: 8,0 D 8 + 0 [fio]\n"
        "fio 7 [000] 1.000003: block:block_rq_issue: 8,0 FF 0 () 0 + 0 none,0,0 [fio]\n"
        "fio 7 [000] 1.000004: block:block_rq_issue: 8,0 R 4096 () 0 + 8 none,0,0 [fio]\n"
    ),
}


@pytest.mark.parametrize("format", NO_LENGTH)
def test_in_every_format_only_a_flush_may_move_nothing(format: str, tmp_path: Path):
    path = tmp_path / "trace"
    path.write_text(NO_LENGTH[format])
    trace = open_trace(path, format)
    assert read(trace).size_bytes.tolist() == [0, 4096]
    assert trace.findings.wrong == 2
    assert {text for _, text in trace.findings.first_wrong} == {"size: none, and only a flush has none"}


def test_a_write_of_nothing_is_left_to_the_flush_that_it_asks_for(tmp_path: Path):
    path = tmp_path / "trace"
    path.write_text(
        "8,0 0 1 0.1 7 Q FWS 0 + 0 [fio]\n8,0 0 2 0.2 7 D FN [fio]\n8,0 0 3 0.3 7 C FN [0]\n"
        "8,0 0 4 0.4 7 D FWS 0 + 0 [fio]\n8,0 0 5 0.5 7 C FWS 0 + 0 [0]\n"
    )
    trace = open_trace(path, "blkparse")
    assert read(trace).operation.tolist() == [TRACE_OPERATIONS.index("flush")]
    assert trace.findings.wrong == 0


def test_ios_are_put_into_the_order_of_their_issue(tmp_path: Path):
    trace = of_text(tmp_path, "5,R,0,1\n3,R,1,1\n4,R,2,1\n3,R,3,1\n", "time_ns,op,offset,size")
    ios = read(trace)
    assert ios.issue_ns.tolist() == [0, 0, 1, 2]
    assert ios.offset_bytes.tolist() == [1, 3, 2, 0]
    assert trace.findings.late == 0


def test_a_compressed_trace_is_read_as_it_is(tmp_path: Path):
    path = tmp_path / "hm_1.csv.gz"
    path.write_bytes(gzip.compress(SAMPLES["msr"].text))
    assert len(read(open_trace(path))) == len(EXPECTED)
    path.write_bytes(gzip.compress(SAMPLES["msr"].text * 1000)[:-20])
    with pytest.raises(UsageError, match=r"hm_1\.csv\.gz"):
        read(open_trace(path))


def test_a_csv_of_a_spreadsheet_with_a_byte_order_mark_is_recognised(tmp_path: Path):
    trace = of_text(tmp_path, "\ufefftime_us,op,offset,size\n1,R,0,512\n2,R,512,512\n")
    assert trace.format == "csv"
    assert read(trace).offset_bytes.tolist() == [0, 512]
    assert trace.findings.wrong == 0


@pytest.mark.parametrize(
    "text",
    [
        '"time_us","op","offset","size","latency_us"\n1,"R",0,512,10.5\n2,"W",512,1024,11.5\n',
        "time_us;op;offset;size;latency_ms\n1,0;R;0;512;0,0105\n2,0;W;512;1024;0,0115\n",
        "Time (us);RW;Offset (bytes);Size [B];Latency (µs)\n1;r;0;512;10,5\n2;w;512;1024;11,5\n",
        "timestamp (ms)\toperation\tbyte_offset_sectors\tlen (sectors)\tresponse time (us)\n"
        "0.001\tread\t0\t1\t10.5\n0.002\twrite\t1\t2\t11.5\n",
    ],
    ids=["quotes", "decimal commas", "units", "tabs"],
)
@pytest.mark.parametrize("format", [None, "csv"])
def test_a_first_line_of_another_program_names_the_fields(text: str, format: str | None, tmp_path: Path):
    path = tmp_path / "other.csv"
    path.write_text(text)
    trace = open_trace(path, format)
    ios = read(trace)
    assert ios.issue_ns.tolist() == [0, 1000]
    assert ios.offset_bytes.tolist() == [0, 512]
    assert ios.size_bytes.tolist() == [512, 1024]
    assert [TRACE_OPERATIONS[one] for one in ios.operation] == ["read", "write"]
    assert ios.latency_ns.tolist() == [10_500, 11_500]
    assert (trace.format, trace.findings.wrong, trace.findings.fields_left_out) == ("csv", 0, [])


def test_decimal_commas_are_read_by_columns_too(tmp_path: Path):
    trace = of_text(tmp_path, "0,001;R;0;512\n0,002;R;512;512\n", "time_s,op,offset,size")
    assert read(trace).issue_ns.tolist() == [0, 1_000_000]


def test_decimal_commas_that_first_stand_far_behind_the_first_line_are_read(tmp_path: Path):
    whole = "".join(f"{number};R;0;512\n" for number in range(4_000))
    trace = of_text(tmp_path, f"time_ms;op;offset;size\n{whole}4000,5;R;512;512\n")
    assert read(trace).issue_ns[-1] == 4_000_500_000
    assert trace.findings.wrong == 0


def test_fields_of_unknown_names_are_left_out_and_named(tmp_path: Path):
    trace = of_text(tmp_path, "time_s,tier,op,offset,size\n1,hot,R,0,512\n")
    assert len(read(trace)) == 1
    assert faults(trace.findings, 1) == ["fields left out, whose names are not known: tier"]


@pytest.mark.parametrize(
    ("first", "what", "remedy"),
    [
        (
            "time (s),type,offset (bytes),size (bytes),latency_us",
            "names time_s, offset, size, latency_us; in doubt or missing: op (not known: type)",
            "give --columns time_s,_,offset,size,latency_us, with op in place of a _",
        ),
        (
            "timestamp,op,offset,size",
            "names op, offset, size; in doubt or missing: time (timestamp has no unit that is known)",
            "give --columns _,op,offset,size, with a time (time_s, time_ms, time_us or time_ns) in place of a _",
        ),
        (
            "time_s,op,offset,size (KiB)",
            "names time_s, op, offset; in doubt or missing: size (size (KiB) has no unit that is known)",
            "give --columns time_s,op,offset,_, with a size (size, in bytes, or size_sectors) in place of a _",
        ),
        (
            "time_s,timestamp_ns,op,offset,size",
            "names op, offset, size; in doubt or missing: time (time_s and timestamp_ns are both a time)",
            "give --columns _,_,op,offset,size, with a time (time_s, time_ms, time_us or time_ns) in place of a _",
        ),
    ],
)
def test_a_first_line_in_doubt_is_refused_with_the_columns_to_give(
    first: str, what: str, remedy: str, tmp_path: Path
):
    with pytest.raises(UsageError) as refused:
        of_text(tmp_path, f"{first}\n1,2,3,4,5\n")
    assert refused.value.message.endswith(f": the first line of this CSV {what}")
    assert refused.value.hint == remedy


def test_a_csv_without_names_is_refused_as_one(tmp_path: Path):
    with pytest.raises(UsageError, match="its first line has values, and no names of columns"):
        of_text(tmp_path, "0.5,R,0,4096\n")


def test_a_line_without_end_needs_no_memory_and_is_one_wrong_line(tmp_path: Path):
    trace = of_text(tmp_path, SAMPLES["msr"].text + b"9" * (5 << 20) + b"\n" + SAMPLES["msr"].text)
    assert len(read(trace)) == 2 * len(EXPECTED)
    assert trace.findings.first_wrong == [(11, "longer than 65536 bytes")]


def test_a_requeued_and_an_unfinished_request_are_counted(tmp_path: Path):
    text = (
        "8,0 0 1 0.000001000 1 D R 0 + 8 [a]\n8,0 0 2 0.000002000 1 D R 8 + 8 [a]\n"
        "8,0 0 3 0.000002500 1 R R 0 + 8 [0]\n8,0 0 3 0.000003000 1 D R 0 + 8 [a]\n"
        "8,0 0 4 0.000009000 1 C R 0 + 8 [0]\n"
        "8,0 0 5 0.000010000 1 C W 64 + 8 [0]\n"
    )
    trace = of_text(tmp_path, text)
    ios = read(trace)
    # The device gave the first request back: its second issue stands for it.
    assert ios.latency_ns.tolist() == [int(NO_LATENCY), 6000]
    assert (trace.findings.unfinished, trace.findings.unknown) == (1, 1)


@pytest.mark.parametrize("content", [b"", b"hello\nworld\n", b"\0" * 100], ids=["empty", "text", "zeros"])
def test_what_is_no_trace_is_refused_with_what_to_do(content: bytes, tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        of_text(tmp_path, content)
    assert caught.value.hint


def test_a_folder_or_a_missing_file_is_refused(tmp_path: Path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(FathomError):
            open_trace(path)


def test_thread_and_cpu_of_an_issue_are_read_where_a_format_has_them(tmp_path: Path):
    for name in ("blkparse", "blktrace"):
        ios = read(of_text(tmp_path, SAMPLES[name].text))
        assert set(ios.pid.tolist()) == {1234}
    assert set(read(of_text(tmp_path, SAMPLES["blkparse"].text)).cpu.tolist()) == {1}
    assert set(read(of_text(tmp_path, SAMPLES["msr"].text)).cpu.tolist()) == {NO_NAME}
    lines = "1,R,0,512,7,\n2,R,0,512,,3\n"
    ios = read(of_text(tmp_path, lines, "time_us,op,offset,size,pid,cpu"))
    assert (ios.pid.tolist(), ios.cpu.tolist()) == ([7, NO_NAME], [NO_NAME, 3])


@pytest.mark.parametrize("error", ["65525", "-11"])
def test_what_found_no_room_and_was_asked_for_again_is_one_io_of_blkparse(error: str, tmp_path: Path):
    lines = [
        "8,0 0 1 0.000001000 7 Q R 8 + 8 [io-0.0]",
        f"8,0 0 2 0.000002000 7 C R 8 + 8 [{error}]",
        "8,0 0 3 0.000005000 8 Q R 8 + 8 [iou-wrk]",
        "8,0 0 4 0.000006000 8 D R 8 + 8 [iou-wrk]",
        "8,0 0 5 0.000009000 0 C R 8 + 8 [0]",
    ]
    trace = of_text(tmp_path, "\n".join(lines) + "\n", format="blkparse")
    ios = read(trace)
    assert ios.latency_ns.tolist() == [3000]
    assert [trace.processes[one] for one in ios.process] == ["iou-wrk"]


def test_what_found_no_room_and_was_asked_for_again_is_one_io_of_blktrace(tmp_path: Path):
    read_at, again = 1 << 16, -11 & 0xFFFF
    events = [(1, 1, 0), (2, 8, again), (5, 1, 0), (6, 7, 0), (9, 8, 0)]
    records = [
        struct.pack(
            *("<IIQQIIIIIHH", 0x65617407, number, 1000 * time_us, 8, 4096, read_at | action, 7, 8 << 20, 0),
            *(error, 0),
        )
        for number, (time_us, action, error) in enumerate(events, 1)
    ]
    ios = read(of_text(tmp_path, b"".join(records), format="blktrace"))
    assert ios.latency_ns.tolist() == [3000]
