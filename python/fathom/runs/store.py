"""Writing a run: journal, live intervals, finished steps, and the tables they end in.

A step is finished when its folder exists: the folder is filled under another name and renamed. Whatever a crash
leaves is therefore either a whole step or a live log, and both are kept.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

import pyarrow as pa

from fathom.columns.schema import TABLES
from fathom.runs.compact import Row, compact, write_rows
from fathom.runs.damage import Damage, warn_of
from fathom.runs.document import RunDocument
from fathom.runs.event_log import append_event, read_events
from fathom.runs.files import append_line, drop_cut_line, sync_directory, sync_files, write_errors_named
from fathom.runs.layout import JOURNAL, MANIFEST, STEPS
from fathom.runs.manifest import Manifest
from fathom.runs.recover import drop_live_logs, finish_renames, live_log, missing_ends, move_in, set_aside
from fathom.runs.spool import Spool
from fathom.runs.steps import StepKey, StepOutcome, read_outcome, write_record
from fathom.runs.tables import Tables, read_table

KEPT_BYTES = 1 << 26
"""Most memory of the small tables of finished steps, which the run's own tables are made from."""


class RunStore:
    """One run directory being written. Safe to use from several threads.

    Raises FathomError where the directory cannot be written, as on a full disk.
    """

    def __init__(self, path: Path, document: RunDocument) -> None:
        self.path = path
        self.document = document
        self._lock = Lock()
        self._kept: dict[Path, list[pa.Table]] = {}
        self._kept_bytes = 0

    @classmethod
    def create(cls, path: Path, document: RunDocument) -> "RunStore":
        """Makes the directory and writes the journal's first line, then run.json."""
        store = cls(path, document)
        with write_errors_named(path):
            (path / STEPS).mkdir(parents=True)
            store.log_event("run-start", run=document.id, seed=document.seed)
            document.save(path)
            sync_directory(path.parent)
        return store

    @classmethod
    def reopen(cls, path: Path, changed: Mapping[str, object] | None = None) -> "RunStore":
        """Goes on with a run that was interrupted or killed. Damaged steps are set aside, to be measured again.

        The journal keeps what has `changed` since the run began.
        """
        store = cls(path, RunDocument.load(path))
        tables = Tables(path, store.document)
        damaged = tables.check_steps()
        tables.check_events()
        store.document.status = "running"
        store.document.error = None
        store.save()
        with write_errors_named(path):
            (path / MANIFEST).unlink(missing_ok=True)
            drop_cut_line(path / JOURNAL)
            finish_renames(path, store.document.id)
        store.log_event("run-resume", None, **({"changed": dict(changed)} if changed else {}))
        store._take_up(damaged)
        warn_of(path, tables.damage)
        return store

    def _take_up(self, damaged: dict[str, list[Damage]]) -> None:
        with write_errors_named(self.path):
            for one in set_aside(self.path, damaged):
                files = [damage.file for damage in one.damage]
                self.log_event("step-set-aside", one.key, folder=one.key.folder, files=files)
            names = [target.name for target in self.document.targets]
            events = read_events(self.path)
            unsaid = list(missing_ends(self.path, events, names))
            drop_live_logs(self.path, events, names, [key for key, _ in unsaid])
            for key, outcome in unsaid:
                self._say_end(key, outcome)

    def seal(self) -> None:
        """Writes the manifest, then the run.json that says that the run has ended."""
        with self._lock, write_errors_named(self.path):
            Manifest.of_run(self.path, self.document.id, self.document.text()).save(self.path)
            self.document.save(self.path)

    def save(self) -> None:
        """Writes run.json."""
        with self._lock, write_errors_named(self.path):
            self.document.save(self.path)

    def log_event(self, event: str, key: StepKey | None = None, **fields: object) -> None:
        """Appends one line: event, target and time. It is durable unless a twin's step can be simulated again."""
        line: dict[str, object] = {"time": _now(), "event": event}
        if key is not None:
            line |= {"target": self.document.targets[key.target].name, "step": key.name}
        with self._lock, write_errors_named(self.path):
            append_event(self.path, line | fields, durable=not self._repeatable(key))

    def live_path(self, key: StepKey) -> Path:
        """Returns the running step's live log. The log of an earlier attempt is kept under a number."""
        path = live_log(self.path / STEPS / key.folder)
        if path.exists():
            attempt = len(list(path.parent.glob(f"{key.folder}.interrupted-*.jsonl"))) + 1
            drop_cut_line(path)
            path.rename(path.with_name(f"{key.folder}.interrupted-{attempt}.jsonl"))
        return path

    def append_live(self, path: Path, rows: Mapping[str, Sequence[Row]]) -> None:
        """Appends one interval's rows, table by table."""
        with write_errors_named(self.path):
            append_line(path, rows)

    def finish_step(
        self, key: StepKey, rows: Mapping[str, Sequence[Row] | Spool], outcome: StepOutcome
    ) -> None:
        """Writes a step's tables, all or nothing, then drops its live log.

        It waits for the disk, except for a twin's step: a power cut may damage that, and `resume` simulates it again.
        """
        durable = not self._repeatable(key)
        final = self.path / STEPS / key.folder
        building = final.with_name(f".{key.folder}.new")
        with write_errors_named(self.path):
            building.mkdir()
            for name, schema in TABLES.items():
                small = write_rows(building / f"{name}.parquet", rows.get(name, ()), schema)
                self._keep(final / f"{name}.parquet", small)
            if durable:
                sync_files(sorted(building.glob("*.parquet")))
            write_record(building, self.document.id, key.folder, outcome, durable=durable)
            move_in(building, final, durable=durable)
            live_log(final).unlink(missing_ok=True)
        self._say_end(key, outcome)

    def _keep(self, path: Path, parts: list[pa.Table]) -> None:
        """Keeps a table in place of that of an earlier attempt at its step."""
        size_bytes = sum(part.nbytes for part in parts)
        with self._lock:
            self._kept_bytes -= sum(part.nbytes for part in self._kept.pop(path, ()))
            if parts and self._kept_bytes + size_bytes <= KEPT_BYTES:
                self._kept[path] = parts
                self._kept_bytes += size_bytes

    def _repeatable(self, key: StepKey | None) -> bool:
        return key is not None and self.document.targets[key.target].kind == "twin"

    def _say_end(self, key: StepKey, outcome: StepOutcome) -> None:
        self.log_event(
            "step-end",
            key,
            folder=key.folder,
            status=outcome.status,
            steady=outcome.steady,
            window_s=outcome.window_s,
        )

    def outcome(self, key: StepKey) -> StepOutcome | None:
        """Returns how the step ended, or None when it has not."""
        return read_outcome(self.path / STEPS / key.folder)

    def points(self, key: StepKey) -> list[dict[str, object]]:
        """Returns the rows of `points` of a finished step."""
        path = self.path / STEPS / key.folder / "points.parquet"
        return read_table(path).to_pylist() if path.exists() else []

    def compact(self) -> None:
        """Writes the run's own tables from those of its steps."""
        tables = Tables(self.path, self.document, "steps", self._kept)
        with write_errors_named(self.path):
            compact(self.path, tables)
        warn_of(self.path, tables.damage)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
