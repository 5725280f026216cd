"""Rounds, sweeps, purge and idle: what they become, when rounds end, what is left out, and resuming among them."""

from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import fathom
from fathom import _core
from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import UsageError
from fathom.load.backend import TwinBackend
from fathom.method.method import parse_method
from fathom.method.rounds import figure, parse_round
from fathom.report.blocks import Prose, Section
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.rounds import Mean, rounds_of
from fathom.report.sections import rounds, summary
from fathom.report.terminal import print_table, widest_of
from fathom.runs.reader import Run
from fathom.session import Options, resume_run
from fathom.session.twin_windows import precision_of
from fathom.statistics.steady import snia_window
from fathom.statistics.uncertainty import Interval

PM9A3 = "twin:samsung-pm9a3-7.68tb"
METHOD = """
schema = "fathom-method/1"
name = "rounds"

[[steps]]
name = "purge"
kind = "purge"

[[steps]]
name = "iops"
kind = "rounds"
rounds = { most = 8, window = 3, track = ["rnd-4kib-r0"] }

[[steps.steps]]
name = "rnd"
sweep = [
  { key = "block", values = ["4KiB", "256"], names = ["4kib", "256b"] },
  { key = "mix", values = ["read", "write"], names = ["r100", "r0"] },
]
job = { pattern = "uniform", load = { iodepth = 4 }, until = { time = "1s" } }

[[steps.steps]]
name = "rest"
kind = "idle"
time = "2s"
"""


@pytest.fixture(scope="module")
def method_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("method") / "rounds.toml"
    path.write_text(METHOD)
    return str(path)


