"""The key figure of rounds: what it claims, and where a twin's bars have the range that measurements lie in."""

import json
from pathlib import Path

import pytest

import fathom
from fathom.errors import DamageWarning
from fathom.report.blocks import Figure, KeyFigure, Prose, Section
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import depths, rounds
from fathom.runs.event_log import append_event

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


@pytest.mark.parametrize("place", [0, -1], ids=["before the window", "inside it"])
def test_rounds_whose_load_threads_waited_for_cores_are_not_claimed(tmp_path: Path, place: int) -> None:
    method = tmp_path / "rounds.toml"
    method.write_text((METHOD % (FILL, 8, "mbps")).replace('"mbps" }', '"mbps", range = "0.0001%" }'))
    run = fathom.run(str(method), PM9A3, out=tmp_path)
    steps = [point.step for point in load(run.path).points if point.step.endswith(".reads")]
    assert len(steps) > 3
    event = {"event": "remark", "time": "2026-11-20T23:15:00.000Z", "target": PM9A3, "step": steps[place]}
    append_event(run.path, event | {"text": "", "code": "cpu-wait", "share": 0.4})
    with pytest.warns(DamageWarning):
        section = rounds.build(compare([load(run.path)]))
    assert section is not None
    key = key_in(section)
    waited = any("had a busy host: its load threads waited for cores." in reason for reason in key.reasons)
    assert (waited, key.sentence.endswith(" over its last rounds.")) == (place == -1, place == -1)


DEMANDS = """
schema = "fathom-method/1"
name = "demands"

[[steps]]
name = "demand"
kind = "rounds"
rounds = { most = 4, window = 3, range = "%s", track = ["d16"], metric = "iops" }
"""
DEMAND = """
[[steps.steps]]
name = "d%d"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = %d }, until = { time = "200ms" } }
"""


@pytest.mark.parametrize(("limit", "steady"), [("0.0001%", False), ("20%", True)], ids=["unsteady", "steady"])
def test_no_depth_is_claimed_of_rounds_that_are_not_steady(
    tmp_path: Path, limit: str, *, steady: bool
) -> None:
    method = tmp_path / "demands.toml"
    demands = "".join(DEMAND % (depth, depth) for depth in (1, 4, 16, 64))
    method.write_text(DEMANDS % limit + demands)
    run = fathom.run(str(method), f"{PM9A3},settled_share=1", out=tmp_path)
    comparison = compare([load(run.path)])
    found, scaling = rounds.build(comparison), depths.build(comparison)
    assert found is not None
    assert scaling is not None
    sentence, [answer] = key_in(found).sentence, scaling.answer
    if steady:
        assert "still gains at 64 I/Os in flight" in sentence
        assert "still rising at depth 64" in answer
    else:
        assert sentence.endswith(" IOPS over its last rounds, at 64 I/Os in flight.")
        assert answer.endswith(" (steady state was not reached), so no rate is claimed.")
