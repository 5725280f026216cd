"""Captures disks for a time, and stores what was captured."""

import errno
import shutil
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Literal

from fathom import _core
from fathom.capture.captured import CapturedTrace
from fathom.capture.disks import Disk, chosen_disks, writes_to
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.traces.anonymous import AnonymousTrace
from fathom.traces.batch import Findings, Trace
from fathom.traces.convert import Converted, convert
from fathom.traces.opening import open_blktrace

DEBUGFS = Path("/sys/kernel/debug")
TRACEFS = Path("/sys/kernel/tracing")
Via = Literal["block-trace", "tracepoints"]
"""Which of the kernel's traces is used. Both record the same facts of an I/O."""
_LACKING = (errno.EPERM, errno.EACCES, errno.ENOTTY, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOENT)
"""What the kernel says where it has no block trace, or does not hand it out."""
_STATUS = Path("/proc/self/status")
_CAP_SYS_ADMIN = 21
_TICK_S = 0.2
BUFFER_BYTES = 8 << 20
"""The kernel's buffer of each CPU: what a CPU records in some 30 ms at a million I/Os a second."""


@dataclass(frozen=True)
class Asked:
    """What to capture. `processes` are names or numbers of threads; none stands for all."""

    devices: Sequence[Path]
    out: Path
    duration_s: float | None = None
    """None: until the end is asked for."""
    processes: Sequence[str] = ()
    anonymise: bool = False
    buffer_bytes: int = BUFFER_BYTES
    via: Via | None = None
    """None: the block trace, or tracepoints where there is none."""
    debugfs: Path = DEBUGFS
    tracefs: Path = TRACEFS

    @property
    def has_block_trace(self) -> bool:
        """Whether debugfs is mounted, which has the files of the block trace."""
        return self.via != "tracepoints" and (self.debugfs / "block").is_dir()

    @property
    def has_tracepoints(self) -> bool:
        """Whether tracefs is mounted, which has those of tracepoints."""
        return self.via != "block-trace" and (self.tracefs / "instances").is_dir()


@dataclass(frozen=True)
class Done:
    """What a capture came to."""

    converted: Converted
    findings: Findings
    lost: int
    """Records for which the kernel had no room."""
    left_out: int
    """I/Os of other processes, or beyond the partitions."""
    via: Via


class KeptError(FathomError):
    """The records of the kernel are there, but no trace was made of them."""


def check(asked: Asked) -> list[Disk]:
    """Returns the disks to trace. Raises UsageError and RefusedError where a capture cannot begin."""
    disks = chosen_disks(asked.devices)
    require_rights()
    if asked.out.exists() or asked.out.is_symlink():
        raise RefusedError(
            f"{asked.out}: exists", "remove it, or give the path of a file that does not exist"
        )
    if not (asked.has_block_trace or asked.has_tracepoints):
        raise _not_mounted(asked)
    return disks


def _not_mounted(asked: Asked) -> UsageError:
    """Returns the error that names the file systems of the kernel that are missing, and how to mount them."""
    block = (asked.debugfs / "block", f"mount -t debugfs debugfs {asked.debugfs}")
    points = (asked.tracefs / "instances", f"mount -t tracefs tracefs {asked.tracefs}")
    missing = {"block-trace": [block], "tracepoints": [points], None: [block, points]}[asked.via]
    folders, mounts = zip(*missing, strict=True)
    return UsageError(
        f"{' and '.join(map(str, folders))}: missing, though the kernel hands its traces out there",
        f"run {' or '.join(f'`{mount}`' for mount in mounts)}; a kernel built without these traces still lacks it",
    )