@pytest.fixture(scope="module")
def run(method_file: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run(method_file, targets=[PM9A3], seed=3, out=tmp_path_factory.mktemp("runs"))


def test_a_sweep_becomes_a_step_per_combination_in_every_round() -> None:
    method = parse_method(METHOD, "rounds.toml")
    names = [step.name for step in method.steps]
    assert len(names) == 1 + 8 * 5
    assert names[:6] == [
        "purge",
        "iops.01.rnd-4kib-r100",
        "iops.01.rnd-4kib-r0",
        "iops.01.rnd-256b-r100",
        "iops.01.rnd-256b-r0",
        "iops.01.rest",
    ]
    place = method.steps[-1].round
    assert place
    assert (place.of, place.step, place.number) == ("iops", "rest", 8)
    assert method.steps[2].job.read_pct == 0


def test_rounds_end_when_the_tracked_steps_are_steady(run: Run) -> None:
    writes = [row for row in run.points.to_pylist() if row["step"].endswith("4kib-r0")]
    rates = [row["iops"] for row in writes]
    assert 3 <= len(rates) < 8
    assert snia_window(rates, 3).passed
    assert not any(snia_window(rates[:earlier], 3).passed for earlier in range(3, len(rates)))


def test_an_idle_step_issues_nothing_for_its_time(run: Run) -> None:
    rest = [row for row in run.table("intervals").to_pylist() if row["step"] == "iops.01.rest"]
    assert sum(row["n"] for row in rest) == 0
    assert sum(
        row["length_s"]
        for row in run.table("telemetry").to_pylist()
        if row["step"] == "iops.01.rest" and row["name"] == "media_write_bytes"
    ) == pytest.approx(2.0)


def test_a_pause_leaves_what_follows_as_fast_as_before(run: Run) -> None:
    rates = [row["iops"] for row in run.points.to_pylist() if row["step"].endswith("rnd-4kib-r0")]
    assert len(rates) > 1
    assert max(rates) < 1.05 * rates[0]


def test_the_terminal_shows_the_means_of_the_rounds(run: Run) -> None:
    console = Console(file=StringIO(), width=120)
    print_table(console, [run.path])
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith(
        "Samsung PM9A3, iops: the standard's window passes after 3 rounds; means of the last 3"
    )
    assert lines[1] == "Not claimed: the run had left part of its region unwritten."
    assert lines[2].split() == ["IOPS", "mean"]
    means = [row["iops"] for row in run.points.to_pylist() if row["step"].endswith("rnd-4kib-r0")]
    shown = next(line.split() for line in lines if line.startswith("rnd-4kib-r0"))
    assert float(shown[1].replace(",", "")) == pytest.approx(sum(means) / len(means), rel=1e-3)


def test_the_terminals_matrix_of_means_says_how_well_they_are_known(tmp_path: Path) -> None:
    matrix = METHOD.replace(
        '["4KiB", "256"], names = ["4kib", "256b"]', '["4KiB", "8KiB"], names = ["4kib", "8kib"]'
    )
    file = tmp_path / "matrix.toml"
    file.write_text(matrix.replace("most = 8, window = 3", "most = 5, window = 5"))
    run = fathom.run(str(file), targets=[PM9A3], seed=3, out=tmp_path)
    console = Console(file=StringIO(), width=200)
    print_table(console, [run.path])
    assert isinstance(console.file, StringIO)
    head, *lines = console.file.getvalue().splitlines()
    means = [
        mean
        for found in rounds_of(compare([load(run.path)])).values()
        for one in found
        for mean in map(one.mean, one.steps)
    ]
    halves = [
        50 * (mean.interval.high - mean.interval.low) / mean.value for mean in means if mean and mean.interval
    ]
    assert len(halves) == 4
    assert f"known to ± {max(halves):.1f} % or better (95 %)" in head
    assert next(line.split() for line in lines if line.startswith("IOPS")) == ["IOPS", "r100", "r0"]


def test_means_whose_interval_begins_at_0_are_not_called_known_to_a_half_of_it() -> None:
    wide = Mean(10.0, Interval(10.0, 0.0, 40.8, 2.0), 1.0, 2.0)
    sure = Mean(10.0, Interval(10.0, 9.5, 10.5, 5.0), 1.0, 2.0)
    assert widest_of([sure, wide]) == ", 95 % intervals of up to −100 % to +308 %"
    assert widest_of([sure]) == ", known to ± 5.0 % or better (95 %)"


def test_the_report_says_by_how_much_rounds_still_vary_and_move(run: Run) -> None:
    section = rounds.build(compare([load(run.path)]))
    assert section is not None
    assert isinstance(section.blocks[0], Prose)
    [said] = section.blocks[0].paragraphs
    assert "the standard's window passes after 3 rounds of at most 8. “rnd-4kib-r0” varies most" in said
    assert "% of their mean (20 % allowed)" in said
    assert "The stricter combined criterion" in said
    assert summary.build(compare([load(run.path)])) == Section("summary", "Findings", [section.blocks[0]])


def test_blocks_that_a_target_does_not_have_are_left_out_and_said(run: Run) -> None:
    assert not [row for row in run.points.to_pylist() if "256b" in row["step"]]
    [said] = [note.text for note in run.document.notes if "not multiples" in note.text]
    assert said.startswith("steps rnd-256b-r100; rnd-256b-r0 left out: ")


def test_a_file_says_that_it_cannot_be_purged(tmp_path: Path) -> None:
    target = f"file:{tmp_path / 'scratch.bin'}"
    shorter = METHOD.replace('"1s"', '"250ms"').replace('"2s"', '"20ms"')
    run = fathom.run(shorter, targets=[target], size_bytes=64 << 20, out=tmp_path)
    assert any("cannot be purged" in note.text for note in run.document.notes)
    assert run.document.status == "complete"


def test_resuming_within_rounds_ends_them_after_the_same_one(
    run: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    folders = [folder.name for folder in (run.path / "steps").glob("00-0*")]
    copy = interrupted(run.path, (name for name in folders if int(name[3:6]) > 12))
    assert resume_run(copy, Options()).points.equals(run.points)


def test_what_is_tracked_must_be_a_step_of_the_round() -> None:
    with pytest.raises(UsageError, match=r"rounds.toml:12: track names \"other\""):
        parse_method(METHOD.replace('["rnd-4kib-r0"]', '["other"]'), "rounds.toml")


def test_an_idle_step_without_a_time_is_refused() -> None:
    with pytest.raises(UsageError, match="idle"):
        parse_method(METHOD.replace('time = "2s"', ""), "rounds.toml")


def test_latency_is_the_mean_over_all_operations() -> None:
    rows = [{"n": 1, "mean_us": 10.0, "iops": 1.0}, {"n": 3, "mean_us": 30.0, "iops": 3.0}]
    assert figure(rows, "latency") == 25.0
    assert figure(rows, "iops") == 4.0
    assert figure([{"n": 0, "mean_us": None, "iops": 0.0}], "latency") is None


def test_all_tracked_steps_must_be_steady_at_once() -> None:
    step = {"of": "a", "step": "b", "number": 6, "most": 25, "window": 5, "range": 0.2, "slope": 0.1}
    place = parse_round(step | {"track": ["x", "y"], "metric": "iops"})  # pyright: ignore[reportArgumentType]
    assert place.steady([[100.0] * 5, [100.0] * 5])
    assert not place.steady([[100.0] * 5, [100, 100, 100, 100, 130]])
    assert not place.steady([])


@pytest.mark.parametrize(
    ("metric", "half_width", "least_count", "turnover"),
    [("iops", 0.02 * 5**0.5, 20_000, 1 / 16), ("latency", 0.02, 1_000_000, 1 / 4)],
)
def test_a_twin_may_know_a_step_in_rounds_less_well_than_their_mean(
    monkeypatch: pytest.MonkeyPatch, metric: str, half_width: float, least_count: int, turnover: float
) -> None:
    asked: list[tuple[float, int, int, int]] = []
    monkeypatch.setattr(_core, "Precision", lambda *rule: asked.append(rule))
    tracked = f'track = ["rnd-4kib-r0"], window = 5, metric = "{metric}"'
    text = METHOD.replace('window = 3, track = ["rnd-4kib-r0"]', tracked)
    method = parse_method(text.replace('name = "rounds"', 'name = "rounds"\nprecision = "2%"', 1), "m.toml")
    twin = TwinBackend(twin_params_json(load_device(PM9A3.removeprefix("twin:"))), 1)
    step = next(one for one in method.steps if one.name.endswith("1.rnd-4kib-r0"))
    assert precision_of(step, twin) is None
    [(half, count, written, most)] = asked
    assert (half, count) == (pytest.approx(half_width), least_count)
    assert written == round(turnover * twin.capacity_bytes)
    assert most > written


@pytest.mark.parametrize(("given", "turnover"), [("", 1 / 4), ('turnover = "1%"\n', 1 / 100)])
def test_a_twin_writes_as_much_before_it_ends_a_window_as_the_step_says(
    monkeypatch: pytest.MonkeyPatch, given: str, turnover: float
) -> None:
    asked: list[tuple[float, int, int, int]] = []
    monkeypatch.setattr(_core, "Precision", lambda *rule: asked.append(rule))
    text = f"""
schema = "fathom-method/1"
name = "on"
[[steps]]
name = "write"
precision = "1%"
{given}[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = 4 }}
until = {{ time = "1min" }}
"""
    twin = TwinBackend(twin_params_json(load_device(PM9A3.removeprefix("twin:"))), 1)
    [step] = parse_method(text, "m.toml").steps
    precision_of(step, twin)
    [(half, count, written, _)] = asked
    assert (half, count, written) == (0.01, 1_000_000, round(turnover * twin.capacity_bytes))


def test_a_twin_has_the_ios_of_a_percentile_for_the_rarest_operation_before_it_ends_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[float, int, int, int]] = []
    monkeypatch.setattr(_core, "Precision", lambda *rule: asked.append(rule))
    text = """
schema = "fathom-method/1"
name = "tail"
precision = "2%"
[[steps]]
name = "composite"
percentile = "99.999%"
[steps.job]
mix = { read = 75, write = 25 }
block = [{ size = "4KiB", share = 90 }, { size = "64KiB", share = 10 }]
pattern = "uniform"
load = { iodepth = 4 }
until = { time = "1min" }
"""
    twin = TwinBackend(twin_params_json(load_device(PM9A3.removeprefix("twin:"))), 1)
    [step] = parse_method(text, "m.toml").steps
    precision_of(step, twin)
    [(_, count, _, _)] = asked
    assert 40_000_000 < count < 40_100_000


def test_a_twin_says_what_it_does_in_a_pause(run: Run, method_file: str, tmp_path: Path) -> None:
    [said] = [note for note in run.notes if note.rule == "idle-time"]
    assert "does nothing in a pause" in said.text
    assert "gc_idle_free_share" in said.next_step
    cleaning = f"{PM9A3}?gc_idle_free_share=0.5,gc_idle_after_us=1000"
    told = fathom.run(method_file, cleaning, quick=False, out=tmp_path)
    [said] = [note for note in told.notes if note.rule == "idle-time"]
    assert "cleans until 50 % of its spare superblocks are free" in said.text
    assert "1024 times as long" in said.text
