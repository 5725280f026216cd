"""Twins of systems through whole runs: the drive beside its shelf, clients built in, tables beside published rows."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import fathom
from fathom.analysis.balance import jain
from fathom.errors import UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method
from fathom.plan.baseline import with_baselines
from fathom.report import write_html
from fathom.report.blocks import Answer, Figure, Table
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.findings import finding_texts
from fathom.report.published import catalogue
from fathom.report.sections import added_latency, balance, build_all, cluster
from fathom.runs.reader import Run
from fathom.validation.validate import devices_to_validate

SHELF = "twin:atto-xstreamcore-9400"
DRIVE = "twin:wd-ultrastar-dc-sn640-3.2tb"
CLUSTER = "twin:weka-6x-micron-7450-pro"


def shortened(name: str, keep: tuple[str, ...], folder: Path) -> Path:
    """The built-in method with only the steps whose names start so."""
    text = load_method(name).text
    head, *steps = text.split("[[steps]]")
    kept = [step for step in steps if any(f'name     = "{start}' in step for start in keep)]
    path = folder / f"{name}.toml"
    path.write_text("[[steps]]".join([head, *kept]))
    return path


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("shelf")
    method = shortened("added-latency", ("fill", "settle", "4k-rand-read"), folder)
    return fathom.run(str(method), targets=[SHELF, DRIVE], out=folder)


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("cluster")
    method = shortened(
        "cluster-scaling",
        ("fill", "4k-rand-read-q1", "4k-rand-read-q8", "4k-rand-50r50w-q8", "1m-seq-read"),
        folder,
    )
    return fathom.run(str(method), targets=[CLUSTER], out=folder)


def iops(run: Run, target: str, step: str) -> float:
    return sum(
        row["iops"] for row in run.points.to_pylist() if (row["target"], row["step"]) == (target, step)
    )


def test_a_shelf_is_measured_beside_its_drive() -> None:
    targets = resolve_targets([SHELF])
    assert [one.name for one in with_baselines(load_method("added-latency"), targets)] == [SHELF, DRIVE]
    assert [one.name for one in with_baselines(load_method("four-corners"), targets)] == [SHELF]
    both = resolve_targets([SHELF, DRIVE])
    assert [one.name for one in with_baselines(load_method("added-latency"), both)] == [SHELF, DRIVE]


def test_a_shelf_meets_its_link_and_predicts_the_latency_beyond_it(shelf: Run) -> None:
    rows = {(row["target"], row["step"]): row for row in shelf.points.to_pylist()}
    fitted, predicted = rows[SHELF, "4k-rand-read-3x32"], rows[SHELF, "4k-rand-read-2x64"]
    assert fitted["iops"] == pytest.approx(3_421_239, rel=0.03)
    assert (predicted["iops"], predicted["mean_us"]) == (
        pytest.approx(3_410_432, rel=0.03),
        pytest.approx(149, rel=0.03),
    )
    assert predicted["limited_by"].startswith("internal link (read)")
    assert predicted["outstanding"] == pytest.approx(4 * 2 * 64, rel=0.01)
    assert rows[DRIVE, "4k-rand-read-1x128"]["iops"] == pytest.approx(638_134, rel=0.03)


def test_a_shelf_needs_no_settling_and_says_where_time_goes(shelf: Run) -> None:
    ran = {(row["target"], row["step"]) for row in shelf.intervals.to_pylist()}
    assert {target for target, step in ran if step == "settle-4k-rand-write"} == {DRIVE}
    assert not [target for target, step in ran if step == "fill"]
    times = load(shelf.path).times_us(SHELF, "4k-rand-read-2x64")
    assert times["controller"] == pytest.approx(2.5, abs=0.3)
    assert sum(times.values()) == pytest.approx(149, rel=0.05)


def test_a_drive_that_begins_settled_is_steady_after_a_few_rounds(shelf: Run) -> None:
    settling = [row for row in shelf.intervals.to_pylist() if row["step"] == "settle-4k-rand-write"]
    assert sum(row["length_s"] for row in settling) < 60
    ended = [
        json.loads(path.read_text()) for path in shelf.path.glob("steps/*-settle-4k-rand-write/step.json")
    ]
    assert sorted(str(one["steady"]) for one in ended) == ["None", "True"], "the shelf needs no settling"


def test_a_shelf_fills_and_settles_before_a_method_that_writes_in_order(tmp_path: Path) -> None:
    in_order = 'mix = "write", block = "1MiB", pattern = "sequential", load = { threads = 4, iodepth = 8 }'
    at_random = 'mix = "write", block = "4KiB", pattern = "uniform", load = { threads = 4, iodepth = 8 }'

    fill = f"""
        [[steps]]
        name = "fill"
        kind = "fill"
        job = {{ {in_order}, until = {{ written = "0.001x" }} }}
        """

    def ran(measured: str, first: str = "") -> set[str]:
        method = f"""
        schema = "fathom-method/1"
        name = "short"
        {first}
        [[steps]]
        name = "settle"
        kind = "precondition"
        steady = {{ round = "1s", written = "0.01x" }}
        job = {{ {at_random}, until = {{ time = "5s" }} }}
        [[steps]]
        name = "measured"
        job = {{ {measured}, until = {{ time = "2ms" }} }}
        """
        run = fathom.run(method, SHELF, out=tmp_path)
        return {row["step"] for row in run.intervals.to_pylist()}

    assert ran(at_random) == {"measured"}
    assert ran(at_random, first=fill) == {"measured"}
    assert ran(in_order) == {"settle", "measured"}


def test_a_cluster_predicts_mixes_from_its_pure_maxima(clients: Run) -> None:
    assert iops(clients, CLUSTER, "4k-rand-read-q8") == pytest.approx(5.1e6, rel=0.03)
    assert iops(clients, CLUSTER, "4k-rand-50r50w-q8") == pytest.approx(1.8e6, rel=0.05)
    assert iops(clients, CLUSTER, "4k-rand-read-q1") < iops(clients, CLUSTER, "4k-rand-read-q8")


def test_reports_show_published_figures_and_what_limits(shelf: Run, clients: Run, tmp_path: Path) -> None:
    section = added_latency.build(compare([load(shelf.path)], catalogue))
    assert section is not None
    text = str(section)
    for shown in (
        "3,421,239",
        "467,259",
        "internal link (read)",
        "validation rows",
        "The controller's own latency",
    ):
        assert shown in text, shown
    section = cluster.build(compare([load(clients.path)], catalogue))
    assert section is not None
    for shown in ("5,100,000", "1,800,000", "server CPU", "11,066 published", "limited by server CPU"):
        assert shown in str(section), shown
    page = write_html([shelf.path], tmp_path / "report.html").read_text()
    assert "4 KiB random 70/30: each job has a drive of its own" in page
    assert "fio-4k-rand" not in page
    assert "Latency that the system adds" in page


def test_bars_of_a_cluster_have_whiskers_where_its_rates_are_claimed(clients: Run) -> None:
    comparison = compare([load(clients.path)], catalogue)
    [column] = comparison.columns
    spread = column.spread("4k-rand-read-q8", 4096)
    assert spread is not None
    rate = iops(clients, CLUSTER, "4k-rand-read-q8")
    chart, table = rates_by_depth(comparison)
    marks = [[end["coord"] for end in mark] for mark in chart["series"][0]["markLine"]["data"]]
    ends = {place: [low, high] for [low, place], [high, _] in marks}
    assert ends[2] == pytest.approx([rate / spread.factor, rate * spread.factor], rel=1e-3)
    assert "80 % of measurements of its device" in table
    measured = replace(column, target=column.target.model_copy(update={"kind": "file"}))
    chart, table = rates_by_depth(replace(comparison, columns=[measured]))
    assert "markLine" not in str(chart)
    assert "measurements" not in table


def rates_by_depth(comparison: Comparison) -> tuple[dict[str, Any], str]:
    """The option of the bars of a cluster's key figure, and its table as text."""
    section = cluster.build(comparison)
    assert section is not None
    assert section.key_figure is not None
    figure = section.key_figure.block
    assert isinstance(figure, Figure)
    return json.loads(json.dumps(figure.charts[0].option)), str(figure.data)


