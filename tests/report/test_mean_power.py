"""Mean power wherever a report prints it: with its interval, or with the reason for none."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Item, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.power import NOTE
from fathom.report.sections import corners
from fathom.runs.reader import Run

METHOD = """
schema = "fathom-method/1"
name = "power"
[[steps]]
name = "writes"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "LENGTH" } }
"""


def measured(folder: Path, length: str, repeats: int = 1) -> list[Run]:
    method = folder / "power.toml"
    method.write_text(METHOD.replace("LENGTH", length))
    found = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=folder)
    return [found] + [
        fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=folder, seed=seed)
        for seed in range(2, repeats + 1)
    ]


def table_of(runs: Sequence[Run]) -> Table:
    section = corners.build(compare([load(run.path) for run in runs], lambda *_: (), pool=True))
    assert section is not None
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    return table


def power_of(runs: Sequence[Run]) -> Item:
    table = table_of(runs)
    place = [head.text for head in table.head].index("Power, mean")
    [row] = [row for group in table.groups for row in group.rows]
    return row.cells[place]


def test_mean_power_has_its_interval_and_is_the_energy_over_the_window(tmp_path: Path) -> None:
    runs = measured(tmp_path, "8s")
    [point] = runs[0].points.to_pylist()
    found = power_of(runs)
    assert float(found.text) == pytest.approx(point["joules"] / point["window_s"], abs=0.01)
    assert found.sub.startswith("± ")
    assert NOTE in table_of(runs).footnotes


def test_mean_power_of_few_seconds_says_why_it_has_no_interval(tmp_path: Path) -> None:
    found = power_of(measured(tmp_path, "3s"))
    assert (found.sub, found.title) == (
        "",
        "no interval: energy read 3 times in the window, 5 readings are needed",
    )


def test_mean_power_of_repeats_has_the_interval_between_them_however_short_they_are(tmp_path: Path) -> None:
    runs = measured(tmp_path, "3s", repeats=3)
    found = power_of(runs)
    watts = [row["joules"] / row["window_s"] for run in runs for row in run.points.to_pylist()]
    assert float(found.text) == pytest.approx(sum(watts) / 3, abs=0.01)
    assert found.sub.startswith("± ")
