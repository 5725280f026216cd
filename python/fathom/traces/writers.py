"""Writes traces for others: fio's iolog version 3, and CSV. Parquet has its own module."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from fathom.output.text import distinct
from fathom.traces.batch import Batch, Findings
from fathom.traces.parquet import SCHEMA, ParquetWriter, to_arrow

_ACTIONS = ("read", "write", "sync", "trim")
"""What fio calls each operation, in the order of `_core.TRACE_OPERATIONS`."""
_NS_PER_US = 1_000


class Writer(Protocol):
    """Writes batches to a new file."""

    def write(self, batch: Batch, devices: Sequence[str], processes: Sequence[str]) -> None:
        """Adds a batch; the names are those that its numbers mean."""
        ...

    def finish(self, source: str, format: str, findings: Findings) -> None:
        """Writes what is left."""
        ...

    def __enter__(self) -> "Writer":
        """Returns itself."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file."""
        ...


class _File:
    """A file that is closed at the end."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")

    def __enter__(self) -> "_File":
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file."""
        self._file.close()


class CsvWriter(_File):
    """Writes CSV with the columns of the Parquet format; names lose what would break a line."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file.write((",".join(SCHEMA.names) + "\n").encode())

    def __enter__(self) -> "CsvWriter":
        """Returns itself."""
        return self

    def write(self, batch: Batch, devices: Sequence[str], processes: Sequence[str]) -> None:
        """Adds a line for each I/O."""
        rows = to_arrow(batch, distinct(_plain(devices, ',"')), _plain(processes, ',"'))
        options = pcsv.WriteOptions(include_header=False, quoting_style="none")
        columns = [
            column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
            for column in rows.columns
        ]
        pcsv.write_csv(pa.RecordBatch.from_arrays(columns, SCHEMA.names), self._file, options)

    def finish(self, source: str, format: str, findings: Findings) -> None:
        """Has nothing to add: a CSV has no place for it."""


class IologWriter(_File):
    """Writes fio's iolog version 3: times in whole microseconds, each device a file that is added and opened first."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file.write(b"fio version 3 iolog\n")
        self._opened = 0
        self._names: list[str] = []
        self._last_us = np.uint64(0)

    def __enter__(self) -> "IologWriter":
        """Returns itself."""
        return self

    def write(self, batch: Batch, devices: Sequence[str], processes: Sequence[str]) -> None:
        """Adds a line for each I/O."""
        # fio waits for the time since the line before: one that went back would delay all that follow.
        times_us = np.maximum(np.maximum.accumulate(batch.issue_ns // _NS_PER_US), self._last_us)
        names = distinct(_plain([device or "device" for device in devices]))
        for name in names[self._opened :]:
            self._names.append(name)
            at_us = int(times_us[0])
            self._file.write(f"{at_us} {name} add\n{at_us} {name} open\n".encode())
        self._opened = len(devices)
        actions = np.array(_ACTIONS, object)
        columns = [
            pa.array(times_us).cast(pa.string()),
            pa.array(np.array(self._names, object)[batch.device], pa.string()),
            pa.array(actions[batch.operation], pa.string()),
            pa.array(batch.offset_bytes).cast(pa.string()),
            pa.array(batch.size_bytes).cast(pa.string()),
        ]
        lines = pc.binary_join_element_wise(*columns, " ")  # pyright: ignore[reportAttributeAccessIssue]
        self._file.write(("\n".join(lines.to_pylist()) + "\n").encode())
        self._last_us = times_us[-1]

    def finish(self, source: str, format: str, findings: Findings) -> None:
        """Closes every device's file."""
        for name in self._names:
            self._file.write(f"{self._last_us} {name} close\n".encode())


def _plain(names: Sequence[str], marks: str = "") -> list[str]:
    """Returns names without white space and `marks`."""
    return ["".join("_" if char.isspace() or char in marks else char for char in name) for name in names]


WRITERS: Mapping[str, Callable[[Path], Writer]] = {
    "parquet": ParquetWriter,
    "csv": CsvWriter,
    "iolog": IologWriter,
}
"""What `fathom trace convert` writes."""
SUFFIXES: Mapping[str, str] = {".parquet": "parquet", ".csv": "csv", ".iolog": "iolog", ".log": "iolog"}
"""The format that a file's name asks for."""
