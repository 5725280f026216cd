"""Combinations of a sweep that prepare their twins alike do so once, and have the bits of runs by themselves."""

from pathlib import Path

import pytest

from fathom.catalog import load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.load.backend import TwinBackend
from fathom.load.initiator import ThisMachine
from fathom.method.method import parse_method
from fathom.plan.prepare import prepare
from fathom.runs.reader import Run
from fathom.runs.rows import StepRows
from fathom.session import Options, start_run, step_run
from fathom.session.prepared import STATE_SHARE, PreparedTwins, next_history
from fathom.session.stepper import Ran
from fathom.sweep.study import simulate

DRIVE = "twin:samsung-pm9a3-7.68tb"
METHOD = """
schema = "fathom-method/1"
name = "small"
slice = "1GiB"
precision = "5%"
[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix = "write"
block = "128KiB"
pattern = "sequential"
load = {{ iodepth = 8 }}
until = {{ written = "1x" }}
[[steps]]
name = "settle"
kind = "precondition"
workload = "w"
steady = {{ round = "200ms", window = 5 }}
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = 32 }}
until = {{ time = "3s" }}
[[steps]]
name = "w"
[steps.job]
mix = {{ read = 70, write = 30 }}
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = {iodepth} }}
until = {{ time = "50ms" }}
"""


def measured(
    folder: Path, iodepth: int, prepared: PreparedTwins | None, drive: str = DRIVE, seed: int = 7
) -> Run:
    method = parse_method(METHOD.format(iodepth=iodepth), "small.toml")
    options = Options(seed=seed, out=folder, at_once=1, prepared=prepared)
    return start_run(method, prepare(method, [drive], ThisMachine()), options)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the steps that are simulated."""
    names: list[str] = []
    drive = step_run.StepRun._drive

    def counted(self: step_run.StepRun, turn: step_run.Turn, rows: StepRows) -> Ran:
        names.append(turn.step.name)
        return drive(self, turn, rows)

    monkeypatch.setattr(step_run.StepRun, "_drive", counted)
    return names


def test_runs_that_prepare_alike_share_the_preparation_and_have_the_bits_of_runs_alone(
    tmp_path: Path, simulated: list[str]
) -> None:
    twins = PreparedTwins()
    first, second = (measured(tmp_path, iodepth, twins) for iodepth in (4, 64))
    assert simulated == ["fill", "settle", "w", "w"]
    for shared, iodepth in ((first, 4), (second, 64)):
        alone = measured(tmp_path, iodepth, None)
        for table in ("points", "intervals", "latency", "telemetry"):
            assert shared.table(table) == alone.table(table), table
        texts = [[note.text for note in run.document.notes] for run in (shared, alone)]
        assert texts[0] == texts[1]


def test_a_run_of_another_twin_or_seed_prepares_its_own(tmp_path: Path, simulated: list[str]) -> None:
    twins = PreparedTwins()
    measured(tmp_path, 4, twins)
    measured(tmp_path, 4, twins, f"{DRIVE}?op=0.2")
    measured(tmp_path, 4, twins, seed=8)
    assert simulated == ["fill", "settle", "w"] * 3


def test_combinations_of_a_sweep_that_differ_in_a_measured_load_prepare_once(
    simulated: list[str],
) -> None:
    for iodepth in (4, 8):
        files = simulate(METHOD.format(iodepth=iodepth), False, [DRIVE], 1)
        assert "points.parquet" in files
    assert simulated == ["fill", "settle", "w", "w"]


def test_histories_differ_in_each_of_their_causes() -> None:
    known = {next_history(start, *causes) for start in "ab" for causes in ((1,), (2,), (1, 2), ("1",), ())}
    assert len(known) == 10


def test_twins_used_longest_ago_make_room_for_others(tmp_path: Path, simulated: list[str]) -> None:
    backend = TwinBackend(twin_params_json(load_device(DRIVE.removeprefix("twin:")), slice_bytes=1 << 30), 1)
    of_one_bytes = round(STATE_SHARE * backend.device.capacity_bytes)
    # Each run keeps two: behind its fill and behind its settling.
    twins = PreparedTwins(most_bytes=5 * of_one_bytes)
    for drive in (DRIVE, f"{DRIVE}?op=0.2", f"{DRIVE}?op=0.25"):
        measured(tmp_path, 4, twins, drive)
    simulated.clear()
    measured(tmp_path, 8, twins, f"{DRIVE}?op=0.25")
    assert simulated == ["w"]
    measured(tmp_path, 8, twins)
    assert simulated == ["w", "fill", "settle", "w"]


def test_a_twin_that_is_too_large_to_keep_is_prepared_each_time(tmp_path: Path, simulated: list[str]) -> None:
    twins = PreparedTwins(most_bytes=1 << 20)
    for iodepth in (4, 8):
        measured(tmp_path, iodepth, twins)
    assert simulated == ["fill", "settle", "w"] * 2
