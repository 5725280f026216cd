"""The key figure of rounds: what it claims, and where a twin's bars have the range that measurements lie in."""

import json
from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Figure, KeyFigure, Prose, Section
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import rounds

PM9A3 = "twin:samsung-pm9a3-7.68tb?slice_denominator=2048"
METHOD = """
schema = "fathom-method/1"
name = "rounds"

[quick]
divide_times_by = 1
%s
[[steps]]
name = "large"
kind = "rounds"
rounds = { most = %d, window = 3, track = ["reads", "writes"], metric = "%s" }

[[steps.steps]]
name = "reads"
job = { mix = "read", block = "1MiB", pattern = "sequential", load = { iodepth = 8 }, until = { time = "1s" } }

[[steps.steps]]
name = "writes"
job = { mix = "write", block = "1MiB", pattern = "sequential", load = { iodepth = 8 }, until = { time = "1s" } }
"""
FILL = """
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "2x" } }
"""


def section_of(
    folder: Path, before: str = FILL, metric: str = "mbps", most: int = 8, *, quick: bool = False
) -> Section:
    method = folder / "rounds.toml"
    method.write_text(METHOD % (before, most, metric))
    section = rounds.build(compare([load(fathom.run(str(method), PM9A3, out=folder, quick=quick).path)]))
    assert section is not None
    return section


def key_in(section: Section) -> KeyFigure:
    assert section.key_figure is not None
    return section.key_figure


def key_of(folder: Path, metric: str = "mbps", *, quick: bool = False) -> KeyFigure:
    return key_in(section_of(folder, metric=metric, quick=quick))


def figure_of(key: KeyFigure) -> Figure:
    assert isinstance(key.block, Figure)
    return key.block


def has_ranges(key: KeyFigure) -> bool:
    """Whether the chart has whiskers, the caption says what they are, and the table has ranges and their note."""
    figure = figure_of(key)
    said = {
        "markLine" in json.dumps(figure.charts[0].option),
        "Whiskers" in figure.caption,
        any(" to " in cell.sub for group in figure.data.groups for row in group.rows for cell in row.cells),
        bool(figure.data.footnotes),
    }
    assert len(said) == 1
    return said.pop()


def test_bars_of_a_twin_in_steady_state_have_the_range_that_measurements_lie_in(tmp_path: Path) -> None:
    key = key_of(tmp_path)
    assert has_ranges(key)
    assert figure_of(key).charts[0].title == "Bandwidth, in steady state"
    assert " sustains 1 MiB sequential reads at " in key.sentence


def test_bars_of_latency_have_no_range_of_rates(tmp_path: Path) -> None:
    assert not has_ranges(key_of(tmp_path, metric="latency"))


def test_a_shortened_run_does_not_call_its_rounds_a_steady_state(tmp_path: Path) -> None:
    key = key_of(tmp_path, quick=True)
    assert figure_of(key).charts[0].title == "Bandwidth, over its last rounds"


@pytest.mark.parametrize(
    ("before", "most", "why"),
    [
        ("", 4, "had not settled: the run had left part of its region unwritten."),
        (FILL.replace("2x", "0.4x"), 4, "had not settled: the run had left part of its region unwritten."),
    ],
    ids=["no fill", "a fill of two fifths"],
)
def test_rounds_on_a_drive_that_was_not_filled_are_not_claimed(
    tmp_path: Path, before: str, most: int, why: str
) -> None:
    section = section_of(tmp_path, before, most=most)
    key = key_in(section)
    assert not has_ranges(key)
    prose = next(block for block in section.blocks if isinstance(block, Prose))
    assert "The stricter combined criterion holds" not in " ".join(prose.paragraphs)
    assert figure_of(key).charts[0].title == "Bandwidth, over its last rounds"
    assert " did 1 MiB sequential reads at " in key.sentence
    assert key.sentence.endswith(" over its last rounds.")
    assert any(reason.endswith(why) for reason in key.reasons)
