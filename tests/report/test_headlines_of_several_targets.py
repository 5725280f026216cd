"""The headline of several targets claims no more than the workloads that they share allow."""

from dataclasses import replace
from pathlib import Path

import fathom
from fathom.report.blocks import KeyFigure
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.sections import summary

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
    runs = [
        measured(tmp_path, drive, "short", "read", "2s")
        for drive in ("samsung-pm1743-7.68tb", "samsung-pm9a3-7.68tb")
    ]
    shown = compare([load(path) for path in runs])
    [corner] = shown.corners
    blind = replace(
        corner,
        cells=[
            replace(cell, repeats=[], point=replace(cell.point, iops_low=None, iops_high=None))
            for cell in corner.cells
        ],
    )
    twice = replace(shown, corners=[blind, replace(blind, key="again", label="the same again")])
    figure = key_figure(twice)
    assert figure.sentence == "No target is ahead: all 2 workloads have too few seconds to separate the best."
    assert not any("level" in reason for reason in figure.reasons)
