"""Adds runs to a store, lists and labels them, and brings them back. Nothing is ever deleted from it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import pyarrow as pa
from pydantic import ValidationError

from fathom.errors import UsageError
from fathom.runs.facts import FACTS
from fathom.runs.labels import Labels
from fathom.store.address import Address
from fathom.store.contents import Contents, file_tables
from fathom.store.fetch import cache_of, fetched
from fathom.store.lake import Lake, attached, named_errors
from fathom.store.tables import FACTS_KEPT, LABELS, ROWS, add_missing, check_format, insert

BATCH_RUNS = 200
BATCH_BYTES = 256 << 20
"""Most runs, and bytes of their files, that one transaction adds."""
MOST_SMALL = 32
"""Files of a table from which small ones are merged: a query opens each."""
SMALL_BYTES = 8 << 20


class UnknownRunError(UsageError):
    """No run of that name is in the store."""


class Store:
    """An open store. Every error is one line that names the address."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    @property
    def address(self) -> Address:
        """Where it is."""
        return self._lake.address

    def facts(self) -> pa.Table:
        """Returns a row for each run, by id; schema `FACTS_KEPT`."""
        return self._facts(FACTS_KEPT)

    def runs_table(self) -> pa.Table:
        """Returns a row for each run, by id; schema `FACTS`."""
        return self._facts(FACTS)

    def _facts(self, schema: pa.Schema) -> pa.Table:
        """Returns a row for each run; null in columns that a version without them has made no room for."""
        known = self.columns("runs", schema)
        rows = self._rows(f"select {', '.join(known)} from lake.runs order by run")
        return pa.Table.from_pylist(rows.to_pylist(), schema=schema)

    def labels(self) -> dict[str, Labels]:
        """Returns tags and note of each run that somebody labelled, by id."""
        return self._labels() if self.has("labels") else {}

    def _labels(self, name: str | None = None) -> dict[str, Labels]:
        """Returns the labels of all runs, or of one, from the table of labels."""
        newest = "arg_max(struct_pack(tags, note), number)"
        only = "where $name is null or run = $name"
        sql = f"select run, unnest({newest}) from lake.labels {only} group by run"
        rows = self._rows(sql, name=name).to_pylist()
        found: dict[str, Labels] = {}
        for row in rows:
            # Whoever can write the data base can write what is no tag.
            with suppress(ValidationError):
                found[row["run"]] = Labels(tags=tuple(row["tags"]), note=row["note"])
        return found

    def label(self, name: str, change: Callable[[Labels], Labels]) -> Labels:
        """Gives a run the labels that `change` makes of those that it has, and returns them.

        Raises UnknownRunError for a name that no run has.
        """
        with self._lake.transaction():
            self._fill(add_missing(self._lake))
            self._manifest(name)
            labels = change(self._labels(name).get(name, Labels()))
            [last] = self._rows("select coalesce(max(number), 0) as number from lake.labels").to_pylist()
            row: dict[str, object] = {
                "run": name,
                "number": last["number"] + 1,
                "tags": list(labels.tags),
                "note": labels.note,
                "given": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            insert(self._lake.connection, "labels", pa.Table.from_pylist([row], schema=LABELS))
        self._merge("labels")
        return labels

    def _manifest(self, name: str) -> str:
        rows = self._rows("select manifest from lake.runs where run = $run", run=name).to_pylist()
        if not rows:
            raise UnknownRunError(
                f"no run {name!r} in the store {self.address.text}",
                f"`fathom runs --store {self.address.text}` lists the runs",
            )
        return rows[0]["manifest"]

    def has(self, table: str) -> bool:
        """Returns whether some version that has the table added runs."""
        return table in self._lake.tables()

    def files(self, table: str) -> list[str]:
        """Returns the Parquet files that hold a table; none where the store has not got it."""
        if not self.has(table):
            return []
        with named_errors(self.address):
            return self._lake.files(table)

    def columns(self, table: str, schema: pa.Schema) -> list[str]:
        """Returns the columns of a view: those of the schema, as far as some version has added runs with them."""
        with named_errors(self.address):
            known = self._lake.connection.sql(f"from lake.{table} limit 0").columns
        return [name for name in schema.names if name in known]

    @property
    def is_on_s3(self) -> bool:
        """Whether its data is on S3."""
        return self._lake.data.startswith("s3://")

    def _rows(self, sql: str, **values: object) -> pa.Table:
        with named_errors(self.address):
            return self._lake.connection.sql(sql, params=values or None).to_arrow_table()

    def add(self, runs: Sequence[Path], said: Callable[[str, bool], None]) -> None:
        """Adds runs, each whole or not at all. `said` gets each id, and whether it is new.

        Raises UsageError for a run that cannot be added: those before it are in the store then.
        """
        for batch in _batches(runs):
            with self._lake.transaction():
                self._fill(add_missing(self._lake))
                new = self._new(batch)
                self._insert(new)
            ids = {one.id for one in new}
            for one in batch:
                said(one.id, one.id in ids)
        self._merge("runs", *ROWS)

    def _fill(self, made: Sequence[str]) -> None:
        """Puts into new tables the rows of the runs that are in the store already."""
        tables = [name for name in ROWS if name in made]
        if not tables:
            return
        with TemporaryDirectory(prefix="fathom-store-") as folder:
            for name in self.runs_table()["run"].to_pylist():
                run = self.fetch(name, Path(folder))
                contents = Contents.of(run)
                for table in tables:
                    insert(self._lake.connection, table, contents.rows(table))
                rmtree(run)

    def _new(self, batch: Sequence[Contents]) -> list[Contents]:
        """Returns the runs that the store lacks. Raises UsageError where it has another run of that id."""
        known = self._rows(
            "select run, manifest from lake.runs where list_contains($ids, run)",
            ids=[one.id for one in batch],
        )
        manifests = {row["run"]: row["manifest"] for row in known.to_pylist()}
        new: list[Contents] = []
        for one in batch:
            kept = manifests.setdefault(one.id, one.manifest)
            if kept != one.manifest:
                raise UsageError(
                    f"{one.path}: the store has another run of the id {one.id}",
                    "a run that was resumed or repaired after it was added is not replaced",
                )
            if one.id not in known["run"].to_pylist() and one.id not in {other.id for other in new}:
                new.append(one)
        return new

    def _insert(self, new: list[Contents]) -> None:
        if not new:
            return
        connection = self._lake.connection
        for table in ROWS:
            insert(connection, table, pa.concat_tables([one.rows(table) for one in new]))
        for rows in file_tables(new):
            insert(connection, "files", rows)
        insert(connection, "runs", pa.Table.from_pylist([one.facts() for one in new], schema=FACTS_KEPT))

    def _merge(self, *tables: str) -> None:
        """Puts the rows of many small files into few. The small ones stay for those who read an earlier state."""
        files = self._lake.tables()
        for table in tables:
            if files[table] > MOST_SMALL:
                with self._lake.transaction():
                    self._lake.connection.execute(
                        f"call ducklake_merge_adjacent_files('lake', '{table}', max_file_size => {SMALL_BYTES})"
                    )

    def fetch(self, name: str, folder: Path | None = None) -> Path:
        """Returns a run's directory in a folder, by default the user's cache, brought there where it is not.

        Raises UnknownRunError for a name that no run has, FathomError for damage.
        """
        manifest = self._manifest(name)

        def parts() -> Iterator[tuple[str, bytes]]:
            sql = "select name, content as bytes from lake.files where run = $run order by name, part"
            with named_errors(self.address):
                found = self._lake.connection.execute(sql, {"run": name}).to_arrow_reader(64)
                for batch in found:
                    yield from ((row["name"], row["bytes"]) for row in batch.to_pylist())

        return fetched(folder or cache_of(self.address), name, manifest, parts())


@contextmanager
def open_store(address: Address, *, to_write: bool = False) -> Iterator[Store]:
    """Opens a store. Raises UsageError where there is none."""
    with attached(address, to_write=to_write) as lake:
        check_format(lake)
        yield Store(lake)


def _batches(runs: Iterable[Path]) -> Iterator[list[Contents]]:
    batch: list[Contents] = []
    for run in runs:
        one = Contents.of(run)
        if batch and (
            len(batch) >= BATCH_RUNS
            or sum(other.size_bytes for other in batch) + one.size_bytes > BATCH_BYTES
        ):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch
