"""Equal twins at once: totals are sums of drives that differ; an array repeats, resumes and reports as any target."""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import fathom
from fathom import _core
from fathom._core import Job, TwinDevice, start_twins
from fathom.catalog import load_device, load_system
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import FathomError, UsageError
from fathom.load.array import ArrayBackend, Drive
from fathom.load.resolve import at_once, resolve_targets
from fathom.method.method import load_method, parse_method
from fathom.plan.expect import expect
from fathom.plan.fit import check_fits
from fathom.plan.power_states import named_in_state
from fathom.report import write_html
from fathom.runs.reader import Run
from fathom.session import Options, resume_run, start_run
from fathom.statistics.limits import limit_of

SHORT = str(Path(__file__).parent / "data" / "short.toml")
PM9A3 = "twin:samsung-pm9a3-7.68tb"
ARRAY = f"{PM9A3}*3"
DRIVES = [f"{ARRAY}#{k}" for k in (1, 2, 3)]

CURVE = """
schema = "fathom-method/1"
name = "curve"
title = "Curve"
summary = "A curve of one workload."
source = "this test"
[[steps]]
name = "curve"
kind = "curve"
workload = "4k-rand-read"
label = "4 KiB random read"
curve = { points = ["50%"], time = "500ms" }
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 2, iodepth = 8 }
until = { time = "500ms" }
"""

