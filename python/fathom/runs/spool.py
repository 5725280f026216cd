"""Rows of a table that wait for the end of their step: few in memory, as columns, the others on disk.

Six hours of seconds with a full histogram each are millions of rows; as Python objects they would be gigabytes. The
disk file has no name, so nothing is left of it whatever happens; what must survive a crash is in the live log.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fathom.runs.files import write_errors_named

Row = dict[str, object]
ROWS_IN_MEMORY = 1 << 14
"""About 2 MB as columns. Two dozen targets with three tables each stay far below 256 MiB."""
ROWS_AT_ONCE = 1 << 8
"""Rows per table: making a table costs about the same for one row."""
ARRAY_ROWS_AT_ONCE = 1 << 12
"""Rows per table of those that come as arrays, which are small."""


class _Portion(NamedTuple):
    """Rows that share `common` and differ in `columns`."""

    common: Mapping[str, object]
    columns: Mapping[str, NDArray[np.int64]]
    rows: int


class Writer(pq.ParquetWriter):
    """A Parquet writer that closes once. The library's own tries to write again when it is garbage-collected."""

    def close(self) -> None:
        """Ends the file. Raises OSError, once."""
        if getattr(self, "is_open", False):
            self.is_open = False
            self.writer.close()
            if self.file_handle is not None:
                self.file_handle.close()

    def __del__(self) -> None:
        """Drops a file that nobody waits for any more."""
        with suppress(OSError, pa.ArrowException):
            self.close()


class Spool:
    """Rows of one table in the order they came. `directory` is where the disk file is made."""

    def __init__(self, schema: pa.Schema, directory: Path | None = None) -> None:
        self.schema = schema
        self._directory = directory
        self._columns: dict[str, list[object]] = {name: [] for name in schema.names}
        self._portions: list[_Portion] = []
        self._open_rows = 0
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self._file: IO[bytes] | None = None
        self._writer: Writer | None = None

    def __iadd__(self, rows: Iterable[Mapping[str, object]]) -> Self:
        """Appends rows."""
        together = list(rows)
        self._end_portions()
        for name, column in self._columns.items():
            column.extend([row.get(name) for row in together])
        self._added(len(together))
        return self

    def add_columns(self, common: Mapping[str, object], columns: Mapping[str, Sequence[object]]) -> None:
        """Appends rows that share the values in `common`. There is at least one column, and all are equally long."""
        count = len(next(iter(columns.values())))
        self._end_portions()
        for name, column in self._columns.items():
            column.extend(columns[name] if name in columns else [common.get(name)] * count)
        self._added(count)

    def add_rows(
        self, common: Mapping[str, object], rows: Sequence[tuple[object, ...]], names: tuple[str, ...]
    ) -> None:
        """Appends rows that share the values in `common` and differ in the columns named."""
        if rows:
            self.add_columns(common, dict(zip(names, zip(*rows, strict=True), strict=True)))

    def add_arrays(self, common: Mapping[str, object], columns: Mapping[str, NDArray[np.int64]]) -> None:
        """Appends rows that share the values in `common`, and differ in columns that are arrays already."""
        count = len(next(iter(columns.values())))
        if not count:
            return
        if self._open_rows and not self._portions:
            self._make_table()
        self._portions.append(_Portion(common, columns, count))
        self._added(count, ARRAY_ROWS_AT_ONCE)

    def tables(self) -> Iterator[pa.Table]:
        """Yields everything, a part at a time; nothing can be added afterwards."""
        self._make_table()
        if self._writer is not None and self._file is not None:
            self._writer.close()
            with pq.ParquetFile(self._file) as file:
                for group in range(file.num_row_groups):
                    yield file.read_row_group(group)
        yield from self._waiting

    def pour(self, other: "Spool") -> None:
        """Appends the rows of another spool."""
        self._make_table()
        for table in other.tables():
            self._add(table)

    def _added(self, count: int, at_once: int = ROWS_AT_ONCE) -> None:
        self._open_rows += count
        if self._open_rows >= min(at_once, ROWS_IN_MEMORY - self._waiting_rows):
            self._make_table()

    def _end_portions(self) -> None:
        """Keeps the order where rows follow portions of arrays."""
        if self._portions:
            self._make_table()

    def _make_table(self) -> None:
        if self._open_rows:
            if self._portions:
                self._add(_table_of(self._portions, self.schema))
                self._portions = []
            else:
                self._add(pa.Table.from_pydict(self._columns, schema=self.schema))
                self._columns = {name: [] for name in self.schema.names}
            self._open_rows = 0

    def _add(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        if self._waiting_rows < ROWS_IN_MEMORY:
            return
        with write_errors_named(self._directory or Path(tempfile.gettempdir())):
            if self._writer is None:
                self._file = tempfile.TemporaryFile(dir=self._directory)  # noqa: SIM115 (lives as long as the step)
                self._writer = Writer(self._file, self.schema, compression="zstd")
            self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting, self._waiting_rows = [], 0


def _table_of(portions: Sequence[_Portion], schema: pa.Schema) -> pa.Table:
    """Returns portions as one table. What the rows of a portion share is converted once and repeated."""
    place = pa.array(np.repeat(np.arange(len(portions)), [one.rows for one in portions]))
    return pa.table(
        [
            pa.array(np.concatenate([one.columns[field.name] for one in portions]), type=field.type)
            if field.name in portions[0].columns
            else pa.array([one.common.get(field.name) for one in portions], type=field.type).take(place)
            for field in schema
        ],
        schema=schema,
    )
