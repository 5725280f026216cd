"""The section of IOPS-latency curves, and how curves appear in the sections that they share with other methods."""

from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, cast

import pytest

import fathom
from fathom.catalog import published_for
from fathom.catalog.models import PublishedRow
from fathom.method.curve import is_point
from fathom.report.axes import Axis, from_zero
from fathom.report.blocks import Chart, Figure, Table
from fathom.report.charts import Cross, Limit, Line, apart, scatter_chart
from fathom.report.comparison import Comparison, compare
from fathom.report.curve_key import HEADROOM, linear_top
from fathom.report.data import RunData, load
from fathom.report.findings import gate
from fathom.report.predicted import ACROSS
from fathom.report.sections import build_all, corners, curves

CURVE = str(Path(__file__).parent.parent / "data" / "curve.toml")
SHORT = str(Path(__file__).parent.parent / "data" / "short.toml")
SN861, PM9A3 = "twin:wd-ultrastar-dc-sn861-7.68tb", "twin:samsung-pm9a3-7.68tb"


def at_four_outstanding(device: str, workload: str) -> list[PublishedRow]:
    """The catalogue's rows of 64 outstanding, as if they were of the short curve's four."""
    return [row.model_copy(update={"threads": 4}) for row in published_for(device, workload)]


class Series(TypedDict):
    """What is looked at of an ECharts series."""

    data: list[object]
    symbol: str
    markLine: Any


def series_of(chart: Chart) -> list[Series]:
    return cast("list[Series]", chart.option["series"])


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    run = fathom.run(CURVE, targets=[SN861, PM9A3], seed=5, out=tmp_path_factory.mktemp("runs"))
    return compare([load(run.path)], at_four_outstanding)


def test_a_run_that_ended_before_the_first_point_of_its_curves_has_their_maxima(
    comparison: Comparison,
) -> None:
    [whole] = comparison.runs
    cut = compare([RunData(whole.run, [point for point in whole.points if not is_point(point.step)])])
    built = curves.build(cut)
    assert built is not None
    [figure] = [block for block in built.blocks if isinstance(block, Figure)]
    assert "a share of the target's own maximum. Hollow" in figure.caption
    assert {row.label.text for group in figure.data.groups for row in group.rows} == {"maximum"}


FILL = """[[steps]]
name = "whole-drive"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "1x" } }

"""


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """The same curve behind a fill of the drive and random writes that have covered its region."""
    folder = tmp_path_factory.mktemp("settled")
    method = folder / "curve.toml"
    text = Path(CURVE).read_text().replace('region = "2%"', 'region = "1GiB"')
    head, steps, rest = text.replace('kind = "curve"', 'kind = "curve"\noverwrite = "1x"').partition(
        "[[steps]]"
    )
    method.write_text(head + FILL + steps + rest)
    return compare([load(fathom.run(str(method), targets=[SN861, PM9A3], seed=5, out=folder).path)])


@pytest.fixture
def panels(comparison: Comparison) -> Figure:
    section = curves.build(comparison)
    assert section is not None
    return next(block for block in section.blocks if isinstance(block, Figure))


def test_each_workload_has_a_panel_for_service_and_one_for_response(panels: Figure) -> None:
    assert [chart.sub for chart in panels.charts] == [
        "service latency, mean, us",
        "response latency, mean, us",
    ]


def test_unsustained_points_are_hollow_and_the_table_says_no(panels: Figure) -> None:
    hollow = [isinstance(point, dict) for point in series_of(panels.charts[0])[0]["data"]]
    assert hollow == sorted(hollow)
    assert 1 <= hollow.count(True) < len(hollow)
    rows = panels.data.groups[0].rows[1:]
    assert [row.cells[-1].text == "no" for row in rows] == hollow


def test_the_sentence_says_of_a_maximum_that_a_point_exceeds_that_it_had_not_settled(
    settled: Comparison,
) -> None:
    run = settled.columns[0].run
    lower = [
        replace(point, iops=0.8 * (point.iops or 0.0)) if run.curve(point.step) else point
        for point in run.points
    ]
    found = [curves.build(compare([one])) for one in (run, replace(run, points=lower))]
    said = [section.answer[0] for section in found if section]
    assert ["had not settled" in text for text in said] == [False, True]
    assert said[1].endswith(
        "the target had not settled (its maximum had changed while the curve was measured), so no rate is claimed."
    )