def require_rights() -> None:
    """Raises RefusedError without the right to trace."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("CapEff:"))
    if not int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1:
        raise RefusedError(
            "the kernel traces block devices for root only, or with the capability CAP_SYS_ADMIN",
            "run `sudo fathom capture`",
        )


def record(asked: Asked, ended: Event, progress: Callable[[float, int], None] | None = None) -> Done:
    """Captures until the time is over or `ended` is set, and stores the trace at `asked.out`.

    `progress` is called with the seconds so far and the bytes of records. Raises UsageError and RefusedError where it
    cannot begin, KeptError where the records could not be stored as a trace: they stay beside `out`.
    """
    disks = check(asked)
    raw = asked.out.with_name(f"{asked.out.name}.records")
    try:
        raw.mkdir(parents=True)
    except FileExistsError as error:
        raise RefusedError(f"{raw}: exists, from an earlier capture", "remove it") from error
    try:
        via, recorded = _recorded(asked, disks, raw, ended, progress)
    except BaseException:
        with suppress(OSError):
            if not any(one.stat().st_size for one in raw.iterdir()):
                shutil.rmtree(raw)
        raise
    try:
        done = _stored(asked, disks, via, recorded)
    except (FathomError, OSError, KeyboardInterrupt) as error:
        what = str(error) or "interrupted"
        raise KeptError(f"{what}: the kernel's records are kept in {raw}", _try_convert(raw)) from error
    shutil.rmtree(raw)
    return done


def _try_convert(raw: Path) -> str:
    """Returns the advice to make a trace of records that were kept: those of the first disk."""
    files = sorted(raw.glob("*.blktrace.*"))
    name = files[0].name.rpartition(".blktrace.")[0] if files else "NAME"
    return f"try `fathom trace convert {raw / name} OUT.parquet`"


def _recorded(
    asked: Asked,
    disks: Sequence[Disk],
    raw: Path,
    ended: Event,
    progress: Callable[[float, int], None] | None,
) -> tuple[Via, list[_core.Recorded]]:
    via, capture = _started(asked, disks, raw)
    waited_s = 0.0
    while not (ended.is_set() or capture.failed):
        left_s = _TICK_S if asked.duration_s is None else min(_TICK_S, asked.duration_s - waited_s)
        if left_s <= 0:
            break
        ended.wait(left_s)
        waited_s += left_s
        if progress is not None:
            progress(waited_s, capture.copied_bytes)
    try:
        return via, capture.stop()
    except OSError as error:
        raise KeptError(
            f"{error.filename}: {error.strerror}: the capture ended early, what was copied is in {raw}",
            _try_convert(raw),
        ) from error


def _started(asked: Asked, disks: Sequence[Disk], raw: Path) -> tuple[Via, _core.Capture]:
    """Starts the block trace, or tracepoints where the kernel has none or does not hand it out."""
    nodes = [disk.node for disk in disks]
    if asked.has_block_trace:
        try:
            return "block-trace", _core.Capture(nodes, raw, asked.debugfs, asked.buffer_bytes)
        except OSError as error:
            if not (asked.has_tracepoints and error.errno in _LACKING):
                raise refused(error) from error
            # Those of the disks before the one that has no block trace; tracepoints have files of the same names.
            for file in raw.iterdir():
                file.unlink()
    try:
        return "tracepoints", _core.Capture(nodes, raw, asked.tracefs, asked.buffer_bytes, tracepoints=True)
    except OSError as error:
        raise refused(error) from error


def _stored(asked: Asked, disks: Sequence[Disk], via: Via, recorded: Sequence[_core.Recorded]) -> Done:
    files = [file for one in recorded for file in one.files]
    last: list[CapturedTrace] = []

    def opened() -> Trace:
        last[:] = [CapturedTrace(open_blktrace("capture", files), disks, asked.processes)]
        return last[0]

    trace = AnonymousTrace(opened) if asked.anonymise else opened()
    lost = sum(one.lost for one in recorded)
    done = convert(trace, asked.out, lost=lost, empty_hint="put load on the device while it is captured")
    return Done(done, trace.findings, lost, last[0].left_out, via)


def end_left_behind(path: Path) -> None:
    """Ends a trace that a process which was killed has left in the kernel. Raises FathomError."""
    [disk] = chosen_disks([path])
    require_rights()
    try:
        _core.end_capture(disk.node, TRACEFS)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise UsageError(f"{disk.node} is not traced", "leave out --end") from error
        raise refused(error) from error


def refused(error: OSError) -> FathomError:
    """Returns what a refusal of the kernel means."""
    where = error.filename
    match error.errno:
        case errno.EBUSY:
            return RefusedError(
                f"{where} is traced already, by another program or by one that was killed",
                f"end that trace by `fathom capture {where} --end`",
            )
        case errno.ENOTTY | errno.ENOSYS | errno.EOPNOTSUPP:
            return UsageError(
                f"{where}: the kernel has no block trace",
                "it needs CONFIG_BLK_DEV_IO_TRACE: use another kernel",
            )
        case errno.EPERM | errno.EACCES:
            return RefusedError(
                f"{where}: {error.strerror}",
                "the kernel may be locked down (Secure Boot), or the container may lack the right",
            )
        case errno.ENOMEM | errno.EIO:
            return FathomError(f"{where}: no memory for the kernel's buffers", "give a smaller --buffer")
        case _:
            return FathomError(f"{where}: {error.strerror}", "see docs/how-to/capture.md")


def on_itself(asked: Asked, disks: Sequence[Disk]) -> Disk | None:
    """Returns the captured disk on which the trace would be written: its own writes would be in it."""
    folder = asked.out.absolute().parent
    while not folder.exists():
        folder = folder.parent
    return writes_to(folder, disks) if stat.S_ISDIR(folder.stat().st_mode) else None
