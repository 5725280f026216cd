"""A replay with dependencies issues each I/O behind the one that it waited for, after its think time."""

from pathlib import Path

import numpy as np
import pytest

import fathom as package
from fathom import _core
from fathom.errors import UsageError
from fathom.fitting.on_twin import fresh_twin, run_logged, twin_holding
from fathom.method.job import job_of
from fathom.plan.replay import Replay, measure_step, replay_method
from fathom.traces.opening import open_trace
from fathom.traces.prepare import HEADER_BYTES, ROW, prepare

TWIN = "samsung-pm9a3-7.68tb"
BLOCK = 4096
HEAD = "time_us,op,offset,size,latency_us,pid\n"
#: time, latency, thread; what it waits for, and its think time. All in us.
GRAPH = [
    (0, 100, 1, None, 0),
    (120, 1000, 2, 0, 20),  # none of its own has completed: the last of any
    (125, 50, 2, 0, 25),
    (150, 100, 1, 0, 50),
    (300, 100, 1, 3, 50),
    (1200, 10, 2, 1, 80),  # its own I/O 1 completed after its own I/O 2
    (1205, 10, 3, 1, 85),
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(path: Path, rows: list[tuple[int, int | str, int | str]]) -> Path:
    """Writes a trace of (time, latency, thread), in which each I/O reads a block of its own."""
    lines = (
        f"{time},R,{BLOCK * number},{BLOCK},{latency},{thread}\n"
        for number, (time, latency, thread) in enumerate(rows)
    )
    path.write_text(HEAD + "".join(lines))
    return path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return written(tmp_path / "graph.csv", [row[:3] for row in GRAPH])


def records(path: Path) -> list[tuple[int | None, float]]:
    """Returns of each I/O of a prepared trace which it waits for, and its time in us."""
    rows = np.fromfile(path, ROW, offset=HEADER_BYTES)
    behind = [int.from_bytes(row["behind"].tobytes(), "little") for row in rows]
    return [
        (number - far if far else None, row["arrival_ns"] / 1e3)
        for number, (far, row) in enumerate(zip(behind, rows, strict=True))
    ]


def test_an_io_waits_for_the_last_that_had_completed_of_its_own_thread_else_of_any(graph: Path):
    prepared = prepare(open_trace(graph), waits=True)
    assert records(prepared.path) == [(waits_for, think_us) for *_, waits_for, think_us in GRAPH]


def test_a_speed_divides_think_times(graph: Path):
    prepared = prepare(open_trace(graph), waits=True, speed=5.0)
    assert records(prepared.path) == [(waits_for, think_us / 5) for *_, waits_for, think_us in GRAPH]


@pytest.mark.parametrize("iodepth", [256, 2])
def test_a_twin_issues_each_io_a_think_time_after_the_one_it_waits_for(iodepth: int, graph: Path):
    replay = Replay(graph, timing="dependent", iodepth=iodepth)
    prepared = prepare(open_trace(graph), waits=True)
    device = fresh_twin(twin_holding(TWIN, 1 << 20), 1)
    ran = run_logged(job_of(measure_step(prepared, replay)), device, 1, "twin")
    columns = ran.trace.columns
    number = (columns["offset_bytes"] // BLOCK).astype(int)
    assert sorted(number) == list(range(len(GRAPH)))
    issued = {one: int(ns) for one, ns in zip(number, columns["issue_ns"], strict=True)}
    ended = {one: issued[one] + int(ns) for one, ns in zip(number, columns["latency_ns"], strict=True)}
    due = {
        one: ended[waits_for] + 1000 * think_us if waits_for is not None else 0
        for one, (*_, waits_for, think_us) in enumerate(GRAPH)
    }
    if iodepth == 256:
        assert issued == due
    else:
        assert all(issued[one] >= due[one] for one in due)
    in_flight = [sum(issued[other] <= at < ended[other] for other in issued) for at in issued.values()]
    assert max(in_flight) <= iodepth


def test_a_chain_takes_the_latency_of_the_target_and_the_recorded_think_times(tmp_path: Path):
    rows: list[tuple[int, int | str, int | str]] = [(1000 * n, 900, 7) for n in range(200)]
    path = written(tmp_path / "chain.csv", rows)
    replay = Replay(path, timing="dependent", fill="none")
    for target in (f"twin:{TWIN}", f"file:{tmp_path / 'target'}", "null:"):
        found = package.run("replay", target, out=tmp_path / "runs", size_bytes=1 << 20, replay=replay)
        [point] = found.table("points").to_pylist()
        assert point["n"] == len(rows)
        least_s = (len(rows) - 1) * 100e-6 + len(rows) * point["mean_us"] / 1e6
        # Behind the clock of a busy machine, a real target's thread may wake late.
        most = 1.001 if target.startswith("twin:") else 3.0
        assert 0.999 * least_s <= point["window_s"] <= most * least_s + (0 if most < 2 else 0.05)


def test_without_io_uring_a_chain_has_the_same_pauses(tmp_path: Path):
    path = written(tmp_path / "chain.csv", [(1000 * n, 900, 7) for n in range(100)])
    replay = Replay(path, timing="dependent")
    job = job_of(measure_step(prepare(open_trace(path), waits=True), replay))
    target = tmp_path / "target"
    target.write_bytes(bytes(1 << 20))
    target = _core.EngineTarget(str(target), "file", 1 << 20)
    [found] = _core.start_engine(job.with_until(count=100), [target], 1, "threads").result()
    assert sum(op.n for op in found.ops) == 100
    assert found.window_s >= 99 * 100e-6


def test_devices_of_a_trace_wait_each_for_their_own(tmp_path: Path):
    path = tmp_path / "two.csv"
    path.write_text(
        "time_us,op,offset,size,latency_us,device\n"
        + "".join(f"{100 * n},R,{BLOCK * n},{BLOCK},90,{'ab'[n % 2]}\n" for n in range(100))
    )
    method, _ = replay_method(Replay(path, timing="dependent"))
    for stream in method.steps[-1].job.streams.values():
        assert stream.pattern.waits
        waits = records(Path(stream.pattern.file or ""))
        assert waits == [(None, waits[0][1])] + [(n, 110.0) for n in range(49)]


def test_a_trace_without_latencies_shows_no_dependencies(tmp_path: Path):
    path = written(tmp_path / "none.csv", [(0, "", 1), (10, "", 1)])
    with pytest.raises(UsageError, match="no latencies"):
        replay_method(Replay(path, timing="dependent"))


def test_an_io_without_a_latency_or_a_thread_has_its_place(tmp_path: Path):
    path = written(tmp_path / "some.csv", [(0, 10, 1), (5, "", 1), (20, 10, ""), (40, "", 1)])
    prepared = prepare(open_trace(path), waits=True)
    assert records(prepared.path) == [(None, 0.0), (None, 5.0), (0, 10.0), (0, 30.0)]


@pytest.mark.parametrize("timing", ["as-recorded", "as-fast-as-possible"])
def test_without_dependencies_ios_that_overlap_are_issued_in_the_order_of_the_trace(
    timing: str, tmp_path: Path
):
    path = tmp_path / "overlaps.csv"
    # A place and a size name each I/O; almost all of them overlap.
    rows = [(n // 8, "RW"[n % 2], BLOCK * (n % 5), BLOCK * (1 + n // 5)) for n in range(300)]
    path.write_text("time_us,op,offset,size\n" + "".join(f"{t},{op},{at},{n}\n" for t, op, at, n in rows))
    replay = Replay(path, timing=timing)  # pyright: ignore[reportArgumentType]
    device = fresh_twin(twin_holding(TWIN, 1 << 20), 1)
    ran = run_logged(job_of(measure_step(prepare(open_trace(path)), replay)), device, 1, "twin")
    columns = ran.trace.columns
    numbers = columns["offset_bytes"] // BLOCK + 5 * (columns["size_bytes"] // BLOCK - 1)
    assert sorted(numbers.tolist()) == list(range(len(rows)))
    issued_ns = columns["issue_ns"][np.argsort(numbers)].astype(np.int64)
    assert np.all(np.diff(issued_ns) >= 0)
    assert len(set(issued_ns.tolist())) > 1
