"""Makes a trace ready for replay: a file of fixed records that the core reads whole before the step begins.

`crates/workload/src/stream/replay.rs` states the layout and reads it.
"""

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fathom._core import STREAMS_MAX, TRACE_OPERATIONS
from fathom.errors import UsageError
from fathom.output.text import some_of
from fathom.traces.answers import SUFFIX, Counting
from fathom.traces.batch import OPS, Batch, Trace, no_io
from fathom.traces.waits import Recorded

MAGIC = b"FTHRPL1\n"
WAITING_MAGIC = b"FTHRPL2\n"
"""The first bytes of a trace whose I/Os wait for others."""
HEADER_BYTES = 32
ROW = np.dtype([("arrival_ns", "<u8"), ("offset", "<u8"), ("size", "<u4"), ("op", "u1"), ("behind", "u1", 3)])
CHUNK_BYTES = 1 << 20
"""Space is written in pieces of this size before the trace reads it."""
MOST_BYTES = 64 << 20
"""The largest I/O that is replayed: every I/O in flight has a buffer of the largest size."""


@dataclass
class Prepared:
    """A prepared trace, and its totals."""

    name: str
    ios: int = 0
    extent_bytes: int = 0
    """End of the last byte that it touches."""
    last_ns: int = 0
    sizes: dict[str, Counter[int]] = field(default_factory=lambda: {op: Counter() for op in OPS})
    """I/Os of each operation by size in bytes."""
    left_out: int = 0
    """Discards, and I/Os of no byte or of more than `MOST_BYTES`."""
    path: Path = Path()
    fill: "Prepared | None" = None
    """Writes of the space that the trace reads; None where it reads nothing."""
    first_bytes: int = 0
    """Where its first read or write begins."""

    @property
    def lap_ns(self) -> int:
        """Returns when the trace would begin again: a mean gap behind its end."""
        return self.last_ns + max(1, self.last_ns // max(1, self.ios - 1))


def prepare(
    trace: Trace,
    device: str | None = None,
    *,
    speed: float = 1.0,
    align_bytes: int = 512,
    waits: bool = False,
) -> Prepared:
    """Writes a trace's records into the cache and returns their totals.

    Times are divided by `speed`; I/Os grow to whole blocks of `align_bytes`. With `waits` each I/O waits for the one
    that it waited for. Raises UsageError where the trace has several devices and none is named, nothing to replay, or
    no latencies that show what waited.
    """
    with closing(_Writer(trace, speed, align_bytes, waits=waits)) as writer:
        for batch in trace.batches():
            writer.add(batch, of_device(trace, batch, device))
        _check(trace, writer.done, device)
        return writer.finish()


def prepare_devices(
    trace: Trace, *, speed: float = 1.0, align_bytes: int = 512, waits: bool = False
) -> dict[str, Prepared]:
    """Does the same for each device of a trace, and returns their totals by name, in the order of the trace.

    Times count from the trace's first I/O on all of them. Devices with nothing to replay are left out. Raises
    UsageError where that is all of them, or more are left than a job has streams.
    """
    writers: list[_Writer] = []
    try:
        for batch in trace.batches():
            for number in range(max(len(trace.devices), 1)):
                if number == len(writers):
                    writers.append(_Writer(trace, speed, align_bytes, waits=waits))
                chosen = batch.device == number if trace.devices else np.ones(len(batch), bool)
                writers[number].add(batch, chosen)
                _refuse_many(trace, writers)
        if not writers:
            raise no_io(trace)
        # A device that only wrong lines name has no writer.
        found = zip(trace.devices or [trace.name], writers, strict=False)
        used = {name: one for name, one in found if one.done.ios and one.done.extent_bytes}
        if not used:
            left_out = sum(one.done.left_out for one in writers)
            _check(trace, Prepared(trace.name, sum(one.done.ios for one in writers), left_out=left_out), None)
        return {name: one.finish() for name, one in used.items()}
    finally:
        for writer in writers:
            writer.close()


class _Writer:
    """Writes the records of one device into the cache."""

    def __init__(self, trace: Trace, speed: float, align_bytes: int, *, waits: bool) -> None:
        self._recorded = Recorded() if waits else None
        self.done = Prepared(trace.name)
        self._trace = trace
        self._counting = Counting(speed)
        self._speed, self._align_bytes = speed, align_bytes
        self._reads = np.zeros(0, np.uint64)
        handle, path = tempfile.mkstemp(suffix=".part", dir=_folder())
        self._path = Path(path)
        self._file = os.fdopen(handle, "wb")
        self._file.write(bytes(HEADER_BYTES))

    def add(self, batch: Batch, chosen: NDArray[np.bool_]) -> None:
        """Writes the chosen I/Os of a batch."""
        kept = _kept_ios(batch, chosen, self.done, self._align_bytes)
        rows = _rows(batch, kept, self.done, self._speed, self._align_bytes)
        rows.tofile(self._file)
        self._counting.add(rows["op"], rows["arrival_ns"], batch.latency_ns[kept])
        if self._recorded is not None:
            self._recorded.add(batch, kept, rows["arrival_ns"], self._speed)
        self._reads = np.union1d(self._reads, _chunks(rows))

    def finish(self) -> Prepared:
        """Keeps the file, its I/Os' answers, and a file that writes what the trace reads; returns the totals."""
        if self._recorded is not None:
            self._wait(self._recorded)
        _write_header(self._file, self.done, waits=self._recorded is not None)
        self._file.close()
        answers = self._counting.answers(self._trace.findings)
        self.done.path = _kept(self._path, answers.model_dump_json())
        if len(self._reads):
            self.done.fill = _prepare_fill(self.done, self._reads, self._path)
        return self.done

    def _wait(self, recorded: Recorded) -> None:
        """Writes into the records what each waits for."""
        behind, think_ns = recorded.waits(self.done.name)
        self._file.flush()
        rows = np.memmap(self._path, ROW, "r+", HEADER_BYTES, len(behind))
        rows["arrival_ns"] = np.where(behind > 0, think_ns, rows["arrival_ns"])
        rows["behind"] = behind.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3]
        rows.flush()

    def close(self) -> None:
        """Removes what has not been kept."""
        self._file.close()
        with suppress(FileNotFoundError):
            self._path.unlink()


