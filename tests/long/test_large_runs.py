"""Run directories of 24 targets and 24 virtual hours: every second is there, and a report of them fits in memory."""

import os
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
MOST_RUN_BYTES = 3 << 30
MOST_REPORT_BYTES = 1 << 30
MOST_PAGE_BYTES = 8 << 20


def peak_bytes(command: list[str]) -> int:
    """Runs the command and returns the most memory that its process has had.

    The kernel counts what this process has had before the command's own, so it must still be small.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, command
    return used.ru_maxrss << 10


def test_a_day_of_two_dozen_targets_is_whole_and_its_report_fits_in_memory(tmp_path: Path) -> None:
    path = method(tmp_path, VIRTUAL_S, "{ iodepth = 4, rate = '20/s' }")
    called = [sys.executable, "-m", "fathom"]
    used_by_run = peak_bytes([*called, "run", str(path), *TARGETS, "--out", str(tmp_path / "runs")])
    [run] = (tmp_path / "runs").iterdir()
    page = tmp_path / "report.html"
    used_by_report = peak_bytes([*called, "report", str(run), "--out", str(page)])
    assert check(run).whole
    rows = fathom.open_run(run).intervals.select(["target", "index"]).to_pydict()
    seconds = {(target, index) for target, index in zip(rows["target"], rows["index"], strict=True)}
    assert Counter(target for target, _ in seconds) == dict.fromkeys(TARGETS, VIRTUAL_S)
    assert used_by_run <= MOST_RUN_BYTES, f"{used_by_run >> 20} MiB"
    assert used_by_report <= MOST_REPORT_BYTES, f"{used_by_report >> 20} MiB"
    assert page.stat().st_size <= MOST_PAGE_BYTES