def test_the_key_figure_names_why_nothing_is_claimed_of_each_target(comparison: Comparison) -> None:
    section = curves.build(comparison)
    assert section is not None
    assert section.key_figure is not None
    first, second = comparison.columns
    assert section.key_figure.sentence.endswith(
        f": {first.short} had not settled, {second.short} had not settled."
    )


def test_the_published_maximum_is_a_cross_among_service_latencies_only(panels: Figure) -> None:
    places = [
        [one["data"] for one in series_of(chart) if one["symbol"].startswith("path:")]
        for chart in panels.charts
    ]
    assert [[903_000.0, 70.0]] in places[0]
    assert places[1] == []


@pytest.mark.parametrize("with_published", [True, False])
def test_the_caption_explains_a_cross_only_where_a_published_maximum_is_drawn(
    comparison: Comparison, *, with_published: bool
) -> None:
    found = comparison if with_published else compare([column.run for column in comparison.columns[:1]])
    section = curves.build(found)
    assert section is not None
    assert section.key_figure is not None
    assert isinstance(section.key_figure.block, Figure)
    marks = [one["symbol"] for chart in section.key_figure.block.charts for one in series_of(chart)]
    assert any(mark.startswith("path:") for mark in marks) == with_published
    assert ("cross" in section.key_figure.block.caption.lower()) == with_published


def test_the_objective_is_marked_where_it_applies_and_its_capacity_given(
    comparison: Comparison, panels: Figure
) -> None:
    marked = ["markLine" in series_of(chart)[0] for chart in panels.charts]
    assert marked == [False, True]
    section = curves.build(comparison)
    assert section is not None
    table = section.blocks[0]
    assert isinstance(table, Table)
    cells = table.groups[0].rows[0].cells
    assert "of the maximum" in cells[0].sub
    assert "of the maximum" in cells[1].sub


def test_a_target_that_never_meets_the_objective_has_no_capacity(tmp_path: Path) -> None:
    method = tmp_path / "strict.toml"
    text = Path(CURVE).read_text().replace("500us", "50us").replace('], time = "1s"', '], time = "10s"')
    method.write_text(text)
    run = fathom.run(str(method), targets=[PM9A3], seed=5, out=tmp_path)
    section = curves.build(compare([load(run.path)]))
    assert section is not None
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert table.groups[0].rows[0].cells[0].text == "none"


def test_runs_with_objectives_of_their_own_have_a_row_each_and_no_common_line(tmp_path: Path) -> None:
    text, runs = Path(CURVE).read_text(), []
    for target, limit in ((PM9A3, "500us"), (SN861, "900us")):
        method = tmp_path / f"{limit}.toml"
        method.write_text(text.replace("500us", limit))
        runs.append(load(fathom.run(str(method), targets=[target], seed=5, out=tmp_path / limit).path))
    section = curves.build(compare(runs))
    assert section is not None
    capacities, figure = section.blocks
    assert isinstance(capacities, Table)
    assert isinstance(figure, Figure)
    rows = capacities.groups[0].rows
    assert [row.label.sub.split("≤ ")[1] for row in rows] == [
        "500.0 us, each operation",
        "900.0 us, each operation",
    ]
    assert [[cell.text == "–" for cell in row.cells] for row in rows] == [[False, True], [True, False]]
    assert not any("markLine" in series_of(chart)[0] for chart in figure.charts)


def test_an_objective_that_no_p99_was_known_for_is_not_said_to_be_missed(comparison: Comparison) -> None:
    run = comparison.columns[0].run
    unknown = [replace(point, p99_us=None, response_p99_us=None) for point in run.points]
    section = curves.build(compare([replace(run, points=unknown)]))
    assert section is not None
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert table.groups[0].rows[0].cells[0].text == "not known"


