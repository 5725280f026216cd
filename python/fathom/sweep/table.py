"""The points of all runs of a sweep as one table: the settings, then the columns of points.parquet."""

import io
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from fathom.catalog.settings import joined
from fathom.columns.schema import POINTS
from fathom.output.output_file import write_output
from fathom.output.printed import cell_text
from fathom.runs.reader import Run
from fathom.sweep.grid import Axis, Combination
from fathom.sweep.study import Outcome

PARQUET, CSV = "points.parquet", "points.csv"
_SETTINGS = re.compile(r"\?([^*#/]*)")
"""The settings in a target's name."""


def gather(axes: Sequence[Axis], outcomes: Sequence[Outcome]) -> pa.Table:
    """Returns a row per combination, target, step and operation; parts of targets are in their runs alone.

    `target` is the name as the user wrote it, without what the sweep sets. A column of settings holds numbers where
    all its values are numbers.
    """
    columns = pa.schema([*(pa.field(axis.column, _type(axis)) for axis in axes), *POINTS])
    rows = [
        {
            axis.column: _value(axis, value)
            for axis, (_, value) in zip(axes, outcome.combination.settings, strict=True)
        }
        | row
        | {"target": _as_written(str(row["target"]), outcome.combination)}
        for outcome in outcomes
        if outcome.error is None
        for row in _rows(Run(outcome.run))
    ]
    return pa.Table.from_pylist(rows, schema=columns)


def write_tables(table: pa.Table, folder: Path) -> None:
    """Writes `points.parquet` and `points.csv`. Raises RefusedError where something else has their names."""
    for name, write in ((PARQUET, pq.write_table), (CSV, _write_csv)):
        content = io.BytesIO()
        write(table, content)
        write_output(folder / name, content.getvalue(), of_a_run=True)


def _write_csv(table: pa.Table, into: io.BytesIO) -> None:
    """Writes CSV without structs, and with no text that is a formula."""
    table = table.drop_columns([field.name for field in table.schema if pa.types.is_struct(field.type)])
    for number, field in enumerate(table.schema):
        if field.type == pa.string():
            texts = [text and cell_text(text) for text in table[number].to_pylist()]
            table = table.set_column(number, field, pa.array(texts, field.type))
    pyarrow.csv.write_csv(table, into)


def _rows(run: Run) -> list[dict[str, object]]:
    whole = {target.name for target in run.targets if target.part_of is None}
    return [row for row in run.points.to_pylist() if row["target"] in whole]


def _as_written(target: str, combination: Combination) -> str:
    """Returns the name without what the combination sets, which comes last. The user's own settings stay."""
    found = _SETTINGS.search(target)
    if found is None:
        return target
    own = found[1].split(",")
    for key, value in reversed(combination.settings):
        # A drive that a system is compared with has the setting without the member's name.
        if own and own[-1] in (f"{key}={value}", f"{key.rpartition('.')[2]}={value}"):
            own.pop()
    return joined(target[: found.start()], ",".join(own)) + target[found.end() :]


def _type(axis: Axis) -> pa.DataType:
    return pa.float64() if axis.is_numeric else pa.string()


def _value(axis: Axis, text: str) -> float | str:
    return float(text) if _type(axis) == pa.float64() else text
