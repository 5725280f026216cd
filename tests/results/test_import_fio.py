"""Results of a real fio become runs with the figures that fio states, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from others import FioFiles

from fathom.results.import_files import import_results
from fathom.results.reading import Unit
from fathom.runs.check import check
from fathom.runs.reader import Run
from fathom.statistics.percentiles import Histogram


def imported(*paths: Path, unit: Unit = Unit.NS) -> Run:
    outcome = import_results(paths, unit=unit)
    assert outcome.bad == []
    [run] = outcome.runs
    return Run(run)


def rows(run: Run, step: str, op: str) -> dict[str, Any]:
    [row] = [row for row in run.points.to_pylist() if (row["step"], row["op"]) == (step, op)]
    return row


def stated(path: Path, name: str) -> dict:
    return next(job for job in json.loads(path.read_text())["jobs"] if job["jobname"] == name)


def test_the_figures_are_those_that_fio_states(fio: FioFiles):
    run = imported(fio.json_plus)
    for name, op in (("randread", "read"), ("oltp", "read"), ("oltp", "write")):
        theirs, ours = stated(fio.json_plus, name)[op], rows(run, name, op)
        assert ours["n"] == theirs["total_ios"]
        assert ours["iops"] == pytest.approx(theirs["iops"])
        assert ours["mbps"] == pytest.approx(theirs["bw_bytes"] / 1e6)
        assert ours["window_s"] == pytest.approx(theirs["runtime"] / 1000)
        assert ours["mean_us"] == pytest.approx(theirs["clat_ns"]["mean"] / 1000)
        assert ours["max_us"] == pytest.approx(theirs["clat_ns"]["max"] / 1000)
        assert ours["p99_us"] is None or ours["p99_us"] == pytest.approx(
            theirs["clat_ns"]["percentile"]["99.000000"] / 1000, abs=0.001
        )
    assert rows(run, "randread", "read")["p99_us"] is not None


@pytest.mark.parametrize(
    ("engine", "depth"),
    [("psync", 1), ("pvsync2", 1), (None, 1), ("libaio", 32), ("an-engine-of-their-own", 32)],
)
def test_an_engine_that_waits_for_each_io_keeps_one_in_flight(
    fio: FioFiles, tmp_path: Path, engine: str | None, depth: int
) -> None:
    document = json.loads(fio.json_plus.read_text())
    [job] = [job for job in document["jobs"] if job["jobname"] == "randread"]
    own = {"rw": "randread", "iodepth": "32"} | ({"ioengine": engine} if engine else {})
    document |= {"global options": {}, "jobs": [job | {"job options": own}]}
    path = tmp_path / "own.json"
    path.write_text(json.dumps(document))
    assert set(imported(path).points["iodepth"].to_pylist()) == {depth}


def test_the_bins_are_those_of_fio_and_hold_all_its_ios(fio: FioFiles):
    run = imported(fio.json_plus)
    theirs = stated(fio.json_plus, "randread")["read"]["clat_ns"]["bins"]
    bins = run.latency.filter(pc.field("step") == "randread").to_pylist()
    assert {(bin["low_ns"] + bin["high_ns"]) // 2: bin["count"] for bin in bins} == {
        int(value): count for value, count in theirs.items()
    }
    assert {bin["index"] for bin in bins} == {None}


def test_what_fio_repeats_of_its_options_is_kept_and_what_it_does_not_record_is_null(fio: FioFiles):
    run = imported(fio.json_plus)
    row = rows(run, "oltp", "read")
    assert (row["block_bytes"], row["threads"], row["iodepth"], row["read_pct"]) == (4096, 2, 1, 70)
    for unknown in (
        "waf",
        "joules",
        "outstanding",
        "limit",
        "limited_by",
        "steady",
        "iops_low",
        "p99_low_us",
    ):
        assert row[unknown] is None
    document = run.document
    assert document.origin is not None
    assert document.origin.program == "fio"
    assert document.origin.version == json.loads(fio.json_plus.read_text())["fio version"].removeprefix(
        "fio-"
    )
    assert document.seed is None
    assert [target.capacity_bytes for target in document.targets] == [None]
    assert document.targets[0].name == f"file:{fio.json_plus.parent / 'file'}"
    assert "elsewhere" in document.method.source
    assert check(run.path).whole


def test_a_run_says_where_fio_used_the_page_cache(fio: FioFiles, tmp_path: Path):
    def said(run: Run) -> list[str | None]:
        return [note.step for note in run.notes if "page cache (direct=0)" in note.text]

    assert said(imported(fio.json_plus)) == ["oltp", "randread"]
    document = json.loads(fio.json_plus.read_text())
    document["global options"]["direct"] = "1"
    (tmp_path / "direct.json").write_text(json.dumps(document))
    assert said(imported(tmp_path / "direct.json")) == []


def test_json_without_bins_has_fios_own_percentiles_and_no_histogram(fio: FioFiles):
    run = imported(fio.json)
    theirs = stated(fio.json, "randread")["read"]["clat_ns"]["percentile"]
    assert rows(run, "randread", "read")["p99_us"] == pytest.approx(theirs["99.000000"] / 1000)
    assert run.latency.num_rows == 0


def test_jobs_of_one_name_are_one_load_whose_percentiles_need_bins(fio: FioFiles, tmp_path: Path):
    document = json.loads(fio.json_plus.read_text())
    job = next(job for job in document["jobs"] if job["jobname"] == "randread")
    document["jobs"] = [job, job]
    twice = tmp_path / "twice.json"
    twice.write_text(json.dumps(document))
    once, both = rows(imported(fio.json_plus), "randread", "read"), rows(imported(twice), "randread", "read")
    assert (both["n"], both["threads"]) == (2 * job["read"]["total_ios"], 2)
    assert both["iops"] == pytest.approx(2 * job["read"]["iops"])
    assert both["p99_us"] == pytest.approx(once["p99_us"])
    del job["read"]["clat_ns"]["bins"]
    without = tmp_path / "without.json"
    without.write_text(json.dumps(document))
    run = imported(without)
    assert rows(run, "randread", "read")["p99_us"] is None
    assert any("no common value" in note.text for note in run.notes)


def test_reads_and_writes_that_fio_counts_together_are_one_total(fio: FioFiles, tmp_path: Path):
    document = json.loads(fio.json_plus.read_text())
    job = next(job for job in document["jobs"] if job["jobname"] == "oltp")
    job["mixed"] = job.pop("read")
    del job["write"], job["trim"]
    document["jobs"] = [job]
    file = tmp_path / "mixed.json"
    file.write_text(json.dumps(document))
    row = rows(imported(file), "oltp", "total")
    assert (row["n"], row["block_bytes"]) == (job["mixed"]["total_ios"], 4096)
    assert row["iops"] == pytest.approx(job["mixed"]["iops"])


def test_a_job_that_ended_with_an_error_makes_a_failed_run(fio: FioFiles, tmp_path: Path):
    document = json.loads(fio.json_plus.read_text())
    document["jobs"][0]["error"] = 5
    file = tmp_path / "failed.json"
    file.write_text(json.dumps(document))
    run = imported(file)
    assert run.document.status == "failed"
    assert "error 5" in (run.document.error or "")
    assert rows(run, "oltp", "read")["errors"] is None


def test_fio_of_version_two_counts_in_kib_and_microseconds(tmp_path: Path):
    read = {
        "io_bytes": 4000, "bw": 1000, "iops": 250.0, "runtime": 4000, "total_ios": 1000000,
        "clat": {"min": 10, "max": 900, "mean": 120.5, "percentile": {"50.000000": 100, "99.000000": 500}},
    }  # fmt: skip
    job = {"jobname": "old", "groupid": 0, "error": 0, "read": read, "write": {"total_ios": 0}}
    file = tmp_path / "old.json"
    file.write_text("fio: a warning\n" + json.dumps({"fio version": "fio-2.1.3", "jobs": [job]}, indent=1))
    row = rows(imported(file), "old", "read")
    assert row["mbps"] == pytest.approx(1.024)
    assert (row["mean_us"], row["p99_us"], row["max_us"]) == (120.5, 500, 900)
    assert (row["block_bytes"], row["threads"]) == (None, None)


def test_percentiles_of_fio_without_a_count_have_enough_ios_by_its_rate(tmp_path: Path):
    percentiles = {"50.000000": 400000, "99.000000": 800000}
    read = {
        "io_bytes": 4000, "bw": 1000, "iops": 250, "runtime": 4000,
        "clat": {"min": 10, "max": 900000, "mean": 450000.5, "percentile": percentiles},
    }  # fmt: skip
    file = tmp_path / "old.json"
    job = {"jobname": "old", "groupid": 0, "error": 0, "read": read}
    file.write_text(json.dumps({"fio version": "fio-2.1.3", "jobs": [job]}))
    run = imported(file)
    row = rows(run, "old", "read")
    assert (row["n"], row["p50_us"], row["p99_us"]) == (1000, 400000, None)
    assert any("follow from rates times lengths" in note.text for note in run.notes)


def test_logs_of_one_run_are_one_run_with_seconds_and_their_histograms(fio: FioFiles):
    run = imported(*fio.logs)
    row = rows(run, "x", "read")
    seconds = run.intervals.to_pylist()
    assert len(seconds) >= 3
    lines = [line.split(",") for line in fio.logs[-1].read_text().splitlines()]
    assert [second["n"] for second in seconds] == [sum(map(int, line[3:])) for line in lines]
    assert row["n"] == sum(second["n"] for second in seconds)
    bins = run.latency.to_pylist()
    assert {bin["index"] for bin in bins} == {second["index"] for second in seconds}
    assert (
        Histogram.of(*zip(*((b["low_ns"], b["high_ns"], b["count"]) for b in bins), strict=True)).n
        == row["n"]
    )
    last_ms = int(lines[-1][0])
    assert row["iops"] == pytest.approx(1000 * row["n"] / last_ms, rel=0.05)


def test_logs_with_a_line_an_io_have_every_latency(fio: FioFiles):
    run = imported(*fio.each)
    row = rows(run, "each", "read")
    latencies = [int(line.split(",")[1]) for line in fio.each[2].read_text().splitlines()]
    assert row["n"] == len(latencies) == 3072
    assert row["mean_us"] == pytest.approx(sum(latencies) / len(latencies) / 1000)
    assert sum(run.intervals["bytes"].to_pylist()) == 3072 * 4096


EPOCH_MS = 1_795_987_600_000


def since_1970(path: Path, folder: Path) -> Path:
    """The log as fio writes it with `log_unix_epoch`."""
    lines = (line.split(",", 1) for line in path.read_text().splitlines())
    shifted = folder / path.name
    shifted.write_text("".join(f"{int(time_ms) + EPOCH_MS},{rest}\n" for time_ms, rest in lines))
    return shifted


@pytest.mark.parametrize("written", ["logs", "each"])
def test_logs_whose_times_count_from_1970_have_the_rates_of_their_run(
    written: str, fio: FioFiles, tmp_path: Path
):
    paths: list[Path] = getattr(fio, written)
    name = "x" if written == "logs" else "each"
    usual = rows(imported(*paths), name, "read")
    run = imported(*(since_1970(path, tmp_path) for path in paths))
    shifted = rows(run, name, "read")
    assert shifted["n"] == usual["n"]
    assert shifted["window_s"] == pytest.approx(usual["window_s"], abs=0.1)
    assert shifted["iops"] == pytest.approx(usual["iops"], rel=0.1)
    assert run.document.created.startswith("2026-11-29T21:26:4")


def test_a_log_with_a_line_an_io_ends_with_its_last_io(tmp_path: Path):
    file = tmp_path / "z_lat.1.log"
    file.write_text("".join(f"{ms}, 1000, 0, 4096\n" for ms in range(2, 3501, 2)))
    row = rows(imported(file), "z", "read")
    assert row["n"] == 1750
    assert row["iops"] == pytest.approx(500, rel=0.001)
    assert row["window_s"] == pytest.approx(3.501)


@pytest.mark.parametrize("block", [0, 4096])
def test_a_log_that_counts_from_1970_begins_with_its_job(tmp_path: Path, block: int):
    begin_ms, kind = 1_795_988_803_245, "lat" if block else "iops"
    step_ms, value = (2, 1000) if block else (1000, 500)
    file = tmp_path / f"z_{kind}.1.log"
    times = range(begin_ms + step_ms, begin_ms + 4001, step_ms)
    file.write_text("".join(f"{ms}, {value}, 0, {block}\n" for ms in times))
    run = imported(file)
    row = rows(run, "z", "read")
    assert row["n"] == 2000
    assert row["window_s"] == pytest.approx(4, abs=0.01)
    assert run.document.measured == "2026-11-29T21:46:43Z"


def test_a_late_line_of_a_log_that_counts_from_1970_does_not_move_the_begin_of_its_job(tmp_path: Path):
    begin_ms = 1_795_988_803_245
    file = tmp_path / "z_iops.1.log"
    file.write_text("".join(f"{begin_ms + ms}, 500, 0, 0\n" for ms in (1000, 2400, 3000, 4000, 5000, 6000)))
    run = imported(file)
    assert rows(run, "z", "read")["window_s"] == pytest.approx(6, abs=0.001)
    assert run.document.measured == "2026-11-29T21:46:43Z"


def test_means_of_several_jobs_in_one_log_are_refused(tmp_path: Path):
    file = tmp_path / "m_iops.log"
    file.write_text("1000, 500, 0, 0\n2000, 500, 0, 0\n1000, 500, 0, 0\n2000, 500, 0, 0\n")
    [bad] = import_results([file]).bad
    assert bad.why.startswith(f"{file}: its times begin again")


def test_single_ios_of_several_jobs_in_one_log_are_counted_together_with_a_note(tmp_path: Path):
    file = tmp_path / "m_lat.log"
    file.write_text("".join(f"{ms}, 1000, 0, 4096\n" for ms in 2 * [*range(0, 1000, 10)]))
    run = imported(file)
    assert rows(run, "m", "read")["n"] == 200
    assert any("several jobs" in note.text for note in run.notes)


def test_bandwidth_alone_is_kept_without_counts_that_nobody_made(fio: FioFiles):
    run = imported(fio.logs[0])
    row = rows(run, "x", "read")
    assert (row["n"], row["iops"], row["mean_us"]) == (None, None, None)
    assert row["mbps"] > 0
    assert run.intervals.num_rows == 0
    assert set(run.telemetry["name"].to_pylist()) == {"bandwidth of: read"}


def test_the_unit_of_logs_can_be_given(fio: FioFiles):
    as_ns = rows(imported(*fio.each), "each", "read")
    for path in fio.each:
        path.with_name(f"us-{path.name}").write_text(path.read_text() + "\n")
    as_us = rows(
        imported(*(path.parent / f"us-{path.name}" for path in fio.each), unit=Unit.US), "us-each", "read"
    )
    assert as_us["mean_us"] == pytest.approx(1000 * as_ns["mean_us"])


def test_a_histogram_with_another_number_of_bins_is_refused(tmp_path: Path):
    file = tmp_path / "y_clat_hist.1.log"
    file.write_text("1000, 0, 4096, 1, 2, 3\n2000, 0, 4096, 1, 2, 3\n")
    [bad] = import_results([file]).bad
    assert bad.why.startswith(f"{file}:1: 3 bins")


@pytest.mark.parametrize("coarse", [0, 2])
def test_a_histogram_of_fio_before_three_counts_in_microseconds(tmp_path: Path, coarse: int):
    file = tmp_path / "y_clat_hist.1.log"
    counts = [0] * (19 * 64 >> coarse)
    counts[40 >> coarse] = 20000
    file.write_text(f"1000, 0, 4096, {', '.join(map(str, counts))}\n")
    run = imported(file)
    assert rows(run, "y", "read")["n"] == 20000
    [found] = run.latency.to_pylist()
    assert (found["low_ns"], found["high_ns"]) == (40_000, 40_000 + (1000 << coarse))


def test_a_histogram_with_more_ios_than_a_job_can_do_is_refused(tmp_path: Path):
    file = tmp_path / "y_clat_hist.1.log"
    counts = [0] * 1856
    counts[900:903] = 5000, 288230376923725848, 7000
    file.write_text(f"1000, 0, 4096, 9{', 0' * 1855}\n2000, 0, 4096, {', '.join(map(str, counts))}\n")
    [bad] = import_results([file]).bad
    assert bad.why.startswith(f"{file}:2: 2.88e+17 I/Os by 2000 ms: damaged counts")


def test_a_mean_behind_a_gap_in_a_log_covers_no_more_than_the_logs_own_interval(tmp_path: Path):
    file = tmp_path / "z_iops.1.log"
    # Bursts of half a second every four seconds: fio writes no line for an interval without I/O.
    file.write_text(
        "".join(f"{ms}, 2000, 0, 0\n" for at in range(0, 16000, 4000) for ms in (at + 500, at + 1000))
    )
    run = imported(file)
    row = rows(run, "z", "read")
    assert row["n"] == 8000
    assert row["window_s"] == 13.0
    assert row["iops_low"] is None
    assert {second["length_s"] for second in run.intervals.to_pylist()} == {0.5}
