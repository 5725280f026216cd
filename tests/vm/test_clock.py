"""The wall clock is set back and forth under a run: only the guest's, which nobody else reads."""

import time
from pathlib import Path
from threading import Timer

import pytest

import fathom

SECONDS = 8
HOUR_S = 3600
METHOD = f"""schema = "fathom-method/1"
name = "clock"
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ threads = 1, iodepth = 1, rate = "200/s" }}
until = {{ time = "{SECONDS}s" }}
"""


def step_clock(by_s: float) -> None:
    time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)


def test_a_clock_that_is_set_under_a_run_changes_no_window_no_second_and_no_latency(tmp_path: Path) -> None:
    path = tmp_path / "method.toml"
    path.write_text(METHOD)
    timers = [Timer(2.5, step_clock, [-HOUR_S]), Timer(4.5, step_clock, [2 * HOUR_S])]
    for timer in timers:
        timer.start()
    run = fathom.run(str(path), "null:", out=tmp_path / "runs")
    step_clock(-HOUR_S)
    [point] = run.points.to_pylist()
    assert run.document.status == "complete"
    assert point["window_s"] == pytest.approx(SECONDS, abs=0.1)
    assert point["n"] == pytest.approx(200 * SECONDS, rel=0.05)
    assert point["max_us"] < 1e6
    assert sorted(set(run.intervals.column("index").to_pylist())) == list(range(SECONDS))
