"""Traces that the Rust readers take in portions: text, CSV and binary records."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from fathom._core import TraceReader
from fathom.errors import UsageError
from fathom.traces.batch import BLOCK_LAYER, Batch, Findings

PORTION_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""How spreadsheets begin a text in UTF-8. No binary trace begins so."""


class Portions:
    """A file that is read in portions, plain or compressed. `raw` is the file itself, which has the position."""

    def __init__(
        self, name: str, stream: BinaryIO, size_bytes: int | None, raw: BinaryIO | None = None
    ) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self._stream = stream
        self._raw = raw
        self._kept = b""
        self._begun = False
        self._commas_are_points = False

    def head(self, size_bytes: int) -> bytes:
        """Returns the first bytes, which stay to be read. Raises UsageError as `read`."""
        self._begin()
        while len(self._kept) < size_bytes:
            more = self._read(size_bytes - len(self._kept))
            if not more:
                break
            self._kept += more
        return self._kept[:size_bytes]

    def begins_with(self, mark: bytes) -> bool:
        """Returns whether the file begins with a mark."""
        return self.head(len(mark)) == mark

    def read(self) -> bytes:
        """Returns the next portion, empty at the end. Raises UsageError where the file cannot be read or unpacked."""
        self._begin()
        if self._kept:
            portion, self._kept = self._kept, b""
            return portion
        return self._read(PORTION_BYTES)

    def take_commas_as_points(self) -> None:
        """Reads every comma as a decimal point from here on, the head too."""
        self._commas_are_points = True
        self._kept = self._kept.replace(b",", b".")

    def position(self) -> int:
        """Returns how many bytes of the file itself have been read."""
        return self._raw.tell() if self._raw is not None else 0

    def _begin(self) -> None:
        """Leaves out a byte order mark, once."""
        if self._begun:
            return
        self._begun = True
        while len(self._kept) < len(BYTE_ORDER_MARK) and (
            more := self._read(len(BYTE_ORDER_MARK) - len(self._kept))
        ):
            self._kept += more
        self._kept = self._kept.removeprefix(BYTE_ORDER_MARK)

    def _read(self, size_bytes: int) -> bytes:
        try:
            read = self._stream.read(size_bytes)
        except (OSError, ValueError, pa.ArrowException, EOFError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise UsageError(f"{self.name}: cannot be read: {reason}", "check the file") from error
        return read.replace(b",", b".") if self._commas_are_points else read


class RecordedTrace:
    """A trace in one of the formats of the Rust readers; see `batch.Trace`."""

    def __init__(self, name: str, format: str, reader: TraceReader, sources: Sequence[Portions]) -> None:
        self.name = name
        self.format = format
        self.findings = Findings(at_block_layer=format in BLOCK_LAYER)
        self.devices: Sequence[str] = ()
        self.processes: Sequence[str] = ()
        self._reader = reader
        self._sources = sources

    def batches(self) -> Iterator[Batch]:
        """Yields the I/Os in the order of issue. Raises UsageError where a file cannot be read."""
        while (source := self._reader.wants()) is not None:
            columns = self._reader.feed(source, self._sources[source].read())
            self._take_findings()
            batch = Batch(
                issue_ns=np.frombuffer(columns["issue_ns"], np.uint64),
                latency_ns=np.frombuffer(columns["latency_ns"], np.uint64),
                offset_bytes=np.frombuffer(columns["offset_bytes"], np.uint64),
                size_bytes=np.frombuffer(columns["size_bytes"], np.uint64),
                operation=np.frombuffer(columns["operation"], np.uint8),
                flags=np.frombuffer(columns["flags"], np.uint8),
                device=np.frombuffer(columns["device"], np.uint32),
                process=np.frombuffer(columns["process"], np.uint32),
                pid=np.frombuffer(columns["pid"], np.uint32),
                cpu=np.frombuffer(columns["cpu"], np.uint32),
            )
            if len(batch):
                self.findings.clock.add(batch.issue_ns)
                yield batch

    def share_read(self) -> float | None:
        """Returns how much of the files has been read, 0 to 1; None for standard input."""
        sizes = [source.size_bytes for source in self._sources]
        if None in sizes or not (total := sum(size or 0 for size in sizes)):
            return None
        return min(1.0, sum(source.position() for source in self._sources) / total)

    def _take_findings(self) -> None:
        reader = self._reader
        if len(self.devices) != reader.device_count:
            self.devices = reader.devices
        if len(self.processes) != reader.process_count:
            self.processes = reader.processes
        self.findings.wrong = reader.wrong
        self.findings.first_wrong = reader.first_wrong
        self.findings.late = reader.late
        self.findings.unfinished, self.findings.unknown = reader.unpaired
        self.findings.start_unix_ns = reader.start_unix_ns
