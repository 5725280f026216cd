"""Which files hold the tables of a run. Each is compared with its checksum before anything is read from it.

A run that has ended has its own file of each table. Where that is damaged, the folders of the steps have the same rows.
Runs of versions before checksums are read as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from fathom.columns.schema import ADDED, SPARSE, TABLES
from fathom.runs.checksums import fault_of
from fathom.runs.damage import Damage, DamagedFileError, Fault, Substitute, first_of_each_file
from fathom.runs.document import RunDocument
from fathom.runs.event_log import Event, scan_events
from fathom.runs.layout import JOURNAL, MANIFEST, STEP, STEPS, in_order, step_folders
from fathom.runs.manifest import Manifest
from fathom.runs.steps import StepRecord, load_record

CODED = pa.dictionary(pa.int32(), pa.string())
"""Texts as numbers, and the text of each number."""


class Tables:
    """The tables of one run. Without a document (a damaged run.json), only those that the manifest lists. `source` is
    where to read: `own` tables that this process has just written, the folders of the `steps`, or, by default,
    whichever are whole. `kept` has what this process wrote to files of steps and still has in memory, in parts.
    """

    def __init__(
        self,
        run: Path,
        document: RunDocument | None,
        source: Literal["whole", "own", "steps"] = "whole",
        kept: Mapping[Path, Sequence[pa.Table]] | None = None,
    ) -> None:
        self._run = run
        self._kept = kept or {}
        self._document = document
        self._found: list[Damage] = []
        self._files: dict[str, list[Path]] = {}
        self._records: dict[str, StepRecord] | None = None
        self._source = source
        self._manifest = self._load_manifest() if source == "whole" else None

    @property
    def damage(self) -> list[Damage]:
        """The damage found in the files read so far."""
        return first_of_each_file(self._found)

    def files(self, name: str) -> list[Path]:
        """Returns the Parquet files of a table in order of target and step, each whole."""
        if name not in self._files:
            self._files[name] = self._own(name) or self._of_steps(name)
        return self._files[name]

    def read(self, name: str) -> pa.Table:
        """Returns a whole table. Raises FathomError for a file without a checksum that cannot be read."""
        return pa.concat_tables([TABLES[name].empty_table(), *self.parts(name)])

    def parts(
        self, name: str, columns: Sequence[str] | None = None, *, coded: bool = False
    ) -> Iterator[pa.Table]:
        """Yields a whole table, or some of its columns, in parts, so that a long run never fills the memory. `coded` is
        that of `read_parts`.
        """
        schema = coded_schema(name)
        for path in self.files(name):
            if path in self._kept and columns is None:
                yield from (_coded(part, schema) if coded else part for part in self._kept[path])
            else:
                yield from read_parts(path, columns, coded=coded)

    def check_steps(self) -> dict[str, list[Damage]]:
        """Checks every file of the finished steps. Returns what is wrong by folder; `damage` has it afterwards."""
        damaged: dict[str, list[Damage]] = {}
        self.records()
        for name in TABLES:
            self._of_steps(name)
        for one in self.damage:
            if one.file.startswith(f"{STEPS}/"):
                damaged.setdefault(Path(one.file).parent.name, []).append(one)
        return damaged

    def check_events(self) -> list[Event]:
        """Returns the sound events of the journal; `damage` has its faults afterwards."""
        try:
            events, damaged = scan_events(self._run)
        except OSError:
            self._found.append(Damage(JOURNAL, Fault.UNREADABLE, Substitute.LEFT_OUT))
            return []
        if isinstance(self._manifest, Manifest) and not damaged:
            damaged = self._listed(JOURNAL, Substitute.LINES_READ)
        first = events[0] if events else {}
        if not damaged and self._document and first.get("run", self._document.id) != self._document.id:
            damaged = [Damage(JOURNAL, Fault.FOREIGN, Substitute.LINES_READ)]
        self._found += damaged
        return events

    def _load_manifest(self) -> Manifest | None:
        document = self._document
        if document is not None and not (document.has_ended and document.has_sums):
            return None
        manifest = Manifest.load(self._run)
        if isinstance(manifest, Manifest) and document is not None and manifest.of != document.id:
            manifest = Fault.FOREIGN
        if isinstance(manifest, Fault):
            if document is not None:
                self._found.append(Damage(MANIFEST, manifest, Substitute.UNVERIFIED))
            return None
        return manifest

    @property
    def _has_own_tables(self) -> bool:
        if self._manifest:
            return True
        document = self._document if self._source == "whole" else None
        if document is None or document.status != "complete":
            return False
        # Without its manifest the tables of a run with checksums cannot be verified, and its steps can.
        return not (document.has_sums and step_folders(self._run))

    def _own(self, name: str) -> list[Path]:
        """Returns the run's own table in a list; empty where the steps must be read instead."""
        path = self._run / f"{name}.parquet"
        if self._source == "own":
            return [] if name in ADDED else [path]
        # Runs of earlier versions lack the tables of later ones.
        is_listed = self._manifest is not None and path.name in self._manifest.files
        if not self._has_own_tables or not (path.exists() or is_listed):
            return []
        fault = self._manifest.fault(self._run, path.name) if self._manifest else unreadable(path)
        if fault is None:
            return [path]
        in_steps = name not in ADDED and step_folders(self._run)
        instead = Substitute.FROM_STEPS if in_steps else Substitute.LEFT_OUT
        self._found.append(Damage(path.name, fault, instead))
        return []

    def _listed(self, name: str, instead: Substitute) -> list[Damage]:
        fault = self._manifest.fault(self._run, name) if self._manifest else None
        return [Damage(name, fault, instead)] if fault else []

    def _of_steps(self, name: str) -> list[Path]:
        found = []
        for folder, record in self.records().items():
            path = self._run / STEPS / folder / f"{name}.parquet"
            listed = (record.files or {}).get(path.name)
            expected = listed if record.files is not None else path.exists() or name not in SPARSE
            if not expected:
                continue
            fault = fault_of(path, listed) if listed else unreadable(path)
            if fault:
                self._found.append(Damage(f"{STEPS}/{folder}/{path.name}", fault, Substitute.LEFT_OUT))
            else:
                found.append(path)
        return found

    def records(self) -> dict[str, StepRecord]:
        """Returns the steps whose step.json is whole, by folder, in order."""
        if self._records is None:
            self._records = {}
            run_id = self._document.id if self._document else self._manifest.of if self._manifest else None
            present = {folder.name: load_record(folder, run_id) for folder in step_folders(self._run)}
            # A step of a run that goes on may have ended since its folders were listed.
            since = {
                name: load_record(self._run / STEPS / name, run_id) for name in self._expected() - {*present}
            }
            known = dict(sorted((present | since).items(), key=lambda one: in_order(one[0])))
            for name, record in known.items():
                fault = record if isinstance(record, Fault) else self._listed_fault(name)
                if isinstance(record, StepRecord) and not fault:
                    self._records[name] = record
                elif fault:
                    self._found.append(Damage(f"{STEPS}/{name}/{STEP}", fault, Substitute.STEP_LEFT_OUT))
        return self._records

    def _listed_fault(self, folder: str) -> Fault | None:
        return self._manifest.fault(self._run, f"{STEPS}/{folder}/{STEP}") if self._manifest else None

    def _expected(self) -> set[str]:
        """Returns the folders of ended steps, by the manifest or, before there is one, the journal."""
        if self._manifest:
            return {Path(name).parent.name for name in self._manifest.files if name.endswith(f"/{STEP}")}
        try:
            ended = ended_steps(scan_events(self._run)[0])
        except OSError:
            return set()
        # A crash between two renames leaves the step under another name, and `resume` takes it from there.
        steps = self._run / STEPS
        return {
            name for name in ended if not any((steps / f".{name}.{end}").exists() for end in ("new", "old"))
        }


