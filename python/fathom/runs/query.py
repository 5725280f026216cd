"""SQL over every run there is: DuckDB views on the runs' Parquet files. No database file is kept."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from fathom.errors import FathomError, UsageError
from fathom.runs.document import RunDocument
from fathom.runs.home import run_directories, runs_home
from fathom.runs.sandbox import check_asks, confine
from fathom.runs.schema import TABLES
from fathom.runs.store import gather

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


MISWRITTEN = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
"""What DuckDB raises of a statement that no run could answer."""


def query(sql: str, left_out: Callable[[str], None] = lambda text: None) -> pa.Table:
    """Runs one statement over the views runs, points, intervals, latency and telemetry.

    The table views have a column `run` in front. Where a run's tables are damaged the others answer, and `left_out` is
    told which run is not among them and why. Raises UsageError with DuckDB's own first line.
    """
    runs = run_directories()
    try:
        return _answer(sql, runs, runs, left_out)
    except duckdb.Error as error:
        damaged = {} if isinstance(error, MISWRITTEN) else {run: why for run in runs if (why := _damage(run))}
        if not damaged:
            raise _refused(error, runs) from error
    for run, why in damaged.items():
        left_out(f"run {run.name} is left out: {why}; bring it back from a copy of the run")
    try:
        return _answer(sql, runs, [run for run in runs if run not in damaged], left_out)
    except duckdb.Error as error:
        raise _refused(error, runs) from error


def _answer(
    sql: str, runs: Sequence[Path], readable: Sequence[Path], left_out: Callable[[str], None]
) -> pa.Table:
    with TemporaryDirectory(prefix="fathom-query-") as scratch, duckdb.connect(":memory:") as connection:
        connection.register("runs", runs_table(runs))
        opened: list[str] = []
        for name, schema in TABLES.items():
            files = [str(path) for run in readable if (path := run / f"{name}.parquet").exists()]
            unfinished = [run for run in readable if not (run / f"{name}.parquet").exists()]
            connection.register(f"{name}_of_unfinished", _unfinished(name, schema, unfinished, left_out))
            views = [*([_view(files)] if files else []), f"select * from {name}_of_unfinished"]
            connection.execute(f"create view {name} as {' union all by name '.join(views)}")
            opened += files
        confine(connection, opened, Path(scratch))
        check_asks(connection, sql)
        relation = connection.sql(sql)
        if relation is None:
            raise UsageError("query: the statement has no result", "write a select")
        return relation.to_arrow_table()


def _unfinished(
    name: str, schema: pa.Schema, runs: Sequence[Path], left_out: Callable[[str], None]
) -> pa.Table:
    """What finished steps of runs that go on, or were killed, have in their own folders."""
    tables = [schema.insert(0, pa.field("run", pa.string())).empty_table()]
    for run in runs:
        try:
            rows = gather(run, name)
        except FathomError as error:
            left_out(f"{name} of run {run.name} are left out: {error}")
            continue
        tables.append(rows.add_column(0, "run", pa.array([run.name] * rows.num_rows, pa.string())))
    return pa.concat_tables(tables)


def _refused(error: duckdb.Error, runs: Sequence[Path]) -> UsageError:
    first = str(error).strip().split("\n")[0]
    views = f"views: runs, {', '.join(TABLES)} (runs in {runs_home()}: {len(runs)})"
    return UsageError(f"query: {first.removesuffix('!')}", views)


def _damage(run: Path) -> str | None:
    """Why a table of the run cannot be read to its end; None where all can."""
    for name in TABLES:
        path = run / f"{name}.parquet"
        try:
            if path.exists():
                with pq.ParquetFile(path) as file:
                    for _ in file.iter_batches():
                        pass
        except (OSError, pa.ArrowInvalid) as error:
            return f"{path.name} is damaged: {str(error).splitlines()[0]}"
    return None


def _view(files: Sequence[str]) -> str:
    quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    return (
        "select parse_path(filename)[-2] as run, * exclude (filename) "
        f"from read_parquet([{quoted}], filename = true, union_by_name = true)"
    )


def runs_table(runs: Sequence[Path]) -> pa.Table:
    """One row per run; schema `RUNS`. A run that cannot be read has the status `damaged` and no more."""
    return pa.Table.from_pylist([_runs_row(run) for run in runs], schema=RUNS)


def _runs_row(run: Path) -> dict[str, object]:
    points = run / "points.parquet"
    try:
        document = RunDocument.load(run)
        rows = pq.read_metadata(points).num_rows if points.exists() else gather(run, "points").num_rows
    except (FathomError, OSError, pa.ArrowInvalid):
        return {"run": run.name, "status": "damaged", "targets": [], "path": str(run)}
    return {
        "run": run.name,
        "created": document.created,
        "status": document.status,
        "method": document.method.name,
        "quick": document.quick is not None,
        "targets": [target.name for target in document.targets if target.part_of is None],
        "points": rows,
        "path": str(run),
    }
