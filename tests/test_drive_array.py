"""Disks under a file system through a whole run: the table by block size, limits, spread and verdict of the report."""

from dataclasses import replace
from pathlib import Path

import pytest

import fathom
from fathom.analysis.mechanics import Mechanics, limits_of
from fathom.analysis.settled import Unsettled
from fathom.method.method import load_method
from fathom.report import write_html
from fathom.report.blocks import Table
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.disk_bars import by_block
from fathom.report.drive_array import called, called_together, disks, ratio
from fathom.report.sections import block_sizes, disk_verdict
from fathom.report.sections.disk_verdict import DiskVerdict, Speed, WorkloadVerdict, is_certain
from fathom.report.style import grouped
from fathom.runs.document import TargetRecord
from fathom.runs.reader import Run
from fathom.sizing.files import read_prices
from fathom.statistics.uncertainty import Comparison as Ratio

CMR, SMR = "twin:wd-ultrastar-dc-hc560-20tb", "twin:wd-ultrastar-dc-hc650-20tb"
KEPT = (
    *("fill", "64k-seq-read", "1m-seq-read", "1m-seq-write", "4k-rand-read", "64k-rand-read"),
    *("1m-rand-read", "32m-rand-read", "4k-rand-read-one-reader"),
    *("1m-rand-write", "1m-seq-read-scattered"),
)
PRICES = """schema = "fathom-prices/1"
currency = "EUR"
[items."wd-ultrastar-dc-hc560-20tb"]
price = 400
source = "a quote"
[items."wd-ultrastar-dc-hc650-20tb"]
price = 300
source = "a quote"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("disks")
    text = load_method("drive-array-filesystem").text
    head, *steps = text.replace('"10min"', '"5s"').replace('"up to 50GiB"', '"up to 4GiB"').split("[[steps]]")
    kept = [step for step in steps if any(f'name      = "{name}"' in step for name in KEPT)]
    short = folder / "short.toml"
    short.write_text("[[steps]]".join([head, *kept]))
    return fathom.run(str(short), targets=[f"{CMR}*2", f"{SMR}*2"], out=folder)


@pytest.fixture(scope="module")
def comparison(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    prices = tmp_path_factory.mktemp("prices") / "prices.toml"
    prices.write_text(PRICES)
    return compare([load(run.path)], prices=read_prices(prices))


def test_figures_are_of_one_drive_and_targets_are_named_by_what_tells_them_apart(
    comparison: Comparison,
) -> None:
    cmr, smr = disks(comparison)
    assert (cmr.name, smr.name) == ("HC560 (CMR)", "HC650 (host-managed SMR)")
    assert (cmr.drives, cmr.tb) == (2, pytest.approx(20, rel=0.01))
    points = [p for p in comparison.runs[0].points if p.step == "4k-rand-read"]
    [total] = [point.iops for point in points if point.target == cmr.column.target.name]
    assert cmr.value("4k-rand-read") == pytest.approx((total or 0) / 2)
    assert cmr.value("1m-seq-read") == pytest.approx(269.5, rel=0.05)
    found = ratio(smr, cmr, "1m-seq-read")
    assert found is not None
    assert found.low <= 1 <= found.high


def test_the_table_shows_every_block_size_beside_what_is_published(comparison: Comparison) -> None:
    section = block_sizes.build(comparison)
    assert section is not None
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert [len(group.rows) for group in table.groups] == [4, 4, 4, 4]
    assert [item.text for item in table.head] == ["4 KiB", "64 KiB", "1 MiB", "32 MiB"]
    published = {group.title: [cell.text for cell in group.rows[-1].cells] for group in table.groups}
    assert published["Sequential write, MB/s"] == ["≥ 268.3", "272.6", "268.4", "268.4"]
    assert published["Random read, IOPS"] == ["157.0 to 160.0", "157.0 to 160.0", "–", "–"]
    assert published["Random write, IOPS"][1:3] == ["no figure", "no figure"]


def test_bars_and_table_round_a_figure_alike(comparison: Comparison) -> None:
    [first, *others] = disks(comparison)
    odd = 245.354 / (first.value("1m-seq-read") or 1.0)
    cells = dict(first.cells)
    cell = cells["1m-seq-read"]
    cells["1m-seq-read"] = replace(cell, repeats=[rates * odd for rates in cell.repeats])
    figure = by_block([replace(first, cells=cells), *others], {})
    [shown] = [
        row.cells[0].text
        for group in figure.data.groups
        for row in group.rows
        if (group.title, row.label.text) == ("Sequential read", "1 MiB")
    ]
    assert shown == grouped(245.354)


def test_eight_readers_on_a_drive_stand_beside_what_is_published_and_one_beside_that(
    comparison: Comparison,
) -> None:
    cmr, _ = disks(comparison)
    assert cmr.outstanding("4k-rand-read") == pytest.approx(8, rel=0.01)
    assert cmr.outstanding("4k-rand-read-one-reader") == pytest.approx(1, rel=0.01)
    assert "8 readers on each drive let it order their commands: HC560 (CMR) at 4 KiB" in str(
        block_sizes.build(comparison)
    )


def test_what_no_arm_can_do_is_called_memory_and_decides_nothing(comparison: Comparison) -> None:
    cmr, _ = disks(comparison)
    assert cmr.in_memory("1m-rand-write")
    assert not cmr.in_memory("4k-rand-read")
    text = str(block_sizes.build(comparison))
    assert "came out faster than arm and platters can be" in text
    assert "only at the write pointer of a zone" in text
    assert "Commands are re-ordered" in text
    assert "over the full stroke the figure is clearly lower, 85" in text
    assert "not judged: taken in memory" in str(disk_verdict.build(comparison))


def test_figures_of_writes_are_what_reached_the_medium_and_the_cache_stands_beneath(
    comparison: Comparison,
) -> None:
    cmr, smr = disks(comparison)
    for disk in (cmr, smr):
        assert disk.mechanics
        seen, reached = disk.host_iops("1m-rand-write"), disk.iops("1m-rand-write")
        assert seen
        assert reached
        assert reached < 0.9 * seen
        assert reached * 1.048576 <= 1.02 * (disk.mechanics.outer_mbps or 0)
    assert "with the cache" in str(block_sizes.build(comparison))


def test_every_workload_has_the_sources_eight_threads_on_each_disk_and_its_file_is_in_gib() -> None:
    steps = {step.name: step for step in load_method("drive-array-filesystem").steps}
    threads = {name: step.job.threads for name, step in steps.items() if step.kind != "fill"}
    assert {name for name, count in threads.items() if count != 8} == {
        "4k-rand-read-one-reader",
        "64k-rand-read-one-reader",
    }
    assert {step.job.region_on(10**13)[1] for step in steps.values()} == {50 << 30}


def test_no_claim_is_made_of_how_many_threads_the_published_figures_are(comparison: Comparison) -> None:
    text = str(block_sizes.build(comparison))
    assert "figures are those of one thread" not in text
    assert "The source of the method says 8 threads per disk" in text


def test_the_verdict_follows_prices_and_ratios(comparison: Comparison) -> None:
    text = str(disk_verdict.build(comparison))
    assert "A TB of HC650 (host-managed SMR) costs 25 % less than one of HC560 (CMR)." in text
    assert "Each drive saves 100 (EUR): 100,000 over 1,000 drives" in text


def test_a_use_is_answered_by_its_slowest_workload_and_five_percent_decide_nothing(
    comparison: Comparison,
) -> None:
    cmr, smr = disks(comparison)
    ratios = [
        *(Ratio(1.5, 1.4, 1.6, "a"), Ratio(0.97, 0.96, 0.98, "b")),
        *(Ratio(0.98, 0.93, 1.03, "level"), Ratio(0.7, 0.6, 0.8, "b")),
    ]
    judged = {step: WorkloadVerdict(step, found) for step, found in zip("abcd", ratios, strict=True)}
    judgement = DiskVerdict(smr, cmr, judged, [], [])
    assert judgement.answer(["b", "c"]) is Speed.AS_FAST
    assert judgement.answer(["a", "b"]) is Speed.AS_FAST_OR_FASTER
    assert judgement.answer(["b", "d"]) is Speed.SLOWER
    assert judgement.answer(["a", "d"]) is Speed.MIXED
    assert judgement.answer(["never measured"]) is None


@pytest.mark.parametrize(
    ("ratio", "decides"),
    [
        (Ratio(0.98, 0.93, 1.03, "level"), True),
        (Ratio(0.97, 0.45, 1.49, "level"), False),
        (Ratio(0.7, 0.5, 0.9, "b"), True),
    ],
)
def test_a_ratio_whose_interval_holds_1_and_much_else_decides_nothing(ratio: Ratio, decides: bool) -> None:
    assert is_certain(ratio) is decides


def test_workloads_known_too_little_are_named_and_not_counted(comparison: Comparison) -> None:
    text = str(disk_verdict.build(comparison))
    assert "because the ratio's interval includes 1 and reaches beyond 10 %" in text


def test_workloads_whose_load_threads_lacked_cores_are_named_and_not_judged(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = disk_verdict.build(comparison)
    assert before is not None
    assert before.key_figure is not None
    assert not before.key_figure.sentence.startswith("No workload")
    cmr, _ = disks(comparison)
    busy = {(cmr.column.short, step): Unsettled.MACHINE_BUSY for step in cmr.cells}
    monkeypatch.setattr(disk_verdict, "gate", lambda _: busy)
    section = disk_verdict.build(comparison)
    assert section is not None
    assert section.key_figure is not None
    assert section.key_figure.sentence.startswith("No workload of HC650 ")
    assert "Not judged, because one or both had a busy host: " in str(section)
    assert "not judged: machine busy" in str(section)
    cached = {(cmr.column.short, step): Unsettled.PAGE_CACHE for step in cmr.cells}
    monkeypatch.setattr(disk_verdict, "gate", lambda _: cached)
    assert "busy host" not in str(disk_verdict.build(comparison))


def test_the_shipped_prices_are_relative_and_say_so(run: Run, tmp_path: Path) -> None:
    page = write_html([run.path], tmp_path / "report.html").read_text()
    assert "relative prices, 1 = one TB" in page
    assert "Drive by drive" in page
    assert "cut-region" not in page


def test_limits_follow_their_closed_forms() -> None:
    disk = Mechanics(7200, 7400, 206, 269.5, 134.75, "given")
    assert disk.full_stroke_iops == pytest.approx(1e6 / (7400 + 4166.7 + 206), rel=1e-4)
    assert disk.most_iops(1, 4096) == pytest.approx(240, rel=1e-3)
    assert disk.most_iops(64, 1 << 20) == pytest.approx(269.5e6 / (1 << 20))
    real = TargetRecord(
        name="/dev/sdb", kind="device", label="d", capacity_bytes=1, identity={"rotational": True}
    )
    limits = limits_of(real)
    assert limits is not None
    assert limits.basis.startswith("assumed")
    assert limits_of(real.model_copy(update={"identity": {"rotational": False}})) is None


def test_all_blocks_of_a_kind_are_named_at_once() -> None:
    steps = ["4k-seq-write", "64k-seq-write", "1m-seq-write", "32m-seq-write", "64k-rand-write"]
    assert called("64k-rand-read-one-reader") == "64 KiB random read, one reader on each drive"
    assert called("1m-seq-read-scattered") == "1 MiB sequential read of the scattered file"
    assert called_together(steps) == "all sequential writes and 64 KiB random write"
