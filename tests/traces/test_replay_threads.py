"""Several threads issue a trace between them, and I/Os on the same bytes keep their order."""

import random
from pathlib import Path

import numpy as np
import pytest
from test_convert import fathom

import fathom as package
from fathom import _core
from fathom.errors import UsageError
from fathom.fitting.on_twin import fresh_twin, run_logged, twin_holding
from fathom.method.job import job_of
from fathom.plan.replay import Replay, Timing, measure_step, replay_method
from fathom.runs.reader import Run
from fathom.traces.opening import open_trace
from fathom.traces.prepare import prepare

TWIN = "samsung-pm9a3-7.68tb"
BLOCK = 4096
TIMINGS: tuple[Timing, ...] = ("as-recorded", "as-fast-as-possible")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A trace of three thousand I/Os on 128 blocks, 5 us apart: many touch the same bytes."""
    draw = random.Random(7)
    rows = (
        (5 * number, draw.choice("RRWWF"), BLOCK * draw.randrange(128), BLOCK * draw.randint(1, 4))
        for number in range(3000)
    )
    path = tmp_path / "crowded.csv"
    lines = "".join(f"{time},{op},{offset},{size}\n" for time, op, offset, size in rows)
    path.write_text("time_us,op,offset,size\n" + lines)
    return path


def counts(run: Run) -> dict[str, int]:
    rows = run.table("points").to_pylist()
    return {row["op"]: row["n"] for row in rows if row["step"] == "replay"}


@pytest.mark.parametrize("timing", TIMINGS)
def test_a_twin_issues_an_io_after_those_before_it_on_the_same_bytes(timing: Timing, crowded: Path):
    prepared = prepare(open_trace(crowded))
    step = measure_step(prepared, Replay(crowded, timing=timing, threads=3))
    device = fresh_twin(twin_holding(TWIN, 1 << 20), 1)
    columns = run_logged(job_of(step), device, 1, "twin").trace.columns
    assert len(columns["issue_ns"]) == prepared.ios
    order = np.argsort(columns["issue_ns"], kind="stable")
    issued, latency, offset, size, operation = (
        columns[key][order].astype(np.int64)
        for key in ("issue_ns", "latency_ns", "offset_bytes", "size_bytes", "operation")
    )
    moved, reads = size > 0, operation == 0
    out_together = 0
    for number in range(len(issued)):
        out = issued[:number] + latency[:number] > issued[number]
        overlaps = (offset[:number] < offset[number] + size[number]) & (
            offset[number] < offset[:number] + size[:number]
        )
        conflicts = moved[number] & overlaps & ~(reads[:number] & reads[number])
        assert not np.any(out & conflicts), number
        out_together = max(out_together, int(np.count_nonzero(out)))
    assert out_together > 3


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("target", ["null:", "file:data", "twin:" + TWIN])
def test_several_threads_issue_what_one_does(timing: Timing, target: str, crowded: Path, tmp_path: Path):
    size_bytes = 4 << 20 if target.startswith("file:") else None
    found = [
        counts(
            package.run(
                "replay",
                [target],
                out=tmp_path / "runs",
                size_bytes=size_bytes,
                replay=Replay(crowded, timing=timing, threads=threads),
            )
        )
        for threads in (1, 2, 5)
    ]
    assert sum(found[0].values()) == 3000
    assert found[0] == found[1] == found[2]


def test_threads_without_io_uring_issue_every_io(crowded: Path, tmp_path: Path):
    prepared = prepare(open_trace(crowded))
    job = job_of(measure_step(prepared, Replay(crowded, timing="as-fast-as-possible", threads=2)))
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 20))
    target = _core.EngineTarget(str(path), "file", 1 << 20)
    [recording] = _core.start_engine(job, [target], 1, backend="threads").result()
    assert sum(op.n for op in recording.ops) == 3000


def test_each_device_of_a_trace_has_its_threads(crowded: Path, tmp_path: Path):
    lines = crowded.read_text().splitlines()[1:]
    rows = [f"{line},{'ab'[number % 2]}" for number, line in enumerate(lines)]
    crowded.write_text("\n".join(["time_us,op,offset,size,device", *rows]))
    targets = [f"file:{tmp_path / name}" for name in "ab"]
    replay = Replay(crowded, timing="as-fast-as-possible", threads=2)
    run = package.run("replay", targets, out=tmp_path / "runs", size_bytes=4 << 20, replay=replay)
    rows = [row for row in run.table("points").to_pylist() if row["step"] == "replay"]
    assert [sum(row["n"] for row in rows if row["target"] == target) for target in targets] == [1500, 1500]


def test_dependencies_are_kept_by_one_thread_and_numbers_have_bounds(crowded: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="one thread keeps the dependencies"):
        replay_method(Replay(crowded, timing="dependent", threads=2))
    with pytest.raises(UsageError, match="--threads is 0"):
        replay_method(Replay(crowded, threads=0))
    arguments = ["--trace", str(crowded), "--timing", "dependent", "--threads", "2"]
    done = fathom("plan", "replay", *arguments, "null:", cwd=tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert "one thread keeps the dependencies" in line
