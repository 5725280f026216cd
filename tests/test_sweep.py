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
from fathom.columns.schema import POINTS
from fathom.errors import UsageError
from fathom.load.resolve import resolve_targets
from fathom.method.method import parse_method
from fathom.session import Options, start_run
from fathom.sweep.grid import combinations, parse_axis
from fathom.sweep.page import write_page
from fathom.sweep.study import Outcome, Sweep, simulate_all
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
    assert set(table["target"].to_pylist()) == {DRIVE.partition("?")[0]}
    # One read at a time mostly meets an idle die; many meet as many dies as there are.
    assert found[2, 1] == pytest.approx(found[8, 1], rel=0.2)
    assert found[8, 64] > 1.5 * found[2, 64]


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
    assert sentence.startswith("4 KiB random read changes with program_us: x ")
    panels = re.findall(r'data-chart="sweep-\d+"[^>]* aria-label="([^"]+)"', page)
    assert [panel.partition(" over ")[0] for panel in panels] == ["IOPS of 4 KiB random read"]
    rows = re.findall(r">(4 KiB random read|warm-up)</span></td>", page)
    in_one_table = 4 * ["4 KiB random read"] + 4 * ["warm-up"]
    assert rows == 2 * in_one_table, "a table beside the panels, and the whole one"


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
    parameters = json.loads(load_device(target.catalog).twin_params_json())
    assert (parameters["dies_per_channel"], parameters["program_us"]) == (2, 900)


def test_a_systems_drives_are_set_together_or_one_kind_alone_and_its_baseline_with_them() -> None:
    altered = load_device(
        f"{SHELF}?drives.dies_per_channel=4,wd-ultrastar-dc-sn630-6.4tb.over_provisioning=0.5"
    )
    drives = json.loads(altered.twin_params_json())["drives"]
    assert [drive["ssd"]["dies_per_channel"] for drive in drives] == [4, 4]
    assert [drive["ssd"]["over_provisioning"] for drive in drives] == [0.352, 0.5]
    assert altered.twin is not None
    assert altered.twin.baseline == "wd-ultrastar-dc-sn640-3.2tb?dies_per_channel=4"


def test_a_device_takes_what_its_model_has_though_its_file_says_nothing_of_it() -> None:
    plain = load_device("samsung-pm9a3-7.68tb")
    assert plain.twin is not None
    for name, value in {"power_cap_w": 14.0, "gc_idle_free_share": 0.5, "gc_policy": "fifo"}.items():
        assert name not in plain.twin.parameters
        altered = load_device(f"samsung-pm9a3-7.68tb?{name}={value}")
        assert altered.twin is not None
        assert altered.twin.parameters[name].value == value
        TwinDevice(altered.twin_params_json(), 1)


def test_nothing_published_is_about_an_altered_device() -> None:
    assert load_device("samsung-pm9a3-7.68tb?op=0.28").published is None
    assert load_device("samsung-pm9a3-7.68tb").published is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("", "sets nothing"),
        ("channels=x", "expected a whole number, such as 8"),
        ("chanels=4", 'did you mean "channels"'),
        ("program_suspend=1", "expected true or false"),
        ("drives.program_us=4", "it is one itself"),
        ("program_us=nan", "expected a number"),
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


def test_the_command_prints_one_document_and_fails_when_a_point_does(tmp_path: Path) -> None:
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
    assert done.returncode == 1
    assert "1 of 2 points failed; the first: " in done.stderr.splitlines()[-1]
    document = json.loads(done.stdout)
    assert document["schema"] == "fathom-sweep/1"
    assert [row["dies_per_channel"] for row in document["rows"]] == [8]
    assert (tmp_path / document["id"] / "report.html").exists()


def test_in_a_narrow_terminal_words_are_folded_and_figures_are_whole() -> None:
    axis = parse_axis("over_provisioning=0.07")
    row = {
        "over_provisioning": 0.07,
        "target": "twin:a",
        "step": "4k-rand-read",
        "op": "read",
        "iops": 1_068_859.4,
        "mbps": 4378.0,
        "mean_us": 239.5,
        "p99_us": 361.5,
        "waf": 7.64,
        "limited_by": "program power budget",
    }
    schema = pa.schema([pa.field("over_provisioning", pa.float64()), *POINTS])
    console = Console(width=80)
    with console.capture() as captured:
        print_sweep(console, [axis], pa.Table.from_pylist([row], schema=schema), [])
    text = captured.get()
    assert [figure for figure in ("0.07", "1,068,859", "4,378", "361.5", "7.64") if figure not in text] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
