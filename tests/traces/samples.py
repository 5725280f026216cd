"""Ten lines or more of each format, written from its documentation, which each sample names.

Every sample records the same ten I/Os, as far as its format can: `EXPECTED`.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """`text` is the file; `has` are the columns that the format records beside operation, offset and size."""

    format: str
    text: bytes
    has: frozenset[str]


@dataclass(frozen=True)
class Expected:
    """An I/O; times in microseconds since the first."""

    issue_us: int
    latency_us: int
    letter: str
    sector: int
    sectors: int


EXPECTED: Sequence[Expected] = (
    Expected(0, 100, "R", 2048, 8),
    Expected(150, 90, "W", 4096, 16),
    Expected(300, 80, "R", 2056, 8),
    Expected(450, 70, "W", 4112, 16),
    Expected(1000, 500, "R", 1 << 31, 256),
    Expected(1100, 300, "W", 0, 1),
    Expected(1200, 100, "R", 2064, 8),
    Expected(5000, 1000, "W", 4128, 16),
    Expected(250_000, 120, "R", 2072, 8),
    Expected(1_000_000, 110, "W", 4144, 16),
)
_FILETIME = 128_166_372_003_061_629
_UNIX_US = 1_577_808_000_000_000


def _lines(make: "object", head: str = "") -> bytes:
    assert callable(make)
    return (head + "".join(f"{make(one)}\n" for one in EXPECTED)).encode()


def _msr(one: Expected) -> str:
    kind = "Read" if one.letter == "R" else "Write"
    time, took = _FILETIME + 10 * one.issue_us, 10 * one.latency_us
    return f"{time},hm,1,{kind},{512 * one.sector},{512 * one.sectors},{took}"


def _systor(one: Expected) -> str:
    time = 1_455_592_838_000_000 + one.issue_us
    return (
        f"{time // 10**6}.{time % 10**6:06d},{one.latency_us / 1e6:.9f},{one.letter},0,"
        f"{512 * one.sector},{512 * one.sectors}"
    )


def _alibaba(one: Expected) -> str:
    return f"419,{one.letter},{512 * one.sector},{512 * one.sectors},{_UNIX_US + one.issue_us}"


def _tencent(one: Expected) -> str:
    """Whole seconds."""
    kind = 0 if one.letter == "R" else 1
    return f"{1_538_323_200 + one.issue_us // 10**6},{one.sector},{one.sectors},{kind},1283"


def _events() -> list[tuple[int, str, Expected]]:
    """Queueing 5 us before the issue, issue and completion, by time."""
    found = [
        event
        for one in EXPECTED
        for event in (
            (one.issue_us + 5, "Q", one),
            (one.issue_us + 10, "D", one),
            (one.issue_us + 10 + one.latency_us, "C", one),
        )
    ]
    return sorted(found, key=lambda event: event[0])


def _blkparse() -> bytes:
    lines = [
        f"259,0    1 {number:8d} {time // 10**6:5d}.{time % 10**6 * 1000:09d}  1234  {action}  "
        f"{one.letter}S {one.sector} + {one.sectors} [{'fio' if action != 'C' else '0'}]"
        for number, (time, action, one) in enumerate(_events())
    ]
    lines.insert(3, "259,0    1       99     0.000009000  1234  P   N [fio]")
    lines.insert(4, "259,0    1        0     0.000009500     0  m   N cfq1234 insert_request")
    summary = [
        "CPU1 (259,0):",
        " Reads Queued:           5,       10KiB",
        "",
        "Throughput (R/W): 1KiB/s / 1KiB/s",
    ]
    return ("\n".join([*lines, *summary]) + "\n").encode()


def _perf() -> bytes:
    def line(time: int, action: str, one: Expected) -> str:
        at = f"  my app  1234 [003] {100 + time // 10**6}.{time % 10**6:06d}: "
        place = f"{one.sector} + {one.sectors}"
        match action:
            case "Q":
                return f"{at}block:block_bio_queue: 259,0 {one.letter}S {place} [my app]"
            case "D":
                size = 512 * one.sectors
                return f"{at}block:block_rq_issue: 259,0 {one.letter}S {size} () {place} none,0,0 [my app]"
            case _:
                return f"{at}block:block_rq_complete: 259,0 {one.letter}S () {place} none,0,0 [0]"

    lines = [line(*event) for event in _events()]
    lines.insert(2, "  my app  1234 [003] 100.000011: block:block_plug: [my app]")
    return ("# captured on a test\n" + "\n".join(lines) + "\n").encode()


def _biosnoop() -> bytes:
    done = sorted(EXPECTED, key=lambda one: one.issue_us + one.latency_us)
    first = done[0].issue_us + done[0].latency_us
    lines = [
        f"{(one.issue_us + one.latency_us - first) / 1e6:<11.6f} my app         1234    nvme0n1   {one.letter} "
        f"{one.sector:<10} {512 * one.sectors:<7} {one.latency_us / 1e3:9.3f}"
        for one in done
    ]
    head = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES     LAT(ms)"
    return ("\n".join([head, *lines]) + "\n").encode()


def _iolog_3() -> bytes:
    actions = {"R": "read", "W": "write"}
    lines = [
        f"{50 + one.issue_us} /dev/sdb {actions[one.letter]} {512 * one.sector} {512 * one.sectors}"
        for one in EXPECTED
    ]
    around = ["fio version 3 iolog", "50 /dev/sdb add", "50 /dev/sdb open", *lines, "2000000 /dev/sdb close"]
    return ("\n".join(around) + "\n").encode()


def _iolog_2() -> bytes:
    lines = ["fio version 2 iolog", "/dev/sdb add", "/dev/sdb open"]
    before = 0
    for one in EXPECTED:
        if one.issue_us > before:
            lines.append(f"/dev/sdb wait {one.issue_us - before} 0")
        action = "read" if one.letter == "R" else "write"
        lines.append(f"/dev/sdb {action} {512 * one.sector} {512 * one.sectors}")
        before = one.issue_us
    return ("\n".join([*lines, "/dev/sdb close"]) + "\n").encode()


def blktrace_files(cpus: int = 2) -> list[bytes]:
    """The binary files of each CPU, little-endian; a process's name stands in front of its first event."""
    read, write, sync, notify = 1 << 16, 1 << 17, 1 << 19, 1 << 26
    category = {"Q": 1 << 20, "D": 1 << 22, "C": 1 << 23}
    kind = {"Q": 1, "D": 7, "C": 8}
    files = [b""] * cpus
    magic, device = 0x65617407, (259 << 20) | 0

    def record(
        sequence: int, time: int, sector: int, size: int, action: int, cpu: int, payload: bytes
    ) -> bytes:
        head = struct.pack(
            "<IIQQIIIIIHH", magic, sequence, time, sector, size, action, 1234, device, cpu, 0, len(payload)
        )
        return head + payload

    files[0] += record(0, 0, 0, 0, notify, 0, b"fio\0")
    for number, (time, action, one) in enumerate(_events()):
        cpu = number % cpus
        bits = category[action] | (read if one.letter == "R" else write) | sync | kind[action]
        files[cpu] += record(number + 1, 1000 * time, one.sector, 512 * one.sectors, bits, cpu, b"")
    return files


