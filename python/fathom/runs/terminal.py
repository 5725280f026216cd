"""Lists of runs and query results on a terminal."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fathom.output.table import row_lines
from fathom.runs.document import Made, maker_of
from fathom.runs.home import Place

if TYPE_CHECKING:
    from rich.console import Console

#: Rows of a query that a terminal shows; `--csv` and `--json` print all.
ROWS_SHOWN = 200
#: Numbers from here on have no fraction: `1,068,518`, not `1.06852e+06`.
WITHOUT_FRACTION = 1e6
#: Blanks between two columns.
GAP = 2


def print_runs(
    console: "Console", table: pa.Table, place: Place, tags: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Prints one line per run of a place, newest first. A run's tags stand behind its targets."""
    if table.num_rows == 0:
        console.print(_no_runs(place), highlight=False, markup=False, soft_wrap=True)
        return
    rows = [("run", "status", "points", "targets")]
    shown = ["run", "status", "quick", "imported_from", "made", "points", "targets"]
    for row in reversed(table.select(shown).to_pylist()):
        status = f"{row['status']}, quick" if row["quick"] else row["status"]
        own = "".join(f" [{tag}]" for tag in (tags or {}).get(row["run"], ()))
        rows.append((row["run"], status, _cell(row["points"]), ", ".join(row["targets"]) + _from(row) + own))
    head, *lines = row_lines(rows, console.width, gap=GAP, right=2)
    console.print(head, style="dim", highlight=False, soft_wrap=True)
    console.file.write("\n".join([*lines, ""]))
    console.print(f"in {place.name}", style="dim", highlight=False)


def _from(row: Mapping[str, Any]) -> str:
    """Returns which program made an imported run, and that it was simulated."""
    title = row["imported_from"]
    return f" (from {maker_of(title, Made(row['made'] or Made.MEASURED))})" if title else ""


def _no_runs(place: Place) -> str:
    return f"no runs in {place.name} yet; {place.first}"


def print_result(console: "Console", table: pa.Table, place: Place, *, has_runs: bool) -> None:
    """Prints a query's rows, numbers to the right.

    Where a row is wider than the terminal, each is a list of its own. Without rows it prints where to look for some.
    """
    from fathom.output.table import flush_table

    if table.num_rows == 0:
        hint = (
            f'{place.listing}, `fathom query "describe points"` the columns of a view'
            if has_runs
            else _no_runs(place)
        )
        console.print(f"no rows; {hint}", highlight=False, markup=False, soft_wrap=True)
        return
    rows = [
        {name: _cell(value) for name, value in row.items()} for row in table.slice(0, ROWS_SHOWN).to_pylist()
    ]
    widths = [max(len(name), *(len(row[name]) for row in rows)) for name in table.column_names if rows]
    if sum(width + GAP for width in widths) - GAP > console.width and len(widths) > 1:
        _print_rows_as_lists(console, rows)
        _print_rest(console, table)
        return
    shown = flush_table(None, gap=GAP, header_style="dim")
    for field in table.schema:
        numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        shown.add_column(field.name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row.values())
    console.print(shown)
    _print_rest(console, table)


def _print_rows_as_lists(console: "Console", rows: list[dict[str, str]]) -> None:
    """Prints one column a line, like psql's expanded display."""
    for number, row in enumerate(rows, 1):
        console.print(f"row {number}", style="dim", highlight=False)
        width = max(map(len, row))
        for name, value in row.items():
            console.print(f"  {name:<{width}}  {value}", highlight=False, markup=False, soft_wrap=True)


def _print_rest(console: "Console", table: pa.Table) -> None:
    if table.num_rows > ROWS_SHOWN:
        console.print(
            f"{ROWS_SHOWN} of {table.num_rows:,} rows; --csv or --json prints them all", style="dim"
        )


def json_rows(table: pa.Table) -> list[dict[str, object]]:
    """Returns a query's rows for JSON, which has no infinity and no NaN: both become null."""
    return [{name: _finite(value) for name, value in row.items()} for row in table.to_pylist()]


def print_csv(table: pa.Table) -> None:
    """Prints a query's rows as CSV on stdout; a struct or a list is JSON in its cell."""
    from fathom.output.printed import csv_text

    columns = [[_in_csv(value) for value in column.to_pylist()] for column in table.columns]
    sys.stdout.write(csv_text(table.column_names, zip(*columns, strict=True)))


def _in_csv(value: object) -> object:
    """Returns what a cell of CSV has for a value. Times and other types that JSON lacks are texts in it."""
    return json.dumps(_finite(value), default=str) if isinstance(value, dict | list) else value


def _finite(value: object) -> object:
    """Returns a value with null for each infinity and NaN, also in structs and lists."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(name): _finite(one) for name, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case _:
            return value


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= WITHOUT_FRACTION else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
