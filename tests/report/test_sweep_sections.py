"""Sections over what a method sweeps: mixes, depths, and what a GPU would be fed; on runs of small methods."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from rich.console import Console

import fathom
from fathom.analysis.settled import Unsettled
from fathom.report import print_table
from fathom.report.axes import from_zero, log_ticks
from fathom.report.blocks import Answer, Figure, Item, Points, Section, Table
from fathom.report.charts import Line
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.sections import build_all, depths, gpu_feed, mixes
from fathom.report.sweeps import claimed
from fathom.report.sweeps import swept as swept_steps
from old_runs import without_checksums

T = TypeVar("T")
PM9A3 = "twin:samsung-pm9a3-7.68tb"
HEAD = """
schema = "fathom-method/1"
name = "{name}"
[[steps]]
name = "fill"
kind = "fill"
job = {{ mix = "write", block = "128KiB", pattern = "sequential", load.iodepth = 32, until.written = "1x" }}
"""
SWEEP = """
[[steps]]
name = "rnd"
sweep = [
  { key = "load.iodepth", values = [1, 4, 16, 64] },
  { key = "mix", names = ["r100", "r70", "r30", "r0"], values = [
    "read", { read = 70, write = 30 }, { read = 30, write = 70 }, "write",
  ] },
]
job = { block = "4KiB", pattern = "uniform", load = { iodepth = 1 }, until = { time = "200ms" } }
"""
READS = """
[[steps]]
name = "{name}"
workload = "{name}"
job = {{ mix = "read", block = "1MiB", pattern = "{pattern}", load = {{ iodepth = 16 }}, until = {{ time = "1s" }} }}
"""


def run_of(text: str, folder: Path, target: str = PM9A3) -> Comparison:
    method = folder / "method.toml"
    method.write_text(text)
    return compare([load(fathom.run(str(method), target, out=folder).path)], lambda *_: ())


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return run_of(HEAD.format(name="swept") + SWEEP, tmp_path_factory.mktemp("swept"))


def block(section: Section | None, kind: type[T]) -> T:
    assert section is not None
    return next(one for one in section.blocks if isinstance(one, kind))


def number(item: Item) -> float:
    return float(item.text.replace(",", ""))


def test_depths_are_drawn_for_each_mix_and_held_against_little_s_law(swept: Comparison) -> None:
    figure = block(depths.build(swept), Figure)
    assert [chart.title for chart in figure.charts[::2]] == [
        "4 KiB random read",
        "4 KiB random, 70 % read",
        "4 KiB random, 30 % read",
        "4 KiB random write",
    ]
    for group in figure.data.groups:
        assert [row.label.text for row in group.rows] == ["1", "4", "16", "64"]
        for row in group.rows:
            rate, _, _, mean_us, _, in_flight, _ = row.cells
            gap = number(rate) * number(mean_us) / 1e6 / float(row.label.text) - 1
            assert (in_flight.tone == "bad") == (abs(gap) > 0.05)
    assert not any(row.cells[5].tone for row in figure.data.groups[0].rows), "reads at an even rate obey it"


def test_a_rate_that_does_not_fit_its_latency_is_marked(swept: Comparison) -> None:
    run = swept.columns[0].run
    wrong = replace(run, points=[replace(point, mean_us=1.3 * (point.mean_us or 0)) for point in run.points])
    figure = block(depths.build(compare([wrong], lambda *_: ())), Figure)
    tones = [row.cells[5].tone for group in figure.data.groups for row in group.rows]
    assert tones
    assert set(tones) == {"bad"}


def test_a_short_window_may_differ_by_what_is_under_way_at_its_ends(swept: Comparison) -> None:
    run = swept.columns[0].run
    short = [replace(point, mean_us=1.3 * (point.mean_us or 0), window_s=1e-5) for point in run.points]
    figure = block(depths.build(compare([replace(run, points=short)], lambda *_: ())), Figure)
    assert not any(row.cells[5].tone for group in figure.data.groups for row in group.rows)


def test_the_sentence_names_the_depth_that_is_enough(swept: Comparison) -> None:
    told = block(depths.build(swept), Points).texts
    assert "4 KiB random read: still rising at depth 64" in told[0]
    assert "asymptotes cross at" in told[0]


def test_sentences_on_depths_and_mixes_claim_no_rate_of_what_had_not_settled(swept: Comparison) -> None:
    """The sweep fills the drive and does not write it at random: only its reads are those of a settled drive."""
    why = "random writes had not come to the size of its region"
    name = swept.columns[0].label
    by_depth = block(depths.build(swept), Points).texts
    assert by_depth[1:] == [
        f"{name}, 4 KiB random{which}: the target had not settled ({why}), so no rate is claimed."
        for which in (", 70 % read", ", 30 % read", " write")
    ]
    by_share = block(mixes.build(swept), Points).texts
    assert by_share == [
        f"{name}, 4 KiB random, 1T/{depth}Q: the target had not settled in 3 of 4 steps ({why}), so no rate is claimed."
        for depth in (1, 4, 16, 64)
    ]


def test_a_page_opens_with_the_first_workload_whose_depth_is_claimed(tmp_path: Path) -> None:
    """Random writes come first in the method; only the reads are those of a settled drive."""
    writes_first = SWEEP.replace('["r100", "r70", "r30", "r0"]', '["r0", "r100"]').replace(
        '"read", { read = 70, write = 30 }, { read = 30, write = 70 }, "write",', '"write", "read",'
    )
    section = depths.build(run_of(HEAD.format(name="writes-first") + writes_first, tmp_path))
    assert section is not None
    assert section.key_figure is not None
    assert "still gains at depth 64" in section.key_figure.sentence
    assert isinstance(section.key_figure.block, Figure)
    assert section.key_figure.block.charts[0].title == "4 KiB random read"
    assert section.key_figure.reasons[0] == (
        "No target had settled in 4 KiB random write, so no depth is claimed."
    )


def test_a_page_without_a_claim_opens_with_the_reasons_of_its_own_workload(
    swept: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = swept_steps(swept)
    out = {
        (one.column.short, one.halves[0].step): Unsettled.MACHINE_BUSY
        if one.read_pct == 100
        else Unsettled.BRIEF
        for one in steps
    }
    monkeypatch.setattr(depths, "gate", lambda _: out)
    section = depths.build(swept)
    assert section is not None
    assert section.key_figure is not None
    assert (
        section.key_figure.sentence
        == "Every target had a busy host in 4 KiB random read, so no depth is claimed."
    )


def test_points_of_mixes_that_had_not_settled_are_hollow_and_the_caption_says_so(swept: Comparison) -> None:
    figure = block(mixes.build(swept), Figure)
    assert "Hollow: not claimed, for the reason that the findings give" in figure.caption
    points = json.loads(json.dumps(figure.charts[0].option))["series"][0]["data"]
    assert [isinstance(point, dict) for point in points] == [True, True, True, False]


def test_enough_settled_steps_keep_their_sentence_beside_what_is_not_claimed(swept: Comparison) -> None:
    steps = [one for one in swept_steps(swept) if one.read_pct == 100]
    key = (steps[0].column.short, steps[-1].halves[0].step)
    left, text = claimed(steps, {key: Unsettled.NOT_FILLED}, 3, "Drive, reads")
    assert left == steps[:-1]
    assert text == (
        "Drive, reads: the target had not settled in 1 of 4 steps (the run had left part of its region unwritten), "
        "so no rate of those is claimed."
    )


def test_mixes_are_drawn_for_each_depth_with_a_map_over_both(swept: Comparison) -> None:
    section = mixes.build(swept)
    figure, chart_map = block(section, Figure), block(section, Table)
    assert {chart.sub for chart in figure.charts} == {
        "IOPS, reads and writes",
        "mean read latency, us",
        "mean write latency, us",
        "p99 read latency, us",
    }
    assert [item.text for item in chart_map.head] == ["0 %", "30 %", "70 %", "100 %"]
    rows = chart_map.groups[0].rows
    assert [row.label.text for row in rows] == [f"4 KiB random, 1T/{depth}Q" for depth in (1, 4, 16, 64)]
    heats = [cell.heat for row in rows for cell in row.cells]
    assert min(heat for heat in heats if heat is not None) == 0
    assert max(heat for heat in heats if heat is not None) == 1


def test_halves_of_a_mix_add_to_what_is_given_together(swept: Comparison) -> None:
    rows = [row for group in block(mixes.build(swept), Figure).data.groups for row in group.rows]
    assert any("–" not in (cell.text for cell in row.cells[2:4]) for row in rows)
    for row in rows:
        halves = [number(cell) for cell in row.cells[2:4] if cell.text != "–"]
        assert sum(halves) == pytest.approx(number(row.cells[0]), abs=2)


def test_a_gpu_takes_as_many_drives_as_its_link_over_what_one_sustains(tmp_path: Path) -> None:
    reads = "".join(
        READS.format(name=name, pattern=pattern)
        for name, pattern in (("1m-seq-read", "sequential"), ("1m-brick-read", "uniform"))
    )
    section = gpu_feed.build(run_of(HEAD.format(name="gpu-feed") + reads, tmp_path))
    sustained, needed = block(section, Table).groups
    gbps = min(float(row.cells[0].text) for row in sustained.rows[:2])
    assert [row.cells[0].text for row in needed.rows] == [
        f"{-(-rate // (derate * gbps)):.0f}" for rate in (64, 3.18) for derate in (1.0, 0.9)
    ]
    assert section is not None
    assert f"sustains {gbps:.2f} GB/s: 10 drives" in section.answer[0]
    assert (
        "64 GB/s published for one H100, more than its PCIe 5.0 x16 carries (63.0 GB/s raw)"
        in section.answer[0]
    )


def test_nothing_is_said_to_be_sustained_of_a_drive_that_was_never_filled(tmp_path: Path) -> None:
    head = "\n".join(line for line in HEAD.format(name="gpu-feed").split("[[steps]]")[:1])
    section = gpu_feed.build(run_of(head + READS.format(name="1m-seq-read", pattern="sequential"), tmp_path))
    assert section is not None
    assert "not settled (the run had left part of its region unwritten)" in section.answer[0]
    assert "sustains" not in section.answer[0]


def test_reads_that_ended_in_a_gpu_are_held_against_what_copies_to_it_reach(tmp_path: Path) -> None:
    method = tmp_path / "method.toml"
    method.write_text(HEAD.format(name="gpu-feed") + READS.format(name="1m-seq-read", pattern="sequential"))
    run = fathom.run(str(method), PM9A3, out=tmp_path)

    def section() -> Section | None:
        return gpu_feed.build(compare([load(run.path)], lambda *_: ()))

    def says_of_copies_at(gbps: float, *, typed: bool = True) -> None:
        aspects = {
            "GPU": "NVIDIA H100 80GB HBM3, PCIe 32.0 GT/s x16",
            "copies to the GPU alone": f"{gbps} GB/s",
        }
        event = {"time": "", "event": "setup", "target": PM9A3, "step": "1m-seq-read", "setup": aspects}
        if typed:
            gpu = {"name": "NVIDIA H100 80GB HBM3", "link": "32.0 GT/s x16", "copy_bytes_per_s": gbps * 1e9}
            event |= {"gpu": gpu}
        with (run.path / "journal.jsonl").open("a") as journal:
            journal.write(json.dumps(event) + "\n")

    def end_of_reads() -> Item:
        return block(section(), Table).groups[0].rows[-1].cells[0]

    assert end_of_reads().text == "host memory"
    without_checksums(run.path)
    before = (run.path / "journal.jsonl").read_bytes()
    says_of_copies_at(55.0)
    assert (end_of_reads().text, end_of_reads().sub) == ("GPU memory", "copies alone 55.0 GB/s")
    built = section()
    gbps = float(block(built, Table).groups[0].rows[0].cells[0].text)
    assert built is not None
    assert (
        "(NVIDIA H100 80GB HBM3, PCIe 32.0 GT/s x16); copies to it alone reach 55.0 GB/s" in built.answer[1]
    )
    assert f"which {-(-55 // gbps):.0f} such drives fill" in built.answer[1]
    (run.path / "journal.jsonl").write_bytes(before)
    says_of_copies_at(7.0)
    built = section()
    assert built is not None
    assert f"these take {100 * gbps / 7:.0f} % of it: the way to the GPU limits" in built.answer[1]
    (run.path / "journal.jsonl").write_bytes(before)
    says_of_copies_at(7.0, typed=False)
    built = section()
    assert built is not None
    assert (end_of_reads().text, end_of_reads().sub) == ("GPU memory", "copies alone 7.0 GB/s")
    assert not any("the way to the GPU limits" in text for text in built.answer)


def test_the_page_and_the_terminal_say_first_what_the_run_answers(swept: Comparison) -> None:
    built = build_all(swept)
    told = block(built[0], Answer).texts
    assert built[0].blocks[0] == Answer(told)
    assert told == [*block(depths.build(swept), Points).texts, *block(mixes.build(swept), Points).texts]
    console = Console(width=200, record=True, file=io.StringIO())
    print_table(console, [swept.runs[0].run.path], lambda *_: ())
    shown = " ".join(console.export_text().split())
    assert " ".join(told[0].split()) in shown
    assert "more sentences are in the report" in shown


def test_runs_of_other_methods_and_of_few_steps_have_no_such_section(tmp_path: Path) -> None:
    comparison = run_of(HEAD.format(name="few") + READS.format(name="read", pattern="uniform"), tmp_path)
    assert [section.build(comparison) for section in (depths, mixes, gpu_feed)] == [None, None, None]


def test_settled_rates_of_twins_have_whiskers_and_the_range_that_measurements_lie_in(
    swept: Comparison,
) -> None:
    spread = swept.columns[0].spread("step", 4096)
    assert spread is not None
    for section in (depths.build(swept), mixes.build(swept)):
        figure = found_figure(section)
        options = {chart.key: json.loads(json.dumps(chart.option)) for chart in figure.charts}
        drawn = {key: option for key, option in options.items() if "markLine" in json.dumps(option)}
        assert {key.rpartition("-")[2] for key in drawn} == {"iops"}
        for option in drawn.values():
            [series] = option["series"]
            rates = dict(series["data"])
            whiskers = series["markLine"]["data"]
            assert 0 < len(whiskers) <= len(rates)
            for low, high in whiskers:
                rate = rates[low["coord"][0]]
                ends = (low["coord"][1], high["coord"][1])
                assert ends == pytest.approx((rate / spread.factor, rate * spread.factor), 1e-4)
                assert option["yAxis"]["max"] >= high["coord"][1]
        assert "80 % of measurements" in figure.caption
        assert "Measured, 80 % expected" in [head.text for head in figure.data.head]


def test_what_was_measured_has_no_whiskers(swept: Comparison) -> None:
    [column] = swept.columns
    measured = replace(column, target=column.target.model_copy(update={"kind": "file"}))
    section = depths.build(replace(swept, columns=[measured]))
    assert "markLine" not in json.dumps([chart.option for chart in found_figure(section).charts])
    assert "Measured, 80 % expected" not in [head.text for head in found_figure(section).data.head]


def found_figure(section: Section | None) -> Figure:
    """The figure of a section."""
    assert section is not None
    return next(block for block in section.blocks if isinstance(block, Figure))


@pytest.mark.parametrize(
    ("most", "high", "step"), [(2.34e6, 2.5e6, 5e5), (292_000, 300_000, 50_000), (1.0, 1.0, 0.2)]
)
def test_an_axis_from_zero_ends_at_a_round_figure(most: float, high: float, step: float) -> None:
    axis = from_zero(most, "count")
    assert (axis.low, axis.high, axis.step) == (0, pytest.approx(high), pytest.approx(step))


def test_a_whisker_may_be_the_highest_of_a_line() -> None:
    assert Line("x", 0, [(1.0, 2.0), (2.0, None)], whiskers=[(1.0, 1.0, 3.0)]).highest == 3.0
    assert Line("x", 0, [(1.0, None)]).highest == 0.0
    assert from_zero(0.0, "count").high is None


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1.0, 1000.0, [1, 10, 100, 1000]),
        (10.0, 500.0, [10, 20, 50, 100, 200, 500]),
        (100.0, 200.0, [100, 150, 200]),
        (None, 200.0, []),
    ],
)
def test_a_log_axis_has_figures_enough_to_be_read(low: float | None, high: float, ticks: list[float]) -> None:
    assert list(log_ticks(low, high)) == pytest.approx(ticks)


def test_on_the_first_screen_what_had_not_settled_is_hollow_and_says_so(swept: Comparison) -> None:
    run = swept.columns[0].run
    writes = compare(
        [replace(run, points=[point for point in run.points if point.read_pct == 0])], lambda *_: ()
    )
    hollow = [_hollow(depths.build(one)) for one in (swept, writes)]
    assert hollow == [False, True]


def test_a_rate_that_still_grows_has_no_ring_that_says_more_only_waits(swept: Comparison) -> None:
    section = depths.build(swept)
    assert section is not None
    assert section.key_figure is not None
    assert "still gains" in section.key_figure.sentence
    assert isinstance(section.key_figure.block, Figure)
    assert "Ring" not in section.key_figure.block.caption
    assert "markPoint" not in json.dumps([chart.option for chart in section.key_figure.block.charts])


def _hollow(section: Section | None) -> bool:
    """Whether the first figure of a section has hollow points; its caption says the same."""
    assert section is not None
    assert section.key_figure is not None
    figure = section.key_figure.block
    assert isinstance(figure, Figure)
    drawn = "borderWidth" in json.dumps([chart.option for chart in figure.charts])
    assert drawn == ("Hollow" in figure.caption)
    return drawn


def test_steps_that_warm_up_have_no_row_of_results(tmp_path: Path) -> None:
    steps = [READS.format(name=name, pattern="uniform") for name in ("warm-up", "reads")]
    comparison = run_of(HEAD.format(name="warming") + "".join(steps), tmp_path)
    assert {point.workload for point in comparison.runs[0].points} == {"warm-up", "reads"}
    assert [corner.label for corner in comparison.corners] == ["reads"]


def test_drives_for_a_gpu_have_the_range_that_the_rate_of_a_twin_has(tmp_path: Path) -> None:
    reads = READS.format(name="1m-seq-read", pattern="sequential")
    section = gpu_feed.build(run_of(HEAD.format(name="gpu-feed") + reads, tmp_path))
    assert section is not None
    assert section.key_figure is not None
    assert "80 % of measurements need 9 to 12." in section.answer[0]
    assert "Over the range of measurements, Samsung PM9A3 needs 9 to 12." in section.key_figure.reasons


PARTS_OF_READS = SWEEP.replace('["r100", "r70", "r30", "r0"]', '["r80", "r70", "r30", "r0"]').replace(
    '"read", { read = 70', "{ read = 80, write = 20 }, { read = 70"
)


def test_what_writes_cost_reads_is_said_only_where_reads_were_measured_alone(tmp_path: Path) -> None:
    section = mixes.build(
        run_of(HEAD.format(name="parts") + PARTS_OF_READS, tmp_path, f"{PM9A3}?settled_share=1")
    )
    assert section is not None
    assert section.key_figure is not None
    assert not any(" make the reads of " in text for text in section.key_figure.reasons)
    assert any(" is slowest at " in text for text in section.key_figure.reasons)


DEPTHS_OF = """
[[steps]]
name = "{op}"
sweep = [{{ key = "load.iodepth", values = [1, 2, 4, 8] }}]
job = {{ mix = "{op}", block = "4KiB", pattern = "uniform", load = {{ iodepth = 1 }}, until = {{ time = "50ms" }} }}
"""


def test_depths_of_two_operations_are_two_workloads_under_their_own_names(tmp_path: Path) -> None:
    steps = "".join(DEPTHS_OF.format(op=op) for op in ("write", "trim"))
    section = depths.build(run_of(HEAD.format(name="operations") + steps, tmp_path))
    titles = [group.title.partition(":")[0] for group in block(section, Figure).data.groups]
    assert titles == ["4 KiB random write", "4 KiB random trim"]


def test_a_target_without_mixes_has_no_map(swept: Comparison, tmp_path: Path) -> None:
    other = run_of(HEAD.format(name="reads") + READS.format(name="reads", pattern="uniform"), tmp_path)
    section = mixes.build(compare([*swept.runs, *other.runs], lambda *_: ()))
    assert section is not None
    assert all(one.groups[0].rows for one in section.blocks if isinstance(one, Table))
