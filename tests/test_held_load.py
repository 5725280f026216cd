"""A load generator that is held: its seconds without I/O are not the target's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from fathom.analysis.run_view import RunView, remarks_of
from fathom.analysis.settled import Unsettled, unsettled
from fathom.analysis.validity import notes
from fathom.runs.reader import Run
from fathom.runs.remarks import StoodStill

HELD_S = 3.0
METHOD = """
schema = "fathom-method/1"
name = "held"
[[steps]]
name = "read"
label = "4 KiB random read"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { time = "6s" } }
"""


def test_nothing_is_claimed_of_a_step_whose_load_generator_was_held(tmp_path: Path) -> None:
    method, home = tmp_path / "held.toml", tmp_path / "runs"
    method.write_text(METHOD)
    command = [sys.executable, "-m", "fathom", "run", str(method), "null:", "--out", str(home)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not any(log.read_text() for log in home.glob("*/steps/*.live.jsonl")):
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(HELD_S)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait() == 0
    [path] = home.iterdir()
    run = Run(path)
    view = RunView.of(run, remarks_of(run.events))
    [why] = unsettled(view).values()
    assert why is Unsettled.STOOD_STILL
    [fact] = [one.fact for one in view.remarks if isinstance(one.fact, StoodStill)]
    assert fact.still_ns / 1e9 > HELD_S - 0.5
    assert "stood-still" in {note.rule for note in notes(view)}
