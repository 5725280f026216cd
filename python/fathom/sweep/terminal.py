"""A sweep as one table in a terminal and as the document `fathom-sweep/1`. Computes nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from fathom.output.table import Name, flush_table
from fathom.report.style import grouped, plain
from fathom.statistics.limits import limit_in
from fathom.sweep.grid import Axis
from fathom.sweep.study import Outcome

FIGURES = {"iops": "IOPS", "mbps": "MB/s", "mean_us": "mean us", "p99_us": "p99 us", "waf": "WAF"}


def headings(axes: Sequence[Axis], table: pa.Table) -> list[str]:
    """Returns the columns to show, by name: settings, targets and operations where there are several, and figures with
    values.
    """
    several = len(set(table["target"].to_pylist())) > 1
    steps = set(zip(table["step"].to_pylist(), table["op"].to_pylist(), strict=True))
    mixed = len(steps) > len({step for step, _ in steps})
    known = [name for name in FIGURES if table[name].null_count < table.num_rows]
    return [
        *(axis.column for axis in axes),
        *(["target"] if several else []),
        "step",
        *(["op"] if mixed else []),
        *known,
        "limited_by",
    ]


def shown(name: str, value: object) -> str:
    """Returns a cell's text."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return grouped(value) if name in FIGURES else f"{value:.10g}"
    return plain(str(value))


def print_sweep(console: Console, axes: Sequence[Axis], table: pa.Table, outcomes: Sequence[Outcome]) -> None:
    """Prints a row per combination, step and operation, then what failed; in a narrow terminal words are folded."""
    names = headings(axes, table)
    printed = flush_table(edge=False)
    for name in names:
        right = name in FIGURES or pa.types.is_floating(table.schema.field(name).type)
        heading = Name(FIGURES.get(name, plain(name)))
        printed.add_column(
            heading, justify="right" if right else "left", overflow="fold", no_wrap=name in FIGURES
        )
    for row in table.to_pylist():
        limit = limit_in(row)
        row["limited_by"] = limit.name if limit else None
        printed.add_row(*(Name(shown(name, row[name])) for name in names))
    console.print(printed)
    for outcome in outcomes:
        if outcome.error:
            console.print(
                Text(f"failed: {plain(outcome.combination.label)}: {plain(outcome.error)}", style="red")
            )


def sweep_json(folder: Path, table: pa.Table) -> dict[str, object]:
    """Returns sweep.json, with the gathered points under `rows`."""
    document = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    return document | {"rows": table.to_pylist()}
