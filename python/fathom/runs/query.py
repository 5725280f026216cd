"""SQL over every run there is: DuckDB views on the runs' Parquet files. No database file is kept."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from fathom.errors import FathomError, UsageError
from fathom.runs.document import RunDocument
from fathom.runs.home import run_directories, runs_home
from fathom.runs.schema import TABLES

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


def query(sql: str) -> pa.Table:
    """Runs one statement over the views runs, points, intervals, latency and telemetry.

    The table views have a column `run` in front. Raises UsageError with DuckDB's own first line.
    """
    connection = duckdb.connect(":memory:")
    runs = run_directories()
    connection.register("runs", runs_table(runs))
    try:
        for name, schema in TABLES.items():
            files = [str(path) for run in runs if (path := run / f"{name}.parquet").exists()]
            if files:
                connection.execute(f"create view {name} as {_view(files)}")
            else:
                connection.register(name, schema.insert(0, pa.field("run", pa.string())).empty_table())
        relation = connection.sql(sql)
    except duckdb.Error as error:
        first = str(error).strip().split("\n")[0]
        raise UsageError(
            f"query: {first}", f"views: runs, {', '.join(TABLES)} (over {len(runs)} runs in {runs_home()})"
        ) from error
    if relation is None:
        raise UsageError("query: the statement has no result", "write a select")
    return relation.to_arrow_table()


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
    import pyarrow.parquet as pq

    points = run / "points.parquet"
    try:
        document = RunDocument.load(run)
        rows = pq.read_metadata(points).num_rows if points.exists() else 0
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