def test_another_percentile_in_the_objective_is_named_and_has_columns(tmp_path: Path) -> None:
    method = tmp_path / "curve.toml"
    method.write_text(Path(CURVE).read_text().replace('p99 = "500us"', 'p999 = "2ms"'))
    run = fathom.run(str(method), targets=[SN861], seed=5, out=tmp_path / "runs")
    section = curves.build(compare([load(run.path)]))
    assert section is not None
    capacities, figure = section.blocks
    assert isinstance(capacities, Table)
    assert capacities.groups[0].rows[0].label.sub == "p99.9 of response latency ≤ 2,000 us, each operation"
    assert isinstance(figure, Figure)
    heads = [head.text for head in figure.data.head]
    assert heads.count("Service p99.9") == heads.count("Response p99.9") == 1
    assert {len(row.cells) for group in figure.data.groups for row in group.rows} == {len(heads)}


def test_a_curve_is_one_figure_of_reads_and_writes_together_beside_the_published_one(
    comparison: Comparison,
) -> None:
    assert len(comparison.corners) == 1
    corner = comparison.corners[0]
    points = [p for p in comparison.runs[0].points if p.step == "mixed" and p.target == SN861]
    cell = corner.cells[0]
    assert cell.value == pytest.approx(sum(p.iops or 0 for p in points))
    assert cell.point.mean_us == pytest.approx(
        sum((p.mean_us or 0) * (p.n or 0) for p in points) / sum(p.n or 0 for p in points)
    )
    assert cell.published is not None
    assert cell.published.value == 903_000
    assert corners.build(comparison) is not None


def test_every_section_is_built_from_a_run_of_curves(comparison: Comparison) -> None:
    keys = [section.key for section in build_all(comparison)]
    assert {"results", "curves", "timeline", "latency"} <= set(keys)


def test_results_of_other_methods_beside_the_four_corners_are_not_called_so(
    comparison: Comparison, run: Path
) -> None:
    four = compare([load(run)], lambda *_: ())
    beside = compare([load(run), *comparison.runs], lambda *_: ())
    titles = [section.title for one in (four, beside) if (section := corners.build(one))]
    assert titles == ["Four corners", "Results"]
    again = [*four.runs, *four.runs, *comparison.runs]
    assert [text.partition(":")[0] for text in compare(again, lambda *_: ()).shortenings] == ["runs A and B"]


def test_runs_without_curves_have_no_such_section(tmp_path: Path) -> None:
    run = fathom.run(SHORT, targets=["null:"], out=tmp_path)
    assert curves.build(compare([load(run.path)])) is None


@pytest.mark.parametrize(
    ("seen", "ends", "high"),
    [
        ([172.0], [196.0], 250.0),
        ([172.0], [210.0], 250.0),
        ([172.0], [150.0, 172.0], 200.0),
        ([172.0], [2000.0], 200.0),
        ([172.0], [196.0, 240.0, 2000.0], 300.0),
    ],
)
def test_a_name_at_the_end_of_a_curve_is_well_below_the_end_of_the_axis_or_far_above(
    seen: list[float], ends: list[float], high: float
) -> None:
    end_of_axis = from_zero(linear_top(seen, ends), "count").high or 0.0
    assert end_of_axis == high
    assert not [end for end in ends if end_of_axis / HEADROOM < end <= end_of_axis * HEADROOM]


def test_names_at_the_ends_of_near_curves_stand_apart() -> None:
    ends = (100.0, 103.0, 300.0, 106.0, 250.0)
    lines = [Line(str(y), 0, [(0.0, 1.0), (1.0, y), (1.0, None)], labelled=True) for y in ends]
    sides = [line.side for line in apart(lines, 10.0)]
    assert sides == ["top", "middle", "middle", "bottom", "middle"]
    assert [line.side for line in apart(lines[:2], 10.0)] == ["top", "bottom"]
    assert [line.side for line in apart(lines[:2], 1.0)] == ["middle", "middle"]
    empty = Line("no point", 0, [(0.0, None)], labelled=True)
    assert apart([empty], 1.0) == [empty]


