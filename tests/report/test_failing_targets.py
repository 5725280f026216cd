"""Reports of targets whose I/O failed in part: every section is made, and says nothing of what is not known."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import fathom
from fathom.columns.schema import Point
from fathom.plan.replay import Replay
from fathom.report.blocks import Section
from fathom.report.comparison import compare
from fathom.report.data import RunData, load
from fathom.report.rounds import repeated_rounds
from fathom.report.rows import as_shown
from fathom.report.sections import build_all
from fathom.report.target_curves import workloads_of

PM9A3 = "twin:samsung-pm9a3-7.68tb?slice_denominator=2048"
SN861 = "twin:wd-ultrastar-dc-sn861-7.68tb?slice_denominator=2048"
CURVE = Path(__file__).parents[1] / "data" / "curve.toml"
ROUNDS = """
schema = "fathom-method/1"
name = "matrix"
[[steps]]
name = "matrix"
kind = "rounds"
rounds = { most = 5, window = 3, track = ["rnd-4kib-r0"], metric = "iops" }

[[steps.steps]]
name = "rnd"
sweep = [
  { key = "block", values = ["8KiB", "4KiB"], names = ["8kib", "4kib"] },
  { key = "mix", values = ["read", "write"], names = ["r100", "r0"] },
]
job = { pattern = "uniform", load = { iodepth = 8 }, until = { time = "50ms" } }
"""


LONG = """
schema = "fathom-method/1"
name = "long"
[[steps]]
name = "held"
job = { mix = "read", block = "4KiB", pattern = "uniform", region = "1%", load = {}, until = { time = "100s" } }
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rounds_run(folder: Path, *targets: str) -> RunData:
    method = folder / "matrix.toml"
    method.write_text(ROUNDS)
    return load(fathom.run(str(method), list(targets), out=folder).path)


def with_failures(run: RunData, has_failed: Callable[[Point], bool]) -> RunData:
    """The run where half of the I/O behind some points failed, so that these have no figures."""
    points = [
        as_shown(replace(one, errors=one.n, failed_share=0.5)) if has_failed(one) else one
        for one in run.points
    ]
    return replace(run, points=points)


def sections_of(*runs: RunData, pool: bool = False) -> dict[str, Section]:
    return {section.key: section for section in build_all(compare(runs, lambda *_: (), pool=pool))}


def test_a_matrix_of_rounds_is_that_of_the_targets_that_have_figures(tmp_path: Path) -> None:
    run = rounds_run(tmp_path, PM9A3, SN861)
    key = sections_of(with_failures(run, lambda one: one.target == PM9A3))["rounds"].key_figure
    assert key is not None
    assert "SN861" in key.sentence


def test_a_target_whose_io_failed_holds_no_rate_at_the_end_of_a_long_step(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    run = load(fathom.run(str(tmp_path / "long.toml"), [PM9A3, SN861], out=tmp_path).path)
    assert len(sections_of(run)["consistency"].answer) == 2
    [only] = sections_of(with_failures(run, lambda one: one.target == PM9A3))["consistency"].answer
    assert only.startswith("WD Ultrastar DC SN861")
    assert "consistency" not in sections_of(with_failures(run, lambda one: True))


def test_rounds_of_which_no_target_has_figures_have_no_key_figure(tmp_path: Path) -> None:
    run = rounds_run(tmp_path, PM9A3)
    assert sections_of(with_failures(run, lambda one: True))["rounds"].key_figure is None


def test_a_round_whose_io_failed_has_no_figure_and_ends_what_may_be_steady(tmp_path: Path) -> None:
    run = with_failures(rounds_run(tmp_path, PM9A3), lambda one: one.step == "matrix.02.rnd-4kib-r0")
    [rounds] = repeated_rounds(run, PM9A3)["matrix"].repeats
    [series] = rounds.tracked
    last = max(series.points)
    assert sorted(series.figures) == [1, *range(3, last + 1)]
    assert series.unbroken == series.values[1:]
    assert rounds.steady is (last > 4)
    assert rounds.count == last


def test_a_curve_whose_maximum_failed_is_not_drawn_and_a_point_that_failed_is_left_out(
    tmp_path: Path,
) -> None:
    run = load(fathom.run(str(CURVE), [PM9A3], seed=5, out=tmp_path).path)
    assert "curves" not in sections_of(with_failures(run, lambda one: one.step == "mixed"))
    [workload] = workloads_of(compare([with_failures(run, lambda one: one.step == "mixed@60")]))
    assert "mixed@60" not in [dot.figures.step for dot in workload.drawn[0].dots]


def test_a_replay_whose_reads_failed_opens_with_its_writes(tmp_path: Path) -> None:
    trace = tmp_path / "app.csv"
    lines = [f"{500 * number},{'RW'[number % 2]},{4096 * number},4096\n" for number in range(400)]
    trace.write_text("time_us,op,offset,size\n" + "".join(lines))
    run = load(fathom.run("replay", [PM9A3], replay=Replay(trace), out=tmp_path / "runs").path)
    section = sections_of(with_failures(run, lambda one: one.op == "read"))["replay"]
    assert section.key_figure is not None
    assert " the recorded writes in " in section.key_figure.sentence
    assert "replay" not in sections_of(with_failures(run, lambda one: True))
