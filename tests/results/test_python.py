"""Imports, exports and runs from Python: what comes back, how notebooks show it, and what is refused."""

import shutil
from pathlib import Path

import pytest

import fathom
from fathom.errors import UsageError

SAMPLES = Path(__file__).parents[1] / "data/results"


@pytest.fixture
def run() -> fathom.Run:
    outcome = fathom.import_results(SAMPLES / "flatfile.html")
    return fathom.open_run(outcome.runs[0])


def test_results_are_imported_and_exported(run: fathom.Run):
    assert run.points.num_rows == 3
    assert b'"jobname": "rd1"' in fathom.export_results(run, "fio-json")
    with pytest.raises(UsageError, match="no format 'pdf'"):
        fathom.export_results(run, "pdf")
    with pytest.raises(UsageError, match="no unit 'hours'"):
        fathom.import_results(SAMPLES, unit="hours")


def test_a_notebook_shows_points_and_comparisons_as_tables(run: fathom.Run, tmp_path: Path):
    page = run._repr_html_()
    assert page.count("<tr>") == 1 + run.points.num_rows
    assert "<td>rd1</td>" in page
    other = shutil.copytree(run.path, tmp_path / run.path.name)
    [result] = fathom.compare_runs(run, other)
    assert "no interval" in result._repr_html_()


def test_nothing_in_a_table_for_notebooks_is_markup():
    from fathom.output.html import table

    assert "<script>" not in table("<script>", ["<script>"], [["<script>"]])


def test_a_table_that_a_run_lacks_is_named_with_those_that_it_has(run: fathom.Run):
    assert run.streams.num_rows == 0
    with pytest.raises(
        KeyError, match="no table 'seconds'; it has points, streams, phases, ensemble, intervals"
    ):
        run.table("seconds")


@pytest.mark.parametrize("size", [0, -1, True, 1.5, "4GiB"])
def test_a_size_that_is_no_number_of_bytes_is_refused(size: object, tmp_path: Path):
    with pytest.raises(UsageError, match="size_bytes="):
        fathom.plan_run("four-corners", f"file:{tmp_path / 'f'}", size_bytes=size)  # pyright: ignore[reportArgumentType]