@pytest.mark.parametrize(
    ("x", "y", "side"),
    [
        (1.2, 101.0, "top"),
        (1.2, 99.0, "bottom"),
        (1.2, 120.0, "middle"),
        (2.0, 100.0, "middle"),
        (0.9, 100.0, "middle"),
    ],
)
def test_the_name_at_the_end_of_a_curve_gives_way_to_a_cross_beside_it(x: float, y: float, side: str) -> None:
    line = Line("a drive", 0, [(0.5, 50.0), (1.0, 100.0)], labelled=True)
    [placed] = apart([line], 10.0, [Cross("a drive", 0, x, y)], 0.4)
    assert placed.side == side


@pytest.mark.parametrize(("at", "side"), [(101.0, "top"), (99.0, "bottom"), (150.0, "middle")])
def test_the_name_at_the_end_of_a_curve_gives_way_to_a_whisker_of_any_curve(at: float, side: str) -> None:
    lines = [
        Line("a drive", 0, [(0.5, 50.0), (1.0, 100.0)], labelled=True),
        Line("another", 1, [(0.5, 300.0)], across=[(at, 0.4, 1.2)]),
    ]
    assert apart(lines, 10.0, (), 0.4)[0].side == side


def test_a_settled_twins_curve_has_the_range_of_measurements_at_its_greatest_sustained_rate(
    settled: Comparison,
) -> None:
    section = curves.build(settled)
    assert section is not None
    figure = next(block for block in section.blocks if isinstance(block, Figure))
    for latency, chart in zip(curves.LATENCIES, figure.charts, strict=True):
        for one, series in zip(curves.workloads_of(settled)[0].drawn, series_of(chart), strict=False):
            held = [dot.figures for dot in one.dots if dot.figures.sustained]
            most = max(held, key=lambda point: point.iops)
            assert one.spread is not None
            [[start, end]] = [ends for ends in series["markLine"]["data"] if isinstance(ends, list)]
            assert [start["coord"][0], end["coord"][0]] == pytest.approx(
                one.spread.around(most.iops), rel=1e-4
            )
            assert start["coord"][1] == end["coord"][1] == pytest.approx(most.mean(latency), rel=1e-3)
            assert cast("dict[str, float]", chart.option["xAxis"])["max"] >= end["coord"][0]
    assert ACROSS in figure.caption


def test_a_curve_whose_maximum_had_not_settled_has_no_range(comparison: Comparison) -> None:
    out = gate(comparison)
    drawn = curves.workloads_of(comparison)[0].drawn
    unsettled = [one for one in drawn if (one.column.short, one.maximum.step) in out]
    assert unsettled
    assert all(one.spread is None and one.whisker("service") is None for one in unsettled)


def test_an_objective_and_a_whisker_share_the_mark_of_a_series() -> None:
    line = Line("a drive", 0, [(1.0, 2.0)], across=[(2.0, 0.5, 1.5)])
    option = scatter_chart(Axis("IOPS", "count"), Axis("", "us"), [line], (), Limit(5.0, "SLO"))
    [series] = cast("list[Series]", option["series"])
    assert [list(one) if isinstance(one, list) else one["yAxis"] for one in series["markLine"]["data"]] == [
        [{"coord": [0.5, 2.0]}, {"coord": [1.5, 2.0]}],
        5.0,
    ]


def test_the_linear_axis_of_the_first_screen_ends_little_above_what_it_shows(settled: Comparison) -> None:
    section = curves.build(settled)
    assert section is not None
    assert section.key_figure is not None
    assert isinstance(section.key_figure.block, Figure)
    for chart in section.key_figure.block.charts:
        shown = [dot for one in curves.workloads_of(settled)[0].drawn for dot in one.dots]
        greatest = max(dot.figures.mean_us or 0.0 for dot in shown if dot.figures.sustained)
        crosses = [one.published[1] for one in curves.workloads_of(settled)[0].drawn if one.published]
        top = cast("dict[str, float]", chart.option["switch"])["linear"]
        assert max([greatest, *crosses]) < top < 1.6 * max([greatest, *crosses])