def test_a_shelf_is_said_to_add_latency_to_its_drive_not_to_lead_it(shelf: Run) -> None:
    comparison = compare([load(shelf.path)], catalogue)
    summary = build_all(comparison)[0].blocks
    assert isinstance(summary[0], Answer)
    controller, most, added = summary[0].texts[:3]
    assert controller.startswith("The controller of ATTO XstreamCORE 9400, 24 drives takes 2.5 us of a 4 KiB")
    assert controller.endswith("% of its latency; published: 2.7 us).")
    assert "limited by internal link (read)" in most
    same_load = iops(shelf, SHELF, "4k-rand-read-3x32")
    assert f"(published: 3,421,239 at 3 x 32; here {same_load:,.0f}, " in most
    assert f"{iops(shelf, SHELF, '4k-rand-read-6x32'):,.0f} IOPS of 4 KiB random read at 6 x 32" in most
    assert "the published share, at most 2 %, is of the controller alone" in added
    assert "the system adds most to 4 KiB random" in added
    told = finding_texts(comparison)
    assert not told.overall
    assert all("leads" not in text and "SN640" not in text for text in told.outcomes)


def test_hosts_ports_and_drives_tell_their_shares(shelf: Run) -> None:
    data = load(shelf.path)
    shares = data.shares(SHELF, "4k-rand-read-2x64")
    assert {kind: len(members) for kind, members in shares.items()} == {"host": 4, "port": 4, "drive": 8}
    for members in shares.values():
        assert sum(share.iops for share in members) == pytest.approx(iops(shelf, SHELF, "4k-rand-read-2x64"))
        assert jain([share.n for share in members]) == pytest.approx(1, abs=0.01)
        assert all(share.mean_us == pytest.approx(149, rel=0.1) for share in members)
    assert data.shares(DRIVE, "4k-rand-read-1x32") == {}
    section = balance.build(compare([data], catalogue))
    for shown in ("hosts (4)", "ports (4)", "8 of 24: ", "1.000", "χ²"):
        assert shown in str(section), shown


