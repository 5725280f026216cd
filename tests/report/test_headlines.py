"""A headline claims no more than the workloads that they share allow."""

from dataclasses import replace
from pathlib import Path

import pytest

import fathom
import synthetic
from fathom.report.blocks import Cards, KeyFigure
from fathom.report.comparison import Comparison, compare, margin_of
from fathom.report.data import load
from fathom.report.sections import summary
from fathom.report.style import LIGHT, compact
from fathom.report.workloads import workloads

METHOD = """schema = "fathom-method/1"
name = "{name}"
slice = "8GB"
[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix = "write"
block = "128KiB"
pattern = "sequential"
load = {{ iodepth = 32 }}
until = {{ written = "1x" }}
[[steps]]
name = "{step}"
[steps.job]
mix = "{op}"
block = "{block}"
pattern = "sequential"
load = {{ iodepth = 32 }}
until = {{ time = "{time}" }}
"""
STREAMS = """
[[steps]]
name = "both"
[[steps.job.streams]]
name = "reader"
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 8 }
[[steps.job.streams]]
name = "writer"
mix = "write"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 8 }
[steps.job]
until = { time = "6s" }
"""

SMALL_AND_LARGE = """
[[steps]]
name = "small-write"
job = { mix = "write", block = "4KiB", pattern = "sequential", load = { iodepth = 1 }, until = { time = "6s" } }
[[steps]]
name = "large-write"
job = { mix = "write", block = "16KiB", pattern = "sequential", load = { iodepth = 32 }, until = { time = "6s" } }
"""

RANDOM_WRITES = """
[[steps]]
name = "random-write"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 32 }, until = { time = "1s" } }
"""


def measured(folder: Path, drive: str, step: str, op: str, time: str = "6s") -> Path:
    block = "4KiB" if op == "read" else "128KiB"
    method = folder / f"{step}.toml"
    method.write_text(METHOD.format(name=step, step=step, op=op, block=block, time=time))
    return fathom.run(str(method), targets=[f"twin:{drive}"], out=folder).path


def key_figure(comparison: Comparison) -> KeyFigure:
    section = summary.build(comparison)
    assert section
    assert section.key_figure
    return section.key_figure


def test_targets_that_share_no_workload_have_no_sentence_that_joins_the_reads_of_one_to_the_writes_of_another(
    tmp_path: Path,
) -> None:
    runs = [
        measured(tmp_path, "samsung-pm1743-7.68tb", "their-reads", "read"),
        measured(tmp_path, "samsung-pm9a3-7.68tb", "their-writes", "write"),
    ]
    sentence = key_figure(compare([load(path) for path in runs])).sentence
    assert sentence == "No target is ahead: no workload has rates of two targets to compare."


def test_a_headline_does_not_call_targets_level_that_too_few_seconds_separate(tmp_path: Path) -> None:
    measured_step = METHOD[METHOD.rindex("[[steps]]") :]
    method = tmp_path / "short.toml"
    method.write_text(
        METHOD.format(name="short", step="first", op="read", block="4KiB", time="500ms")
        + measured_step.format(step="second", op="read", block="8KiB", time="500ms")
    )
    targets = ["twin:samsung-pm1743-7.68tb", "twin:samsung-pm9a3-7.68tb"]
    figure = key_figure(compare([load(fathom.run(str(method), targets=targets, out=tmp_path).path)]))
    assert figure.sentence == (
        "No target is ahead: the best have too few seconds to separate them in all 2 workloads."
    )
    assert not any("level" in reason for reason in figure.reasons)


def test_a_rate_that_was_offered_and_kept_up_with_ranks_nobody(tmp_path: Path) -> None:
    load_at_rate = METHOD.replace("iodepth = 32 }", 'iodepth = 32, rate = "20000/s" }')
    assert load_at_rate != METHOD
    method = tmp_path / "offered.toml"
    method.write_text(load_at_rate.format(name="offered", step="first", op="read", block="4KiB", time="2s"))
    targets = ["twin:samsung-pm1743-7.68tb", "twin:samsung-pm9a3-7.68tb"]
    figure = key_figure(compare([load(fathom.run(str(method), targets=targets, out=tmp_path).path)]))
    assert figure.sentence.startswith(
        "Samsung PM1743 and Samsung PM9A3 keep up with the rate offered in first"
    )
    assert not any("level" in reason for reason in figure.reasons)


