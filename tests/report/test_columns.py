"""Columns have one definition, from which schemas, rows, headings, documentation and pooling follow."""

import ast
import csv
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import pytest

import synthetic
from fathom.columns.column import Column, Rule, columns_of, combined
from fathom.columns.schema import CSV_NAMES, POINTS, ROWS, TABLES, Point
from fathom.report import runs_csv
from fathom.statistics.latency_columns import PREFIXES, QUANTILES
from fathom.statistics.percentiles import bounds_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "fathom"
DEFINITION = PACKAGE / "columns" / "schema.py"

FORMATS = {
    "points": "d434e9e0ca0d641e",
    "streams": "b046ead99e1a0fc7",
    "phases": "108789dfb7ed3fa9",
    "ensemble": "0f45a08b1218dcbf",
    "intervals": "bb3eb7677e74f917",
    "latency": "25bed39d48f6d751",
    "telemetry": "66be38be2ab076a9",
}
"""SHA-256 of the names and types of each table of `fathom-run/1`: to change one is to change the format."""
MOST_NAMES, MOST_ALIKE = 4, 0.75
"""Number and share of fields of a class that may be columns of one table by chance."""
WIRE = PACKAGE / "fleet" / "agent.py"
"""What another host sends is checked as a format of its own."""
OTHERS = PACKAGE / "results" / "records.py"
"""What other load generators wrote, before it becomes rows."""
VALUES: dict[str, object] = {"target": "a", "method": "m", "step": "s", "workload": "w", "op": "read"}


def point(**values: object) -> Point:
    return Point(**cast("dict[str, Any]", dict.fromkeys(POINTS.names) | VALUES | values))


def over(rule: str, *points: Point) -> Point:
    """The points as one, with nothing for what is computed elsewhere."""
    computed = {
        name: VALUES.get(name)
        for name, one in columns_of(Point).items()
        if getattr(one.column, rule) is Rule.COMPUTED
    }
    return combined(points, lambda column: getattr(column, rule), computed)


@pytest.mark.parametrize("name", TABLES)
def test_names_and_types_of_a_table_are_those_of_the_format(name: str) -> None:
    text = "\n".join(f"{field.name} {field.type}" for field in TABLES[name])
    found = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert found == FORMATS[name], (
        f'the columns of {name} changed; if the format of runs is to change, write "{found}" into FORMATS'
    )


def test_a_name_means_the_same_in_every_table() -> None:
    definitions: dict[str, set[int]] = {}
    for row in ROWS.values():
        for name, one in columns_of(row).items():
            definitions.setdefault(name, set()).add(id(one.column))
    assert [name for name, found in definitions.items() if len(found) > 1] == []


def test_a_column_without_a_definition_is_an_error() -> None:
    @dataclass
    class Bare:
        iops: float

    with pytest.raises(TypeError, match="column iops has no definition"):
        columns_of(Bare)


def test_a_column_without_a_rule_for_pooling_is_an_error() -> None:
    with pytest.raises(TypeError, match="'repeats', 'operations', and 'rounds'"):
        Column("us", "a latency")  # pyright: ignore[reportCallIssue]

    @dataclass(frozen=True)
    class WorkloadVerdict:
        verdict: Annotated[str | None, Column("", "what was found", Rule.COMPUTED, Rule.SAME, Rule.SAME)]

    with pytest.raises(KeyError, match="no rule for verdict"):
        combined([WorkloadVerdict("good"), WorkloadVerdict("bad")], lambda column: column.repeats, {})
    with pytest.raises(KeyError, match="no rule for verdict"):
        combined([WorkloadVerdict("good")], lambda column: column.operations, {"verdict": "good"})


def test_percentiles_and_their_bounds_are_columns() -> None:
    wanted = {f"{prefix}{name}" for prefix in PREFIXES.values() for name in QUANTILES}
    assert wanted | {bound for name in wanted for bound in bounds_of(name)} <= set(POINTS.names)


def test_no_class_and_no_schema_repeats_the_columns_of_a_table() -> None:
    alike = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path not in (DEFINITION, WIRE, OTHERS)
        for line, names in definitions(ast.parse(path.read_text()))
        if any(
            len(names & set(schema.names)) > max(MOST_NAMES, MOST_ALIKE * len(names))
            for schema in TABLES.values()
        )
    ]
    assert alike == []


def definitions(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    """Line and names of every class with fields, and of every call of `schema` with its columns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            own = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
            yield node.lineno, {one.id for one in own if isinstance(one, ast.Name)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pa.schema":
            texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
            yield node.lineno, {text for text in texts if isinstance(text, str)}


def test_the_page_has_the_tables_of_the_definition(tmp_path: Path) -> None:
    page = ROOT / "docs/reference/run-directory.md"
    (tmp_path / "page.md").write_text(page.read_text().replace("| J |", "| kJ |", 1))
    assert not checked(page), "run `python tools/columns.py`"
    assert "not as its columns are defined" in checked(tmp_path / "page.md")


def checked(page: Path) -> str:
    command = [sys.executable, ROOT / "tools" / "columns.py", "--check", page]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_what_differs_between_rows_is_no_single_row_s_value() -> None:
    assert over("operations", point(limited_by="flash dies"), point(limited_by=None)).limited_by is None
    assert over("operations", point(block_bytes=4096), point(block_bytes=8192)).block_bytes is None
    with pytest.raises(ValueError, match="rows differ in workload"):
        over("repeats", point(workload="a"), point(workload="b"))


def test_rounds_have_the_mean_in_flight_and_all_that_failed() -> None:
    found = over(
        "rounds",
        point(
            outstanding=4.0,
            errors=3,
            failed_share=0.005,
            censored=2,
            censored_us=9.0,
            max_us=50.0,
            joules=2.0,
        ),
        point(outstanding=8.0, errors=0, failed_share=0.0, max_us=20.0, joules=3.0),
    )
    assert (found.outstanding, found.errors, found.failed_share) == (6.0, 3, 0.005)
    assert (found.censored, found.censored_us, found.max_us, found.joules) == (2, 9.0, 50.0, 5.0)


def test_a_repeat_that_completed_nothing_hides_no_failures_of_the_others() -> None:
    found = over(
        "repeats", point(failed_share=None, max_us=None, n=0), point(failed_share=0.05, max_us=7.0, n=9)
    )
    assert (found.failed_share, found.max_us, found.n) == (0.05, 7.0, 9)


def test_a_sum_that_lacks_a_repeat_is_unknown() -> None:
    assert over("repeats", point(joules=2.0), point(joules=None)).joules is None


def test_csv_of_several_runs_has_one_header_and_a_column_for_the_run(tmp_path: Path) -> None:
    runs = [synthetic.make_run(tmp_path / name, [synthetic.FILE], measure_s=6, seed=1) for name in "ab"]
    for run in runs:
        document = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(document | {"id": f"run-{run.name}"}))
    one, several = (list(csv.reader(io.StringIO(runs_csv(some)))) for some in (runs[:1], runs))
    assert one[0] == CSV_NAMES
    assert several[0] == ["run", *CSV_NAMES]
    assert several[1:] == [[f"run-{name}", *row] for name in "ab" for row in one[1:]]
