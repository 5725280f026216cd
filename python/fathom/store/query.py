"""SQL over a store: views on the Parquet files that DuckLake lists. The user's SQL sees no catalogue and no secret."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from fathom.errors import UsageError
from fathom.runs.facts import FACTS
from fathom.runs.query import named_apart, refused, views_named
from fathom.runs.sandbox import check_asks, confine, literal
from fathom.store.lake import open_s3
from fathom.store.store import Store
from fathom.store.tables import ROWS

VIEWS = {"runs": FACTS, **ROWS}


def query(sql: str, store: Store) -> pa.Table:
    """Runs one statement over the views runs, points, streams, phases, intervals, latency and
    telemetry.

    Raises UsageError as `fathom.runs.query.query`.
    """
    try:
        return _answer(sql, store)
    except duckdb.Error as error:
        raise refused(error, VIEWS, f"runs in the store: {store.runs_table().num_rows}") from error


def _answer(sql: str, store: Store) -> pa.Table:
    with TemporaryDirectory(prefix="fathom-query-") as scratch, duckdb.connect(":memory:") as connection:
        connection.execute("set allow_persistent_secrets = false")
        check_asks(connection, sql)
        named = views_named(sql, connection, VIEWS.keys())
        _check_filled(store, named)
        if named and store.is_on_s3:
            open_s3(connection)
        opened: list[str] = []
        for name, schema in VIEWS.items():
            files = store.files(name) if name in named else []
            connection.register(f"no_{name}", schema.empty_table())
            source = f"from no_{name}"
            if files:
                # Files that DuckLake has merged hold columns of its own too.
                columns = ", ".join(f'"{column}"' for column in store.columns(name, schema))
                listed = ", ".join(map(literal, files))
                source = f"select {columns} from read_parquet([{listed}], union_by_name = true)"
            connection.execute(f"create view {name} as {source}")
            opened += files
        confine(connection, opened, Path(scratch))
        relation = connection.sql(sql)
        if relation is None:
            raise UsageError("query: the statement has no result", "write a select")
        return named_apart(relation.to_arrow_table())


def _check_filled(store: Store, named: Iterable[str]) -> None:
    """Raises UsageError where a version without one of the views has added the runs: it would look empty."""
    lacking = [name for name in named if not store.has(name)]
    if lacking and store.runs_table().num_rows:
        raise UsageError(
            f"query: runs were added by a version without {', '.join(sorted(lacking))}",
            "the next `fathom store add` of this version fills it in",
        )
