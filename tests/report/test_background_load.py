"""Latency under a background load in the report: reads in closed loop, writes at shares of their own rate."""

from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure, Row, Section, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import background_load, placement

BESIDE = Path(__file__).parents[1] / "data" / "beside.toml"
SETTLED = """
[[steps]]
name = "overwrite"
kind = "fill"
job  = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 128 }, until = { written = "1.5x" } }
"""
ALONE = """
[[steps]]
name = "reads-alone"
job  = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "200ms" } }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fathom.Run:
    out = tmp_path_factory.mktemp("runs")
    method = out / "beside.toml"
    begun, measured = BESIDE.read_text().split('\n[[steps]]\nname = "writes"')
    text = f'{begun}{SETTLED}\n[[steps]]\nname = "writes"{measured}{ALONE}'
    method.write_text(text.replace("200ms", "1s"))
    return fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", seed=5, out=out)


@pytest.fixture(scope="module")
def section(run: fathom.Run) -> Section:
    built = background_load.build(compare([load(run.path)], lambda *_: ()))
    assert built is not None
    return built


def rows(section: Section) -> list[Row]:
    """Rows of the section's only table, under charts where some percentile is known."""
    [block] = section.blocks
    table = block.data if isinstance(block, Figure) else block
    assert isinstance(table, Table)
    [group] = table.groups
    return list(group.rows)


def test_the_same_reads_alone_come_first_and_shares_follow(section: Section, run: fathom.Run) -> None:
    assert [row.label.text for row in rows(section)] == ["alone", "25 %", "75 %", "200 %"]
    means = {row["step"]: row["mean_us"] for row in run.points.to_pylist() if row["op"] == "read"}
    shown = [float(row.cells[2].text) for row in rows(section)]
    names = ["reads-alone", *(f"reads-beside-{share}pct" for share in (25, 75, 200))]
    assert shown == pytest.approx([means[name] for name in names], rel=1e-3)


def test_what_was_not_sustained_is_marked_and_named(section: Section) -> None:
    assert [row.cells[0].tone for row in rows(section)] == ["quiet", "", "", "bad"]
    assert "from 200 % on, the background load fell behind" in section.answer[0]


def test_shares_of_a_rate_that_had_not_settled_are_shown_and_not_claimed(tmp_path: Path) -> None:
    fresh = fathom.run(str(BESIDE), "twin:samsung-pm9a3-7.68tb", seed=5, out=tmp_path)
    built = background_load.build(compare([load(fresh.path)], lambda *_: ()))
    assert built is not None
    assert [row.label.text for row in rows(built)] == ["25 %", "75 %", "200 %"]
    assert built.answer == []


def test_such_streams_are_no_comparison_of_placement_handles(run: fathom.Run) -> None:
    assert placement.build(compare([load(run.path)], lambda *_: ())) is None


def test_a_percentile_of_too_few_reads_is_left_out_and_not_named(tmp_path: Path) -> None:
    method = tmp_path / "short.toml"
    method.write_text(BESIDE.read_text().replace("200ms", "5ms"))
    short = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", seed=5, out=tmp_path)
    built = background_load.build(compare([load(short.path)], lambda *_: ()))
    assert built is not None
    assert [row.cells[5].text for row in rows(built)] == ["n too small"] * 3
    assert built.answer == []


def test_a_background_of_writes_and_trims_counts_with_all_its_operations(tmp_path: Path) -> None:
    method = tmp_path / "mixed.toml"
    mixed = BESIDE.read_text().replace(
        'mix = "write", block = "4KiB"', 'mix = { write = 1, trim = 1 }, block = "4KiB"'
    )
    method.write_text(mixed)
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", seed=5, out=tmp_path)
    built = background_load.build(compare([load(run.path)], lambda *_: ()))
    assert built is not None
    first = rows(built)[0]
    done = sum(
        row["iops"]
        for row in run.points.to_pylist()
        if row["step"] == "reads-beside-25pct" and row["op"] in ("write", "trim")
    )
    assert first.label.text == "25 %"
    assert float(first.cells[0].text.replace(",", "")) == pytest.approx(done, rel=1e-3)
    assert first.cells[0].tone == ""


SEVERAL = """
[[steps]]
name    = "others-beside"
offered = { of = "writes", stream = "writes" }
sweep   = [{ key = "offered.share", values = ["25%", "75%"] }]
[steps.job]
until   = { time = "200ms" }
streams = [
  { name = "others", mix = { read = 50, write = 50 }, block = "4KiB", pattern = "uniform", load = { iodepth = 2 } },
  { name = "writes", mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 128 } },
]
"""


def test_two_loads_beside_one_stream_have_a_chart_each_and_writes_of_their_own_are_not_counted_to_it(
    tmp_path: Path,
) -> None:
    method = tmp_path / "several.toml"
    method.write_text(BESIDE.read_text() + SEVERAL)
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", seed=5, out=tmp_path)
    data = load(run.path)
    built = background_load.build(compare([data], lambda *_: ()))
    assert built is not None
    [figure] = built.blocks
    assert isinstance(figure, Figure)
    assert len({chart.key for chart in figure.charts}) == len(figure.charts) == 2
    table = figure.data
    assert [group.title for group in table.groups] == [
        f"Samsung PM9A3 7.68TB: reads, from {name}-25pct on" for name in ("reads-beside", "others-beside")
    ]
    achieved = [float(row.cells[0].text.replace(",", "")) for row in table.groups[1].rows]
    of_stream = [one.iops for one in data.streams if one.step.startswith("others") and one.stream == "writes"]
    assert achieved == pytest.approx(of_stream, rel=1e-3)
