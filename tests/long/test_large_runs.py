"""Run directories of 24 targets and 24 virtual hours: every second is there, and a report of them fits in memory."""

import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from test_soak import VIRTUAL_S, method

import fathom
from fathom.runs.check import check

pytestmark = pytest.mark.long

TARGETS = [f"twin:samsung-pm9a3-7.68tb?idle_w=3.{number}" for number in range(1, 25)]
MOST_BYTES = 3 << 30
"""A report takes 0.8 GiB; the run and its check have not been measured apart, and stay below 2.2 GiB."""


def peak_bytes(command: list[str]) -> int:
    """Runs the command and returns the most memory that any child of this process has had so far."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10


def test_a_day_of_two_dozen_targets_is_whole_and_its_report_fits_in_memory(tmp_path: Path) -> None:
    path = method(tmp_path, VIRTUAL_S, "{ iodepth = 4, rate = '20/s' }")
    called = [sys.executable, "-m", "fathom"]
    used = peak_bytes([*called, "run", str(path), *TARGETS, "--out", str(tmp_path / "runs")])
    [run] = (tmp_path / "runs").iterdir()
    assert check(run).whole
    rows = fathom.open_run(run).intervals.select(["target", "index"]).to_pydict()
    seconds = {(target, index) for target, index in zip(rows["target"], rows["index"], strict=True)}
    assert Counter(target for target, _ in seconds) == dict.fromkeys(TARGETS, VIRTUAL_S)
    used = max(used, peak_bytes([*called, "report", str(run), "--out", str(tmp_path / "report.html")]))
    assert used <= MOST_BYTES, f"{used >> 20} MiB"
