"""Write saturation in the report: SNIA's WSAT over what was written."""

import re
from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure, Section
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import saturation

METHOD = """
schema  = "fathom-method/1"
name    = "{name}"
title   = "Write saturation"
summary = "What does a fresh drive lose?"

[[steps]]
name = "purge"
kind = "purge"
label = "purge"

[[steps]]
name  = "saturation"
kind  = "fill"
label = "4 KiB random write"
[steps.job]
mix     = "write"
block   = "4KiB"
pattern = "uniform"
load    = {{ threads = 4, iodepth = 32 }}
until   = {{ written = "2x" }}
"""


def run_of(name: str, out: Path) -> fathom.Run:
    method = out / "wsat.toml"
    method.write_text(METHOD.format(name=name))
    return fathom.run(str(method), "twin:samsung-pm9a3-7.68tb?slice_denominator=2048", seed=5, out=out)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fathom.Run:
    return run_of("snia-wsat", tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def section(run: fathom.Run) -> Section:
    built = saturation.build(compare([load(run.path)]))
    assert built is not None
    return built


def test_rates_are_told_over_what_was_written_in_capacities(section: Section, run: fathom.Run) -> None:
    assert section.key_figure is not None
    figure = section.key_figure.block
    assert isinstance(figure, Figure)
    [group] = figure.data.groups
    shown = {row.label.text: row.cells[0].text for row in group.rows}
    assert list(shown) == ["0.1x", "0.25x", "0.5x", "1x", "1.5x", "2x", "in all"]
    assert shown["in all"] == "2x"
    fresh, worn = (float(shown[at].replace(",", "")) for at in ("0.1x", "2x"))
    seconds = [row["iops"] for row in run.intervals.to_pylist() if row["op"] == "write"]
    assert fresh == pytest.approx(seconds[0], rel=1e-3)
    assert worn < 0.7 * fresh


def test_a_loss_is_claimed_only_of_a_drive_that_had_settled(tmp_path: Path, section: Section) -> None:
    method = tmp_path / "short.toml"
    short = METHOD.format(name="snia-wsat").replace('"2x"', '"0.3x"')
    measured = short[short.index('[[steps]]\nname  = "saturation"') :].replace(
        'name  = "saturation"\nkind  = "fill"', 'name  = "saturated"'
    )
    method.write_text(f"{short}\n{measured}")
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb?slice_denominator=2048", seed=5, out=tmp_path)
    built = saturation.build(compare([load(run.path)]))
    assert built is not None
    assert built.key_figure is not None
    assert " had not settled after 0.6 capacities: it was at " in built.key_figure.sentence
    assert built.key_figure.reasons == [
        "Samsung PM9A3 (slice denominator 2048): the run had left part of its region unwritten."
    ]
    assert section.key_figure is not None
    assert re.search(r" keeps \d+ % of its first rate: ", section.key_figure.sentence)


def test_bytes_are_told_for_the_whole_drive_of_which_a_slice_was_simulated(section: Section) -> None:
    [told] = section.answer
    assert "after 2 capacities (15.4 TB)" in str(told)


def test_other_methods_have_no_such_plot(tmp_path: Path) -> None:
    assert saturation.build(compare([load(run_of("mine", tmp_path).path)])) is None


def test_a_drive_that_loses_nothing_is_not_told_when_half_of_its_loss_was_over(tmp_path: Path) -> None:
    method = tmp_path / "wsat.toml"
    in_order = (
        METHOD.replace('"4KiB"', '"1MiB"').replace('"uniform"', '"sequential"').replace('"2x"', '"110x"')
    )
    method.write_text(in_order.format(name="snia-wsat"))
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb?slice_denominator=16384", seed=5, out=tmp_path)
    built = saturation.build(compare([load(run.path)]))
    assert built
    assert built.key_figure
    assert re.search(
        r" loses nothing to random writes: \S+ IOPS after 110 capacities\.$", built.key_figure.sentence
    )
    [reason] = built.key_figure.reasons
    assert re.search(r": \S+ IOPS fresh, \S+ at the end\.$", reason)
    assert re.search(r" in the first [\d,]+ % of its capacity, ", str(built.answer[0]))


def test_a_file_whose_purge_is_left_out_is_not_said_to_be_fresh(tmp_path: Path) -> None:
    method = tmp_path / "wsat.toml"
    slow = METHOD.replace("iodepth = 32", 'iodepth = 4, rate = "8k/s"').replace('"2x"', '"5x"')
    method.write_text(slow.format(name="snia-wsat"))
    run = fathom.run(str(method), f"file:{tmp_path}/small.bin", size_bytes=1 << 24, out=tmp_path)
    built = saturation.build(compare([load(run.path)]))
    assert built
    assert built.key_figure
    assert isinstance(built.key_figure.block, Figure)
    [chart] = built.key_figure.block.charts
    assert chart.title == "Random writes"
    assert "fresh" not in " ".join(built.key_figure.reasons)
