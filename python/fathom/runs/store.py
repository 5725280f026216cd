"""Writing a run: journal, live intervals, finished steps, and the tables they end in.

A step is finished when its folder exists: the folder is filled under another name and renamed. Whatever a crash
leaves is therefore either a whole step or a live log, and both are kept.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from fathom.errors import FathomError
from fathom.runs.document import RunDocument
from fathom.runs.files import append_line, drop_cut_line, refusals_told, sync_directory, write_json
from fathom.runs.journal import JOURNAL
from fathom.runs.schema import SPARSE, TABLES
from fathom.runs.spool import Spool

Row = Mapping[str, object]
ROW_GROUP_BYTES = 1 << 24
"""Of the run's tables, in memory, that are written together: rows with the long name of an array are few then."""


@dataclass(frozen=True)
class StepKey:
    """Which step of which target."""

    target: int
    number: int
    name: str

    @property
    def folder(self) -> str:
        """Folder name, sorted by target and order of execution."""
        return f"{self.target:02d}-{self.number:03d}-{self.name}"


@dataclass(frozen=True)
class StepOutcome:
    """How a step ended. `partial`: interrupted; its figures cover less than was asked."""

    status: Literal["complete", "partial"]
    steady: bool | None
    reason: str
    window_s: float
    written_bytes: int


class RunStore:
    """One run directory being written. Safe to use from several threads.

    Raises FathomError where the directory cannot be written, as on a full disk.
    """

    def __init__(self, path: Path, document: RunDocument) -> None:
        self.path = path
        self.document = document
        self._lock = Lock()

    @classmethod
    def create(cls, path: Path, document: RunDocument) -> "RunStore":
        """Makes the directory and writes run.json and the journal's first line."""
        with refusals_told(path):
            (path / "steps").mkdir(parents=True)
            document.save(path)
            store = cls(path, document)
            store.journal("run-start", seed=document.seed)
            sync_directory(path.parent)
        return store

    @classmethod
    def reopen(cls, path: Path) -> "RunStore":
        """Goes on with a run that was interrupted or killed."""
        with refusals_told(path):
            drop_cut_line(path / JOURNAL)
            for half in (path / "steps").glob(".*.new"):
                shutil.rmtree(half)
        store = cls(path, RunDocument.load(path))
        store.document.status = "running"
        store.document.error = None
        store.save()
        store.journal("run-resume")
        return store

    def save(self) -> None:
        """Writes run.json."""
        with self._lock, refusals_told(self.path):
            self.document.save(self.path)

    def journal(self, event: str, key: StepKey | None = None, **fields: object) -> None:
        """Appends one durable line: what happens to which target, and when."""
        line: dict[str, object] = {"time": _now(), "event": event}
        if key is not None:
            line |= {"target": self.document.targets[key.target].name, "step": key.name}
        with self._lock, refusals_told(self.path):
            append_line(self.path / JOURNAL, line | fields)

    def live_path(self, key: StepKey) -> Path:
        """The running step's line file. What an earlier attempt left there is kept beside it under a number."""
        path = self.path / "steps" / f"{key.folder}.live.jsonl"
        if path.exists():
            attempt = len(list(path.parent.glob(f"{key.folder}.interrupted-*.jsonl"))) + 1
            drop_cut_line(path)
            path.rename(path.with_name(f"{key.folder}.interrupted-{attempt}.jsonl"))
        return path

    def append_live(self, path: Path, rows: Mapping[str, Sequence[Row]]) -> None:
        """Appends one interval's rows, table by table."""
        with refusals_told(self.path):
            append_line(path, rows)

    def finish_step(
        self, key: StepKey, rows: Mapping[str, Sequence[Row] | Spool], outcome: StepOutcome
    ) -> None:
        """Writes a step's tables, all or nothing, then drops its live log."""
        final = self.path / "steps" / key.folder
        building = final.with_name(f".{key.folder}.new")
        with refusals_told(self.path):
            building.mkdir()
            for name, schema in TABLES.items():
                if name in SPARSE and not rows.get(name):
                    continue
                _write_rows(building / f"{name}.parquet", rows.get(name, ()), schema)
            write_json(building / "step.json", asdict(outcome))
            if final.exists():
                shutil.rmtree(final)
            building.rename(final)
            sync_directory(final.parent)
            self.live_file(key).unlink(missing_ok=True)
        self.journal("step-end", key, status=outcome.status, steady=outcome.steady, window_s=outcome.window_s)

    def live_file(self, key: StepKey) -> Path:
        """Where the step's live log is, whether it exists or not."""
        return self.path / "steps" / f"{key.folder}.live.jsonl"

    def outcome(self, key: StepKey) -> StepOutcome | None:
        """How the step ended, or None when it has not."""
        return read_outcome(self.path / "steps" / key.folder)

    def points(self, key: StepKey) -> list[dict[str, object]]:
        """The rows of `points` of a finished step."""
        path = self.path / "steps" / key.folder / "points.parquet"
        return pq.read_table(path, schema=TABLES["points"]).to_pylist()

    def compact(self) -> None:
        """Writes the run's own tables from those of its steps."""
        with refusals_told(self.path):
            for name in TABLES:
                temporary = self.path / f".{name}.parquet.new"
                with pq.ParquetWriter(temporary, TABLES[name], compression="zstd") as writer:
                    for batch in batches(_step_tables(self.path, name)):
                        writer.write_table(pa.concat_tables(batch))
                temporary.replace(self.path / f"{name}.parquet")
            sync_directory(self.path)


