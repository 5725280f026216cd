"""The runs that a list or a query opens, and the list itself: what the index has, and the others."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fathom.errors import FathomError
from fathom.runs.document import RunDocument
from fathom.runs.facts import FACTS, Facts, damaged, facts_of
from fathom.runs.index import Index, by_run, look
from fathom.runs.tables import Tables


class Sources:
    """Runs, each opened once. `left_out` is called with every damaged file, which the figures leave out."""

    def __init__(self, left_out: Callable[[str], None]) -> None:
        self._left_out = left_out
        self._opened: dict[Path, _Source] = {}

    def files(self, run: Path, name: str) -> list[Path]:
        """Returns the files with a table of a run, each whole."""
        return self._of(run).files(name)

    def facts(self, run: Path) -> Facts:
        """Returns the row of a run in the list."""
        return self._of(run).facts()

    def _of(self, run: Path) -> "_Source":
        if run not in self._opened:
            self._opened[run] = _Source(run, self._left_out)
        return self._opened[run]


class _Source:
    """One run. Reports each damaged file once."""

    def __init__(self, run: Path, left_out: Callable[[str], None]) -> None:
        self._run = run
        self._left_out = left_out
        try:
            self._document = RunDocument.load(run)
        except FathomError as error:
            left_out(f"run {run.name}: {error}")
            self._document = None
        self._tables = Tables(run, self._document)
        self._reported = 0

    def files(self, name: str) -> list[Path]:
        files = self._tables.files(name)
        found = self._tables.damage
        for one in found[self._reported :]:
            self._left_out(f"run {self._run.name}: {one}")
        self._reported = len(found)
        return files

    def facts(self) -> Facts:
        if self._document is None:
            return damaged(self._run.name)
        rows = sum(pq.read_metadata(path).num_rows for path in self.files("points"))
        return facts_of(self._run.name, self._document, rows)


def runs_table(home: Path, left_out: Callable[[str], None] = lambda text: None) -> pa.Table:
    """Returns one row per run of a folder; schema `FACTS`. One that cannot be read is `damaged` and has no more."""
    return facts_table(look(home), Sources(left_out))


def facts_table(index: Index, sources: Sources) -> pa.Table:
    """Returns one row per run of an index, by name; schema `FACTS`."""
    kept = index.facts.select(FACTS.names).replace_schema_metadata()
    others = [sources.facts(run) for run in index.others]
    return by_run(pa.concat_tables([kept, pa.Table.from_pylist(others, schema=FACTS)]) if others else kept)
