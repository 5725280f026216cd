"""A trace whose times mislead says so: where it is read, in what is made of it, and before it is replayed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from test_convert import fathom

from fathom.errors import UsageError
from fathom.plan.replay import Replay, Timing, replay_method
from fathom.traces.clock import Clock

TWIN = "twin:samsung-pm9a3-7.68tb"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(folder: Path, times: Sequence[float], unit: str = "us") -> Path:
    """Writes random reads at those times."""
    path = folder / "app.csv"
    lines = [f"{time:g},R,{4096 * (7 * place % 4096)},4096\n" for place, time in enumerate(times)]
    path.write_text(f"time_{unit},op,offset,size\n" + "".join(lines))
    return path


def test_a_clock_of_whole_seconds_makes_the_bursts_and_one_of_microseconds_does_not():
    coarse, fine = Clock(), Clock()
    coarse.add(np.repeat(np.arange(5, dtype=np.uint64) * 1_000_000_000, 40))
    fine.add(np.arange(200, dtype=np.uint64) * 1_001_000)
    assert coarse.coarse
    assert coarse.doubts() == [
        "its times are multiples of 1 s, with 40 I/Os at once on average; bursts within them are the clock's"
    ]
    assert fine.doubts() == []


def test_what_is_made_of_a_trace_of_whole_seconds_says_that_its_clock_makes_the_bursts(tmp_path: Path):
    trace = written(tmp_path, [place // 50 for place in range(300)], "s")
    said = "its times are multiples of 1 s, with 50 I/Os at once on average"
    described = fathom("characterise", str(trace), "--out", "page.html", cwd=tmp_path)
    assert "I/Os come in bursts" not in described.stdout.decode()
    assert said in described.stderr.decode()
    fitted = fathom("fit", str(trace), "--on", "none", cwd=tmp_path)
    assert f"# Mind: {said}" in fitted.stdout.decode()
    method, notes = replay_method(Replay(trace))
    assert said in method.source
    assert said in notes[0]


def test_a_trace_without_times_has_no_rate_and_is_not_replayed_as_recorded(tmp_path: Path):
    trace = written(tmp_path, [5] * 300)
    described = fathom("characterise", str(trace), "--out", "page.html", cwd=tmp_path).stdout.decode()
    assert "The trace has no times, and so no rates." in described
    with pytest.raises(UsageError, match=r"no times to be replayed at; give --timing as-fast-as-possible"):
        replay_method(Replay(trace))
    method, _ = replay_method(Replay(trace, timing="as-fast-as-possible"))
    assert [step.name for step in method.steps][-1] == "replay"


@pytest.mark.parametrize("timing", ["as-recorded", "dependent"])
def test_a_trace_whose_times_jump_by_centuries_is_refused_by_its_name(timing: Timing, tmp_path: Path):
    trace = tmp_path / "app.csv"
    late_us = 200 * 365 * 86400 * 10**6
    trace.write_text(f"time_us,op,offset,size,latency_us\n0,R,0,4096,9\n9,R,0,4096,9\n{late_us},R,0,4096,9\n")
    described = fathom("characterise", str(trace), "--out", "page.html", cwd=tmp_path)
    assert (
        "app.csv: 73,000 days are more than any recording takes; its times may jump"
        in described.stderr.decode()
    )
    with pytest.raises(UsageError, match=r"^app\.csv: a replay of 73,000 days; its times may jump.*--speed"):
        replay_method(Replay(trace, timing=timing))
    replay_method(Replay(trace, timing=timing, speed=1000))
    replay_method(Replay(trace, timing="as-fast-as-possible"))
    recommended = fathom("recommend", str(trace), TWIN, cwd=tmp_path)
    assert (recommended.returncode, recommended.stderr.decode().splitlines()[-1:]) == (
        2,
        [
            "fathom: app.csv: 73,000 days are more than any recording takes; its times may jump, or have another unit "
            "(--columns); cut the trace before the jump, or name the unit of its times"
        ],
    )


def test_times_that_no_machine_could_have_point_to_another_unit(tmp_path: Path):
    trace = written(tmp_path, [0.001 * place for place in range(300)])
    done = fathom("trace", "convert", str(trace), "out.parquet", cwd=tmp_path)
    assert "299.00M IOPS" not in done.stdout.decode()
    assert (
        "is more than any machine issues; its times may have another unit (--columns)" in done.stderr.decode()
    )


def test_a_replay_names_the_lines_that_are_left_out(tmp_path: Path):
    trace = written(tmp_path, [place - 3 for place in range(300)])
    method, notes = replay_method(Replay(trace))
    assert notes[0] == (
        "app.csv, line 2: time: below 0; no field of a trace may be negative: add the same to all of them"
    )
    assert notes[-1] == "app.csv: lines or records left out: 3; I/Os read: 297"
    assert "lines or records left out: 3" in method.source