def _write_rows(path: Path, rows: Sequence[Row] | Spool, schema: pa.Schema) -> None:
    """A step's table, a row group at a time."""
    listed = isinstance(rows, Sequence)
    tables = [pa.Table.from_pylist([dict(row) for row in rows], schema=schema)] if listed else rows.tables()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches(tables):
            writer.write_table(pa.concat_tables(batch))


def read_outcome(folder: Path) -> StepOutcome | None:
    """The outcome of a step's folder, or None when the step is not finished."""
    path = folder / "step.json"
    if not path.exists():
        return None
    try:
        return StepOutcome(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise FathomError(f"{path}: damaged: {error}", _measure_again(folder)) from error


def gather(run: Path, name: str) -> pa.Table:
    """One table over all finished steps of a run, in order of target and step."""
    return pa.concat_tables([TABLES[name].empty_table(), *_step_tables(run, name)])


def batches(tables: Iterable[pa.Table]) -> Iterator[list[pa.Table]]:
    """Small tables by the row group: a file of a thousand tiny ones is slow to write and to read."""
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


def _step_tables(run: Path, name: str) -> Iterator[pa.Table]:
    """One step after the other, a long one in parts, so that a long run is never in memory whole."""
    for folder in sorted(path.parent for path in (run / "steps").glob("*/step.json")):
        path = folder / f"{name}.parquet"
        if name not in SPARSE or path.exists():
            yield from _parts(path, _measure_again(folder))


def read_table(path: Path, hint: str) -> pa.Table:
    """A table of a run or a step. Raises FathomError with the hint when it is damaged."""
    return pa.concat_tables(_parts(path, hint))


def _parts(path: Path, hint: str) -> Iterator[pa.Table]:
    schema = TABLES[path.stem]
    try:
        # Half the time of `pq.read_table` on a small file, and a run of a thousand steps has six thousand of them.
        with pq.ParquetFile(path) as file:
            if not file.schema_arrow.equals(schema):
                yield pq.read_table(path, schema=schema)
            elif file.num_row_groups <= 1:
                yield file.read()
            else:
                for group in range(file.num_row_groups):
                    yield file.read_row_group(group)
    except (OSError, pa.ArrowInvalid) as error:
        raise FathomError(f"{path}: damaged: {str(error).splitlines()[0]}", hint) from error


def _measure_again(folder: Path) -> str:
    return f"remove the folder {folder} and `fathom resume` measures that step again"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