def _refuse_many(trace: Trace, writers: Sequence[_Writer]) -> None:
    """Raises UsageError where more devices are replayed than a job has streams."""
    if sum(bool(one.done.extent_bytes) for one in writers) > STREAMS_MAX:
        raise UsageError(
            f"{trace.name} has more than {STREAMS_MAX} devices, the most that are replayed at once",
            f"name one, such as --trace-device {trace.devices[0]!r}",
        )


def of_device(trace: Trace, batch: Batch, device: str | None) -> NDArray[np.bool_]:
    """Returns which I/Os of a batch are those of the device; None stands for the only one. Raises UsageError."""
    names = list(trace.devices)
    if device is None:
        if len(names) > 1:
            raise UsageError(
                f"{trace.name} has several devices: {some_of(names)}", "name one by --trace-device"
            )
        return np.ones(len(batch), bool)
    return batch.device == (names.index(device) if device in names else len(names))


def _whole_blocks(batch: Batch, align_bytes: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Returns offsets and sizes, grown to whole blocks."""
    align = np.uint64(align_bytes)
    offset = batch.offset_bytes // align * align
    end = -(-(batch.offset_bytes + batch.size_bytes).astype(np.int64) // align_bytes) * align_bytes
    return offset, end.astype(np.uint64) - offset


def _kept_ios(batch: Batch, chosen: NDArray[np.bool_], done: Prepared, align_bytes: int) -> NDArray[np.bool_]:
    """Returns which of the chosen I/Os are replayed, and counts the others."""
    _, size = _whole_blocks(batch, align_bytes)
    flush = batch.operation == TRACE_OPERATIONS.index("flush")
    moved = (
        (batch.operation < TRACE_OPERATIONS.index("flush")) & (batch.size_bytes > 0) & (size <= MOST_BYTES)
    )
    kept = chosen & (flush | moved)
    done.left_out += int(np.count_nonzero(chosen & ~kept))
    return kept


def _rows(
    batch: Batch, kept: NDArray[np.bool_], done: Prepared, speed: float, align_bytes: int
) -> NDArray[np.void]:
    """Returns the records of the kept I/Os of a batch, and counts them."""
    offset, size = _whole_blocks(batch, align_bytes)
    flush = batch.operation == TRACE_OPERATIONS.index("flush")
    rows = np.zeros(np.count_nonzero(kept), ROW)
    if not len(rows):
        return rows
    arrival = (batch.issue_ns[kept] / speed).astype(np.uint64)
    # What stands too late in the trace comes with the I/O before it.
    arrival[0] = max(int(arrival[0]), done.last_ns)
    rows["arrival_ns"] = np.maximum.accumulate(arrival)
    rows["offset"] = np.where(flush[kept], 0, offset[kept])
    rows["size"] = np.where(flush[kept], 0, size[kept])
    numbers = np.array([OPS.get(name, 0) for name in TRACE_OPERATIONS], np.uint8)
    rows["op"] = numbers[batch.operation[kept]]
    if not done.extent_bytes and (data := rows[rows["size"] > 0]).size:
        done.first_bytes = int(data["offset"][0])
    done.ios += len(rows)
    done.last_ns = int(rows["arrival_ns"][-1])
    done.extent_bytes = max(done.extent_bytes, int((rows["offset"] + rows["size"]).max()))
    for name, number in OPS.items():
        sizes, counts = np.unique(rows["size"][rows["op"] == number], return_counts=True)
        done.sizes[name].update(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
    return rows


def _chunks(rows: NDArray[np.void]) -> NDArray[np.uint64]:
    """Returns the chunks that are read, each once."""
    reads = rows[rows["op"] == OPS["read"]]
    first = reads["offset"] // CHUNK_BYTES
    last = (reads["offset"] + reads["size"] - np.uint64(1)) // CHUNK_BYTES
    found = [np.unique(first)]
    step = 1
    while len(longer := first[last >= first + np.uint64(step)]):
        found.append(np.unique(longer + np.uint64(step)))
        step += 1
    return np.unique(np.concatenate(found))


def first_chunk(done: Prepared) -> Prepared:
    """Writes the record that writes the chunk with the first I/O."""
    chunk = np.array([done.first_bytes // CHUNK_BYTES], np.uint64)
    return _prepare_fill(done, chunk, _folder() / f"{os.getpid()}.part")


def _prepare_fill(done: Prepared, chunks: NDArray[np.uint64], path: Path) -> Prepared:
    """Writes the records that write every chunk once, in order."""
    fill = Prepared(done.name, ios=len(chunks), extent_bytes=done.extent_bytes)
    rows = np.zeros(len(chunks), ROW)
    rows["offset"] = chunks * np.uint64(CHUNK_BYTES)
    rows["size"] = np.minimum(CHUNK_BYTES, np.uint64(done.extent_bytes) - rows["offset"])
    rows["op"] = OPS["write"]
    sizes, counts = np.unique(rows["size"], return_counts=True)
    fill.sizes["write"].update(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
    with path.open("wb") as file:
        file.write(bytes(HEADER_BYTES))
        rows.tofile(file)
        _write_header(file, fill)
    fill.path = _kept(path)
    return fill


def _check(trace: Trace, done: Prepared, device: str | None) -> None:
    if device is not None and device not in trace.devices:
        raise UsageError(f"{trace.name} has no device {device!r}", f"it has {some_of(trace.devices)}")
    if not done.ios or not done.extent_bytes:
        raise nothing_moved(trace, done.ios + done.left_out)


def nothing_moved(trace: Trace, ios: int) -> UsageError:
    """Returns the error of a trace, read to its end, none of whose I/Os move data that can be issued."""
    if not ios:
        return no_io(trace)
    return UsageError(
        f"{trace.name}: its {ios:,} I/Os are flushes, discards or larger than {MOST_BYTES >> 20} MiB",
        "record reads or writes too, of at most that size",
    )


def _write_header(file: BinaryIO, done: Prepared, *, waits: bool = False) -> None:
    file.seek(0)
    numbers = np.array([done.ios, done.extent_bytes, done.lap_ns], "<u8")
    file.write((WAITING_MAGIC if waits else MAGIC) + numbers.tobytes())


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "fathom" / "replays"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _kept(path: Path, answers: str = "") -> Path:
    """Names a file after its contents, so that equal traces make equal methods; keeps their answers beside it."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(answers.encode())
    kept = path.with_name(f"{digest.hexdigest()[:32]}.replay")
    if answers:
        beside = path.with_suffix(".answers")
        beside.write_text(answers)
        beside.replace(kept.with_suffix(SUFFIX))
    path.replace(kept)
    return kept


def extent_of(path: Path) -> int | None:
    """Returns the end of the last byte that a prepared trace reaches; None where there is no such file."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return None
    if len(header) < HEADER_BYTES or not header.startswith((MAGIC, WAITING_MAGIC)):
        return None
    return int(np.frombuffer(header, "<u8")[2])


def most_frequent(sizes: Counter[int], most: int) -> Sequence[tuple[int, int]]:
    """Returns (size, I/Os) of at most that many sizes, the largest among them; the others count with the largest."""
    largest = max(sizes)
    kept = dict(sizes.most_common(most - 1))
    kept[largest] = sizes[largest]
    kept[largest] += sum(sizes.values()) - sum(kept.values())
    return sorted(kept.items())
