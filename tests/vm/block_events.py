"""What the kernel hands to a block device, from its tracepoint, and the zones that the device then reports."""

import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vm_guest import sh

from fathom.targets.syscalls import device_ioctl

TRACING = Path("/sys/kernel/debug/tracing")
EVENT = TRACING / "events/block/block_bio_queue/enable"
SECTOR = 512
_LINE = re.compile(r"block_bio_queue: (\d+),(\d+) (\w+) (\d+) \+ (\d+) \[(.*)\]")
_ZONE = re.compile(
    r"start: (0x\w+), len (0x\w+), cap (0x\w+), wptr (0x\w+) .*zcond:\s*\d+\((\w+)\).*\[type: (\d)"
)
_OPS = {
    "ZRA": "reset-all",
    "ZR": "reset",
    "ZF": "finish",
    "ZO": "open",
    "ZC": "close",
    "R": "read",
    "W": "write",
}
_BLKREPORTZONE = 0xC0101282
_REPORT = struct.Struct("<QII")
_MOST_ZONES = 1024
_ZONE_SIZE, _CONDITION_AT = 64, 25
#: Open, by a write or by a command, or closed (linux/blkzoned.h).
_ACTIVE = (2, 3, 4)


@dataclass(frozen=True)
class Event:
    """One request as the kernel hands it on."""

    op: str
    offset: int
    size: int


@dataclass(frozen=True)
class ReportedZone:
    """One zone as `blkzone report` has it, in bytes."""

    start: int
    end: int
    pointer: int
    sequential: bool


def events_of(device: Path, work: Callable[[], object]) -> list[Event]:
    """What a device is asked for while something is done, in its order."""
    number = device.stat().st_rdev
    (TRACING / "buffer_size_kb").write_text("16384")
    (TRACING / "trace").write_text("")
    EVENT.write_text("1")
    try:
        work()
    finally:
        EVENT.write_text("0")
    events: list[Event] = []
    for line in map(_LINE.search, (TRACING / "trace").read_text().splitlines()):
        if line and (int(line[1]), int(line[2])) == (os.major(number), os.minor(number)):
            event = Event(_op(line[3]), SECTOR * int(line[4]), SECTOR * int(line[5]))
            # io_uring tries without waiting first; where that is refused, a worker of its own does it again.
            if line[6].startswith("iou-wrk") and event in events:
                events.reverse()
                events.remove(event)
                events.reverse()
            events.append(event)
    return events


def _op(flags: str) -> str:
    """The request that the letters of the tracepoint stand for; the letters themselves for all others."""
    return next((op for letters, op in _OPS.items() if flags.startswith(letters)), flags)


def zones_of(device: Path) -> list[ReportedZone]:
    """The zones as the device reports them now."""
    found = []
    for line in map(_ZONE.search, sh("blkzone", "report", str(device)).splitlines()):
        assert line
        start, _, capacity, pointer = (SECTOR * int(line[at], 16) for at in (1, 2, 3, 4))
        full = start + capacity if line[5] == "fu" else start + pointer
        found.append(ReportedZone(start, start + capacity, full, line[6] == "2"))
    return found


def active_zones(device: Path) -> int:
    """How many zones the device reports as open or closed now, asked by this process: Fathom refuses a device that
    another one has open.
    """
    report = bytearray(_REPORT.size + _MOST_ZONES * _ZONE_SIZE)
    _REPORT.pack_into(report, 0, 0, _MOST_ZONES, 0)
    device_ioctl(device, _BLKREPORTZONE, report)
    _, count, _ = _REPORT.unpack_from(report)
    conditions = report[_REPORT.size + _CONDITION_AT :: _ZONE_SIZE]
    return sum(one in _ACTIVE for one in conditions[:count])
