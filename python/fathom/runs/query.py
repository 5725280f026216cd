"""SQL over all runs: DuckDB views on the runs' Parquet files, and on what the index has of them."""

import re
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from fathom.columns.schema import TABLES
from fathom.errors import UsageError
from fathom.runs.home import run_directories, runs_home
from fathom.runs.index import look
from fathom.runs.layout import STEPS, is_run
from fathom.runs.listing import Sources, facts_table
from fathom.runs.sandbox import check_asks, confine, literal

_PROPOSED = re.compile(r"(?:Candidate bindings|Did you mean)\b(.*)")
_NAME = re.compile(r'"[^"]+"')
_MOST_PROPOSED = 3


def query(sql: str, left_out: Callable[[str], None] = lambda text: None) -> pa.Table:
    """Runs one statement over the views runs, points, streams, phases, intervals, latency and telemetry.

    The table views have a column `run` in front. Only the tables that the statement names are read, after a check of
    their checksums. `left_out` is called with every damaged file, which the result leaves out. Raises UsageError with
    DuckDB's own first line and the names that it proposes.
    """
    home = runs_home()
    try:
        return _answer(sql, home, left_out)
    except duckdb.Error as error:
        raise refused(error, ["runs", *TABLES], f"runs in {home}: {len(run_directories(home))}") from error


def _answer(sql: str, home: Path, left_out: Callable[[str], None]) -> pa.Table:
    with TemporaryDirectory(prefix="fathom-query-") as scratch, duckdb.connect(":memory:") as connection:
        check_asks(connection, sql)
        named = views_named(sql, connection, {"runs", *TABLES})
        index = look(home) if named & {"runs", "points"} else None
        sources = Sources(left_out)
        opened: list[Path] = []
        for name, schema in TABLES.items():
            segments, runs = [], []
            if name == "points" and name in named and index:
                segments, runs = index.points()
            elif name in named:
                runs = run_directories(home)
            files = [file for run in runs for file in sources.files(run, name)]
            connection.register(f"no_{name}", schema.insert(0, pa.field("run", pa.string())).empty_table())
            own, of_steps = _by_place(files)
            views = [f"select * from read_parquet({_quoted(segments)})"] if segments else []
            views += [_view(some, run_at) for some, run_at in ((own, -2), (of_steps, -4)) if some]
            views.append(f"select * from no_{name}")
            connection.execute(f"create view {name} as {' union all by name '.join(views)}")
            opened += [*segments, *files]
        if index and "runs" in named:
            connection.register("facts", facts_table(index, sources))
            connection.execute("set variable home = $home", {"home": str(home)})
            connection.execute(
                "create view runs as select *, getvariable('home') || '/' || run as path from facts"
            )
        confine(connection, list(map(str, opened)), Path(scratch))
        relation = connection.sql(sql)
        if relation is None:
            raise UsageError("query: the statement has no result", "write a select")
        return named_apart(relation.to_arrow_table())


def named_apart(table: pa.Table) -> pa.Table:
    """Returns a result whose columns have a name each, as DuckDB's own tables have them: `iops`, `iops_1`.

    A row as a mapping has room for one column of a name, so the others would be lost.
    """
    names: list[str] = []
    for name in table.column_names:
        others = (f"{name}_{number}" for number in count(1))
        names.append(next(one for one in chain([name], others) if one not in names))
    return table.rename_columns(names)


def views_named(sql: str, connection: duckdb.DuckDBPyConnection, views: Set[str]) -> set[str]:
    """Returns the views that a statement reads; all of them where the parser does not say."""
    for name in views:
        connection.execute(f"create table {name} (run varchar)")
    try:
        named = connection.get_table_names(sql)
    except duckdb.Error:
        named = set(views)
    for name in views:
        connection.execute(f"drop table {name}")
    return named & views


def refused(error: duckdb.Error, views: Iterable[str], where: str) -> UsageError:
    """Returns an error in one line: DuckDB's first line, the names that it proposes, and the views."""
    first, *others = str(error).strip().split("\n")
    proposed = [
        name for line in others if (found := _PROPOSED.match(line)) for name in _NAME.findall(found[1])
    ]
    hint = f"did you mean {' or '.join(proposed[:_MOST_PROPOSED])}? " if proposed else ""
    return UsageError(f"query: {first.removesuffix('!')}", f"{hint}views: {', '.join(views)} ({where})")


def _by_place(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Returns the tables of runs, and those of folders of steps."""
    own: list[Path] = []
    of_steps: list[Path] = []
    for file in files:
        (own if file.parent.parent.name != STEPS or is_run(file.parent) else of_steps).append(file)
    return own, of_steps


def _view(files: Sequence[Path], run_at: int) -> str:
    """Returns a select over files that puts the run in front, taken from each path."""
    return (
        f"select parse_path(filename)[{run_at}] as run, * exclude (filename) "
        f"from read_parquet({_quoted(files)}, filename = true, union_by_name = true)"
    )


def _quoted(files: Sequence[Path]) -> str:
    return f"[{', '.join(literal(str(file)) for file in files)}]"
