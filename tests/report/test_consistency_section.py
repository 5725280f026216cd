"""A long step on a twin, and what the report's section says of its end."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

import fathom
from fathom.analysis.consistency import consistency, tail_s
from fathom.plan.replay import Replay
from fathom.report.blocks import Figure, Table
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.long_steps import thinned
from fathom.report.rows import Seconds
from fathom.report.sections import consistency as section
from fathom.runs.reader import Run
from old_runs import copy_of

METHOD = """
schema = "fathom-method/1"
name = "long"
title = "A long step"
summary = "How even is it?"
source = "this test"
[[steps]]
name = "write"
workload = "4k-rand-write"
label = "4 KiB random write"
job = { mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { time = "120s" } }
[[steps]]
name = "short"
workload = "4k-rand-read"
label = "4 KiB random read"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { time = "2s" } }
"""


EVEN = "twin:micron-m510dc-480gb?slice_denominator=64"
FILL = """
[[steps]]
name = "whole-drive"
kind = "fill"
job = { mix = "write", block = "128KiB", pattern = "sequential", load = { iodepth = 32 }, until = { written = "1x" } }
"""


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("long")
    method = folder / "long.toml"
    method.write_text(METHOD)
    return fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=folder)


@pytest.fixture(scope="module")
def even_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs of a drive that has settled, whose seconds and latencies are all alike."""
    folder = tmp_path_factory.mktemp("even")
    method = folder / "long.toml"
    settled = METHOD.replace('name = "write"\n', 'name = "write"\nfill = "1x"\noverwrite = "1x"\n')
    small = settled.replace('pattern = "uniform"', 'pattern = "uniform", region = "1GiB"')
    head, steps, rest = small.partition("[[steps]]")
    measured = steps + rest.replace(
        'iodepth = 1 }, until = { time = "120s"', 'iodepth = 4 }, until = { time = "100s"'
    )
    method.write_text(head + FILL + measured)
    return [fathom.run(str(method), EVEN, out=folder, seed=seed) for seed in (1, 2)]


def cells(run: Run) -> dict[str, str]:
    built = section.build(compare([load(run.path)], lambda *_: ()))
    assert built is not None
    rows = built.blocks[0].groups[0].rows  # pyright: ignore[reportAttributeAccessIssue]
    return {row.label.text: row.cells[0].text for row in rows}


def test_the_section_is_of_the_last_quarter_and_agrees_with_the_tables(long_run: Run) -> None:
    found = cells(long_run)
    rows = [row for row in long_run.intervals.to_pylist() if row["step"] == "write" and row["start_s"] >= 90]
    rates = [row["iops"] for row in rows]
    assert found["Seconds"] == "30"
    assert found["Mean"] == f"{np.mean(rates):,.0f}"
    assert found["Standard deviation of 1 s"] == section.grouped(float(np.std(rates, ddof=1)))
    joules = sum(
        row["value"]
        for row in long_run.telemetry.to_pylist()
        if row["name"] == "joules" and row["step"] == "write" and row["start_s"] >= 90
    )
    assert found["IOPS per watt"] == section.grouped(sum(row["n"] for row in rows) / joules)


def longest(run: Run, from_s: float) -> float:
    """Returns the longest I/O of the writes from a second on, us."""
    rows = run.intervals.to_pylist()
    return max(row["max_us"] for row in rows if row["step"] == "write" and row["start_s"] >= from_s)


def test_the_longest_io_of_the_window_and_the_shares_of_long_ones_are_rows(
    long_run: Run, even_runs: list[Run]
) -> None:
    found = cells(long_run)
    assert found["Longest I/O"] == section.grouped(longest(long_run, 90))
    shares = [float(found[f"{edge} ms or longer"]) for edge in (1, 5, 10)]
    assert shares == sorted(shares, reverse=True)
    built = section.build(compare([load(even_runs[0].path)], lambda *_: ()))
    assert built
    settled_us = float(cells(even_runs[0])["Longest I/O"].replace(",", ""))
    assert settled_us == pytest.approx(longest(even_runs[0], 75), abs=0.005)
    assert f"or longer, the longest {settled_us / 1000:.3g} ms;" in built.answer[0]


def efficiency_cell(run: Run) -> tuple[str, str]:
    built = section.build(compare([load(run.path)], lambda *_: ()))
    assert built is not None
    rows = built.blocks[0].groups[0].rows  # pyright: ignore[reportAttributeAccessIssue]
    [cell] = [row.cells[0] for row in rows if row.label.text == "IOPS per watt"]
    return cell.sub, " ".join(built.answer)


def test_iops_per_watt_has_its_interval_in_the_table_and_the_sentence(even_runs: list[Run]) -> None:
    margin, told = efficiency_cell(even_runs[0])
    assert margin.startswith("± ")
    assert f"IOPS per watt ({margin})" in told


def test_iops_per_watt_that_drift_say_so_in_the_place_of_their_interval(long_run: Run) -> None:
    """Cleaning that sets in raises the power of that drive second by second, while its rate stays."""
    assert efficiency_cell(long_run)[0] == "no interval: it drifts"


