"""Fathom's own trace format: Parquet, less than 16 bytes per I/O. docs/reference/trace.md describes its columns."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fathom._core import TRACE_OPERATIONS
from fathom.errors import UsageError
from fathom.traces.batch import BLOCK_LAYER, FLAG_LETTERS, NO_LATENCY, NO_NAME, Batch, Findings, Names

VERSION = "fathom-trace/1"
_KEY = b"fathom-trace"
_NAME = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("issue_ns", pa.int64(), nullable=False),
        pa.field("latency_ns", pa.int64()),
        pa.field("offset_bytes", pa.int64()),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("operation", _NAME, nullable=False),
        pa.field("flags", _NAME, nullable=False),
        pa.field("device", _NAME, nullable=False),
        pa.field("process", _NAME),
        pa.field("pid", pa.int32()),
        pa.field("cpu", pa.int32()),
    ]
)
_PACKED = ("issue_ns", "latency_ns")
_LATER = ("pid", "cpu")
"""Columns that a file may lack."""
_NAMED = ("operation", "flags", "device", "process")
_FLUSH = TRACE_OPERATIONS.index("flush")
_MOST_BYTES = np.iinfo(np.int64).max
_ROWS = 1 << 20
_READ_ROWS = 1 << 17


def flag_texts() -> list[str]:
    """Returns the letters of every combination of flags, by its bits."""
    return [
        "".join(letter for bit, letter in enumerate(FLAG_LETTERS) if bits >> bit & 1)
        for bits in range(1 << len(FLAG_LETTERS))
    ]


def to_arrow(batch: Batch, devices: Sequence[str], processes: Sequence[str]) -> pa.RecordBatch:
    """Returns a batch with names instead of numbers, and nulls for what is not recorded."""
    none = batch.operation == _FLUSH
    columns = [
        pa.array(batch.issue_ns.view(np.int64)),
        pa.array(batch.latency_ns.view(np.int64), mask=batch.latency_ns == NO_LATENCY),
        pa.array(batch.offset_bytes.view(np.int64), mask=none),
        pa.array(batch.size_bytes.view(np.int64)),
        _named(batch.operation.astype(np.int32), TRACE_OPERATIONS),
        _named(batch.flags.astype(np.int32), flag_texts()),
        _named(batch.device.view(np.int32), devices),
        _named(batch.process.view(np.int32), processes, batch.process == NO_NAME),
        pa.array(batch.pid.view(np.int32), mask=batch.pid == NO_NAME),
        pa.array(batch.cpu.view(np.int32), mask=batch.cpu == NO_NAME),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _named(
    numbers: NDArray[np.int32], names: Sequence[str], none: NDArray[np.bool_] | None = None
) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(numbers, mask=none), pa.array(names, pa.string()))


class ParquetWriter:
    """Writes a trace to a new file; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(
            path,
            SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=["size_bytes", *_NAMED, *_LATER],  # pyright: ignore[reportArgumentType]
            column_encoding={name: "DELTA_BINARY_PACKED" for name in (*_PACKED, "offset_bytes")},
            write_page_checksum=True,
            # Least and greatest cost a quarter of the writing, and only times are looked up by them.
            write_statistics=["issue_ns"],  # pyright: ignore[reportArgumentType]
        )
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def __enter__(self) -> "ParquetWriter":
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file."""
        self._writer.close()

    def write(self, batch: Batch, devices: Sequence[str], processes: Sequence[str]) -> None:
        """Adds a batch; about a million I/Os at a time become a row group."""
        self._waiting.append(to_arrow(batch, devices, processes))
        self._rows += len(batch)
        if self._rows >= _ROWS:
            self._write_waiting()

    def finish(self, source: str, format: str, findings: Findings) -> None:
        """Writes the last rows, and the facts on the whole trace."""
        self._write_waiting()
        about = {
            "schema": VERSION,
            "source": source,
            "format": format,
            "start_unix_ns": findings.start_unix_ns,
            "at_block_layer": findings.at_block_layer,
            "wrong": findings.wrong,
            "late": findings.late,
            "unfinished": findings.unfinished,
            "unknown": findings.unknown,
            "lost": findings.lost,
        }
        self._writer.add_key_value_metadata({_KEY.decode(): json.dumps(about)})

    def _write_waiting(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting).unify_dictionaries()
            self._writer.write_table(table, row_group_size=2 * _ROWS)
        self._waiting, self._rows = [], 0


class ParquetTrace:
    """A trace in Parquet; see `batch.Trace`. Raises UsageError for a file of another kind."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.format = "parquet"
        self._path = path
        try:
            named = [name for name in _NAMED if name in pq.read_schema(path).names]
            # Read ahead, pyarrow keeps every row group that it has read until the end.
            self._file = pq.ParquetFile(
                path, read_dictionary=named, page_checksum_verification=True, pre_buffer=False
            )
        except (OSError, ValueError, pa.ArrowException) as error:
            raise UsageError(f"{path}: cannot be read: {str(error).rstrip('.')}", "check the file") from error
        own = {field.name: field.type for field in SCHEMA}
        found = {field.name: field.type for field in self._file.schema_arrow}
        self._columns = [name for name in own if name in found or name not in _LATER]
        if missing := [name for name in self._columns if found.get(name) != own[name]]:
            raise UsageError(
                f"{path}: no trace: column {missing[0]} is missing or of another type",
                "write it by `fathom trace convert`",
            )
        self._total = self._file.metadata.num_rows
        self._read = 0
        self._devices, self._processes = Names(), Names()
        self.findings = self._findings()

    @property
    def devices(self) -> Sequence[str]:
        """Names of the devices so far."""
        return self._devices.texts

    @property
    def processes(self) -> Sequence[str]:
        """Names of the processes so far."""
        return self._processes.texts

    def share_read(self) -> float | None:
        """Returns how much has been read, 0 to 1."""
        return self._read / self._total if self._total else 1.0

    def batches(self) -> Iterator[Batch]:
        """Yields the I/Os in the order of issue. Raises UsageError where the file is damaged."""
        rows = self._file.iter_batches(_READ_ROWS, columns=self._columns, use_threads=False)
        try:
            for found in rows:
                self._read += found.num_rows
                batch = self._batch(found)
                if len(batch):
                    self.findings.clock.add(batch.issue_ns)
                yield batch
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise UsageError(f"{self._path}: damaged: {error}", "convert the trace again") from error

    def _batch(self, rows: pa.RecordBatch) -> Batch:
        for field in SCHEMA:
            if not field.nullable and rows.column(field.name).null_count:
                raise ValueError(f"{field.name} is missing in a row")
        offset, size = _whole(rows.column("offset_bytes"), 0), _whole(rows.column("size_bytes"), 0)
        # Two numbers of 63 bits add up within 64.
        if len(offset) and (offset + size).max() > _MOST_BYTES:
            raise ValueError("an I/O ends beyond 2^63 bytes")
        return Batch(
            issue_ns=_whole(rows.column("issue_ns"), 0),
            latency_ns=_whole(rows.column("latency_ns"), -1),
            offset_bytes=offset,
            size_bytes=size,
            operation=_mapped(rows.column("operation"), TRACE_OPERATIONS.index).astype(np.uint8),
            flags=_mapped(rows.column("flags"), flag_texts().index).astype(np.uint8),
            device=_mapped(rows.column("device"), self._devices.number),
            process=_mapped(rows.column("process"), self._processes.number),
            pid=self._number(rows, "pid"),
            cpu=self._number(rows, "cpu"),
        )

    def _number(self, rows: pa.RecordBatch, name: str) -> NDArray[np.uint32]:
        """Returns a column that the file may lack."""
        if name not in self._columns:
            return np.full(rows.num_rows, NO_NAME, np.uint32)
        column = rows.column(name)
        filled = column.fill_null(-1) if column.null_count else column
        return filled.to_numpy(zero_copy_only=False).view(np.uint32)

    def _findings(self) -> Findings:
        stored = (self._file.metadata.metadata or {}).get(_KEY)
        if stored is None:
            return Findings()
        try:
            about = json.loads(stored)
        except ValueError as error:
            raise UsageError(f"{self._path}: damaged: {error}", "convert the trace again") from error
        if not isinstance(about, dict) or about.get("schema") != VERSION:
            raise UsageError(f"{self._path}: a trace of another version of Fathom", "convert the trace again")
        start = about.get("start_unix_ns")
        lost = about.get("lost", 0)
        return Findings(
            start_unix_ns=start if isinstance(start, int) else None,
            lost=lost if isinstance(lost, int) and lost > 0 else 0,
            # Files of earlier versions name the format alone.
            at_block_layer=about.get("at_block_layer", about.get("format") in BLOCK_LAYER) is True,
        )


def _whole(column: pa.Array, none: int) -> NDArray[np.uint64]:
    filled = column.fill_null(none) if column.null_count else column
    values = filled.to_numpy(zero_copy_only=True)
    if len(values) and values.min() < none:
        raise ValueError("a negative number")
    return values.view(np.uint64)


def _mapped(column: pa.DictionaryArray, number_of: Callable[[str], int]) -> NDArray[np.uint32]:
    """Returns numbers for names; nulls become `NO_NAME`. Raises ValueError for an index without a name."""
    names = column.dictionary.to_pylist()
    numbers = np.array([*(number_of(name) for name in names), NO_NAME], np.uint32)
    indices = column.indices
    filled = indices.fill_null(len(names)) if indices.null_count else indices
    places = filled.to_numpy(zero_copy_only=True)
    if len(places) and not 0 <= places.min() <= places.max() < len(numbers):
        raise ValueError("a row points to a name that is not there")
    return np.take(numbers, places)
