"""Runs that are killed, told to end, or left by their terminal: what is kept, and how they go on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from as_user import SHORT, TWIN, fathom, refused
from fathom.runs.writer import writing_run
from old_runs import changed


@pytest.fixture
def short(disk: Path) -> Path:
    """The method of these tests, with as little as can be before the step in which a run is ended."""
    method = disk / "short.toml"
    text = SHORT.read_text().replace('round = "1s"', 'round = "100ms"').replace('"1s"', '"200ms"')
    method.write_text(text.replace('"2s"', '"200ms"', 1))
    return method


def points(run: Path) -> list[dict[str, object]]:
    document = json.loads(fathom("report", run, "--json").stdout)
    return document["points"]


def status_of(run: Path) -> str:
    """As `fathom runs` has it."""
    [listed] = [one for one in json.loads(fathom("runs", "--json").stdout)["runs"] if one["run"] == run.name]
    return listed["status"]


def wait_until(reached: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"no {what} within {seconds} s"
        time.sleep(0.05)


def wait_for(folder: Path, pattern: str) -> Path:
    wait_until(lambda: any(folder.glob(pattern)), f"{pattern} in {folder}")
    return next(folder.glob(pattern))


def start(runs_home: Path, *arguments: str | Path) -> tuple[subprocess.Popen[bytes], Path]:
    process = subprocess.Popen(
        [sys.executable, "-m", "fathom", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return process, wait_for(runs_home, "*/run.json").parent


def test_a_killed_run_goes_on_where_it_was(disk: Path, runs_home: Path, short: Path) -> None:
    process, run = start(runs_home, "run", short, f"file:{disk}/x.bin", "--size", "64MiB")
    wait_for(run, "steps/00-003-write/step.json")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert status_of(run) == "killed"
    before = points(run)
    assert [point["step"] for point in before] == ["write"]
    queried = fathom("query", "select step from points", "--json").stdout
    assert json.loads(queried)["rows"] == [{"step": "write"}], "finished steps of a killed run can be queried"

    result = fathom("resume", run.name, "--json")
    assert result.returncode == 0, result.stderr
    after = json.loads(result.stdout)["points"]
    assert [point["step"] for point in after] == ["write", "read"]
    assert after[0] == before[0]


def test_a_run_that_goes_on_is_told_from_a_killed_one_and_not_resumed(
    runs_home: Path, home_of_one_run: Path
) -> None:
    shutil.copytree(home_of_one_run, runs_home)
    [path] = runs_home.glob("*/run.json")
    run = changed(path.parent, status="running")
    with writing_run(run):
        assert status_of(run) == "running"
        code, line = refused("resume", run.name)
    assert (code, line) == (
        3,
        f"fathom: run {run.name} is being written by another process; wait for it, or interrupt it",
    )
    assert status_of(run) == "killed"


def test_a_complete_run_is_shown_with_the_reason_that_nothing_is_done(
    runs_home: Path, home_of_one_run: Path
) -> None:
    shutil.copytree(home_of_one_run, runs_home)
    [path] = runs_home.glob("*/run.json")
    run, before = path.parent, path.read_bytes()
    result = fathom("resume", run.name)
    assert result.returncode == 0
    assert result.stderr.splitlines()[0] == f"run {run.name} is complete: nothing was left to do"
    assert json.loads(fathom("resume", run.name, "--json").stdout)["points"] == points(run)
    assert path.read_bytes() == before


def test_seconds_of_a_killed_step_are_kept(disk: Path, runs_home: Path) -> None:
    method = disk / "longer.toml"
    method.write_text(
        SHORT.read_text().replace('time = "2s"', 'time = "3s"', 1).replace('time = "2s"', 'time = "200ms"')
    )
    process, run = start(runs_home, "run", method, f"file:{disk}/x.bin", "--size", "64MiB")
    seconds = wait_for(run, "steps/00-002-precondition.live.jsonl")
    wait_until(lambda: "intervals" in seconds.read_text(), "a second in the log")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert fathom("resume", run.name).returncode == 0
    kept = (run / "steps" / "00-002-precondition.interrupted-1.jsonl").read_text().splitlines()
    assert json.loads(kept[0])["intervals"][0]["n"] > 0


@contextmanager
def handled(number: signal.Signals, how: signal.Handlers) -> Iterator[None]:
    """Programs started within find the signal so, whatever the tests were started under."""
    before = signal.signal(number, how)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_saves_what_there_is(
    disk: Path, runs_home: Path, short: Path, request_to_end: signal.Signals
) -> None:
    with handled(request_to_end, signal.SIG_DFL):
        process, run = start(runs_home, "run", short, f"file:{disk}/x.bin", "--size", "64MiB")
    wait_for(run, "steps/00-003-write/step.json")
    process.send_signal(request_to_end)
    assert process.wait(timeout=30) == 130
    document = json.loads((run / "run.json").read_text())
    assert document["status"] == "interrupted"
    assert (run / "points.parquet").exists()
    assert fathom("resume", run.name).returncode == 0
    assert [point["step"] for point in points(run)] == ["write", "read"]


def test_an_interrupted_run_prints_what_it_measured(disk: Path, runs_home: Path, short: Path) -> None:
    short.write_text(short.read_text().replace('"2s"', '"60s"'))
    command = [
        sys.executable,
        "-m",
        "fathom",
        "run",
        short,
        f"file:{disk}/x.bin",
        "--size",
        "64MiB",
        "--json",
    ]
    with (
        handled(signal.SIGINT, signal.SIG_DFL),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
    ):
        wait_for(runs_home, "*/steps/00-003-write/step.json")
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=30)
    assert process.returncode == 130
    [run] = runs_home.iterdir()
    assert json.loads(printed)["points"][0]["step"] == "write"
    assert "interrupted; what was measured is in" in said.splitlines()[-1]
    assert (run / "report.html").exists()


def test_a_run_under_nohup_outlives_its_terminal(disk: Path, runs_home: Path, short: Path) -> None:
    with handled(signal.SIGHUP, signal.SIG_IGN):
        process, run = start(runs_home, "run", short, f"file:{disk}/x.bin", "--size", "64MiB")
    wait_for(run, "steps/00-003-write/step.json")
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=60) == 0
    assert status_of(run) == "complete"


def test_a_run_goes_on_when_nobody_reads_its_progress_any_more(runs_home: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "fathom", "run", SHORT, TWIN]
    with os.fdopen(writing, "w") as unread:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=unread, check=False)
    assert done.returncode == 0
    assert status_of(next(runs_home.glob("*/run.json")).parent) == "complete"