def test_the_accuracy_of_a_power_meter_is_in_the_interval_of_iops_per_watt(
    even_runs: list[Run], tmp_path: Path
) -> None:
    copy = tmp_path / "metered"
    copy_of(even_runs[0].path, copy)
    event = {
        "time": "",
        "event": "power",
        "target": EVEN,
        "step": "write",
        "accuracy": 0.2,
    }
    event |= {"joules": 1.0, "half_width_j": 0.1, "interval_s": 1.0}
    with (copy / "journal.jsonl").open("a") as file:
        file.write(json.dumps(event) + "\n")
    assert efficiency_cell(Run(copy))[0].startswith("± 20.")


def test_the_latency_ranges_count_every_io_of_the_window(long_run: Run) -> None:
    found = load(long_run.path).latency_from("twin:samsung-pm9a3-7.68tb", "write", 90.0)
    assert found is not None
    counted, _ = found
    rows = [row for row in long_run.intervals.to_pylist() if row["step"] == "write" and row["start_s"] >= 90]
    assert counted.n == sum(row["n"] for row in rows)
    assert counted.bucket_shares().sum() == pytest.approx(1)


def test_the_percentiles_of_the_window_stand_with_their_intervals(long_run: Run) -> None:
    built = section.build(compare([load(long_run.path)], lambda *_: ()))
    assert built is not None
    rows = {row.label.text: row.cells[0] for row in built.blocks[0].groups[0].rows}  # pyright: ignore[reportAttributeAccessIssue]
    found = load(long_run.path).latency_from("twin:samsung-pm9a3-7.68tb", "write", 90.0)
    assert found is not None
    counted, bounds = found
    median = counted.quantile(0.5)
    assert median is not None
    assert rows["p50"].text == section.grouped(median.us)
    low_us, high_us = bounds["p50_us"]
    assert low_us <= median.us <= high_us
    assert rows["p50"].title == "95 % interval"
    assert rows["p99.999"].text == "n too small"
    assert rows["p99.999"].title == f"needs 10,000,000 I/Os, has {counted.n:,}"


def test_repeats_are_one_column_whose_figures_are_of_all_of_them(even_runs: list[Run]) -> None:
    runs = [load(run.path) for run in even_runs]
    built = section.build(compare(runs, lambda *_: (), pool=True))
    assert built is not None
    table = built.blocks[0]
    rows = {row.label.text: row.cells for row in table.groups[0].rows}  # pyright: ignore[reportAttributeAccessIssue]
    assert all(len(cells) == 1 for cells in rows.values())
    each = [cells(run) for run in even_runs]
    numbers = [float(one["Mean"].replace(",", "")) for one in each]
    assert float(rows["Mean"][0].text.replace(",", "")) == pytest.approx(sum(numbers) / 2, abs=1)
    assert rows["Mean"][0].sub.startswith("± ")
    assert rows["IOPS per watt"][0].sub.startswith("± ")
    assert int(rows["Seconds"][0].text) == sum(int(one["Seconds"]) for one in each)
    assert any("The worst second is the worst of all repeats" in note for note in table.footnotes)  # pyright: ignore[reportAttributeAccessIssue]
    [dots] = [
        block for block in built.blocks if isinstance(block, Figure) and "With several" in block.caption
    ]
    assert len(dots.charts) == 1


def test_of_repeats_the_worst_second_is_that_of_all_and_the_deviation_that_inside_them() -> None:
    rng = np.random.default_rng(3)
    low, high = (level + rng.standard_normal(100) for level in (900.0, 1_100.0))
    both = consistency(low, high)
    assert both is not None
    assert both.n == 200
    assert both.worst == low.min()
    assert both.deviation == pytest.approx(1, rel=0.2), "not the 100 by which the repeats differ"
    assert both.interval is not None
    assert both.interval.low < 900
    assert both.interval.high > 1_100


def test_a_drive_whose_seconds_and_latencies_are_all_alike_has_no_empty_chart(even_runs: list[Run]) -> None:
    runs = [load(run.path) for run in even_runs]
    built = section.build(compare(runs, lambda *_: ()))
    assert built is not None
    figures = [block for block in built.blocks if isinstance(block, Figure)]
    charts = [chart.key for figure in figures for chart in figure.charts]
    assert "beyond" not in charts
    assert "bars-steadiness" not in charts
    assert {"ranges", "bars-efficiency"} <= set(charts)
    assert "±" in built.blocks[0].groups[0].rows[0].cells[0].sub  # pyright: ignore[reportAttributeAccessIssue]


def test_short_runs_have_no_such_section(long_run: Run, tmp_path: Path) -> None:
    method = tmp_path / "short.toml"
    method.write_text(METHOD.replace('"120s"', '"3s"'))
    run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb", out=tmp_path)
    assert section.build(compare([load(run.path)], lambda *_: ())) is None
    assert json.loads((run.path / "run.json").read_text())["status"] == "complete"


