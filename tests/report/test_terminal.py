"""The terminal's summary of many workloads: as short as they allow, with nothing of a table lost."""

import io
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import pytest
from rich.console import Console

import fathom
from fathom.analysis.settled import Unsettled
from fathom.catalog import load_device
from fathom.prediction.interval import coverage, spread_of
from fathom.prediction.misses import shipped_misses
from fathom.prediction.words import range_words
from fathom.report import print_table
from fathom.report.blocks import Table
from fathom.report.built import Built
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import gate
from fathom.report.published import fitted_words
from fathom.report.sections import corners
from fathom.report.style import grouped
from fathom.report.terminal import print_built
from fathom.runs.document import NoteRecord
from fathom.runs.reader import Run
from fathom.statistics.limits import Busy, Limit, LimitKind, limit_in, meanings

PM9A3, SN861 = "twin:samsung-pm9a3-7.68tb", "twin:wd-ultrastar-dc-sn861-7.68tb"
DEPTHS = (1, 2, 4, 8, 16, 32)
METHOD = """
schema = "fathom-method/1"
name = "depths"
""" + "".join(
    f"""
[[steps]]
name = "read-{depth}"
label = "4 KiB random read, 1T/{depth}Q"
job = {{ mix = "read", block = "4KiB", pattern = "uniform", load = {{ iodepth = {depth} }}, until = {{ time = "1s" }} }}
"""
    for depth in DEPTHS
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    method = folder / "depths.toml"
    method.write_text(METHOD)
    return [
        fathom.run(str(method), targets=targets, out=folder / str(len(targets)))
        for targets in ([PM9A3], [PM9A3, SN861])
    ]


def printed(runs: Sequence[Path], width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    print_table(console, runs)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_each_workload_of_one_target_takes_a_line_with_its_figure_and_its_limit(runs: list[Run]) -> None:
    lines = printed([runs[0].path])
    assert lines[0] == "Samsung PM9A3, twin"
    for depth, row in zip(DEPTHS, runs[0].points.to_pylist(), strict=True):
        [line] = [line for line in lines if line.startswith(f"4 KiB random read, 1T/{depth}Q ")]
        assert f"{row['iops']:,.0f}" in line
        assert "IOPS" in line
        assert line.rstrip().endswith(getattr(limit_in(row), "name", ""))


@pytest.mark.parametrize(("count", "lines"), [(3, 3), (20, 1)])
def test_errors_of_one_rule_in_many_steps_are_one_line_with_the_steps_counted(
    runs: list[Run], count: int, lines: int
) -> None:
    one = load(runs[0].path)
    one.document.notes += [
        NoteRecord(
            rule="page-cache", level="error", target=PM9A3, step=f"s{number}", text=f"only {number} arrived"
        )
        for number in range(count)
    ]
    console = Console(width=200, file=io.StringIO())
    print_built(console, Built([runs[0].path], compare([one]), []))
    assert isinstance(console.file, io.StringIO)
    errors = [line for line in console.file.getvalue().splitlines() if line.startswith("error: ")]
    assert len(errors) == lines
    assert ("with other figures in 19 other steps" in errors[0]) == (count == 20)


def test_one_or_two_workloads_have_their_latency_below_the_rate(tmp_path: Path) -> None:
    text = (
        'schema = "fathom-method/1"\nname = "mix"\n[[steps]]\nname = "mix"\njob = { mix = { read = 70, write = 30 }, '
        'block = "4KiB", pattern = "uniform", load = { iodepth = 8 }, until = { time = "1s" } }\n'
    )
    run = fathom.run(text, "twin:samsung-pm9a3-7.68tb?slice_denominator=2048", out=tmp_path)
    lines = "\n".join(printed([run.path]))
    assert lines.count("  mean ") + lines.count("\nmean ") == 2
    assert "Below each figure: mean latency and p99, what limited it." in lines
    mean_us = {row["op"]: row["mean_us"] for row in run.points.to_pylist()}
    assert all(f"mean {grouped(us)} us" in lines for us in mean_us.values())


def test_the_legend_names_no_p99_where_a_step_has_too_few_ios_for_one(tmp_path: Path) -> None:
    text = (
        'schema = "fathom-method/1"\nname = "few"\n[[steps]]\nname = "few"\njob = { mix = "read", block = "4KiB", '
        'pattern = "uniform", load = { iodepth = 1 }, until = { count = 500 } }\n'
    )
    run = fathom.run(text, "twin:samsung-pm9a3-7.68tb?slice_denominator=2048", out=tmp_path)
    lines = "\n".join(printed([run.path]))
    assert "p99" not in lines
    assert "Below each figure: mean latency, what limited it." in lines


@pytest.mark.parametrize(
    ("count", "said"), [(1, "may be fitted to it, so"), (2, "may be fitted to them, so")]
)
def test_published_figures_for_calibration_are_counted_in_the_right_number(count: int, said: str) -> None:
    assert said in fitted_words(count)


def test_a_name_of_a_limit_that_says_more_than_is_known_is_explained() -> None:
    budget = Limit(LimitKind.SATURATED, Busy("program power budget", 1, 1.0, 1.0))
    dies = Busy("flash dies", 128, 0.9, 0.9)
    [meaning] = meanings([None, Limit(LimitKind.SATURATED, dies), budget, budget])
    assert "no measured power" in meaning
    assert meanings([Limit(LimitKind.SATURATED, dies, next=budget.resource)]) == [meaning]
    assert meanings([None, Limit(LimitKind.SATURATED, dies)]) == []


@pytest.mark.parametrize("width", [80, 100])
def test_each_workload_of_two_targets_takes_a_line_and_limits_are_counted_beneath(
    runs: list[Run], width: int
) -> None:
    lines = printed([runs[1].path], width)
    rows = runs[1].points.to_pylist()
    for depth in DEPTHS:
        [line] = [line for line in lines if line.startswith(f"4 KiB random read, 1T/{depth}Q ")]
        assert all(f"{row['iops']:,.0f}" in line for row in rows if row["step"] == f"read-{depth}")
    text = " ".join(lines)
    for short, target in (("Samsung PM9A3", PM9A3), ("WD Ultrastar DC SN861", SN861)):
        limits = Counter(getattr(limit_in(row), "name", "") for row in rows if row["target"] == target)
        [(most, times), *others] = limits.most_common()
        assert f"{short} is limited by {most} in {times} workloads" in text
        assert all(f"{name} in {count}" in text for name, count in others)


def test_workloads_whose_figures_are_not_claimed_are_named_with_the_reason(
    runs: list[Run], settled: Run
) -> None:
    text = " ".join(line.strip() for line in printed([runs[0].path]))
    named = "; ".join(f"4 KiB random read, 1T/{depth}Q" for depth in DEPTHS[:4])
    assert f"Not claimed (not settled): {named} and 2 more." in text
    assert "4 KiB random read, 1T/1Q of Samsung PM9A3" in " ".join(printed([runs[1].path]))
    assert "Not claimed" not in " ".join(printed([settled.path]))


def test_repeats_have_their_interval_on_the_line_of_the_workload(tmp_path: Path) -> None:
    method = tmp_path / "depths.toml"
    method.write_text(METHOD)
    paths = [
        fathom.run(str(method), targets=[PM9A3], seed=seed, out=tmp_path / str(seed)).path
        for seed in (1, 2, 3)
    ]
    console = Console(width=80, file=io.StringIO())
    print_table(console, paths, pool=True)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "Samsung PM9A3, twin, 3 repeats"
    assert "± 95 %" in lines[1]
    assert all("±" in line for line in lines if line.startswith("4 KiB random read"))


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run("four-corners", targets=[PM9A3], out=tmp_path_factory.mktemp("settled"))


def test_twins_have_the_range_that_measurements_are_expected_in_and_measured_targets_have_none(
    runs: list[Run], settled: Run, tmp_path: Path
) -> None:
    spread = spread_of(load_device(PM9A3.removeprefix("twin:")), 4096)
    assert spread is not None
    text = " ".join(" ".join(printed([settled.path], 200)).split())
    assert text.count("Expect 80 % of measurements within") == 1
    assert f"{range_words(spread)} for blocks up to 8 KiB" in text
    record = coverage(shipped_misses(), device=PM9A3.removeprefix("twin:"))
    assert record is not None
    assert (
        f"Ranges for blocks of all sizes hold these published rates: {record.held} of {record.rows} of Samsung PM9A3."
        in text
    )
    weaker = fathom.run("four-corners", targets=[f"{PM9A3}?programming_dies_max=40"], out=tmp_path)
    assert "these published rates" not in " ".join(printed([weaker.path], 200)), (
        "they are of the drive as it is sold"
    )
    wider = spread_of(load_device(SN861.removeprefix("twin:")), 4096)
    assert wider is not None
    other = fathom.run("four-corners", targets=[SN861], out=tmp_path)
    both = " ".join(" ".join(printed([settled.path, other.path], 200)).split())
    assert both.count("Expect 80 %") == 1
    assert range_words(max(spread, wider, key=lambda one: one.factor)) in both
    assert "Expect 80 %" not in " ".join(printed([runs[0].path], 200)), "its rates have not settled"
    method = tmp_path / "depths.toml"
    method.write_text(METHOD)
    nothing = fathom.run(str(method), targets=["null:"], out=tmp_path)
    unsettled = set(gate(compare([load(nothing.path)])).values())
    assert unsettled <= {Unsettled.MACHINE_BUSY}, "only a settled rate could have a range"
    assert "Expect 80 %" not in " ".join(printed([nothing.path], 200))


READS = """
schema = "fathom-method/1"
name = "reads"
[[steps]]
name = "reads"
job = { mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, until = { time = "1s" } }
"""


def test_a_twin_without_a_range_is_named_beside_the_range_of_the_others(settled: Run, tmp_path: Path) -> None:
    method = tmp_path / "reads.toml"
    method.write_text(READS)
    other = fathom.run(str(method), targets=["twin:toshiba-mg11-24tb"], out=tmp_path)
    text = " ".join(" ".join(printed([settled.path, other.path], 200)).split())
    assert "No range is known for Toshiba MG11 · B." in text
    assert "No range is known" not in " ".join(printed([settled.path], 200))


def number(text: str) -> float:
    """Reads `5,750`, `953k` or `1.2M`."""
    scale = {"k": 1e3, "M": 1e6}.get(text[-1], 1)
    return float(text.rstrip("kM").replace(",", "")) * scale


def test_the_results_table_shows_the_range_of_each_settled_rate_of_a_twin(
    runs: list[Run], settled: Run
) -> None:
    comparison = compare([load(settled.path)])
    section = corners.build(comparison)
    assert section is not None
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    place = [head.text for head in table.head].index(corners.PREDICTED)
    shown = [row.cells[place] for row in table.groups[0].rows]
    for one, point in zip(shown, settled.points.to_pylist(), strict=True):
        spread = spread_of(load_device(PM9A3.removeprefix("twin:")), point["block_bytes"])
        assert spread is not None
        low, high = (number(bound) for bound in one.text.split(" to "))
        rate = point["mbps"] if point["block_bytes"] == 256 * 1024 else point["iops"]
        assert sqrt(low * high) == pytest.approx(rate, rel=0.02)
        assert sqrt(high / low) == pytest.approx(spread.factor, rel=0.03)
    assert all("published rates" in one.title for one in shown)
    assert any(corners.PREDICTED in note for note in table.footnotes)
    unsettled = corners.build(compare([load(runs[0].path)]))
    assert unsettled is not None
    [bare] = [block for block in unsettled.blocks if isinstance(block, Table)]
    assert corners.PREDICTED not in [head.text for head in bare.head]