def ended_steps(events: list[Event]) -> set[str]:
    """Returns the folders of steps that the journal says have ended, and were not set aside since."""
    ended: set[str] = set()
    for event in events:
        folder = event.get("folder")
        if isinstance(folder, str) and event["event"] == "step-end":
            ended.add(folder)
        elif isinstance(folder, str) and event["event"] == "step-set-aside":
            ended.discard(folder)
    return ended


def coded_schema(name: str) -> pa.Schema:
    """Returns the schema of a table whose texts are coded."""
    fields = [field.with_type(CODED) if pa.types.is_string(field.type) else field for field in TABLES[name]]
    return pa.schema(fields)


def _coded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Returns a table with its texts coded, as the schema has them."""
    columns = [
        column if column.type.equals(field.type) else column.dictionary_encode()
        for field, column in zip(schema, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def read_parts(
    path: Path, columns: Sequence[str] | None = None, *, coded: bool = False
) -> Iterator[pa.Table]:
    """Yields a table, or some of its columns, a row group at a time, as in the schema. Raises FathomError when it is
    damaged.

    `coded` leaves texts as the file has them, as numbers and a dictionary: reading them so takes a third of the time.
    """
    schema, names = TABLES[path.stem], columns and list(columns)
    found = coded_schema(path.stem) if coded else schema
    texts = [field.name for field in found if field.type.equals(CODED)]
    try:
        # Half the time of `pq.read_table` on a small file, and a run of a thousand steps has six thousand of them.
        with pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=texts) as file:
            if not file.schema_arrow.equals(found):
                yield pq.read_table(path, schema=found, columns=names, page_checksum_verification=True)
            elif file.num_row_groups <= 1:
                # To hand the columns of a small file to other threads costs more than to read them.
                yield file.read(names, use_threads=False)
            else:
                for group in range(file.num_row_groups):
                    yield file.read_row_group(group, names)
    except (OSError, pa.ArrowException) as error:
        raise DamagedFileError(str(path), Fault.UNREADABLE, "`fathom check` lists other damage") from error


def unreadable(path: Path) -> Fault | None:
    """Returns the fault of a table without a checksum, found by reading it to its end; None if it can be read."""
    try:
        for part in read_parts(path):
            part.validate(full=True)
    except pa.ArrowException:
        return Fault.UNREADABLE
    except DamagedFileError as error:
        return error.fault if path.exists() else Fault.MISSING
    return None


def read_table(path: Path) -> pa.Table:
    """Returns a table of a run or a step. Raises FathomError when it is damaged."""
    return pa.concat_tables(read_parts(path))
