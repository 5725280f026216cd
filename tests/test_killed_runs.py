"""Runs that are killed at any moment: the run that goes on ends with the same rows and steps as one that was not."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fathom.columns.schema import TABLES
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method
from fathom.runs.check import check
from fathom.runs.event_log import read_events, scan_events
from fathom.runs.layout import step_folders
from fathom.runs.reader import Run
from fathom.session import Options, start_run

METHOD = Path(__file__).parent / "data" / "two-reads.toml"
TARGETS = ("twin:samsung-pm9a3-7.68tb", "twin:wd-ultrastar-dc-sn861-7.68tb")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Run:
    options = Options(seed=5, out=tmp_path_factory.mktemp("unbroken"))
    return start_run(load_method(str(METHOD)), resolve_targets(TARGETS), options)


def killed_runs(directory: Path, seed: int, times: int, *further: str) -> tuple[list[Path], list[int]]:
    """The runs that were killed and resumed, and how often each was killed."""
    script = Path(__file__).with_name("kill_runs.py")
    ran = subprocess.run(
        [sys.executable, script, directory, METHOD, str(seed), str(times), *further],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    runs = [[path.parent for path in home.glob("*/run.json")] for home in sorted(directory.iterdir())]
    assert [len(each) for each in runs] == [1] * times
    return [each[0] for each in runs], json.loads(ran.stdout.splitlines()[-1])


def ended(run: Path) -> Counter[tuple[object, object]]:
    """How often the journal says that each step of each target has ended."""
    ends = [event for event in read_events(run) if event["event"] == "step-end"]
    return Counter((event["target"], event["step"]) for event in ends)


def check_equal(resumed: Path, unbroken: Run) -> None:
    """Rows, steps, ends of steps and notes are those of the unbroken run, none twice, none lost."""
    run = Run(resumed)
    assert check(resumed).damage == ()
    for name in TABLES:
        assert run.table(name).equals(unbroken.table(name)), (resumed, name)
    assert [path.name for path in step_folders(resumed)] == [
        path.name for path in step_folders(unbroken.path)
    ]
    assert not list((resumed / "steps").glob(".*"))
    assert scan_events(resumed)[1] == []
    ends = Counter(str(event.get("folder")) for event in read_events(resumed) if event["event"] == "step-end")
    assert ends == Counter(path.name for path in step_folders(unbroken.path))
    assert run.notes == unbroken.notes


def test_runs_killed_at_random_end_with_the_rows_and_steps_of_an_unbroken_one(
    tmp_path: Path, unbroken: Run
) -> None:
    # A busy machine comes to an end between two kills more often.
    kills = 0
    for seed in range(1, 6):
        directory = tmp_path / str(seed)
        directory.mkdir()
        runs, killed = killed_runs(directory, seed, 6)
        for run in runs:
            check_equal(run, unbroken)
        kills += sum(killed)
        if kills >= 12:
            return
    pytest.fail(f"killed {kills} times only")


@pytest.mark.long
def test_runs_killed_two_hundred_times_lose_and_double_nothing(tmp_path: Path, unbroken: Run) -> None:
    runs, kills = killed_runs(tmp_path, 2, 130, "report")
    assert sum(kills) >= 200
    for run in runs:
        check_equal(run, unbroken)