def test_the_headline_counts_workloads_as_the_findings_do_where_a_step_has_two_streams(
    tmp_path: Path,
) -> None:
    method = tmp_path / "streams.toml"
    method.write_text(
        METHOD.format(name="streams", step="reads", op="read", block="4KiB", time="6s") + STREAMS
    )
    targets = ["twin:samsung-pm1743-7.68tb", "twin:samsung-pm9a3-7.68tb"]
    section = summary.build(compare([load(fathom.run(str(method), targets=targets, out=tmp_path).path)]))
    assert section
    assert section.key_figure
    assert section.key_figure.sentence == "Samsung PM1743 is ahead in all 2 workloads."
    assert section.answer == ["Samsung PM1743 leads all 2 workloads."]
    assert isinstance(section.key_figure.block, Cards)
    assert [card.title for card in section.key_figure.block.cards] == ["reads", "both"]


def test_operations_that_not_every_target_did_are_not_added_up(tmp_path: Path) -> None:
    method = tmp_path / "streams.toml"
    method.write_text(
        METHOD.format(name="streams", step="reads", op="read", block="4KiB", time="6s") + STREAMS
    )
    targets = ["twin:samsung-pm1743-7.68tb", "twin:samsung-pm9a3-7.68tb"]
    run = load(fathom.run(str(method), targets=targets, out=tmp_path).path)
    points = [
        point for point in run.points if (point.target, point.step, point.op) != (targets[1], "both", "write")
    ]
    keys = [one.key for one in workloads(compare([replace(run, points=points)]))]
    assert keys == ["reads/read", "both/read", "both/write"]


def test_the_headline_of_one_target_compares_reads_and_writes_of_equal_blocks(tmp_path: Path) -> None:
    method = tmp_path / "blocks.toml"
    reads = METHOD.format(name="blocks", step="small-read", op="read", block="4KiB", time="1s")
    method.write_text(reads + SMALL_AND_LARGE)
    run = fathom.run(str(method), targets=["twin:samsung-pm9a3-7.68tb"], out=tmp_path)
    points = {str(point["step"]): float(point["iops"]) for point in run.points.to_pylist()}
    assert points["large-write"] > points["small-write"]
    small = compact(points["small-write"])
    sentence = key_figure(compare([load(run.path)])).sentence
    assert f"writes {small} IOPS in blocks of 4 KiB." in sentence


def test_the_headline_of_one_target_says_which_rates_are_those_of_a_mix(tmp_path: Path) -> None:
    method = tmp_path / "streams.toml"
    method.write_text(
        METHOD.format(name="streams", step="large", op="read", block="128KiB", time="6s") + STREAMS
    )
    run = fathom.run(str(method), targets=["twin:samsung-pm9a3-7.68tb"], out=tmp_path)
    rates = {point["op"]: point["iops"] for point in run.points.to_pylist() if point["step"] == "both"}
    sentence = key_figure(compare([load(run.path)])).sentence
    assert f"reads {compact(rates['read'])} IOPS beside writes" in sentence
    assert sentence.endswith(" beside reads in blocks of 4 KiB.")


def test_the_headline_of_a_curve_of_a_mix_names_its_operations(tmp_path: Path) -> None:
    run = fathom.run("rate-curves", targets=["twin:samsung-pm9a3-7.68tb"], quick=True, out=tmp_path)
    sentence = key_figure(compare([load(run.path)])).sentence
    assert sentence.endswith(" IOPS of reads and writes in blocks of 4 KiB.")


def test_the_first_screen_names_the_workloads_that_it_does_not_claim(tmp_path: Path) -> None:
    method = tmp_path / "part.toml"
    reads = METHOD.format(name="part", step="large-read", op="read", block="128KiB", time="6s")
    method.write_text(reads + RANDOM_WRITES)
    run = fathom.run(str(method), targets=["twin:samsung-pm9a3-7.68tb"], out=tmp_path)
    figure = key_figure(compare([load(run.path)]))
    [mbps] = [point["mbps"] for point in run.points.to_pylist() if point["step"] == "large-read"]
    assert figure.sentence == f"Samsung PM9A3 reads {mbps:,.0f} MB/s."
    assert figure.reasons[0] == "Not claimed (not settled): random-write."


def test_the_bar_of_a_ninth_target_has_a_colour_of_the_palette(tmp_path: Path) -> None:
    targets = [
        replace(synthetic.FILE, name=f"target-{index}", label=f"File {index}")
        for index in range(len(LIGHT) + 1)
    ]
    figure = key_figure(compare([load(synthetic.make_run(tmp_path / "run", targets, notes=()))]))
    assert isinstance(figure.block, Cards)
    slots = {bar.slot for card in figure.block.cards for bar in card.bars}
    assert slots == set(range(len(LIGHT)))


@pytest.mark.parametrize(
    ("bounds", "said"), [((0.0, 2750.0), "−100 % to +175 %"), ((900.0, 1100.0), "± 10.0 %")]
)
def test_an_interval_that_ends_at_zero_is_said_by_its_bounds(bounds: tuple[float, float], said: str) -> None:
    assert margin_of(1000.0, *bounds) == said
