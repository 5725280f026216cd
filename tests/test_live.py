"""live.json: what another process can see of a run that goes on, and what is left of it afterwards."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from fathom.load.resolve import resolve_targets
from fathom.method.method import Method, Step, parse_method
from fathom.runs.check import check
from fathom.runs.document import RunDocument
from fathom.runs.live import LiveRun, life_of, read_live, write_live
from fathom.runs.store import StepOutcome
from fathom.runs.writer import writing_run
from fathom.session import Options, SilentObserver, resume_run, start_run
from fathom.session import live as session_live
from fathom.session.remaining import Remaining, remaining_of
from fathom.session.stepper import Progress
from fathom.targets.parse import parse_targets
from fathom.targets.target import Target

PATIENCE_S = 60.0
PM9A3 = "twin:samsung-pm9a3-7.68tb"
READS = """
schema = "fathom-method/1"
name = "{name}"
title = "Reads of a null device"
[[steps]]
name = "reads"
label = "4 KiB random read"
job = {{ mix = "read", block = "4KiB", pattern = "uniform", load = {{ iodepth = 4 }}, until = {{ time = "{time}" }} }}
"""
FILL = """
schema = "fathom-method/1"
name = "fill"
title = "A fill"
[[steps]]
name = "fill"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 8 }, until = { written = "1x" } }
[[steps]]
name = "reads"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "100ms" } }
"""


def reads(time: str, name: str = "reads") -> Method:
    return parse_method(READS.format(time=time, name=name), f"{name}.toml")


def null() -> list[Target]:
    return parse_targets(["null:"], size_bytes=1 << 30)


@contextmanager
def watching(home: Path) -> Iterator[list[LiveRun]]:
    """Collects each state of the live.json of runs in a folder while the `with` lasts."""
    seen: list[LiveRun] = []
    ended = Event()

    def look() -> None:
        while not ended.is_set():
            for path in home.glob("*/live.json"):
                live = read_live(path.parent)
                if live and (not seen or live.updated != seen[-1].updated):
                    seen.append(live)
            sleep(0.02)

    thread = Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def test_a_run_shows_once_a_second_what_it_does_and_leaves_nothing(tmp_path: Path) -> None:
    with watching(tmp_path) as seen:
        run = start_run(reads("3500ms"), null(), Options(out=tmp_path))
    assert len(seen) >= 2
    times = [live.updated for live in seen]
    assert min((later - one).total_seconds() for one, later in pairwise(times)) > 0.9
    last = next(live for live in reversed(seen) if live.targets[0].step and live.targets[0].step.iops)
    assert (last.run, last.method, last.pid) == (run.id, "reads", os.getpid())
    [target] = last.targets
    step = target.step
    assert step is not None
    assert (step.label, step.phase, step.basis, step.steady) == (
        "4 KiB random read",
        "measuring",
        "time",
        None,
    )
    assert step.iops
    assert step.bytes_per_s == pytest.approx(step.iops * 4096)
    assert 0 < step.share <= 1
    assert step.left_s == pytest.approx(3.5 * (1 - step.share))
    assert list(target.recent.at_s) == sorted(target.recent.at_s)
    assert len(target.recent.at_s) >= 2
    assert [path.name for path in run.path.iterdir() if "live" in path.name] == []
    assert "live.json" not in json.loads((run.path / "manifest.json").read_text())["files"]
    assert check(run.path).whole


def test_a_run_of_less_than_a_second_writes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []
    monkeypatch.setattr(session_live, "write_live", lambda run, live: written.append(run))
    with session_live.LiveFile(tmp_path, reads("200ms"), null(), SilentObserver()):
        pass
    assert written == []


def test_a_disk_that_takes_no_live_file_stops_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Path] = []

    def full(run: Path, live: LiveRun) -> None:
        tried.append(run)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(session_live, "write_live", full)
    run = start_run(reads("2500ms"), null(), Options(out=tmp_path))
    assert run.document.status == "complete"
    assert len(tried) >= 2


def started(method: Path, home: Path) -> tuple["subprocess.Popen[bytes]", Path, LiveRun]:
    """Starts a run in a process of its own; returns when it can be seen, and has a figure."""
    command = [
        sys.executable,
        "-m",
        "fathom",
        "run",
        str(method),
        "null:",
        "--size",
        "1GiB",
        "--out",
        str(home),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end_s = monotonic() + PATIENCE_S
    while monotonic() < end_s:
        for path in home.glob("*/live.json"):
            live = read_live(path.parent)
            if live and live.targets[0].step and live.targets[0].step.iops:
                return process, path.parent, live
        sleep(0.05)
    process.kill()
    raise AssertionError("nothing to see")


def test_a_killed_run_leaves_its_file_and_is_known_as_dead_at_once_and_resumes_whole(tmp_path: Path) -> None:
    home, method = tmp_path / "out", tmp_path / "reads.toml"
    home.mkdir()
    method.write_text(READS.format(time="5s", name="reads"))
    process, run, live = started(method, home)
    assert live.pid == process.pid
    assert life_of(run, live, datetime.now(UTC)) == "running"
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = read_live(run)
    assert left is not None
    assert life_of(run, left, datetime.now(UTC)) == "dead"
    assert RunDocument.load(run).status == "killed"
    assert check(run).whole
    finished = resume_run(run, Options())
    assert finished.document.status == "complete"
    assert not (run / "live.json").exists()
    assert check(run).whole


def test_a_writer_that_hangs_is_silent_by_the_age_of_its_file(tmp_path: Path) -> None:
    with watching(tmp_path) as seen:
        run = start_run(reads("1500ms"), null(), Options(out=tmp_path)).path
    live = seen[-1]
    with writing_run(run):
        assert life_of(run, live, live.updated + timedelta(seconds=2)) == "running"
        assert life_of(run, live, live.updated + timedelta(seconds=60)) == "silent"
    assert life_of(run, live, live.updated) == "dead"


def test_what_is_no_live_file_is_read_as_none(tmp_path: Path) -> None:
    good = LiveRun.model_validate_json(
        '{"run": "r", "method": "m", "title": "t", "pid": 1, "started": "2026-11-25T15:00:00Z", '
        '"updated": "2026-11-25T15:00:01Z", "targets": [{"name": "null:", "label": "n", "kind": "null", '
        '"state": "running", "recent": {"at_s": [1], "step": [1], "iops": [5], "bytes_per_s": [9], '
        '"mean_latency_us": [null]}}]}'
    )
    write_live(tmp_path, good)
    assert read_live(tmp_path) == good
    text = (tmp_path / "live.json").read_text()
    for spoiled in (
        "",
        "[" * 100_000,
        text[:-5],
        text.replace('"iops":[5.0]', '"iops":[5.0,6.0]'),
        text.replace('"iops":[5.0]', '"iops":[NaN]'),
        text.replace("fathom-live/1", "fathom-live/2"),
    ):
        assert spoiled != text
        (tmp_path / "live.json").write_text(spoiled)
        assert read_live(tmp_path) is None
    (tmp_path / "live.json").unlink()
    assert read_live(tmp_path) is None
    (tmp_path / "live.json").symlink_to("/etc/passwd")
    assert read_live(tmp_path) is None
    (tmp_path / "live.json").unlink()
    os.mkfifo(tmp_path / "live.json")
    assert read_live(tmp_path) is None


class LastOfFills(SilentObserver):
    """Keeps what is left at the end of each fill."""

    def __init__(self) -> None:
        self.now: dict[str, Progress] = {}
        self.left: dict[str, Remaining] = {}

    def progressed(self, target: Target, progress: Progress) -> None:
        self.now[target.name] = progress

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        if step.kind == "fill":
            self.left[target.name] = remaining_of(step, target, self.now[target.name])


def test_a_fill_is_done_when_a_twins_slice_or_every_member_of_an_array_is_full(disk: Path) -> None:
    observer = LastOfFills()
    targets = [*resolve_targets([PM9A3]), *resolve_targets([f"dir:{disk}*2"], size_bytes=256 << 20)]
    start_run(parse_method(FILL, "fill.toml"), targets, Options(out=disk / "out", observer=observer))
    assert len(observer.left) == 2
    for left in observer.left.values():
        assert left.basis == "volume"
        assert left.share == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("each_whole", "share"), [(True, 0.5), (False, 1.0)])
def test_a_fill_of_hosts_with_a_file_each_is_done_when_all_files_are_full(
    each_whole: bool, share: float
) -> None:
    [target] = parse_targets(["null:"])
    now = Progress(1.0, target.capacity_bytes, 0.0, 100.0, None, 0, "", parts=2, each_whole=each_whole)
    fill, _ = parse_method(FILL, "fill.toml").steps
    assert remaining_of(fill, target, now).share == share
