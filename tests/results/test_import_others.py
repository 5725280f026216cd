"""Results of Vdbench, elbencho, Iometer and HdrHistogram become runs; what their files lack is null."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.report.blocks import Figure
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.note_groups import note_groups
from fathom.report.sections import timeline
from fathom.results.formats import TextFile, format_of
from fathom.results.hdr_codec import encode
from fathom.results.import_files import import_results
from fathom.results.records import Bin
from fathom.runs.reader import Run

SAMPLES = Path(__file__).parents[1] / "data/results"


def imported(path: Path) -> Run:
    outcome = import_results([path])
    assert outcome.bad == []
    [run] = outcome.runs
    return Run(run)


def points(run: Run, *names: str) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in ("step", "op", *names)) for row in run.points.to_pylist()]


def test_vdbenchs_flat_file_has_a_load_per_run_and_the_means_that_it_states():
    run = imported(SAMPLES / "flatfile.html")
    assert points(run, "iops", "mean_us", "max_us", "threads", "block_bytes", "offered_iops", "window_s") == [
        ("rd1", "read", 1575.0, 500.0, 5500.0, 8, 4096, None, 2.0),
        ("rd1", "write", 525.0, 2500.0, 7500.0, 8, 4096, None, 2.0),
        ("rd1-2", "read", 500.0, 500.0, 3000.0, 1, 65536, 500.0, 1.0),
    ]
    seconds = [(row["step"], row["op"], row["n"]) for row in run.intervals.to_pylist()]
    assert seconds[:3] == [("rd1", "read", 750), ("rd1", "read", 1500), ("rd1", "read", 1650)]
    assert run.document.origin
    assert run.document.origin.version == "50407"
    assert {row["p99_us"] for row in run.points.to_pylist()} == {None}


def test_the_interval_of_a_vdbench_rate_is_of_the_seconds_that_vdbench_counts(tmp_path: Path):
    head, *lines = [
        line
        for line in (SAMPLES / "flatfile.html").read_text().splitlines()
        if line.startswith(("tod ", "10:"))
    ]
    second = lines[1].split()
    rates = [100, 100, 100, 100, *(2000 + 10 * (number % 3) for number in range(16)), 2010]
    made = [head]
    for number, rate in enumerate(rates, 1):
        second[0], second[3], second[5] = f"10:00:{number:02}.004", str(number), f"{rate}.0"
        made.append(" ".join(second))
    second[3], second[5] = "avg_5-20", "2010.0"
    file = tmp_path / "flatfile.html"
    file.write_text("\n".join([*made, " ".join(second)]) + "\n")
    for row in imported(file).points.to_pylist():
        assert row["iops_low"] > 0.95 * row["iops"]
        assert row["iops_low"] < row["iops"] < row["iops_high"]


def test_vdbenchs_summary_leaves_out_how_it_laid_out_its_files_and_takes_intervals_from_the_clock():
    run = imported(SAMPLES / "summary.html")
    assert points(run, "iops", "mean_us", "max_us", "threads", "block_bytes", "offered_iops", "window_s") == [
        ("rd1", "read", 152.5, 100.0, 900.0, 4, 4096, 300.0, 4.0),
        ("rd1", "write", 152.5, 300.0, 1400.0, 4, 4096, 300.0, 4.0),
    ]
    assert {row["length_s"] for row in run.intervals.to_pylist()} == {2.0}


def test_vdbenchs_totals_have_a_mean_and_no_seconds():
    run = imported(SAMPLES / "totals.html")
    assert points(run, "iops", "mbps", "mean_us", "max_us", "window_s") == [
        ("rd1", "read", 2230.0, pytest.approx(2338.32448), 28_000.0, 446_971.0, 120.0)
    ]
    assert run.intervals.num_rows == 0


def test_elbenchos_phases_are_loads_and_those_without_io_are_left_out():
    run = imported(SAMPLES / "elbencho.csv")
    assert points(run, "iops", "n", "mean_us", "threads", "iodepth", "block_bytes") == [
        ("night-write", "write", 2941.0, 8192, 9383.0, 16, 4, 1 << 20),
        ("night-rwmix", "write", 310.0, None, 200.0, 16, 4, 4096),
        ("night-rwmix", "read", 690.0, None, 60.0, 16, 4, 4096),
    ]
    assert {row["read_pct"] for row in run.points.to_pylist()} == {0.0, 69.0}


def test_iometers_bins_are_kept_and_are_too_wide_for_percentiles():
    run = imported(SAMPLES / "iometer.csv")
    assert points(run, "iops", "mbps", "n", "mean_us", "max_us", "block_bytes", "p50_us", "iodepth") == [
        ("4k-random-read", "read", 50_000.0, 204.8, 3_000_000, 250.0, 12_500.0, 4096, None, 16)
    ]
    bins = run.latency.to_pylist()
    assert (bins[0]["low_ns"], bins[0]["high_ns"], bins[0]["count"]) == (50_000, 100_000, 1_000_000)
    assert sum(row["count"] for row in bins) == 3_000_000


def test_a_log_of_hdrhistogram_has_its_intervals_by_tag(tmp_path: Path):
    bins = [Bin(100_000, 100_001, 990), Bin(5_000_000, 5_000_001, 10)]
    lines = ["#[Histogram log format version 1.3]", "#[StartTime: 1441812279.474 (seconds since epoch), Wed]"]
    lines += ['"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"']
    lines += [f"Tag={tag},{at}.0,1.000,5.0,{encode(bins)}" for tag in ("read", "other") for at in range(30)]
    file = tmp_path / "cassandra.hlog"
    file.write_text("\n".join(lines) + "\n")
    run = imported(file)
    rows = {(row["step"], row["op"]): row for row in run.points.to_pylist()}
    assert set(rows) == {("cassandra", "read"), ("other", "total")}
    row = rows["cassandra", "read"]
    assert (row["n"], row["iops"]) == (30_000, 1000.0)
    assert row["p50_us"] == pytest.approx(100, rel=1e-3)
    assert row["p95_us"] == pytest.approx(100, rel=1e-3)
    assert row["max_us"] is None
    assert row["mean_us"] == pytest.approx(149, rel=1e-3)
    assert run.document.created.startswith("2015-09-09T15:24:39")


def test_a_tag_of_hdrhistogram_names_a_load_and_its_operation(tmp_path: Path):
    bins = encode([Bin(100_000, 100_001, 990)])
    tags = ("orders/read", "orders/write", "a/b", "flush")
    lines = ["#[Histogram log format version 1.3]", *(f"Tag={tag},0.0,1.000,5.0,{bins}" for tag in tags)]
    file = tmp_path / "app.hlog"
    file.write_text("\n".join(lines) + "\n")
    assert {(row["step"], row["op"]) for row in imported(file).points.to_pylist()} == {
        ("orders", "read"),
        ("orders", "write"),
        ("a-b", "total"),
        ("app", "flush"),
    }


@pytest.mark.parametrize(
    "name", ["flatfile.html", "summary.html", "totals.html", "elbencho.csv", "iometer.csv"]
)
def test_every_file_says_that_it_was_measured_elsewhere_and_what_is_not_known(name: str):
    run = imported(SAMPLES / name)
    note = run.notes[0]
    assert note.rule == "measured-elsewhere"
    assert note.level == "warning"
    assert name in note.text
    assert [row["steady"] for row in run.points.to_pylist()] == [None] * run.points.num_rows


@pytest.mark.parametrize(
    "heading", ["* Reqrate : Requested FWD rate\n", "Apr 11, 2019 ..Interval.. .ReqstdOps... ...cpu%...\n"]
)
def test_reports_of_file_system_workloads_are_refused_by_their_kind(heading: str) -> None:
    with pytest.raises(UsageError, match=r"summary\.html: is of a file system workload \(fwd\) of Vdbench"):
        format_of(TextFile("summary.html", f"<pre>Starting RD=rd1; fwdrate=max\n{heading}"))


def test_operations_of_one_load_of_hdrhistogram_share_its_window_in_whatever_order_their_lines_are(
    tmp_path: Path,
):
    bins = encode([Bin(1000, 1001, 10)])
    times = [("job/write", at) for at in range(5, 10)] + [("job/read", at) for at in range(10)]
    lines = [
        "#[Histogram log format version 1.3]",
        *(f"Tag={tag},{at}.0,1.000,0.1,{bins}" for tag, at in times),
    ]
    file = tmp_path / "app.hlog"
    file.write_text("\n".join(lines) + "\n")
    run = imported(file)
    assert points(run, "n", "window_s", "iops", "iops_low") == [
        ("job", "write", 50, 10.0, 5.0, None),
        ("job", "read", 100, 10.0, 10.0, 10.0),
    ]
    assert [row["start_s"] for row in run.intervals.to_pylist() if row["op"] == "write"] == [5, 6, 7, 8, 9]


def flat_file(folder: Path, *loads: tuple[str, list[datetime], str]) -> Path:
    """Writes a flat file of loads with their names, the ends of their intervals and the rate that they ask for."""
    line = (SAMPLES / "flatfile.html").read_text().splitlines()[-6]
    names = next(
        one for one in (SAMPLES / "flatfile.html").read_text().splitlines() if one.startswith("tod ")
    ).split()
    row = dict(zip(names, line.split(), strict=True))
    made = [" ".join(names)]
    for name, ends, rate in loads:
        numbers = [*map(str, range(1, len(ends) + 1)), f"avg_1-{len(ends)}"]
        for number, end in zip(numbers, [*ends, ends[-1]], strict=True):
            row |= {
                "Run": name,
                "Interval": number,
                "tod": f"{end:%H:%M:%S}.000",
                "reqrate": rate,
                "rate": "1000",
            }
            made.append(" ".join(row.values()))
    file = folder / "flatfile.html"
    file.write_text("\n".join(made) + "\n")
    return file


def test_a_vdbench_run_of_more_than_a_day_has_its_whole_window(tmp_path: Path):
    ends = [datetime(2026, 1, 1, 12) + timedelta(minutes=number) for number in range(30 * 60)]
    run = imported(flat_file(tmp_path, ("rd1", ends, "999988")))
    assert {row["window_s"] for row in run.points.to_pylist()} == {30 * 3600.0}


def test_vdbench_loads_of_several_rates_have_names_with_them_and_a_report_that_knows_their_intervals(
    tmp_path: Path,
):
    ends = [datetime(2026, 1, 1, 12) + timedelta(seconds=5 * number) for number in range(12)]
    run = imported(flat_file(tmp_path, ("rd1", ends, "500"), ("rd1", ends, "1000")))
    comparison = compare([load(run.path)])
    section = timeline.build(comparison)
    assert section is not None
    [figure] = section.blocks
    assert isinstance(figure, Figure)

    assert "Each point is one interval of 5 s" in figure.caption
    assert [item.text for item in figure.data.head][-3:-1] == ["Least interval", "Greatest interval"]
    assert not [
        note for group in note_groups(comparison) for note in group.notes if "of 1 repeats" in note.text
    ]
