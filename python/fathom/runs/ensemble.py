"""Gives a run that has ended the rows of its twins' ensembles."""

from collections.abc import Sequence

import pyarrow as pa

from fathom.columns.schema import ENSEMBLE
from fathom.errors import FathomError, UsageError
from fathom.runs.checksums import FileSum
from fathom.runs.compact import Row, write_table
from fathom.runs.files import sync_directory, sync_files, write_errors_named
from fathom.runs.manifest import Manifest
from fathom.runs.reader import REPAIR, Run
from fathom.runs.writer import writing_run

FILE = "ensemble.parquet"


def keep_ensemble(run: Run, rows: Sequence[Row]) -> None:
    """Writes the run's table `ensemble`, in place of an earlier one, and enters it in the manifest.

    Raises:
        UsageError: the run has not ended.
        FathomError: its manifest is damaged, or the directory cannot be written.
    """
    if not run.document.has_ended:
        raise UsageError(f"run {run.id} has not ended", "`fathom resume` goes on with it")
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=ENSEMBLE)
    temporary = run.path / f".{FILE}.new"
    with write_errors_named(run.path), writing_run(run.path):
        manifest = Manifest.load(run.path)
        if not isinstance(manifest, Manifest):
            raise FathomError(f"run {run.id}: its manifest {manifest.value}", REPAIR)
        write_table(temporary, [table], ENSEMBLE)
        sync_files([temporary])
        temporary.replace(run.path / FILE)
        entry = {FILE: FileSum.of(run.path / FILE)}
        manifest.model_copy(update={"files": manifest.files | entry}).save(run.path)
        sync_directory(run.path)
