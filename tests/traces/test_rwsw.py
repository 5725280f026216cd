"""Methods that take their workload from a trace: SNIA's RWSW tests, and a user's own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from test_convert import fathom

import fathom as package
from fathom.errors import UsageError
from fathom.fitting.chosen import Choice
from fathom.fitting.io_streams import MOST, cumulative
from fathom.fitting.of_trace import method_of
from fathom.method.method import Step, load_method
from fathom.plan.replay import Replay, Timing
from fathom.report.built import build
from fathom.report.opening import opened
from fathom.report.sections import build_all
from fathom.traces.opening import open_trace
from small_trace import IOS, SHARES, write_trace

TWIN = "twin:samsung-pm9a3-7.68tb?slice_denominator=4096"
MULTI, STREAMS, DIRTH, NATIVE = (
    f"snia-rwsw-{name}" for name in ("multi-wsat", "streams-wsat", "dirth", "replay-native")
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "app.csv")


def found_in(path: Path):
    trace = open_trace(path)
    return cumulative(Choice(lambda: trace, align_bytes=512), trace)


def steps_of(
    name: str, trace: Path, *, quick: bool = False, timing: Timing = "as-recorded"
) -> dict[str, Step]:
    return {step.name: step for step in method_of(name, Replay(trace, timing=timing), quick=quick)[0].steps}


def test_streams_are_an_operation_of_one_size_in_order_or_at_random(trace: Path):
    found = found_in(trace)
    shares = {stream.workload.words: stream.ios / IOS for stream in found.streams}
    for words, share in SHARES.items():
        # The first two I/Os of a run are not known to be in order.
        assert shares[words] == pytest.approx(share, abs=0.01)
    assert found.share == pytest.approx(1, abs=0.02)
    assert found.flushes == 1


def test_of_many_sizes_the_most_frequent_of_both_operations_are_kept(tmp_path: Path):
    path = tmp_path / "many.csv"
    rows = [
        f"{n},{'W' if n % 4 == 0 else 'R'},{n * 7919 % 9973 * 4096},{4096 * (1 + n % 13)}"
        for n in range(4000)
    ]
    path.write_text("time_us,op,offset,size\n" + "\n".join(rows) + "\n")
    found = found_in(path)
    assert len(found.streams) == MOST
    assert {stream.op for stream in found.streams} == {"read", "write"}
    mix = found.workload.job["mix"]
    assert mix == {"read": 75, "write": 25}


def test_the_cumulative_workload_has_operations_sizes_and_order_as_often_as_the_trace(trace: Path):
    job = steps_of(MULTI, trace)["saturated"].job
    assert job.weights["read"] == pytest.approx(65, abs=0.1)
    assert job.weights["write"] == pytest.approx(35, abs=0.1)
    pattern = found_in(trace).workload.job["pattern"]
    assert isinstance(pattern, dict)
    shares = pattern["random"]
    assert isinstance(shares, dict)
    assert shares["read"] == "100%"
    assert float(str(shares["write"]).rstrip("%")) == pytest.approx(100 * 0.2 / 0.35, abs=1)


def test_saturation_ends_when_the_writes_of_the_mix_are_four_capacities(trace: Path):
    workload = found_in(trace).workload
    reads = 0.6 * 8 + 0.05 * 16
    writes = 0.2 * 4 + 0.15 * 64
    assert workload.written == pytest.approx(writes / (reads + writes), rel=0.01)
    job = steps_of(MULTI, trace)["saturation"].job
    assert job.time_s == pytest.approx(6 * 3600)
    assert job.region_multiple == pytest.approx(4 / workload.written, rel=1e-3)


def test_every_stream_has_steps_of_its_own_and_reads_a_filled_target(trace: Path):
    steps = steps_of(STREAMS, trace)
    assert "fill-8kib-rand-read" in steps
    assert "fill-4kib-rand-write" not in steps
    assert steps["saturated-64kib-seq-write"].job.pattern.kind == "sequential"
    assert steps["saturated-4kib-rand-write"].label == "4 KiB random write, 4T/32Q, after saturation"
    assert next(name for name in steps if name.startswith("saturated-")) == "saturated-8kib-rand-read"


def test_a_trace_that_only_reads_is_saturated_for_six_hours_without_a_volume(tmp_path: Path):
    path = tmp_path / "reads.csv"
    path.write_text(
        "time_us,op,offset,size\n" + "".join(f"{n},R,{n * 7919 % 4096 * 4096},4096\n" for n in range(500))
    )
    steps = steps_of(MULTI, path)
    assert steps["saturation"].job.weights == {"read": 1}
    assert list(steps_of(NATIVE, path)) == ["purge", "fill", "replay"]


def test_a_shortened_replay_native_issues_every_io_at_its_time(trace: Path, tmp_path: Path):
    run = package.run(NATIVE, TWIN, replay=Replay(trace), quick=True, out=tmp_path)
    rows = [row for row in run.table("points").to_pylist() if row["step"] == "replay"]
    assert sum(row["n"] for row in rows) == IOS + 1
    assert rows[0]["window_s"] == pytest.approx(1, rel=0.01)


def test_dirth_demands_the_cumulative_workload_at_36_demands(trace: Path):
    steps = steps_of(DIRTH, trace, quick=True)
    assert sum(name.startswith("dirth.01.") for name in steps) == 36
    assert steps["histogram-high"].job.weights["read"] == pytest.approx(65, abs=0.1)


def test_what_the_trace_gave_is_in_the_source_and_the_notes(trace: Path):
    method, notes = method_of(MULTI, Replay(trace))
    assert "I/O streams with" in method.source
    assert any("8 KiB random read 60 %" in note for note in notes)
    assert any("1 flushes, discards" in note for note in notes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([MULTI], "needs a trace"),
        ([MULTI, "--trace", "app.csv", "--speed", "2"], "leave out --timing, --speed"),
        ([NATIVE, "--trace", "app.csv", "--fill", "none"], "leave out --fill"),
        (["four-corners", "--trace", "app.csv"], "--trace belongs to the method replay"),
        (["mine.toml", "--trace", "app.csv"], 'use "cumulative", "replay"'),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(words: list[str], said: str, trace: Path, tmp_path: Path):
    text = 'schema = "fathom-method/1"\nname = "mine"\n[[steps]]\nname = "a"\njob = { trace = "all" }\n'
    (tmp_path / "mine.toml").write_text(text)
    method, *rest = words
    done = fathom("plan", method, TWIN, *rest, cwd=tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert said in line


def test_a_method_that_needs_a_trace_says_so_where_none_can_be_given():
    with pytest.raises(UsageError, match="needs a trace"):
        load_method(MULTI)


def with_times(trace: Path, times: Callable[[int], int], unit: str) -> Path:
    """The trace with other times."""
    rows = [line.split(",", 1)[1] for line in trace.read_text().splitlines()[1:]]
    trace.write_text(
        f"time_{unit},op,offset,size\n" + "".join(f"{times(n)},{row}\n" for n, row in enumerate(rows))
    )
    return trace


@pytest.mark.parametrize("timing", ["as-recorded", "dependent"])
def test_a_replay_native_of_a_trace_without_times_is_refused(timing: Timing, trace: Path):
    still = with_times(trace, lambda _: 5, "us")
    with pytest.raises(UsageError, match=r"no times to be replayed at|no latencies"):
        method_of(NATIVE, Replay(still, timing=timing))
    assert "replay" in steps_of(NATIVE, still, timing="as-fast-as-possible")


def test_a_replay_native_at_times_of_a_coarse_clock_claims_no_latency(trace: Path, tmp_path: Path):
    coarse = with_times(trace, lambda n: n // 2000, "s")
    run = package.run(NATIVE, TWIN, replay=Replay(coarse), quick=True, out=tmp_path)
    assert [note.step for note in run.notes if note.rule == "doubtful-times"] == ["replay"]
    opening, _ = opened(build_all(build([run.path]).comparison))
    assert opening is not None
    assert opening.sentence.startswith(
        "No latency of the recorded load is known: the trace's clock is too coarse"
    )