def test_a_drive_that_lags_is_named(tmp_path: Path) -> None:
    method = shortened("added-latency", ("4k-rand-read-6x32",), tmp_path)
    slow = f"{SHELF}?wd-ultrastar-dc-sn640-3.2tb.read_sense_us=300"
    run = fathom.run(str(method), targets=[slow], out=tmp_path)
    section = str(balance.build(compare([load(run.path)], catalogue)))
    assert "drives that lag: 1, 2, 3, 4 and 4 more" in section


def test_wafs_of_many_drives_are_their_median_and_bounds(tmp_path: Path) -> None:
    job = "fio --name=w --ioengine=libaio --rw=randwrite --bs=1m --iodepth=64 --runtime=1 --time_based --direct=1"
    run = fathom.run(job, targets=[CLUSTER], out=tmp_path)
    [measured] = dict.fromkeys(point["step"] for point in run.points.to_pylist())
    data = load(run.path)
    [wafs] = [
        [share.waf for share in members if share.waf is not None]
        for kind, members in data.shares(CLUSTER, measured).items()
        if kind == "drive"
    ]
    section = balance.build(compare([data], catalogue))
    assert section is not None
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    shown = table.groups[0].rows[0].cells[-1]
    assert len(wafs) > balance.MOST_WAFS
    assert shown.text == f"{median(wafs):.2f}"
    assert shown.sub == f"{min(wafs):.2f} to {max(wafs):.2f}"


def test_systems_and_their_drives_are_validated_row_by_row_where_rows_are_published() -> None:
    chosen = {device.name for device in devices_to_validate([])}
    assert {"atto-xstreamcore-9400", "wd-ultrastar-dc-sn640-3.2tb", "weka-6x-micron-9400-pro"} <= chosen
    assert "micron-7450-pro-7.68tb" not in chosen
    with pytest.raises(UsageError, match="fathom validate weka-6x-micron-7450-pro`"):
        devices_to_validate(["micron-7450-pro-7.68tb"])


def test_a_drive_of_which_nothing_measured_is_published_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="zn540-1tb: no published result was measured on it alone"):
        devices_to_validate(["wd-ultrastar-dc-zn540-1tb"])