def _vscsi(version: int) -> bytes:
    records = []
    for number, one in enumerate(EXPECTED):
        command, own = 0x28 if one.letter == "R" else 0x2A, version << 8
        size, time = 512 * one.sectors, 9_000_000 + one.issue_us
        if version == 1:
            records.append(struct.pack("<IIIHHQQ", number, size, 1, command, own, one.sector, time))
        else:
            records.append(
                struct.pack("<HHIIIQQQ", command, own, number, size, 1, one.sector, time, one.latency_us)
            )
    return b"".join(records)


_TIMED = frozenset({"issue"})
_ALL = frozenset({"issue", "latency"})

SAMPLES: dict[str, Sample] = {
    # SNIA IOTTA trace 388, README: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime in Windows filetime.
    "msr": Sample("msr", _lines(_msr), _ALL),
    # SNIA IOTTA trace 4964, README: Timestamp,Response,IOType,LUN,Offset,Size; times in seconds.
    "systor": Sample("systor", _lines(_systor, "Timestamp,Response,IOType,LUN,Offset,Size\n"), _ALL),
    # github.com/alibaba/block-traces, README: device_id,opcode,offset,length,timestamp in microseconds.
    "alibaba": Sample("alibaba", _lines(_alibaba), _TIMED),
    # SNIA IOTTA trace 27917, README: Timestamp,Offset,Size,IOType,VolumeID in seconds and sectors.
    "tencent": Sample("tencent", _lines(_tencent), frozenset()),
    # libCacheSim, vscsi.h: trace_v1_record_t and trace_v2_record_t.
    "cloudphysics-1": Sample("cloudphysics", _vscsi(1), _TIMED),
    "cloudphysics-2": Sample("cloudphysics", _vscsi(2), _ALL),
    # blkparse(1), DEFAULT OUTPUT.
    "blkparse": Sample("blkparse", _blkparse(), _ALL),
    # include/uapi/linux/blktrace_api.h, struct blk_io_trace; one file.
    "blktrace": Sample("blktrace", blktrace_files(1)[0], _ALL),
    # fio(1), TRACE FILE FORMAT.
    "iolog-2": Sample("iolog", _iolog_2(), _TIMED),
    "iolog-3": Sample("iolog", _iolog_3(), _TIMED),
    # perf-script(1) and include/trace/events/block.h.
    "perf": Sample("perf", _perf(), _ALL),
    # biosnoop(8) of bcc.
    "biosnoop": Sample("biosnoop", _biosnoop(), _ALL),
}
