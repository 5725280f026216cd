"""Writes a run whose figures are all there, such as one that another program measured: all of it, or nothing.

It has the run's own tables and no folders of steps. What the journal of a run says of steps, nobody knows here.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from fathom.columns.schema import TABLES
from fathom.runs.compact import OF_STEPS, Row, write_table
from fathom.runs.document import RunDocument
from fathom.runs.event_log import append_event
from fathom.runs.files import sync_directory, sync_files, write_errors_named
from fathom.runs.manifest import Manifest


def write_whole(path: Path, document: RunDocument, rows: Mapping[str, Sequence[Row]]) -> None:
    """Writes the run directory `path` from rows by table. A crash leaves the whole run or none.

    Raises FathomError where the directory cannot be written or is already there.
    """
    building = path.with_name(f".{path.name}.new")
    with write_errors_named(path):
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        try:
            _fill(building, document, rows)
            # One wait for all: nothing in here counts before it has its name.
            sync_files([*building.iterdir(), building])
            os.rename(building, path)  # noqa: PTH104 (`replace` would take the place of a run)
            sync_directory(path.parent)
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(building)
            raise


def _fill(run: Path, document: RunDocument, rows: Mapping[str, Sequence[Row]]) -> None:
    for name in OF_STEPS:
        schema = TABLES[name]
        own = [dict(row) for row in rows.get(name, ())]
        write_table(run / f"{name}.parquet", [pa.Table.from_pylist(own, schema=schema)], schema)
    event = {"time": document.created, "event": "run-import", "run": document.id}
    append_event(run, event, durable=False)
    Manifest.of_run(run, document.id, document.text()).save(run, durable=False)
    document.save(run, durable=False)
