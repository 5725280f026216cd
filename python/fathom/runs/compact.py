"""The tables of a step and of a run as Parquet files, with page checksums. A file is complete or not there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import pyarrow as pa

from fathom.columns.schema import ADDED, TABLES
from fathom.runs.files import sync_directory, sync_files
from fathom.runs.spool import Spool, Writer
from fathom.runs.tables import Tables, coded_schema

Row = Mapping[str, object]
FEW_ROWS = 16
"""Most listed rows of a table that is written without compression."""
FEW_TABLES = 4
"""Parts from which on a table is not worth keeping: a small one has one or two."""
SMALL_BYTES = 1 << 15
"""Most memory of a table that is worth keeping: reading it again would take longer than writing it."""
OF_STEPS = tuple(name for name in TABLES if name not in ADDED)
ROW_GROUP_BYTES = 1 << 24
"""Memory of a row group. Rows with the long name of an array are large, so that a group holds few."""


def write_rows(path: Path, rows: Sequence[Row] | Spool, schema: pa.Schema) -> list[pa.Table]:
    """Writes a step's table, a row group at a time. Without rows there is no file. Returns a table that is small enough
    to keep, in parts; empty for any other.

    Most have a few rows in many columns, which LZ4 takes half as long for as Zstandard. The fewest are quickest as they
    are, and no longer.
    """
    tables = rows.tables() if isinstance(rows, Spool) else [_table_of(rows, schema)] if rows else []
    with_rows = (table for table in tables if table.num_rows)
    first = list(islice(with_rows, FEW_TABLES))
    if not first:
        return []
    few = not isinstance(rows, Spool) and len(rows) <= FEW_ROWS
    write_table(path, chain(first, with_rows), schema, compression="none" if few else "lz4")
    is_small = len(first) < FEW_TABLES and sum(table.nbytes for table in first) <= SMALL_BYTES
    return first if is_small else []


def _table_of(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Returns rows as a table: a quarter of the time of `from_pylist`, which converts column by column."""
    return pa.Table.from_struct_array(pa.array([dict(row) for row in rows], pa.struct(schema)))


def compact(run: Path, tables: Tables, names: Iterable[str] = OF_STEPS) -> None:
    """Writes the run's own tables from those of its steps, which `tables` reads; several at once."""
    wanted = list(names)
    for name in wanted:
        tables.files(name)  # Threads below find its files known, so they share nothing that changes.
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: _compact_table(run, tables, name), wanted))
    sync_directory(run)


def _compact_table(run: Path, tables: Tables, name: str) -> None:
    temporary = run / f".{name}.parquet.new"
    write_coded_table(temporary, tables.parts(name, coded=True), coded_schema(name))
    sync_files([temporary])
    temporary.replace(run / f"{name}.parquet")


def batches(tables: Iterable[pa.Table]) -> Iterator[list[pa.Table]]:
    """Yields small tables by the row group: a file of a thousand tiny ones is slow to write and to read."""
    batch: list[pa.Table] = []
    size_bytes = 0
    for table in tables:
        batch.append(table)
        size_bytes += table.nbytes
        if size_bytes >= ROW_GROUP_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def write_table(
    file: Path | pa.NativeFile,
    tables: Iterable[pa.Table],
    schema: pa.Schema,
    compression: Literal["none", "lz4", "zstd"] = "zstd",
) -> None:
    """Writes tables as one Parquet file, with rows or without. It is not yet known to be on the disk."""
    dictionary = compression != "none"
    with Writer(
        file, schema, compression=compression, use_dictionary=dictionary, write_page_checksum=True
    ) as writer:
        for batch in batches(tables):
            writer.write_table(pa.concat_tables(batch))


def write_coded_table(file: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Writes tables whose texts are coded as `write_table` does. Readers find texts: the file keeps no Arrow schema."""
    with Writer(
        file, schema, compression="zstd", use_dictionary=True, write_page_checksum=True, store_schema=False
    ) as writer:
        for batch in batches(tables):
            # A row group whose texts have several dictionaries would have them in full.
            writer.write_table(pa.concat_tables(batch).unify_dictionaries())
