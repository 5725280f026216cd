"""The p99.999 that the standard's histograms ask for: measured, shown with its interval, or why it is not."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fathom
from fathom.report.blocks import Figure, Item, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import corners, latency
from fathom.runs.reader import Run
from old_runs import without_checksums

METHOD = """
schema = "fathom-method/1"
name = "tail"
precision = "2%"
[[steps]]
name = "reads"
percentile = "99.999%"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { threads = 8, iodepth = 32 }, \
until = { time = "LENGTH" } }
"""
SN861 = "twin:wd-ultrastar-dc-sn861-7.68tb"


def measured(out: Path, length: str) -> Run:
    method = out / "tail.toml"
    method.write_text(METHOD.replace("LENGTH", length))
    return fathom.run(str(method), targets=[SN861], seed=5, out=out)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return measured(tmp_path_factory.mktemp("long"), "1min")


def rows(path: Path) -> dict[str, Item]:
    section = corners.build(compare([load(path)]))
    assert section is not None
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    [row] = [row for group in table.groups for row in group.rows]
    return {head.text: cell for head, cell in zip(table.head, row.cells, strict=True)}


def test_a_window_that_would_have_ended_at_a_million_ios_goes_on_to_ten(long: Run) -> None:
    [point] = long.points.to_pylist()
    assert 10_000_000 <= point["n"] < 15_000_000
    assert point["p9999_us"] <= point["p99999_us"] <= point["max_us"]


def test_five_nines_have_their_interval_as_other_percentiles_have(long: Run) -> None:
    [point] = long.points.to_pylist()
    assert point["p99999_low_us"] <= point["p99999_us"] <= point["p99999_high_us"]
    item = rows(long.path)["p99.999"]
    assert item.title == "95 % interval"
    assert item.sub


def test_five_nines_stand_in_the_table_of_the_percentile_curve(long: Run) -> None:
    section = latency.build(compare([load(long.path)]))
    assert section is not None
    curves = section.blocks[0]
    assert isinstance(curves, Figure)
    table = curves.data
    column = [head.text for head in table.head].index("p99.999")
    assert table.groups[0].rows[0].cells[column].text == rows(long.path)["p99.999"].text


def test_a_step_made_for_five_nines_that_is_too_short_says_so(tmp_path: Path) -> None:
    run = measured(tmp_path, "2s")
    item = rows(run.path)["p99.999"]
    assert item.text == "n too small"
    assert item.title.startswith("needs 10,000,000 I/Os, has ")
    [note] = [note for note in run.notes if note.rule == "n-too-small"]
    assert "p99.999 in 1 step (needs 10,000,000 I/Os)" in note.text


def test_a_run_of_a_version_without_five_nines_is_read_and_says_that_they_were_not_recorded(
    long: Run, tmp_path: Path
) -> None:
    old = tmp_path / long.path.name
    old.mkdir()
    for file in long.path.iterdir():
        if file.is_file():
            (old / file.name).write_bytes(file.read_bytes())
    points = pq.read_table(old / "points.parquet")
    without_checksums(old)
    gone = [name for name in points.column_names if "p99999" in name]
    pq.write_table(points.drop_columns(gone), old / "points.parquet")
    assert rows(old)["p99.999"].text == "not recorded"
