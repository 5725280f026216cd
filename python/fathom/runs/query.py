"""SQL over all runs: DuckDB views on the runs' Parquet files. No database file is kept."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from fathom.columns.schema import TABLES
from fathom.errors import FathomError, UsageError
from fathom.runs.document import RunDocument
from fathom.runs.home import run_directories, runs_home
from fathom.runs.layout import STEPS, is_run
from fathom.runs.sandbox import check_asks, confine
from fathom.runs.tables import Tables

RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("created", pa.string()),
        ("status", pa.string()),
        ("method", pa.string()),
        ("quick", pa.bool_()),
        ("targets", pa.list_(pa.string())),
        ("points", pa.int64()),
        ("path", pa.string()),
    ]
)


def query(sql: str, left_out: Callable[[str], None] = lambda text: None) -> pa.Table:
    """Runs one statement over the views runs, points, streams, intervals, latency and telemetry.

    The table views have a column `run` in front. Only the tables that the statement names are read, after a check of
    their checksums. `left_out` is called with every damaged file, which the result leaves out. Raises UsageError with
    DuckDB's own first line.
    """
    runs = run_directories()
    try:
        return _answer(sql, runs, left_out)
    except duckdb.Error as error:
        raise _refused(error, runs) from error


def _answer(sql: str, runs: Sequence[Path], left_out: Callable[[str], None]) -> pa.Table:
    with TemporaryDirectory(prefix="fathom-query-") as scratch, duckdb.connect(":memory:") as connection:
        check_asks(connection, sql)
        named = _tables_named(sql, connection)
        sources = [_Source.of(run, left_out) for run in runs]
        opened: list[str] = []
        for name, schema in TABLES.items():
            files = (
                [] if name not in named else [file for one in sources for file in one.files(name, left_out)]
            )
            connection.register(f"no_{name}", schema.insert(0, pa.field("run", pa.string())).empty_table())
            own = [file for file in files if file.parent.parent.name != STEPS or is_run(file.parent)]
            of_steps = [file for file in files if file not in own]
            views = [_view(some, run_at) for some, run_at in ((own, -2), (of_steps, -4)) if some]
            views.append(f"select * from no_{name}")
            connection.execute(f"create view {name} as {' union all by name '.join(views)}")
            opened += map(str, files)
        if "runs" in named:
            connection.register(
                "runs", pa.Table.from_pylist([one.row(left_out) for one in sources], schema=RUNS)
            )
        confine(connection, opened, Path(scratch))
        relation = connection.sql(sql)
        if relation is None:
            raise UsageError("query: the statement has no result", "write a select")
        return relation.to_arrow_table()


def _tables_named(sql: str, connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Returns the views that a statement reads; all of them where the parser does not say."""
    views = {"runs", *TABLES}
    for name in views:
        connection.execute(f"create table {name} (run varchar)")
    try:
        named = connection.get_table_names(sql)
    except duckdb.Error:
        named = views
    for name in views:
        connection.execute(f"drop table {name}")
    return named & views


class _Source:
    """One run of a query. Reports each damaged file once."""

    def __init__(self, run: Path, document: RunDocument | None) -> None:
        self.run = run
        self._document = document
        self._tables = Tables(run, document)
        self._reported = 0

    @classmethod
    def of(cls, run: Path, left_out: Callable[[str], None]) -> "_Source":
        try:
            document = RunDocument.load(run)
        except FathomError as error:
            left_out(f"run {run.name}: {error}")
            document = None
        return cls(run, document)

    def files(self, name: str, left_out: Callable[[str], None]) -> list[Path]:
        files = self._tables.files(name)
        found = self._tables.damage
        for one in found[self._reported :]:
            left_out(f"run {self.run.name}: {one}")
        self._reported = len(found)
        return files

    def row(self, left_out: Callable[[str], None]) -> dict[str, object]:
        document = self._document
        if document is None:
            return {"run": self.run.name, "status": "damaged", "targets": [], "path": str(self.run)}
        rows = sum(pq.read_metadata(path).num_rows for path in self.files("points", left_out))
        return {
            "run": self.run.name,
            "created": document.created,
            "status": document.status,
            "method": document.method.name,
            "quick": document.quick is not None,
            "targets": [target.name for target in document.targets if target.part_of is None],
            "points": rows,
            "path": str(self.run),
        }


def _refused(error: duckdb.Error, runs: Sequence[Path]) -> UsageError:
    first = str(error).strip().split("\n")[0]
    views = f"views: runs, {', '.join(TABLES)} (runs in {runs_home()}: {len(runs)})"
    return UsageError(f"query: {first.removesuffix('!')}", views)


def runs_table(runs: Sequence[Path], left_out: Callable[[str], None] = lambda text: None) -> pa.Table:
    """Returns one row per run; schema `RUNS`. A run that cannot be read has the status `damaged` and no more."""
    return pa.Table.from_pylist([_Source.of(run, left_out).row(left_out) for run in runs], schema=RUNS)


def _view(files: Sequence[Path], run_at: int) -> str:
    """Returns a select over files that puts the run in front, taken from each path."""
    quoted = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
    return (
        f"select parse_path(filename)[{run_at}] as run, * exclude (filename) "
        f"from read_parquet([{quoted}], filename = true, union_by_name = true)"
    )
