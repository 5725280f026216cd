"""Limits a user's SQL to reading the tables of the runs. DuckDB could write files and attach others.

There are two fences, because neither is enough alone. Statements that do anything but ask are refused. The connection
opens no file but the runs' own tables, loads no extension, and lets none of that be changed.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from fathom.errors import UsageError

_SELECT, _MULTI = duckdb.StatementType.SELECT, duckdb.StatementType.MULTI
_CREATE = duckdb.StatementType.CREATE


def literal(value: str) -> str:
    """Returns a text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


def confine(connection: duckdb.DuckDBPyConnection, files: Sequence[str], scratch: Path) -> None:
    """Keeps the connection to `files`; what does not fit into memory goes to the folder `scratch`."""
    connection.execute("set temp_directory = $scratch", {"scratch": str(scratch)})
    connection.execute("set allowed_paths = $files", {"files": list(files)})
    connection.execute("set autoinstall_known_extensions = false; set autoload_known_extensions = false")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def check_asks(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Passes for one statement that only asks. Raises UsageError, or DuckDB's own error where it cannot be parsed."""
    statements = connection.extract_statements(sql)
    if _is_pivot(statements):
        return
    if len(statements) > 1:
        raise UsageError(f"query: expected one SQL statement, got {len(statements)}", "write one")
    if not statements:
        raise UsageError("query: the statement has no result", "write a select")
    if statements[0].type != _SELECT and not (statements[0].type == _MULTI and _is_subquery(connection, sql)):
        raise UsageError(
            "query: only reads are allowed: this statement would change or write something",
            "write a select; --csv > FILE keeps its rows",
        )


def _is_pivot(statements: Sequence[duckdb.Statement]) -> bool:
    """Returns whether DuckDB made them of one `pivot`, as versions before 2 do: types of its columns, then a select.

    What a user writes has text, what DuckDB makes has none.
    """
    types = [one.type for one in statements]
    made = not any(one.query for one in statements)
    return made and len(types) > 1 and types == [*[_CREATE] * (len(types) - 1), _SELECT]


def _is_subquery(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Returns whether it can stand inside a select, as `pivot` can, which DuckDB takes for several statements."""
    try:
        return len(connection.extract_statements(f"from (\n{sql.strip().rstrip(';')}\n)")) == 1
    except duckdb.Error:
        return False