LAYERED = """
schema = "fathom-method/1"
name = "layered"
title = "Layered"
summary = "Write, sync, read."
source = "this test"
[[steps]]
name = "write"
kind = "measure"
workload = "write"
label = "write"
[steps.job]
mix = "write"
block = "64KiB"
pattern = "uniform"
region = "512MiB"
load = { threads = 1, iodepth = 8 }
until = { count = 5000 }
[[steps]]
name = "sync"
kind = "measure"
workload = "sync"
label = "sync"
[steps.job]
mix = "flush"
block = "64KiB"
pattern = "uniform"
region = "512MiB"
load = { threads = 1, iodepth = 8 }
until = { count = 1 }
[[steps]]
name = "read"
kind = "measure"
workload = "read"
label = "read"
[steps.job]
mix = "read"
block = "64KiB"
pattern = "uniform"
region = "512MiB"
load = { threads = 1, iodepth = 8 }
until = { count = 5000 }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run(SHORT, targets=[ARRAY], seed=5, out=tmp_path_factory.mktemp("runs"))


def rows(run: Run, table: str, step: str) -> list[dict[str, Any]]:
    return [row for row in getattr(run, table).to_pylist() if row["step"] == step]


def test_the_total_is_the_sum_of_the_drives_to_the_count(run: Run) -> None:
    assert [target.part_of for target in run.targets] == [None, ARRAY, ARRAY, ARRAY]
    for step in ("write", "read"):
        points = {row["target"]: row for row in rows(run, "points", step)}
        assert list(points) == [ARRAY, *DRIVES]
        for column in ("n", "iops", "mbps", "joules", "outstanding", "threads"):
            assert points[ARRAY][column] == pytest.approx(sum(points[drive][column] for drive in DRIVES)), (
                column
            )
        counted: dict[str, int] = {}
        for row in rows(run, "latency", step):
            counted[row["target"]] = counted.get(row["target"], 0) + row["count"]
        assert counted == {target: point["n"] for target, point in points.items()}


def test_a_volume_is_written_to_every_drive_whole(run: Run) -> None:
    written = {target: 0 for target in (ARRAY, *DRIVES)}
    for row in rows(run, "intervals", "fill"):
        written[row["target"]] += row["bytes"]
    first, *others = (written[drive] for drive in DRIVES)
    assert first > 0
    assert others == [first, first]
    assert written[ARRAY] == 3 * first


def test_no_two_drives_are_the_same_drive(run: Run) -> None:
    points = {row["target"]: row for row in rows(run, "points", "read")}
    assert len({points[drive]["mean_us"] for drive in DRIVES}) == 3


def test_an_array_repeats_to_the_count_and_another_seed_does_not(run: Run, tmp_path: Path) -> None:
    again = fathom.run(SHORT, targets=[ARRAY], seed=5, out=str(tmp_path))
    other = fathom.run(SHORT, targets=[ARRAY], seed=6, out=tmp_path)
    for name in ("points", "intervals", "latency", "telemetry"):
        assert run.table(name).equals(again.table(name)), name
    assert not run.points.equals(other.points)


def test_resuming_an_array_changes_no_figure(
    run: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    resumed = resume_run(interrupted(run.path, ["00-004-read"]), Options())
    assert resumed.points.equals(run.points)
    assert resumed.latency.equals(run.latency)


def test_the_report_shows_every_drive_and_how_even_they_are(run: Run, tmp_path: Path) -> None:
    page = write_html([run.path], tmp_path / "report.html").read_text()
    assert "3 x Samsung PM9A3" in page
    assert "drive 3" in page
    assert "even over 3 drives (Jain&#39;s index 1.000)" in page
    assert "Sum of whole steps" not in page, "the total has it all"
    assert "The total covers" in page
    assert "The second adds up" not in page
    assert "+200" not in page, "a published figure is of one drive"
    assert "host" not in page[page.index("even over 3 drives") :][:2000]


def test_a_plan_counts_every_drives_writes_and_the_time_once() -> None:
    method = load_method("four-corners")
    [one] = resolve_targets([PM9A3])
    [three] = resolve_targets([ARRAY])
    for step in method.steps:
        alone, together = expect(step, one, None), expect(step, three, None)
        assert together.time_s == alone.time_s
        assert together.written_bytes == (alone.written_bytes and 3 * alone.written_bytes)


def test_points_of_a_curve_offer_the_share_of_the_total_once(tmp_path: Path) -> None:
    method = parse_method(CURVE, "curve.toml")
    run = start_run(method, resolve_targets([ARRAY]), Options(out=tmp_path))
    points = {(row["step"], row["target"]): row for row in run.points.to_pylist()}
    most, half = points["curve", ARRAY], points["curve@50", ARRAY]
    assert half["offered_iops"] == pytest.approx(0.5 * most["iops"], rel=0.05)
    assert half["iops"] == pytest.approx(0.5 * most["iops"], rel=0.05)


def test_a_split_load_is_the_whole_arrays_and_so_are_its_curves_points(tmp_path: Path) -> None:
    text = CURVE.replace("iodepth = 8", "iodepth = 9, split = [3, 2, 1]")
    run = start_run(parse_method(text, "curve.toml"), resolve_targets([ARRAY]), Options(out=tmp_path))
    maximum, half = (
        {row["target"]: row for row in rows(run, "points", step)} for step in ("curve", "curve@50")
    )
    total, *drives = (maximum[name] for name in (ARRAY, *DRIVES))
    assert [(drive["threads"], drive["iodepth"]) for drive in drives] == [(1, 9), (1, 6), (1, 3)]
    assert (total["threads"], total["iodepth"]) == (3, None)
    assert total["outstanding"] == pytest.approx(18, rel=0.01)
    assert half[ARRAY]["iops"] == pytest.approx(total["iops"] / 2, rel=0.1)
    shares = [half[drive]["offered_iops"] / half[ARRAY]["offered_iops"] for drive in DRIVES]
    assert shares == pytest.approx([1 / 2, 1 / 3, 1 / 6], rel=0.1)


ON_TARGETS = """
schema = "fathom-method/1"
name = "apart"
title = "Apart"
summary = "Two workloads, each on drives of its own."
source = "this test"
[[steps]]
name = "both"
workload = "both"
label = "both"
[[steps.job.streams]]
name = "reader"
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { iodepth = 4 }
until = { count = 2000 }
targets = [1]
[[steps.job.streams]]
name = "writer"
mix = "write"
block = "64KiB"
pattern = "sequential"
load = { iodepth = 2 }
until = { bytes = "8MiB" }
targets = [2, 3]
"""


def test_streams_run_on_their_own_targets_and_end_by_their_own_volume(tmp_path: Path) -> None:
    run = start_run(parse_method(ON_TARGETS, "apart.toml"), resolve_targets([ARRAY]), Options(out=tmp_path))
    done = {(row["target"], row["op"]): row for row in rows(run, "points", "both")}
    assert {key for key in done if key[0] in DRIVES} == {
        (DRIVES[0], "read"),
        (DRIVES[1], "write"),
        (DRIVES[2], "write"),
    }
    counts = [done[key]["iops"] * done[key]["window_s"] for key in done if key[0] in DRIVES]
    assert counts == pytest.approx([2000, 128, 128])
    streams = {(row["target"], row["stream"]) for row in run.table("streams").to_pylist()}
    assert streams >= {(DRIVES[0], "reader"), (DRIVES[1], "writer"), (DRIVES[2], "writer")}


def test_a_plan_counts_what_streams_write_on_their_own_targets() -> None:
    [step] = parse_method(ON_TARGETS, "apart.toml").steps
    [three] = resolve_targets([ARRAY])
    timed = ON_TARGETS.replace("until = { count = 2000 }", 'until = { bytes = "1MiB" }')
    [by_bytes] = parse_method(timed, "apart.toml").steps
    for one in (step, by_bytes):
        assert expect(one, three, None).written_bytes == pytest.approx(2 * (8 << 20), abs=3)


def test_streams_on_some_targets_are_refused_on_one_before_anything_runs() -> None:
    method = parse_method(ON_TARGETS, "apart.toml")
    [one] = resolve_targets([PM9A3])
    with pytest.raises(
        UsageError, match=r"step both has streams on some of several targets; give the targets"
    ):
        check_fits(method, one)
    [two] = resolve_targets([f"{PM9A3}*2"])
    with pytest.raises(FathomError, match=r"stream .writer. is for target 3, and there are 2"):
        check_fits(method, two)


def test_drives_share_the_cores_of_their_bench() -> None:
    bench = load_system("storagereview-r760-fio")
    alone = bench.share(1)
    assert bench.share(8)["cores"] == 8
    assert bench.share(8)["submit_us"] == alone["submit_us"]
    crowded = bench.share(128)
    assert crowded["cores"] == 1
    assert crowded["submit_us"] == 2 * float(alone["submit_us"])


def test_an_adapter_that_all_drives_share_limits_their_total() -> None:
    job = Job(
        '{"mix":"read","block":"128KiB","pattern":"sequential","load":{"threads":1,"iodepth":32},"until":{"time":"1s"}}',
        "job.json",
    )
    parameters = json.loads(twin_params_json(load_device(PM9A3.removeprefix("twin:"))))
    for drives in (1, 4):
        parameters["host"]["adapter_mbps"] = 2000.0 / drives
        backend = ArrayBackend([Drive(str(k), json.dumps(parameters)) for k in range(drives)], 1)
        handle = backend.start(job, 1)
        while not handle.done():
            handle.poll()
        total = handle.result()[0]
        assert sum(op.bytes for op in total.ops) / total.window_s == pytest.approx(2000e6, rel=0.01)
        limit = limit_of(total)
        assert limit is not None
        assert "host adapter (read) 100 %" in limit.words


def precise(drives: int) -> list[_core.Recording]:
    job = Job(
        '{"mix":"read","block":"4KiB","pattern":"uniform","load":{"threads":1,"iodepth":4},"until":{"time":"10min"}}',
        "job.json",
    )
    parameters = twin_params_json(load_device("wd-ultrastar-dc-hc560-20tb"), sharing=drives)
    backend = ArrayBackend([Drive(str(k), parameters) for k in range(drives)], 1)
    handle = backend.start(job, 1, precision=_core.Precision(0.01, 1000, 0, 1 << 60))
    while not handle.done():
        handle.poll()
    return handle.result()


def test_with_a_precision_the_drives_end_their_windows_together_when_the_total_is_known() -> None:
    total, *drives = precise(4)
    assert {drive.window_s for drive in drives} == {total.window_s}
    alone = precise(1)[0]
    assert 0.1 * alone.window_s < total.window_s < 0.6 * alone.window_s < 0.6 * 600
    own = [drive.half_widths.ops["read"].mean_latency for drive in drives if drive.half_widths]
    assert total.half_widths
    reads = total.half_widths.ops["read"]
    assert reads.rate <= 0.01
    assert len(own) == 4
    assert reads.mean_latency == pytest.approx(sum(own) / 8, rel=0.2)
    assert [r.window_s for r in precise(4)] == [total.window_s] * 5, "the same again"


def test_seeds_must_be_as_many_as_twins() -> None:
    with pytest.raises(Exception, match="1 seeds for 0 twins"):
        start_twins(load_method("four-corners").steps[0].job, [], [1])


def test_a_job_that_nobody_follows_any_more_lets_go_of_its_twin() -> None:
    job = {
        "mix": "read",
        "block": "4KiB",
        "pattern": "uniform",
        "load": {"iodepth": 1},
        "until": {"time": "2s"},
    }
    text = Job(json.dumps(job), "job.json")
    device = TwinDevice(twin_params_json(load_device("samsung-pm9a3-7.68tb")), 1)
    left = start_twins(text, [device], [1], hold_every_ns=1_000_000_000)
    while not left.held():
        left.poll()
    del left
    following = start_twins(text, [device], [1])
    deadline_s = time.monotonic() + 60
    while not following.done() and time.monotonic() < deadline_s:
        following.poll()
    assert following.done()


def test_a_file_system_lies_over_every_drive_and_lasts_from_step_to_step(tmp_path: Path) -> None:
    target = f"{PM9A3}*2/btrfs"
    method = parse_method(LAYERED, "layered.toml")
    run = start_run(method, resolve_targets([target]), Options(out=tmp_path))
    total, *drives = run.targets
    assert (total.identity["file_system"], total.catalog, len(drives)) == ("btrfs", None, 2)
    points = {(row["target"], row["step"]): row for row in run.points.to_pylist()}
    for drive in drives:
        assert points[drive.name, "write"]["n"] == points[drive.name, "read"]["n"] == 5000
    telemetry = run.telemetry.to_pylist()
    reads = [row for row in telemetry if row["name"] == "media_read_bytes" and row["step"] == "read"]
    assert sum(row["value"] for row in reads) > 0, "the file is on the drives"


def test_unlike_twins_get_the_whole_job_each_and_none_is_called_a_straggler(tmp_path: Path) -> None:
    members = [PM9A3, "twin:micron-m510dc-480gb"]
    name = f"array:{','.join(members)}"
    run = fathom.run(SHORT, targets=name, out=tmp_path)
    rows = {(row["target"], row["step"], row["op"]): row for row in run.points.to_pylist()}
    measured = {step for target, step, _ in rows if target == name}
    assert measured
    for (target, step, op), row in rows.items():
        if target == name:
            own = [rows[member, step, op]["n"] for member in members]
            assert min(own) > 0
            assert row["n"] <= sum(own)
    assert "straggler" not in {note.rule for note in run.document.notes}
    page = write_html([run.path], tmp_path / "report.html").read_text()
    assert all(member in page for member in members)


def test_a_power_state_of_unlike_twins_is_that_of_each() -> None:
    whole = "array:twin:samsung-pm9a3-7.68tb,twin:kioxia-cm7-r-7.68tb?op=0.1"
    assert (
        named_in_state(f"a={whole}", 1)
        == "a=array:twin:samsung-pm9a3-7.68tb?power_state=1,twin:kioxia-cm7-r-7.68tb?op=0.1,power_state=1"
    )


def test_equal_twins_with_settings_and_a_file_system_become_one_target() -> None:
    assert at_once([f"{PM9A3}?op=0.2/xfs"] * 2) == f"{PM9A3}?op=0.2*2/xfs"
    assert at_once([f"{PM9A3}/xfs", PM9A3, f"{PM9A3}/xfs"]) == f"array:{PM9A3}#1/xfs,{PM9A3},{PM9A3}#2/xfs"
