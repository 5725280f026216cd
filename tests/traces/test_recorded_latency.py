"""A replay is laid beside its trace: recorded and replayed latencies of all I/Os, and rates and latencies by phase."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from test_convert import fathom

import fathom as package
from fathom.plan.replay import Replay
from fathom.report import write_html
from fathom.report.blocks import Prose, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.recorded import AT_BLOCK_LAYER, NOT_KNOWN
from fathom.report.sections import replayed
from fathom.runs.manifest import leave_out_steps
from fathom.runs.reader import Run
from fathom.statistics.latency_bins import BINS, bin_edges_ns, bin_numbers
from fathom.traces.answers import SUFFIX, Counting, answers_beside
from fathom.traces.batch import NO_LATENCY, Findings
from fathom.traces.opening import open_trace
from fathom.traces.prepare import prepare

TWIN = "twin:samsung-pm9a3-7.68tb"
HOUR_NS = 3_600_000_000_000


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def rate_at(time_s: float) -> int:
    return 2000 if time_s < 4 else 100 if time_s < 8 else 3000


def rows() -> list[tuple[int, str, int]]:
    """Time, operation and latency in ns of I/Os in three phases: 2,000, 100 and 3,000 a second."""
    drawn, time_s, found = Random(1), 0.0, []
    while time_s < 12:
        time_s += drawn.expovariate(rate_at(time_s))
        found.append((int(1e9 * time_s), "RRW"[len(found) % 3], int(drawn.uniform(100e3, 300e3))))
    return found


def write_csv(path: Path, *, latencies: bool = True) -> Path:
    place = Random(2)
    lines = "".join(
        f"{time},{op},{8192 * place.randrange(4096)},8192,{latency if latencies else ''}\n"
        for time, op, latency in rows()
    )
    path.write_text(f"time_ns,op,offset,size,latency_ns\n{lines}")
    return path


def replay(trace: Path, folder: Path, target: str = TWIN, **options: object) -> Run:
    return package.run("replay", [target], replay=Replay(trace, **options), out=folder / "runs")  # pyright: ignore[reportArgumentType]


def of_phase(run: Run, phase: int | None, op: str = "read") -> dict[str, float]:
    [row] = [row for row in run.phases.to_pylist() if (row["phase"], row["op"]) == (phase, op)]
    return row


def test_the_whole_trace_and_the_whole_replay_are_beside_each_other(tmp_path: Path) -> None:
    run = replay(write_csv(tmp_path / "app.csv"), tmp_path)
    whole = of_phase(run, None)
    recorded_us = np.array([latency for _, op, latency in rows() if op == "R"]) / 1000
    assert whole["recorded_n"] == whole["n"] == len(recorded_us)
    assert whole["recorded_mean_us"] == pytest.approx(recorded_us.mean())
    assert whole["recorded_p50_us"] == pytest.approx(np.percentile(recorded_us, 50), rel=0.01)
    for point in run.points.to_pylist():
        whole = of_phase(run, None, point["op"])
        for name in ("mean_us", "p50_us", "p99_us", "p999_us"):
            assert whole[name] == pytest.approx(point[name]) if point[name] else whole[name] is None


@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_phases_are_the_trace_s_stretches_of_equal_rate(speed: float, tmp_path: Path) -> None:
    run = replay(write_csv(tmp_path / "app.csv"), tmp_path, speed=speed)
    found = [of_phase(run, phase) for phase in range(3)]
    assert [row["recorded_start_s"] for row in found] == [0, 4, 8]
    for row in found:
        assert row["iops"] == pytest.approx(speed * row["recorded_iops"], rel=0.02)
        assert row["start_s"] * speed == pytest.approx(row["recorded_start_s"])
    assert sum(row["recorded_n"] for row in found) == sum(op == "R" for _, op, _ in rows())
    assert found[1]["recorded_iops"] < found[0]["recorded_iops"] / 3


def test_phases_follow_the_ios_where_recorded_times_are_not_kept(tmp_path: Path) -> None:
    run = replay(write_csv(tmp_path / "app.csv"), tmp_path, timing="dependent")
    for phase in (0, 2):
        row = of_phase(run, phase)
        assert row["n"] == pytest.approx(row["recorded_n"], rel=0.1)
        assert row["mean_us"] < row["recorded_mean_us"]


def test_phases_that_a_replay_passes_within_a_second_have_no_figures_of_it(tmp_path: Path) -> None:
    run = replay(write_csv(tmp_path / "app.csv"), tmp_path, timing="as-fast-as-possible")
    assert [of_phase(run, phase)["mean_us"] for phase in range(3)] == [None] * 3
    assert of_phase(run, None)["mean_us"] is not None


def test_a_trace_without_latencies_has_rates_alone(tmp_path: Path) -> None:
    run = replay(write_csv(tmp_path / "app.csv", latencies=False), tmp_path)
    assert {row["recorded_mean_us"] for row in run.phases.to_pylist()} == {None}
    assert of_phase(run, 0)["recorded_iops"] == pytest.approx(2000 * 2 / 3, rel=0.05)
    section = replayed.build(compare([load(run.path)]))
    assert section is not None
    assert not [block for block in section.blocks if isinstance(block, Prose)]


def test_each_device_of_a_trace_is_beside_its_own_target(tmp_path: Path) -> None:
    lines = "".join(
        f"{1_000_000 * n},W,{4096 * (n % 512)},4096,{1000 * (1 + n % 2)},{'ab'[n % 2]}\n" for n in range(4000)
    )
    trace = tmp_path / "two.csv"
    trace.write_text(f"time_ns,op,offset,size,latency_ns,device\n{lines}")
    run = package.run("replay", [TWIN, TWIN], replay=Replay(trace), out=tmp_path / "runs")
    found = {row["stream"]: row for row in run.phases.to_pylist() if row["phase"] is None}
    assert {name: row["recorded_mean_us"] for name, row in found.items()} == {"a": 1.0, "b": 2.0}
    assert {name: row["n"] for name, row in found.items()} == {"a": 2000, "b": 2000}


def test_the_page_has_recorded_and_replayed_figures_and_the_place_of_both(tmp_path: Path) -> None:
    run = replay(write_csv(tmp_path / "app.csv"), tmp_path)
    section = replayed.build(compare([load(run.path)]))
    assert section is not None
    latencies, words, phases = section.blocks
    assert isinstance(latencies, Table)
    whole = of_phase(run, None)
    mean = latencies.groups[0].rows[0].cells[0]
    times = whole["mean_us"] / whole["recorded_mean_us"]
    assert mean.sub.endswith(f"× {times:.3g}")
    assert words == Prose([NOT_KNOWN])
    assert isinstance(phases, Table)
    assert [group.title for group in phases.groups] == ["0 s to 4 s", "4 s to 8 s", "8 s to 12 s"]
    write_html([run.path], tmp_path / "page.html")
    assert "recorded 200" in (tmp_path / "page.html").read_text()


def test_a_trace_of_the_block_layer_says_so_through_conversions(tmp_path: Path) -> None:
    lines = "".join(
        f"  8,0 1 {n} {n * 0.001:.9f} 7 {event} R {16 * n} + 8 [app]\n" for n in range(2000) for event in "DC"
    )
    (tmp_path / "app.txt").write_text(lines)
    assert fathom("trace", "convert", "app.txt", "app.parquet", cwd=tmp_path).returncode == 0
    assert fathom("trace", "convert", "app.parquet", "again.parquet", cwd=tmp_path).returncode == 0
    assert open_trace(tmp_path / "again.parquet").findings.at_block_layer
    run = replay(tmp_path / "again.parquet", tmp_path)
    assert of_phase(run, None)["at_block_layer"] is True
    section = replayed.build(compare([load(run.path)]))
    assert section is not None
    assert Prose([AT_BLOCK_LAYER]) in section.blocks


def test_a_run_of_an_earlier_version_has_no_phases_and_no_damage(tmp_path: Path) -> None:
    run = replay(write_csv(tmp_path / "app.csv"), tmp_path)
    (run.path / "phases.parquet").unlink()
    leave_out_steps(run.path, run.id)
    earlier = Run.open(run.path)
    assert earlier.damage == []
    assert earlier.phases.num_rows == 0
    section = replayed.build(compare([load(run.path)]))
    assert section is not None
    assert section.blocks == []


def test_a_damaged_file_of_answers_leaves_the_phases_out(tmp_path: Path) -> None:
    trace = write_csv(tmp_path / "app.csv")
    prepared = prepare(open_trace(trace))
    prepared.path.with_suffix(SUFFIX).write_text("{")
    assert answers_beside(prepared.path) is None


def test_hours_are_counted_in_bounded_slots() -> None:
    counting = Counting(1.0)
    for hour in range(48):
        times = np.arange(hour * HOUR_NS, (hour + 1) * HOUR_NS, HOUR_NS // 100, dtype=np.uint64)
        ops = np.full(len(times), 1, np.uint8)
        counting.add(ops, times, np.full(len(times), 1000 * (hour // 24 + 1), np.uint64))
    found = counting.answers(Findings())
    assert found.whole.ops["write"].n == 4800
    assert found.whole.ops["write"].mean_us == pytest.approx(1.5)
    assert found.whole.ops["write"].quantiles_us["p50_us"] == pytest.approx(1.0, rel=0.01)
    assert sum(phase.ios for phase in found.phases) == 4800


def test_latencies_that_are_not_known_do_not_count() -> None:
    counting = Counting(1.0)
    latency = np.array([1000, NO_LATENCY, 3000], np.uint64)
    counting.add(np.zeros(3, np.uint8), np.arange(3, dtype=np.uint64), latency)
    read = counting.answers(Findings()).whole.ops["read"]
    assert (read.n, read.mean_us) == (3, 2.0)


def test_bins_are_those_of_the_recording() -> None:
    values = np.unique(np.concatenate([np.arange(1024), 2 ** np.arange(10, 46) + np.arange(36)])).astype(
        np.uint64
    )
    low, high = bin_edges_ns(bin_numbers(values))
    assert (low <= values.astype(np.int64)).all()
    assert (values.astype(np.int64) < high).all()
    assert ((high - low) * 128 <= np.maximum(low, 128)).all()
    assert bin_numbers(np.array([1 << 60], np.uint64)).tolist() == [BINS - 1]


def test_phases_of_repeats_are_pooled(tmp_path: Path) -> None:
    trace = str(write_csv(tmp_path / "app.csv"))
    done = fathom("run", "replay", "--trace", trace, TWIN, "--repeats", "2", "--out", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = [Run(path.parent) for path in sorted((tmp_path / "runs").glob("*/run.json"))]
    comparison = compare([load(run.path) for run in runs])
    [column] = comparison.columns
    assert column.repeats == 2
    for phase in (None, 0, 2):
        of_each = [of_phase(run, phase) for run in runs]
        [own] = [row for row in column.run.phases if (row.phase, row.op) == (phase, "read")]
        assert own.n == sum(row["n"] for row in of_each)
        assert own.iops == pytest.approx(np.mean([row["iops"] for row in of_each]))
        total = sum(row["n"] * row["mean_us"] for row in of_each)
        assert own.n is not None
        assert own.mean_us == pytest.approx(total / own.n)
        assert own.recorded_n == of_each[0]["recorded_n"]
    section = replayed.build(comparison)
    assert section is not None
    [phases] = [block for block in section.blocks if isinstance(block, Table)][1:]
    assert any("means over 2 repeats" in note for note in phases.footnotes)


def test_a_comparison_has_the_phases_of_a_trace_that_both_sides_replayed(tmp_path: Path) -> None:
    trace = write_csv(tmp_path / "app.csv")
    base = replay(trace, tmp_path)
    other = "twin:wd-ultrastar-dc-hc560-20tb"
    new = replay(trace, tmp_path, other, offsets="scale", fill="none")
    done = fathom("compare", str(base.path), str(new.path), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pairs = json.loads(done.stdout)["comparisons"][0]["pairs"]
    found = {(one["phase"], one["op"]): one for one in pairs[0]["phases"]}
    assert len(found) == 6
    for side, run in (("base", base), ("new", new)):
        assert found[2, "read"][side]["mean_us"] == of_phase(run, 2)["mean_us"]
    shown = fathom("compare", str(base.path), str(new.path), cwd=tmp_path).stdout.decode()
    assert "4 s to 8 s" in shown
    # A replay of another trace has other phases.
    trace.write_text("\n".join(trace.read_text().splitlines()[:-200]) + "\n")
    shorter = replay(trace, tmp_path)
    done = fathom("compare", str(base.path), str(shorter.path), "--json", cwd=tmp_path)
    assert [one["phases"] for one in json.loads(done.stdout)["comparisons"][0]["pairs"]] == [[]]
