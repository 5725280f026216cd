"""Writes runs whose figures are all there, such as those that another program measured: each of them whole, or not.

They have the run's own tables and no folders of steps. What the journal of a run says of steps, nobody knows here.
"""

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Self

import pyarrow as pa

from fathom.columns.schema import TABLES
from fathom.errors import UsageError
from fathom.runs.compact import OF_STEPS, Row, write_table
from fathom.runs.document import RunDocument
from fathom.runs.event_log import append_event
from fathom.runs.files import sync_directory, sync_files, write_errors_named
from fathom.runs.manifest import Manifest

Rows = Mapping[str, Sequence[Row]]


class WholeRuns:
    """Run directories that are written now and take their names together, so that many wait for the disk once.

    A context: at its end all that are complete have their names; after an error what has no name yet is removed.
    """

    def __init__(self) -> None:
        self._unnamed: set[Path] = set()
        self._complete: dict[Path, Path] = {}

    def __len__(self) -> int:
        """Returns how many are complete and do not have their names yet."""
        return len(self._complete)

    def __enter__(self) -> Self:
        """Begins with no run."""
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Publishes what is complete, and removes the rest."""
        try:
            if error is None:
                self.publish()
        finally:
            for building in self._unnamed:
                with suppress(OSError):
                    shutil.rmtree(building)

    def has(self, path: Path) -> bool:
        """Returns whether a run of that path is there, or will be."""
        return path in self._complete or path.exists()

    def begin(self, building: Path) -> None:
        """Names the folder that `write` is to fill, perhaps in another process. It is removed unless completed."""
        self._unnamed.add(building)

    def complete(self, path: Path, building: Path) -> None:
        """Takes a folder that `write` filled: it is to be the run `path`."""
        self._complete[path] = building

    def publish(self) -> None:
        """Gives all that are complete their names, once they are on the disk. A crash leaves each whole or without one.

        Raises FathomError where one cannot be, or its name is taken.
        """
        # One wait for all: nothing in here counts before it has its name.
        made = list(self._complete.values())
        with write_errors_named(made[0].parent if made else Path()):
            sync_files([file for folder in made for file in (*folder.iterdir(), folder)])
        for path, building in list(self._complete.items()):
            with write_errors_named(path):
                _name(building, path)
            del self._complete[path]
            self._unnamed.remove(building)
        for parent in {folder.parent for folder in made}:
            with write_errors_named(parent):
                sync_directory(parent)


def taken(path: Path) -> UsageError:
    """Returns the error of a run whose name another has."""
    return UsageError(
        f"{path}: a run of this name is there already", "`fathom check` says whether it is whole"
    )


def _name(building: Path, path: Path) -> None:
    try:
        os.rename(building, path)  # noqa: PTH104 (`replace` would take the place of a run)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        raise taken(path) from error


def write(building: Path, document: RunDocument, rows: Rows) -> None:
    """Writes a run from rows by table into a folder that is none yet. Raises FathomError if it cannot be written."""
    with write_errors_named(building.parent / document.id):
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        _fill(building, document, rows)


def write_whole(path: Path, document: RunDocument, rows: Rows) -> None:
    """Writes the run directory `path` from rows by table. A crash leaves the whole run or none.

    Raises FathomError where the directory cannot be written or is already there.
    """
    building = path.with_name(f".{path.name}.{token_hex(4)}.new")
    with WholeRuns() as runs:
        runs.begin(building)
        write(building, document, rows)
        runs.complete(path, building)


@cache
def _without_rows(name: str) -> bytes:
    """Returns the file of a table without rows: most tables of most imported runs."""
    file = pa.BufferOutputStream()
    write_table(file, [], TABLES[name])
    return file.getvalue().to_pybytes()


def _fill(run: Path, document: RunDocument, rows: Rows) -> None:
    for name in OF_STEPS:
        file = run / f"{name}.parquet"
        if own := [dict(row) for row in rows.get(name, ())]:
            write_table(file, [pa.Table.from_pylist(own, schema=TABLES[name])], TABLES[name], "lz4")
        else:
            file.write_bytes(_without_rows(name))
    event = {"time": document.created, "event": "run-import", "run": document.id}
    append_event(run, event, durable=False)
    Manifest.of_run(run, document.id, document.text()).save(run, durable=False)
    document.save(run, durable=False)