def test_an_open_load_that_is_kept_up_with_has_no_consistency_of_its_own(tmp_path: Path) -> None:
    method = tmp_path / "open.toml"
    mixed = METHOD.replace('"write", block', "{ read = 1, write = 1 }, block")
    for text, rate, kept_up in ((METHOD, "200/s", True), (mixed, "200/s", True), (METHOD, "400k/s", False)):
        method.write_text(
            text.replace(
                'load = { iodepth = 1 }, until = { time = "120s" }',
                f'load = {{ rate = "{rate}", iodepth = 1 }}, until = {{ time = "120s" }}',
            )
        )
        run = fathom.run(str(method), "twin:samsung-pm9a3-7.68tb?slice_denominator=256", out=tmp_path)
        assert (section.build(compare([load(run.path)])) is None) is kept_up


def test_a_replay_that_falls_behind_the_recorded_times_has_the_consistency_of_a_busy_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    drawn, trace = Random(1), tmp_path / "app.csv"
    lines = [f"{4250 * n},R,{4096 * drawn.randrange(1 << 32)},4096\n" for n in range(30_000)]
    trace.write_text("time_us,op,offset,size\n" + "".join(lines))
    run = fathom.run("replay", "twin:wd-ultrastar-dc-hc560-20tb", replay=Replay(trace), out=tmp_path)
    seen = compare([load(run.path)], lambda *_: ())
    assert [cell.keeps_up for corner in seen.corners for cell in corner.cells] == [False]
    assert section.build(seen) is not None


def test_a_thinned_scatter_keeps_the_worst_and_the_best_second() -> None:
    rates = np.random.default_rng(1).integers(900, 1100, 21_600)
    rates[12_347], rates[17_003] = 3, 9_000
    whole = Seconds(np.arange(21_600.0), np.ones(21_600), rates)
    dots = thinned(whole, 6)
    assert {3, 9_000} <= {second.n for second in dots}
    assert len(dots) <= 1.2 * len(whole) / 6
    assert [second.start_s for second in dots] == sorted(second.start_s for second in dots)
    assert list(thinned(whole, 1)) == list(whole)


def test_the_window_is_the_last_500_s_or_a_quarter() -> None:
    assert (tail_s(6 * 3600), tail_s(2000), tail_s(180)) == (500, 500, 45)


def test_the_statistics_are_those_of_a_known_series() -> None:
    found = consistency(np.array([90.0, 110.0] * 50))
    assert found is not None
    assert (found.n, found.mean, found.worst) == (100, 100, 90)
    assert found.deviation == pytest.approx(10 * (100 / 99) ** 0.5)
    assert found.steadiness == pytest.approx(1 / found.spread) == pytest.approx(9.95, abs=0.01)
    assert found.p1_over_median == pytest.approx(0.9)


def test_an_even_series_has_no_steadiness_and_a_short_one_no_statistics() -> None:
    even = consistency(np.full(50, 7.0))
    assert even is not None
    assert even.steadiness is None
    assert consistency(np.full(19, 7.0)) is None
    assert consistency(np.zeros(50)) is None


READS = """
schema = "fathom-method/1"
name = "long-reads"
"""
READ = """
[[steps]]
name = "{name}"
label = "4 KiB random read"
job = {{ mix = "read", block = "4KiB", pattern = "uniform", load = {{ iodepth = 4 }}, until = {{ time = "{time}" }} }}
"""


def read_by_a_disk(folder: Path, steps: dict[str, str], seed: int) -> Run:
    method = folder / "long-reads.toml"
    method.write_text(READS + "".join(READ.format(name=name, time=time) for name, time in steps.items()))
    return fathom.run(str(method), "twin:toshiba-mg11-24tb", out=folder, seed=seed)


def test_steps_of_two_lengths_have_windows_of_their_own(tmp_path: Path) -> None:
    runs = [read_by_a_disk(tmp_path, {"read": time}, seed) for seed, time in enumerate(("100s", "160s"))]
    built = section.build(compare([load(run.path) for run in runs], lambda *_: ()))
    assert built is not None
    said = [text.partition(" over ")[2].partition(" of ")[0] for text in built.answer]
    assert said == ["the last 25 s", "the last 40 s"]
    table = built.blocks[0]
    assert isinstance(table, Table)
    assert table.footnotes[0].startswith("Window: the last 25 s or 40 s of the step")
    key = built.key_figure
    assert key is not None
    assert key.sentence.endswith((" over the last 25 s of its reads.", " over the last 40 s of its reads."))


def test_two_steps_of_one_label_have_a_chart_each(tmp_path: Path) -> None:
    run = read_by_a_disk(tmp_path, {"first": "100s", "second": "101s"}, 1)
    built = section.build(compare([load(run.path)], lambda *_: ()))
    assert built is not None
    figures = [block for block in built.blocks if isinstance(block, Figure)]
    keys = [chart.key for figure in figures for chart in figure.charts]
    assert len(set(keys)) == len(keys)
