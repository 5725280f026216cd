"""Labels of steps in the figure of IOPS over time: those of tables, as full as there is room."""

from pathlib import Path
from typing import TypedDict, cast

import numpy as np
import pytest

import fathom
import synthetic
from fathom.report.axes import time_axis
from fathom.report.blocks import Figure
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.rows import Seconds
from fathom.report.sections import timeline

TWIN = "twin:samsung-pm9a3-7.68tb"
CURVE = str(Path(__file__).parent.parent / "data" / "curve.toml")
MEASURED = "$shade-strong"
ROUNDS = """
schema = "fathom-method/1"
name = "rounds"

[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 8 }, until = { written = "0.1x" } }

[[steps]]
name = "iops"
kind = "rounds"
rounds = { most = 2, window = 2, track = ["rnd-1-r0"] }

[[steps.steps]]
name = "rnd"
label = "4 KiB random"
sweep = [
  { key = "load.threads", values = [1, 2, 4, 8], names = ["1", "2", "4", "8"] },
  { key = "mix", values = ["read", "write"], names = ["r100", "r0"], labels = ["reads", "writes"] },
]
job = { block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "1s" } }
"""


class Begin(TypedDict):
    """What is looked at of the beginning of a shaded stretch."""

    name: str
    itemStyle: dict[str, str]


class Shading(TypedDict):
    """What is looked at of a panel's shading."""

    data: list[tuple[Begin, object]]


class Series(TypedDict):
    """What is looked at of an ECharts series."""

    markArea: Shading


def labels(run: Path) -> list[list[tuple[str, bool]]]:
    """Per panel, the labels of its shaded stretches, line breaks as spaces, and whether they are measured ones."""
    section = timeline.build(compare([load(run)]))
    assert section is not None
    [figure] = section.blocks
    assert isinstance(figure, Figure)
    shadings = [cast("list[Series]", chart.option["series"])[0]["markArea"] for chart in figure.charts]
    return [
        [
            (begin["name"].replace("\n", " "), begin["itemStyle"]["color"] == MEASURED)
            for begin, _ in one["data"]
        ]
        for one in shadings
    ]


def test_measured_steps_are_called_as_in_tables_on_every_target(run: Path) -> None:
    panels = labels(run)
    assert len(panels) == len(synthetic.TARGETS)
    for panel in panels:
        measured = [label for label, is_measured in panel if is_measured]
        assert measured == [corner.label for corner in synthetic.CORNERS]
        assert {label for label, is_measured in panel if not is_measured} == {""}


def test_steps_of_a_round_have_one_label_where_their_own_have_no_room(tmp_path: Path) -> None:
    method = tmp_path / "rounds.toml"
    method.write_text(ROUNDS)
    run = fathom.run(str(method), targets=[TWIN], seed=3, out=tmp_path)
    [panel] = labels(run.path)
    assert [label for label, is_measured in panel if is_measured] == [
        "iops, round\N{NO-BREAK SPACE}1",
        "iops, round\N{NO-BREAK SPACE}2",
    ]


def test_points_of_a_curve_are_measured_and_called_like_it(tmp_path: Path) -> None:
    run = fathom.run(CURVE, targets=[TWIN], seed=5, out=tmp_path)
    [panel] = labels(run.path)
    steps = [step for step in run.points["step"].to_pylist() if "@" in step]
    measured = [label for label, is_measured in panel if is_measured]
    assert 0 < len(measured) < len(set(steps))
    assert not [label for label in measured if "@" in label]


def test_a_label_that_would_run_into_the_one_before_is_left_out(tmp_path: Path) -> None:
    run = synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1], fill_s=120, precondition_s=2, measure_s=2)
    [panel] = labels(run)
    assert [label for label, is_measured in panel if is_measured] == ["256 KiB sequential read", "", "", ""]


@pytest.mark.parametrize(("fill_s", "drawn_s"), [(3600, 16.0), (120, 136.0)])
def test_a_fill_that_leaves_no_room_for_what_is_measured_stands_in_the_table_alone(
    fill_s: int, drawn_s: float, tmp_path: Path
) -> None:
    run = synthetic.make_run(
        tmp_path / "run", synthetic.TWINS[:1], fill_s=fill_s, precondition_s=2, measure_s=2
    )
    section = timeline.build(compare([load(run)]))
    assert section is not None
    [figure] = section.blocks
    assert isinstance(figure, Figure)
    [chart] = figure.charts
    assert cast("dict[str, float]", chart.option["xAxis"])["max"] == drawn_s
    [group] = figure.data.groups
    assert [row.label.sub for row in group.rows].count("fill") == 1
    assert ("stand in the table alone" in figure.caption) == (drawn_s < fill_s)


@pytest.mark.parametrize("end_s", [0.024, 0.776, 1.5, 5, 59, 3600, 200_000])
def test_the_axis_of_a_run_of_any_length_has_ticks(end_s: float) -> None:
    step = time_axis(end_s).step
    assert step is not None
    assert 2 <= end_s / step <= 10


def test_a_last_interval_too_short_for_a_rate_counts_to_the_one_before() -> None:
    def ending(length_s: float) -> list[float]:
        ends = Seconds(np.array([0.0, 1.0]), np.array([1.0, length_s]), np.array([4000, 1]))
        return ends.with_end_of(timeline.LEAST_S).rates.tolist()

    assert ending(0.00001) == pytest.approx([4001 / 1.00001])
    assert ending(0.5) == [4000.0, 2.0]
