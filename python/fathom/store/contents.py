"""What of a run goes into a store: its row of facts, its tables, and all of its files, each as its checksum says."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fathom.errors import UsageError
from fathom.runs.check import check
from fathom.runs.checksums import FileSum
from fathom.runs.damage import DamagedFileError, Fault
from fathom.runs.document import FROM_A_COPY, RunDocument
from fathom.runs.facts import facts_of
from fathom.runs.layout import MANIFEST, STEP
from fathom.runs.manifest import Manifest
from fathom.runs.steps import StepRecord, load_record
from fathom.runs.tables import Tables, read_table
from fathom.store.tables import FILES, ROWS

PART_BYTES = 16 << 20
"""Bytes of a file in one row."""
AT_ONCE_BYTES = 64 << 20
"""Bytes of files that are inserted together."""


@dataclass(frozen=True)
class Contents:
    """A run that is whole. `sums` are those of all its files, by names relative to the run."""

    path: Path
    document: RunDocument
    manifest: str
    sums: dict[str, FileSum]

    @classmethod
    def of(cls, run: Path) -> "Contents":
        """Reads every file of a run. Raises UsageError for one that has not ended, has no checksums or is damaged."""
        found = check(run)
        if not found.whole:
            raise UsageError(
                f"run {run.name} is damaged, so it is not added", "`fathom check` lists the damage"
            )
        manifest = Manifest.load(run)
        if not (found.verified and found.sealed and isinstance(manifest, Manifest)):
            raise UsageError(
                f"run {run.name} has no checksums yet, so it is not added", "add runs that have ended"
            )
        sums = dict(manifest.files)
        for name in manifest.files:
            folder = (run / name).parent
            if Path(name).name == STEP and isinstance(record := load_record(folder, manifest.of), StepRecord):
                sums |= {f"{Path(name).parent}/{one}": total for one, total in (record.files or {}).items()}
        own = FileSum.of(run / MANIFEST)
        return cls(run, RunDocument.load(run), own.sha256, sums | {MANIFEST: own})

    @property
    def id(self) -> str:
        """The run's id, which is its name in the store."""
        return self.document.id

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(total.bytes for total in self.sums.values())

    def facts(self) -> dict[str, object]:
        """Returns the run's row in the list of the store."""
        own = [target for target in self.document.targets if target.part_of is None]
        return {
            **facts_of(self.id, self.document, self.rows("points").num_rows),
            "title": self.document.method.title,
            "measured": self.document.measured,
            "labels": list(dict.fromkeys(target.label for target in own)),
            "made_by": self.document.maker,
            "bytes": self.size_bytes,
            "manifest": self.manifest,
        }

    def rows(self, table: str) -> pa.Table:
        """Returns a table of the run with its id in front."""
        parts = [read_table(path) for path in Tables(self.path, self.document).files(table)]
        rows = pa.concat_tables([ROWS[table].remove(0).empty_table(), *parts])
        return rows.add_column(0, ROWS[table].field(0), pa.array([self.id] * len(rows), pa.string()))

    def files(self) -> Iterator[tuple[str, int, bytes]]:
        """Yields name, number and content of each part of each file. Raises FathomError for what has changed since."""
        for name, listed in sorted(self.sums.items()):
            digest = hashlib.sha256()
            with (self.path / name).open("rb") as file:
                for number, content in enumerate(iter(lambda file=file: file.read(PART_BYTES), b"")):
                    digest.update(content)
                    yield name, number, content
            if digest.hexdigest() != listed.sha256:
                raise DamagedFileError(str(self.path / name), Fault.CHANGED, FROM_A_COPY)


def file_tables(runs: list[Contents]) -> Iterator[pa.Table]:
    """Yields the files of runs as tables that fit into memory."""
    rows: list[dict[str, object]] = []
    held = 0
    for run in runs:
        for name, part, content in run.files():
            rows.append({"run": run.id, "name": name, "part": part, "content": content})
            held += len(content)
            if held >= AT_ONCE_BYTES:
                yield pa.Table.from_pylist(rows, schema=FILES)
                rows, held = [], 0
    if rows:
        yield pa.Table.from_pylist(rows, schema=FILES)
