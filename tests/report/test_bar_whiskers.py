"""What bars have beside them: the range that most measurements of a twin's device lie in, and figures of short ones."""

import json

import pytest

from fathom.report.axes import Axis
from fathom.report.charts import Bars, bar_chart


def test_a_whisker_lies_at_its_own_category_and_the_axis_reaches_its_end() -> None:
    bars = [
        Bars("A", 0, [10.0, None, 30.0], [(8.0, 12.0), None, (20.0, 44.0)]),
        Bars("B", 1, [5.0, 6.0, 7.0]),
    ]
    option = json.loads(json.dumps(bar_chart(Axis("IOPS", "count", low=0), ["x", "y", "z"], bars)))
    ranged, plain = option["series"]
    assert ranged["markLine"]["data"] == [
        [{"coord": [8.0, 0]}, {"coord": [12.0, 0]}],
        [{"coord": [20.0, 2]}, {"coord": [44.0, 2]}],
    ]
    assert "markLine" not in plain
    assert option["xAxis"]["max"] >= 44.0
    assert option["xAxis"]["name"] == "IOPS"


@pytest.mark.parametrize("ranges", [(), (None, None)])
def test_bars_without_ranges_leave_the_axis_to_the_chart(ranges: tuple[None, ...]) -> None:
    option = bar_chart(Axis("", "count", low=0), ["x", "y"], [Bars("A", 0, [1.0, 2.0], ranges)])
    assert "markLine" not in json.dumps(option)
    assert "max" not in json.loads(json.dumps(option))["xAxis"]


def test_a_bar_that_is_too_short_to_see_has_its_figure_beside_it() -> None:
    bars = [Bars("A", 0, [66_000.0, 15.0, None]), Bars("B", 1, [65_000.0, 4_000.0, None])]
    long, seen = json.loads(json.dumps(bar_chart(Axis("", "count", low=0), ["x", "y", "z"], bars)))["series"]
    assert long["data"] == [66_000.0, {"value": 15.0, "label": {"show": True}}, None]
    assert long["label"]["formatter"] == "@pointer-count"
    assert seen["data"] == [65_000.0, 4_000.0, None]
    assert "label" not in seen


def test_texts_of_bars_stand_beside_all_of_them() -> None:
    bars = [Bars("A", 0, [64.0, 0.02], texts=["> 64", "0.02"])]
    [found] = json.loads(json.dumps(bar_chart(Axis("", "count", log=True), ["x", "y"], bars)))["series"]
    assert [(one["value"], one["label"]["show"], one["label"]["formatter"]) for one in found["data"]] == [
        (64.0, True, "> 64"),
        (0.02, True, "0.02"),
    ]


def test_bars_on_each_other_have_no_figures_beside_them() -> None:
    bars = [Bars("A", 0, [100.0]), Bars("B", 1, [1.0])]
    option = json.loads(json.dumps(bar_chart(Axis("", "count", low=0), ["x"], bars, stacked=True)))
    assert [one["data"] for one in option["series"]] == [[100.0], [1.0]]
