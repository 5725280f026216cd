"""Sweeps: what is set reaches the twin and the job, finished points are kept, failures are named."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from fathom._core import TwinDevice
from fathom.catalog import CatalogError, load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.columns.schema import POINTS
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method, parse_method
from fathom.output.text import digits
from fathom.runs.files import alone_in
from fathom.session import Options, start_run
from fathom.sweep.answer import answer, panels
from fathom.sweep.doubts import doubts
from fathom.sweep.grid import combinations, parse_axis
from fathom.sweep.page import write_page
from fathom.sweep.study import Outcome, Sweep, simulate_all
from fathom.sweep.sweep import Swept
from fathom.sweep.table import gather, write_tables
from fathom.sweep.terminal import print_sweep

DRIVE = "twin:wd-ultrastar-dc-sn640-3.2tb?settled_share=1.0"
SHELF = "atto-xstreamcore-9400"
METHOD = """
schema = "fathom-method/1"
name = "tiny"
[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix = "write"
block = "1MiB"
pattern = "sequential"
load = { threads = 1, iodepth = 1 }
until = { bytes = "16MiB" }
[[steps]]
name = "r"
label = "4 KiB random read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 64 }
until = { time = "20ms" }
"""


@pytest.fixture
def workers() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


SATA_DRIVE = "twin:micron-m510dc-480gb"


def sweep(*settings: str, targets: tuple[str, ...] = (DRIVE,)) -> Sweep:
    method = parse_method(METHOD, "tiny.toml")
    axes = [parse_axis(text) for text in settings]
    return Sweep(method, targets, axes, combinations(axes, method, targets), 1, quick=False)


def simulated(asked: Sweep, folder: Path, workers: Executor) -> tuple[list[Outcome], list[str]]:
    ended: list[str] = []
    outcomes = simulate_all(asked, folder, workers, lambda label, done, total: ended.append(label))
    return outcomes, ended


def test_every_combination_is_simulated_with_its_values(tmp_path: Path, workers: Executor) -> None:
    asked = sweep("dies_per_channel=2,8", "job.load.iodepth=1,64")
    outcomes, _ = simulated(asked, tmp_path, workers)
    table = gather(asked.axes, outcomes)
    found = {(row["dies_per_channel"], row["iodepth"]): row["iops"] for row in table.to_pylist()}
    assert set(found) == {(2, 1), (2, 64), (8, 1), (8, 64)}
    assert table.column_names[:3] == ["dies_per_channel", "job.load.iodepth", "target"]
    assert set(table["target"].to_pylist()) == {DRIVE}
    # One read at a time mostly meets an idle die; many meet as many dies as there are.
    assert found[2, 1] == pytest.approx(found[8, 1], rel=0.2)
    assert found[8, 64] > 1.5 * found[2, 64]


def test_two_variants_of_a_drive_stay_apart_and_only_one_drive_is_set_beside_itself(
    tmp_path: Path, workers: Executor
) -> None:
    written = (f"{DRIVE},ecc_us=5", f"{DRIVE},ecc_us=400")
    asked = sweep("ecc_us=5", "job.load.iodepth=1,4", targets=written)
    outcomes, _ = simulated(asked, tmp_path, workers)
    table = gather(asked.axes, outcomes)
    assert list(dict.fromkeys(table["target"].to_pylist())) == list(written)
    own = [row for row in table.to_pylist() if row["target"] == written[0]]
    assert len(own) == 2
    ratio = own[1]["iops"] / own[0]["iops"]
    assert f"x {digits(ratio)}" in answer(asked, asked.axes[1], panels(asked, table))


@pytest.mark.parametrize(
    ("setting", "column"), [("op=0.28", "over_provisioning"), ("block_bytes=4096", "twin.block_bytes")]
)
def test_what_is_set_has_a_column_beside_those_of_the_points(
    setting: str, column: str, tmp_path: Path, workers: Executor
) -> None:
    asked = sweep(setting, targets=(SATA_DRIVE,))
    outcomes, _ = simulated(asked, tmp_path, workers)
    table = gather(asked.axes, outcomes)
    assert table[column].to_pylist() == [float(setting.partition("=")[2])]
    assert table["op"].to_pylist() == ["read"]
    assert write_page(asked, tmp_path, table, outcomes).is_file()


def test_tables_and_page_are_written_and_agree(tmp_path: Path, workers: Executor) -> None:
    asked = sweep("dies_per_channel=2,8")
    outcomes, _ = simulated(asked, tmp_path, workers)
    table = gather(asked.axes, outcomes)
    write_tables(table, tmp_path)
    assert pq.read_table(tmp_path / "points.parquet").equals(table)
    assert pyarrow.csv.read_csv(tmp_path / "points.csv")["iops"].to_pylist() == table["iops"].to_pylist()
    page = write_page(asked, tmp_path, table, outcomes).read_text()
    assert "IOPS over dies_per_channel" in page
    assert "What if" in page
    assert "4 KiB random read" in page
    assert ">r, read" not in page


def test_what_speaks_against_figures_is_said_once_for_all_combinations(
    tmp_path: Path, workers: Executor
) -> None:
    head, _, reads = METHOD.split("[[steps]]")
    method = parse_method(f"{head}[[steps]]{reads}", "tiny.toml")
    axes, targets = [parse_axis("op=0.1,0.3")], ("twin:samsung-pm9a3-7.68tb",)
    asked = Sweep(method, targets, axes, combinations(axes, method, targets), 1, quick=False)
    outcomes, _ = simulated(asked, tmp_path, workers)
    table = gather(asked.axes, outcomes)
    console = Console(width=80)
    with console.capture() as captured:
        print_sweep(console, asked, table, outcomes)
    said = " ".join(captured.get().split())
    assert said.count("of the reads went to blocks never written") == 1
    assert "warning in 2 of 2 combinations: " in said
    page = write_page(asked, tmp_path, table, outcomes).read_text()
    assert "Warning in 2 of 2 combinations: " in page
    assert page.count("Warning in 2 of 2 combinations: ") == 1
    assert page.index("Warning in 2 of 2 combinations: ") < page.index('id="sweep"'), "on the first screen"


def test_a_waf_of_too_few_writes_is_called_one_that_may_still_change(
    tmp_path: Path, workers: Executor
) -> None:
    writes = METHOD.replace('mix = "read"', 'mix = "write"').replace("random read", "random write")
    method = parse_method(writes, "tiny.toml")
    axes = [parse_axis("over_provisioning=0.1,0.3")]
    asked = Sweep(method, (DRIVE,), axes, combinations(axes, method, (DRIVE,)), 1, quick=False)
    outcomes, _ = simulated(asked, tmp_path, workers)
    [said] = [one for one in doubts(outcomes) if "WAF" in one]
    assert said.startswith("info in 2 of 2 combinations: WAF may not have settled")
    reads = sweep("over_provisioning=0.1,0.3")
    outcomes, _ = simulated(reads, tmp_path / "reads", workers)
    assert not any("WAF" in one for one in doubts(outcomes))


@pytest.mark.parametrize(("ratio", "text"), [(145, "x 145."), (1.06, "x 1.06."), (0.0015, "x 0.0015.")])
def test_a_change_of_any_size_is_read_without_exponent_and_to_three_digits(ratio: float, text: str) -> None:
    rows = [row_of(over_provisioning=0.07), row_of(over_provisioning=0.28, iops=ratio * 1_068_859.4)]
    asked = corners("op=0.07,0.28")
    assert f"change: {text}" in " ".join(printed(asked, table_of(asked, *rows)).split())


def test_no_letter_is_lost_in_80_columns_where_names_of_settings_are_long(
    tmp_path: Path, workers: Executor
) -> None:
    asked = sweep("job.load.threads=1,8", "job.load.iodepth=1,256")
    outcomes, _ = simulated(asked, tmp_path, workers)
    lines = printed(asked, gather(asked.axes, outcomes)).splitlines()
    assert max(map(len, lines)) <= 80
    ends = "".join(line.rstrip().rpartition("  ")[2] for line in lines[3:]).replace(" ", "")
    assert ends.count("outstandingI/O") == 2
    assert "limited" in ends


def test_a_page_draws_measured_steps_alone_and_lists_those_that_warm_up_behind_them(
    tmp_path: Path, workers: Executor
) -> None:
    warm_up = METHOD.replace('name = "fill"\nkind = "fill"', 'name = "warm"\nworkload = "warm-up"')
    method = parse_method(warm_up, "tiny.toml")
    axes = [parse_axis("dies_per_channel=2,8"), parse_axis("program_us=600,2000")]
    asked = Sweep(method, (DRIVE,), axes, combinations(axes, method, (DRIVE,)), 1, quick=False)
    outcomes, _ = simulated(asked, tmp_path, workers)
    page = write_page(asked, tmp_path, gather(axes, outcomes), outcomes).read_text()
    [sentence] = re.findall(r'<h1 class="sentence">(.*?)</h1>', page)
    assert re.fullmatch(
        r"From program_us 600 to 2000, IOPS of 4 KiB random read \(dies_per_channel [28]\) change: x 0\.\d+\.",
        sentence,
    )
    panels = re.findall(r'data-chart="sweep-\d+"[^>]* aria-label="([^"]+)"', page)
    assert [panel.partition(" over ")[0] for panel in panels] == ["IOPS of 4 KiB random read"]
    groups = re.findall(r'<tr class="group">.*?>(4 KiB random read|warm-up)<', page, re.DOTALL)
    assert groups == 2 * ["4 KiB random read", "warm-up"], "a table beside the panels, and the whole one"


def test_a_page_is_drawn_over_a_setting_with_several_values(tmp_path: Path, workers: Executor) -> None:
    asked = sweep("dies_per_channel=2,8", "program_us=900")
    outcomes, _ = simulated(asked, tmp_path, workers)
    page = write_page(asked, tmp_path, gather(asked.axes, outcomes), outcomes).read_text()
    assert "IOPS over dies_per_channel" in page
    assert "IOPS over program_us" not in page


def test_the_same_sweep_goes_on_with_what_is_missing(tmp_path: Path, workers: Executor) -> None:
    asked = sweep("dies_per_channel=2,4,8")
    first, ended = simulated(asked, tmp_path, workers)
    assert len(ended) == 3
    (first[1].run / "run.json").unlink()
    again, ended = simulated(sweep("dies_per_channel=2,4,8"), tmp_path, workers)
    assert ended == ["dies_per_channel 4"]
    assert gather(asked.axes, again).num_rows == 3
    assert json.loads((tmp_path / "sweep.json").read_text())["status"] == "complete"


def test_two_processes_do_not_simulate_one_sweep(tmp_path: Path, workers: Executor) -> None:
    with alone_in(tmp_path), pytest.raises(RefusedError, match="another process simulates this sweep"):
        simulated(sweep("dies_per_channel=2,4"), tmp_path, workers)
    _, ended = simulated(sweep("dies_per_channel=2,4"), tmp_path, workers)
    assert len(ended) == 2


def test_a_sweep_is_named_after_what_its_figures_depend_on() -> None:
    assert sweep("dies_per_channel=2,8").name == sweep("dies_per_channel=2,8").name
    assert sweep("dies_per_channel=2,8").name != sweep("dies_per_channel=2,4").name


def test_a_point_that_fails_is_named_and_the_others_are_kept(tmp_path: Path, workers: Executor) -> None:
    asked = sweep("write_buffer_bytes=10,25165824")
    outcomes, _ = simulated(asked, tmp_path, workers)
    assert [outcome.error is None for outcome in outcomes] == [False, True]
    assert "holds less than a programming unit of every die" in str(outcomes[0].error)
    assert gather(asked.axes, outcomes).num_rows == 1
    document = json.loads((tmp_path / "sweep.json").read_text())
    assert (document["status"], document["points"][1]["error"]) == ("failed", None)


def test_keys_of_jobs_are_set_where_something_is_measured_and_checked_as_in_a_file() -> None:
    [one] = sweep("job.block=8KiB").combinations
    fill, read = parse_method(one.method_text, "one.json").steps
    assert (fill.job.block_sizes, read.job.block_sizes) == ({"write": (1 << 20,)}, {"read": (8192,)})
    with pytest.raises(UsageError, match=r"blok=8\.json:\d+: unknown key `blok`"):
        sweep("job.blok=8")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["dies"], "not KEY=VALUE"),
        (["dies=1,1"], "a value appears twice"),
        (["op=1,1.0"], "a value appears twice"),
        (["job.block=4k,4KiB"], "a value appears twice"),
        (["job.until.time=1s,1000ms"], "a value appears twice"),
        (["dies=1", "dies=2"], "set twice"),
        (
            [f"dies={','.join(map(str, range(101)))}", f"program_us={','.join(map(str, range(100)))}"],
            "10,000",
        ),
    ],
)
def test_what_is_no_grid_is_refused(settings: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sweep(*settings)


def test_real_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a sweep only simulates"):
        sweep("dies_per_channel=1,2", targets=(f"file:{tmp_path}/x",))


def test_parameters_are_set_behind_a_targets_name_in_front_of_its_other_marks() -> None:
    [one] = sweep("dies_per_channel=2", targets=(f"{DRIVE},program_us=900*2/xfs",)).combinations
    assert one.targets == (f"{DRIVE},program_us=900,dies_per_channel=2*2/xfs",)
    [target] = resolve_targets(one.targets)
    assert target.name == one.targets[0]
    assert target.catalog is not None
    parameters = json.loads(twin_params_json(load_device(target.catalog)))
    assert (parameters["dies_per_channel"], parameters["program_us"]) == (2, 900)


def test_a_systems_drives_are_set_together_or_one_kind_alone_and_its_baseline_with_them() -> None:
    altered = load_device(
        f"{SHELF}?drives.dies_per_channel=4,wd-ultrastar-dc-sn630-6.4tb.over_provisioning=0.5"
    )
    drives = json.loads(twin_params_json(altered))["drives"]
    assert [drive["ssd"]["dies_per_channel"] for drive in drives] == [4, 4]
    assert [drive["ssd"]["over_provisioning"] for drive in drives] == [0.352, 0.5]
    assert altered.twin is not None
    assert altered.twin.baseline == "wd-ultrastar-dc-sn640-3.2tb?dies_per_channel=4"


def test_a_device_takes_what_its_model_has_though_its_file_says_nothing_of_it() -> None:
    plain = load_device("samsung-pm9a3-7.68tb")
    assert plain.twin is not None
    values = {
        "power_cap_w": 14.0,
        "gc_idle_free_share": 0.5,
        "gc_policy": "fifo",
        "idle_state_after_us": "1e5+2e6",
    }
    for name, value in values.items():
        assert name not in plain.twin.parameters
        altered = load_device(f"samsung-pm9a3-7.68tb?{name}={value}")
        assert altered.twin is not None
        assert altered.twin.parameters[name].value == value
        TwinDevice(twin_params_json(altered), 1)


def test_nothing_published_is_about_an_altered_device() -> None:
    assert load_device("samsung-pm9a3-7.68tb?op=0.28").published is None
    assert load_device("samsung-pm9a3-7.68tb").published is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("", "sets nothing"),
        ("channels=x", "expected a whole number, 0 or more, such as 8"),
        ("slice_denominator=99999999999999999999", "expected at most 4,294,967,295, such as 1024"),
        ("channels=-8", "expected a whole number, 0 or more, such as 8"),
        ("chanels=4", 'did you mean "channels"'),
        ("program_suspend=1", "expected true or false"),
        ("drives.program_us=4", "it is one itself"),
        ("program_us=nan", "expected a number"),
        ("program_us=900&read_retries=2", r"join settings with commas, .*\?program_us=900,read_retries=2"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(settings: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        load_device(f"samsung-pm9a3-7.68tb?{settings}")


def test_a_value_that_the_model_cannot_take_begins_no_run(tmp_path: Path) -> None:
    method, targets = parse_method(METHOD, "tiny.toml"), resolve_targets([f"{DRIVE},dies_per_channel=0"])
    with pytest.raises(
        UsageError, match=r"dies_per_channel=0: twin parameter dies_per_channel: .*; write another value"
    ):
        start_run(method, targets, Options(out=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_impossible_value_is_named_once_before_anything_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(METHOD)
    command = [
        sys.executable,
        "-m",
        "fathom",
        "sweep",
        "tiny.toml",
        DRIVE,
        "--set",
        "dies_per_channel=0,8",
        "--json",
    ]
    done = subprocess.run(
        [*command, "--out", "."], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("fathom: no twin can be made of dies_per_channel 0: ")
    assert line.endswith("; write another value")
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


def test_the_command_prints_one_document(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(METHOD)
    command = [sys.executable, "-m", "fathom", "sweep", "tiny.toml", DRIVE, "--set", "dies_per_channel=4,8"]
    done = subprocess.run(
        [*command, "--json", "--out", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    document = json.loads(done.stdout)
    assert document["schema"] == "fathom-sweep/1"
    assert [row["dies_per_channel"] for row in document["rows"]] == [4, 8]
    assert (tmp_path / document["id"] / "report.html").exists()


def test_a_point_that_failed_and_is_named_is_not_named_again(tmp_path: Path, workers: Executor) -> None:
    asked = sweep("write_buffer_bytes=10,25165824")
    outcomes, _ = simulated(asked, tmp_path, workers)
    swept = Swept(asked, tmp_path, gather(asked.axes, outcomes), outcomes, tmp_path / "report.html")
    with pytest.raises(FathomError, match=r"^1 of 2 points failed; correct or remove their values"):
        swept.check(named=True)
    with pytest.raises(FathomError, match=r"1 of 2 points failed; the first: .*holds less than"):
        swept.check()


def printed(asked: Sweep, table: pa.Table) -> str:
    console = Console(width=80)
    with console.capture() as captured:
        print_sweep(console, asked, table, [])
    return captured.get()


def row_of(**others: object) -> dict[str, object]:
    """A row as `gather` makes it."""
    figures = {"iops": 1_068_859.4, "mbps": 4378.0, "mean_us": 239.5, "p99_us": 361.5, "waf": 7.64}
    names = {"target": "twin:a", "step": "4k-rand-read", "op": "read", "block_bytes": 4096}
    return {**names, **figures, "limited_by": "program power budget", **others}


def table_of(asked: Sweep, *rows: dict[str, object]) -> pa.Table:
    types = {axis.column: pa.float64() if axis.is_numeric else pa.string() for axis in asked.axes}
    return pa.Table.from_pylist(list(rows), schema=pa.schema([*types.items(), *POINTS]))


def corners(*settings: str, targets: tuple[str, ...] = ("twin:a",), quick: bool = False) -> Sweep:
    axes = [parse_axis(text) for text in settings]
    method = load_method("four-corners", quick=quick)
    return Sweep(method, targets, axes, combinations(axes, method, targets), 1, quick=quick)


def test_in_a_narrow_terminal_words_are_folded_and_figures_are_whole() -> None:
    asked = corners("op=0.07,0.28")
    rows = [row_of(over_provisioning=0.07), row_of(over_provisioning=0.28, iops=2e6)]
    text = printed(asked, table_of(asked, *rows))
    assert [figure for figure in ("0.07", "1,068,859", "4,378", "361.5", "7.64") if figure not in text] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_begins_with_the_answer_then_says_that_it_is_simulated_and_shortened() -> None:
    rows = [row_of(over_provisioning=0.07), row_of(over_provisioning=0.28, iops=3 * 1_068_859.4)]
    asked = corners("op=0.07,0.28")
    whole = " ".join(printed(asked, table_of(asked, *rows)).split())
    assert whole.startswith(
        "From over_provisioning 0.07 to 0.28, IOPS of 4 KiB random read, 8T/32Q change: x 3. "
        "All targets are twins: virtual drives simulated in virtual time, not hardware measured here. "
    )
    assert "Shortened" not in whole
    quick = " ".join(printed(corners("op=0.07,0.28", quick=True), table_of(asked, *rows)).split())
    assert "measured here. Shortened run: measured times are divided by 12, " in quick


def test_a_change_is_that_of_one_drive_never_the_difference_between_two() -> None:
    asked = corners("op=0.07,0.28", targets=("twin:a", "twin:b"))
    rows = [
        row_of(over_provisioning=op, target=target, iops=iops)
        for op in (0.07, 0.28)
        for target, iops in (("twin:a", 1e5), ("twin:b", 9e5))
    ]
    text = printed(asked, table_of(asked, *rows))
    assert text.startswith("From over_provisioning 0.07 to 0.28, no rate changes by 5 %.")
    assert "4 KiB random read, 8T/32Q: twin:b" in text


def test_a_combination_that_failed_is_not_said_to_stand_alone() -> None:
    asked = corners("op=0.07,0.28")
    text = printed(asked, table_of(asked, row_of(over_provisioning=0.28)))
    assert text.startswith("Nothing to compare: no two combinations have a rate.")


def test_a_rate_that_changes_on_the_way_and_comes_back_is_not_said_to_be_level() -> None:
    asked = corners("op=0.07,0.14,0.28")
    rows = [row_of(over_provisioning=op, iops=iops) for op, iops in ((0.07, 1e5), (0.14, 3e5), (0.28, 1e5))]
    text = " ".join(printed(asked, table_of(asked, *rows)).split())
    assert text.startswith(
        "From over_provisioning 0.07 to 0.28, no rate changes by 5 %; between them some do."
    )


def two_steps(asked: Sweep, write_iops: list[float | None]) -> str:
    """Returns what is printed of reads that triple, beside writes with these rates."""
    rows = [
        row_of(over_provisioning=op, step=step, op=step.rpartition("-")[2], iops=iops)
        for step, rates in (("4k-rand-read", [1e5, 2e5, 3e5]), ("4k-rand-write", write_iops))
        for op, iops in zip((0.07, 0.14, 0.28), rates, strict=True)
    ]
    return " ".join(printed(asked, table_of(asked, *rows)).split("All targets")[0].split())


def test_no_other_rate_is_said_to_stay_where_one_changes_on_the_way_or_cannot_be_compared() -> None:
    asked = corners("op=0.07,0.14,0.28")
    assert two_steps(asked, [1e5, 1e5, 1e5]).endswith("x 3; no other rate changes by 5 %.")
    assert two_steps(asked, [1e5, 4e5, 1e5]).endswith(
        "x 3; no other rate changes by 5 %; between them some do."
    )
    assert two_steps(asked, [1e5, 1e5, 0.0]).endswith("x 3.")
    assert two_steps(asked, [None, None, 1e5]).endswith("x 3.")


def test_steps_are_called_by_what_is_not_set_and_sizes_are_in_order() -> None:
    asked = corners("job.block=16k,4k")
    rows = [sized("16k", 16384, mbps=6000.0), sized("4k", 4096, mbps=4000.0)]
    text = " ".join(printed(asked, table_of(asked, *rows)).split())
    assert text.startswith("From job.block 4k to 16k, MB/s of random read, 8T/32Q change: x 1.5.")
    assert "4k-rand-read" not in text
    assert "4 KiB" not in text


def test_a_sweep_over_sizes_is_drawn_with_their_names(tmp_path: Path) -> None:
    asked = corners("job.block=4k,16k")
    rows = [sized("4k", 4096), sized("16k", 16384, iops=4e5)]
    page = write_page(asked, tmp_path, table_of(asked, *rows), []).read_text()
    assert '"formatter":"@size"' in page
    assert "MB/s over job.block" in page


def sized(block: str, block_bytes: int, **others: object) -> dict[str, object]:
    return row_of(**{"job.block": block, "block_bytes": block_bytes, **others})


def test_blocks_of_different_sizes_are_compared_in_mb_per_second() -> None:
    asked = corners("job.block=4k,64k")
    rows = [sized("4k", 4096, iops=1e6, mbps=4096.0), sized("64k", 65536, iops=1e5, mbps=6144.0)]
    text = " ".join(printed(asked, table_of(asked, *rows)).split())
    assert text.startswith("From job.block 4k to 64k, MB/s of random read, 8T/32Q change: x 1.5.")


def test_a_sweep_over_words_begins_with_an_answer_too(tmp_path: Path) -> None:
    asked = corners("job.pattern=uniform,sequential")
    rows = [
        row_of(**{"job.pattern": "uniform"}),
        row_of(**{"job.pattern": "sequential", "iops": 2 * 1_068_859.4}),
    ]
    page = write_page(asked, tmp_path, table_of(asked, *rows), []).read_text()
    [sentence] = re.findall(r'<h1 class="sentence">(.*?)</h1>', page)
    assert sentence.startswith("From job.pattern uniform to sequential, IOPS of 4 KiB random read, ")
    assert sentence.endswith(" change: x 2.")


def test_a_job_that_is_set_has_its_own_label_and_neither_a_published_figure_nor_a_steady_state_of_another() -> (
    None
):
    steps = {
        step.name: step
        for step in parse_method(corners("job.block=16k").combinations[0].method_text, "one.json").steps
    }
    set_ = steps["4k-rand-write"]
    assert (set_.label, set_.published) == ("16 KiB random write, 8T/32Q", None)
    assert steps["settle-4k-rand-write"].workload != set_.workload
    same = corners("job.block=4k").combinations[0].method_text
    kept = {step.name: step for step in parse_method(same, "one.json").steps}
    assert kept["4k-rand-write"].published == "fio-4k-rand-write"
    assert kept["settle-4k-rand-write"].workload == kept["4k-rand-write"].workload
    assert kept["256k-seq-read"].published is None


@pytest.mark.parametrize(
    ("setting", "label"),
    [
        ("job.load.iodepth=8", "4 KiB random read, 8T/8Q"),
        ("job.mix=write", "4 KiB random write, 8T/32Q"),
        ("job.region=50%", "4 KiB random read, 8T/32Q, region 50%"),
    ],
)
def test_a_label_says_every_key_that_is_set(setting: str, label: str) -> None:
    steps = parse_method(corners(setting).combinations[0].method_text, "one.json").steps
    assert next(step.label for step in steps if step.name == "4k-rand-read") == label
