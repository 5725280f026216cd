"""The command line as a user meets it: what it prints, where, and how it exits."""

import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from as_user import SHORT, TWIN, fathom, refused
from fathom import cli, run
from fathom.cli import COMMANDS
from fathom.errors import FathomError, UsageError
from fathom.store.query import VIEWS


def needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root for loop devices and mounts")


@pytest.fixture
def small_file_system(tmp_path: Path) -> Iterator[Path]:
    needs_root()
    image, mount = tmp_path / "image", tmp_path / "mount"
    image.write_bytes(b"")
    os.truncate(image, 24 << 20)
    mount.mkdir()
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    yield mount
    subprocess.run(["umount", mount], check=True)


def start_a_thread_without_room(**_: object) -> None:
    usual = threading.stack_size(1 << 46)
    try:
        threading.Thread(target=print).start()
    finally:
        threading.stack_size(usual)


def have_no_memory(**_: object) -> None:
    bytearray(1 << 62)


@pytest.mark.parametrize(
    ("command", "message"),
    [(start_a_thread_without_room, "no room for another thread"), (have_no_memory, "not enough memory")],
)
def test_a_limit_of_memory_or_of_threads_is_one_line(
    command: Callable[..., None],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "app", command)
    monkeypatch.setattr(sys, "argv", ["fathom", "methods"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"fathom: {message}; raise the limit")


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--iodepth 8", "--iodepth: without --trace there is no replay that takes it; give --trace FILE"),
        (
            "--trace-device a --speed 2",
            "--trace-device, --speed: without --trace there is no replay that takes them",
        ),
    ],
)
def test_options_of_a_replay_are_refused_where_nothing_is_replayed(
    command: str, options: str, said: str
) -> None:
    done = fathom(command, SHORT, TWIN, *options.split())
    assert done.returncode == 2
    assert said in done.stderr


def test_a_shell_without_hosts_is_refused() -> None:
    done = fathom("run", SHORT, TWIN, "--shell", "ssh -p 2222")
    assert done.returncode == 2
    assert done.stderr.startswith("fathom: --shell is for the hosts of --hosts")


def test_help_answers_without_loading_the_heavy_parts() -> None:
    code = "import sys, fathom.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"pyarrow", "duckdb", "numpy", "pydantic", "rich"}.isdisjoint(loaded)
    assert "review" in fathom("--help").stdout


def test_a_run_and_its_report_load_no_pandas(tmp_path: Path) -> None:
    """Arrays are looked at by pyarrow and by DuckDB, which would load it to know its frames."""
    code = "import atexit, sys; from fathom.cli import main; atexit.register(lambda: print(*sys.modules)); main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "run", SHORT, TWIN, "--out", tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = ended.stdout.splitlines()[-1].split()
    assert {"pyarrow.lib", "duckdb"} <= set(loaded)
    assert "pandas" not in loaded


def test_rows_wider_than_the_terminal_are_lists_whose_numbers_stay_whole(one_run: Path) -> None:
    sql = "select target, step, n, bytes, 123456789012 as big, start_s from intervals limit 1"
    shown = fathom("query", sql, COLUMNS="40").stdout
    assert "row 1" in shown
    assert re.search(r"^  big +123,456,789,012$", shown, re.MULTILINE), shown


def test_a_query_prints_large_rates_with_all_their_digits():
    shown = fathom("query", "select 1068518.4::double as iops, 0.25::double as share").stdout
    assert shown.split() == ["iops", "share", "1,068,518", "0.25"]


@pytest.mark.parametrize(
    "command",
    ["run", "review", "plan", "sweep", "size", "choose", "query", "validate", "sensitivity", "calibrate"],
)
def test_help_names_arguments_as_manual_pages_do(command: str) -> None:
    shown = fathom(command, "--help").stdout
    assert not re.search(r"[{}<>]", shown), shown


@pytest.mark.parametrize("group", [(), ("store",), ("trace",), ("catalog",), ("methods",)])
def test_every_command_says_what_it_does_in_one_line_of_80_columns(group: tuple[str, ...]) -> None:
    shown = fathom(*group, "--help", COLUMNS="80").stdout
    assert "..." not in shown.partition("--help")[2]


def test_help_and_the_reference_list_every_command_under_the_same_heading() -> None:
    page = (Path(__file__).parents[1] / "docs/reference/cli.md").read_text()
    shown = fathom("--help", COLUMNS="80").stdout
    for heading, commands in COMMANDS.items():
        listed = shown.partition(f"{heading}:\n")[2].partition("\n\n")[0]
        names = re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)
        assert len(names) == len(commands)
        section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `fathom (?!run replay)([a-z-]+)", section, re.MULTILINE)
        assert sorted(rows) == sorted(names)


def test_a_run_prints_one_json_document_on_stdout(disk: Path) -> None:
    result = fathom("run", SHORT, f"file:{disk}/x.bin", "--size", "64MiB", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schema"] == "fathom-run/1"
    assert {(p["workload"], p["op"]) for p in document["points"]} == {
        ("4k-rand-write", "write"),
        ("4k-rand-read", "read"),
    }
    for point in document["points"]:
        assert point["n"] == pytest.approx(point["iops"] * point["window_s"], rel=1e-9)
        assert point["errors"] == 0


def test_a_size_of_nothing_is_refused_and_not_taken_for_no_size(disk: Path) -> None:
    file = disk / "x.bin"
    assert fathom("run", SHORT, f"file:{file}", "--size", "64MiB").returncode == 0
    for command in ("run", "plan"):
        code, text = refused(command, SHORT, f"file:{file}", "--size", "0")
        assert code == 2
        assert text.startswith("fathom: --size 0: no file is that small;")


def test_a_misspelt_key_is_named_with_line_and_nearest_key(tmp_path: Path) -> None:
    method = tmp_path / "mine.toml"
    method.write_text(SHORT.read_text().replace('pattern = "sequential"', 'patern = "sequential"'))
    line = SHORT.read_text().splitlines().index('pattern = "sequential"') + 1
    code, text = refused("run", method, TWIN)
    assert code == 2
    assert f"{method}:{line}:" in text
    assert "pattern" in text


def test_an_unknown_method_is_answered_with_the_nearest() -> None:
    code, text = refused("run", "four-coners", TWIN)
    assert code == 2
    assert "four-corners" in text


def test_an_unknown_twin_is_answered_with_the_nearest() -> None:
    code, text = refused("run", SHORT, "twin:samsung-pm9a3-7.86tb")
    assert code == 2
    assert "samsung-pm9a3-7.68tb" in text


@pytest.mark.parametrize(
    ("words", "command", "said"),
    [
        ("run", "run", "Missing argument 'METHOD'"),
        ("run four-corners null: --repeats 0", "run", "'--repeats'"),
        ("plan four-corners null: --threds 2", "plan", "--threads"),
        ("run four-corners null: --seed", "run", "'--seed' requires an argument"),
        ("trace convert app.log --format", "trace convert", "'--format' requires an argument"),
        ("methods list", "methods", "No such command 'list'"),
        ("catalog --kind device", "catalog", "'--kind': 'device' is not one of 'devices'"),
        ("report last --edition long", "report", "'full', 'short'"),
    ],
)
def test_what_the_parser_refuses_is_one_line_that_names_the_help(words: str, command: str, said: str) -> None:
    code, text = refused(*words.split())
    assert code == 2
    assert said in text
    assert "Value error" not in text
    assert text.endswith(f"{command} --help` shows what it takes")


def test_an_output_that_cannot_be_written_is_named_as_it_was_given() -> None:
    code, text = refused(
        "size", "--need", "64 GB/s read", "--device", "wd-ultrastar-dc-sn861", "--out", "/proc/x.html"
    )
    assert code == 1
    assert text == "fathom: cannot write /proc/x.html: No such file or directory; give another path"


def test_a_run_directory_that_cannot_be_made_for_want_of_a_folder_needs_no_more_space() -> None:
    code, text = refused("run", SHORT, TWIN, "--out", "/proc/x")
    assert code == 1
    assert "another place" in text
    assert "space" not in text


def test_an_empty_name_is_no_run(one_run: Path) -> None:
    assert refused("report", "") == (
        2,
        "fathom: a run's name is empty; write an id, a part of one, or `last`",
    )


def test_a_missing_directory_is_one_line_and_leaves_nothing(tmp_path: Path, runs_home: Path) -> None:
    code, text = refused("run", SHORT, f"file:{tmp_path}/nowhere/x.bin", "--size", "64MiB")
    assert code in (1, 2)
    assert "nowhere" in text
    assert not runs_home.exists()


def test_a_name_that_is_no_text_is_one_line_wherever_it_is_given(tmp_path: Path, runs_home: Path) -> None:
    name = tmp_path / os.fsdecode(b"\xff")
    name.mkdir()
    for arguments in ((SHORT, f"file:{name}/x.bin"), (name, TWIN), (SHORT, TWIN, "--out", name)):
        code, text = refused("run", *arguments)
        assert code == 2
        assert "\\xff" in text
        assert "not UTF-8" in text
    with pytest.raises(UsageError, match="not UTF-8"):
        run(str(SHORT), targets=[f"dir:{name}"], out=tmp_path)
    assert not runs_home.exists()


def test_a_home_of_runs_whose_name_is_no_text_is_one_line() -> None:
    result = fathom("runs", FATHOM_RUNS=os.fsdecode(b"/tmp/\xff"))
    assert result.returncode == 2
    assert result.stderr == "fathom: /tmp/\\xff: not UTF-8, as reports and tables are; rename it\n"


def test_a_check_names_every_damage_and_repairs_tables_from_the_steps(runs_home: Path) -> None:
    made = run(str(Path(__file__).parent / "data" / "two-reads.toml"), [TWIN], out=runs_home)
    whole = fathom("check", "last")
    assert whole.returncode == 0, whole.stderr
    assert whole.stdout == f"run {made.id}: whole: its 10 files match their checksums\n"
    before = (made.path / "points.parquet").read_bytes()
    (made.path / "points.parquet").write_bytes(before[:-1])
    (made.path / "latency.parquet").unlink()
    damaged = fathom("check", "last")
    assert damaged.returncode == 1
    assert damaged.stdout.splitlines() == [
        f"run {made.id}: damaged",
        "  points.parquet is not as it was written; its rows are read from the folders of the steps",
        "  latency.parquet is missing; its rows are read from the folders of the steps",
    ]
    repaired = fathom("check", "last", "--repair")
    assert repaired.returncode == 0, repaired.stderr
    assert repaired.stderr == (
        f"fathom: run {made.id}: rebuilt: points.parquet, latency.parquet, manifest.json\n"
    )
    assert (made.path / "points.parquet").read_bytes() == before
    (made.path / "manifest.json").unlink()
    assert fathom("check", "last").returncode == 1
    assert fathom("check", "last", "--repair").returncode == 0


def test_a_job_of_flushes_alone_has_a_report(tmp_path: Path) -> None:
    method = tmp_path / "flush.toml"
    method.write_text(
        'schema = "fathom-method/1"\nname = "flush"\n[[steps]]\nname = "s"\n'
        'job = { mix = "flush", pattern = "uniform", load = { threads = 1 }, until = { count = 100 } }\n'
    )
    done = fathom("run", method, "null:", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*/report.html"))) == 1


def test_a_run_directory_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    place = tmp_path / "taken"
    place.write_text("a file")
    code, text = refused("run", SHORT, TWIN, "--out", place)
    assert code == 1
    assert f"cannot write the run directory {place}" in text


def test_a_report_that_cannot_be_written_is_one_line(tmp_path: Path, runs_home: Path) -> None:
    run(str(SHORT), [TWIN], out=runs_home)
    code, text = refused("report", "last", "--out", tmp_path)
    assert code == 2
    assert text == f"fathom: {tmp_path} is a directory; name the file, such as {tmp_path / 'report.html'}"


def test_a_report_of_a_run_with_a_damaged_table_says_so_in_one_line_and_comes_from_the_steps(
    tmp_path: Path, runs_home: Path
) -> None:
    made = run(str(SHORT), [TWIN], out=runs_home)
    (made.path / "latency.parquet").write_bytes(b"PAR1")
    done = fathom("report", "last", "--out", tmp_path / "report.html")
    assert done.returncode == 0
    assert done.stderr == (
        f"fathom: run {made.id}: latency.parquet is not as it was written; "
        "its rows are read from the folders of the steps\n"
    )
    assert "latency.parquet is not as it was written" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    result = fathom("run", SHORT, TWIN, "--seed", str(seed))
    assert result.returncode == 2
    assert "'--seed'" in result.stderr
    assert "Traceback" not in result.stderr
    with pytest.raises(UsageError, match=f"seed {seed}: out of range"):
        run(str(SHORT), [TWIN], seed=seed)


def test_a_method_file_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    method = tmp_path / "mine.toml"
    method.write_bytes(b"\xff\xfe")
    code, text = refused("run", method, TWIN)
    assert code == 2
    assert "mine.toml: not UTF-8 text" in text


def test_a_target_smaller_than_a_region_in_bytes_is_refused_before_anything_is_made_and_planned_so(
    disk: Path, runs_home: Path
) -> None:
    code, text = refused("run", "cluster-scaling", f"file:{disk}/x.bin", "--size", "1GiB")
    assert code == 2
    assert "step fill has a region of 64 GiB, but the target only 1 GiB" in text
    assert not (disk / "x.bin").exists()
    assert not runs_home.exists()
    planned = fathom("plan", "cluster-scaling", f"file:{disk}/x.bin", "--size", "1GiB")
    [refusal] = [line for line in planned.stdout.splitlines() if "would not run" in line]
    assert "region of 64 GiB, but the target only 1 GiB" in refusal


def test_a_region_in_bytes_beyond_the_slice_of_a_twin_is_refused_before_a_run_begins(runs_home: Path) -> None:
    code, text = refused("run", "cluster-scaling", "twin:samsung-pm9a3-7.68tb")
    assert code == 2
    assert "step fill has a region of 64 GiB, but the twin simulates only 6.986 GiB of 6.986 TiB" in text
    assert not runs_home.exists()


def test_a_target_smaller_than_a_block_is_refused_before_anything_is_made(
    disk: Path, runs_home: Path
) -> None:
    code, text = refused("run", SHORT, f"file:{disk}/x.bin", "--size", "8KiB")
    assert code == 2
    assert "step fill has a region of 8 KiB there, but blocks of 128 KiB" in text
    assert not (disk / "x.bin").exists()
    assert not runs_home.exists()


@pytest.fixture
def tiny_home(tmp_path: Path) -> Iterator[Path]:
    needs_root()
    home = tmp_path / "tiny"
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", home], check=True)
    yield home
    subprocess.run(["umount", home], check=True)


def test_a_full_disk_under_the_run_directory_is_one_line(tiny_home: Path) -> None:
    result = fathom("run", "four-corners", TWIN, "--quick", "--out", tiny_home)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith(f"fathom: cannot write the run directory {tiny_home}")
    assert "No space left on device" in last


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_report_that_cannot_be_written_hides_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    def full(*_: object) -> Path:
        raise FathomError("cannot write report.html", "give another path")

    monkeypatch.setattr("fathom.report.write_built", full)
    command = ["fathom", "run", str(SHORT), TWIN, "--out", str(tmp_path), *form]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    [run] = tmp_path.iterdir()
    assert ended.value.code == 1
    assert (json.loads(printed.out)["run"]["id"] == run.name) if form else ("IOPS" in printed.out)
    hint = f"what was measured is kept: `fathom report {run} --out FILE` writes its page elsewhere"
    assert printed.err.splitlines()[-1] == f"fathom: cannot write report.html; {hint}"


def test_a_result_that_json_cannot_hold_is_null(runs_home: Path) -> None:
    result = fathom("query", "select 'inf'::double as x, 'nan'::double as y, 1.5::double as z", "--json")
    assert json.loads(result.stdout)["rows"] == [{"x": None, "y": None, "z": 1.5}]


def test_structs_and_lists_of_a_result_are_printed_whatever_is_in_them(runs_home: Path) -> None:
    sql = "select {'at': timestamp '2026-01-01', 'x': 'nan'::double} as s, ['inf'::double, 2.5] as l"
    as_json = fathom("query", sql, "--json")
    assert json.loads(as_json.stdout)["rows"] == [
        {"s": {"at": "2026-01-01 00:00:00", "x": None}, "l": [None, 2.5]}
    ]
    _, [s, items] = csv.reader(io.StringIO(fathom("query", sql, "--csv").stdout))
    assert (json.loads(s), json.loads(items)) == ({"at": "2026-01-01 00:00:00", "x": None}, [None, 2.5])


def test_columns_of_one_name_are_all_in_a_result(runs_home: Path) -> None:
    sql = "select 1 as a, 2 as a, 3 as a_1"
    assert json.loads(fathom("query", sql, "--json").stdout)["rows"] == [{"a": 1, "a_1": 2, "a_1_1": 3}]
    assert [line.split() for line in fathom("query", sql).stdout.splitlines()] == [
        ["a", "a_1", "a_1_1"],
        ["1", "2", "3"],
    ]


def test_a_file_of_somebody_else_is_not_overwritten(disk: Path, runs_home: Path) -> None:
    mine = disk / "precious.bin"
    mine.write_bytes(b"precious" * 8192)
    code, text = refused("run", SHORT, f"file:{mine}", "--size", "64MiB")
    assert code == 3
    assert "precious.bin" in text
    assert mine.read_bytes() == b"precious" * 8192
    assert not runs_home.exists()


def test_a_read_only_file_is_one_line(disk: Path) -> None:
    file = disk / "x.bin"
    assert fathom("run", SHORT, f"file:{file}", "--size", "64MiB", "--json").returncode == 0
    before = file.stat().st_mtime_ns
    file.chmod(stat.S_IRUSR)
    if os.geteuid() == 0:
        subprocess.run(["chattr", "+i", file], check=True)
    try:
        code, text = refused("run", SHORT, f"file:{file}", "--size", "64MiB")
    finally:
        if os.geteuid() == 0:
            subprocess.run(["chattr", "-i", file], check=True)
    assert code in (1, 3)
    assert "x.bin" in text
    assert file.stat().st_mtime_ns == before


def test_a_full_disk_is_one_line_and_leaves_no_file(small_file_system: Path) -> None:
    code, text = refused("run", SHORT, f"file:{small_file_system}/x.bin", "--size", "1GiB")
    assert code == 1
    assert "1 GiB" in text or "1.0 GiB" in text
    assert not (small_file_system / "x.bin").exists()


def test_a_mounted_device_is_refused_with_its_mount_point(small_file_system: Path, runs_home: Path) -> None:
    device = subprocess.run(
        ["findmnt", "-no", "SOURCE", small_file_system], capture_output=True, text=True, check=True
    ).stdout.strip()
    code, text = refused("run", SHORT, device, "--destroy", "whatever")
    assert code == 3
    assert str(small_file_system) in text
    assert not runs_home.exists()


def test_the_root_disk_is_refused(runs_home: Path) -> None:
    source = subprocess.run(
        ["findmnt", "-no", "SOURCE", "/"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not source.startswith("/dev/"):
        pytest.skip(f"the root file system is on {source}, no block device")
    code, text = refused("run", SHORT, source, "--destroy", "whatever")
    assert code == 3
    assert "root" in text
    assert not runs_home.exists()


def test_a_plan_says_that_its_run_would_be_refused_and_why(small_file_system: Path, tmp_path: Path) -> None:
    device = subprocess.run(
        ["findmnt", "-no", "SOURCE", small_file_system], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / "mine.bin").write_bytes(b"x" * 8192)
    planned = fathom("plan", SHORT, device, f"file:{tmp_path}/mine.bin", TWIN)
    assert planned.returncode == 0, planned.stderr
    said = [line for line in planned.stdout.splitlines() if line.startswith("would not run")]
    assert len(said) == 2
    assert f"mounted on {small_file_system}" in said[0]
    assert "mine.bin" in said[1]


def test_a_plan_touches_nothing(tmp_path: Path, runs_home: Path) -> None:
    result = fathom("plan", SHORT, f"file:{tmp_path}/x.bin", "--size", "64MiB")
    assert result.returncode == 0, result.stderr
    assert "67.1 MB" in result.stdout
    assert not (tmp_path / "x.bin").exists()
    assert not runs_home.exists()


def test_runs_can_be_listed_and_queried(one_run: Path) -> None:
    assert "short" in fathom("runs").stdout
    result = fathom("query", "select count(*) as n from points where iops > 0", "--json")
    assert json.loads(result.stdout)["rows"] == [{"n": 2}]
    code, text = refused("query", "select nothing from points")
    assert code == 2
    assert "nothing" in text


@pytest.mark.parametrize(
    "words",
    [("runs",), ("query", "select * from points"), ("report", "last"), ("resume", "last"), ("report", "202")],
)
def test_where_there_are_no_runs_yet_the_answer_is_how_to_make_one(
    runs_home: Path, words: tuple[str, ...]
) -> None:
    done = fathom(*words, FATHOM_RUNS=str(runs_home))
    said = (done.stdout + done.stderr).strip()
    assert said.endswith(f"no runs in {runs_home} yet; `fathom review` makes the first")
    assert "\n" not in said


def test_the_help_of_query_names_every_view() -> None:
    told = fathom("query", "--help").stdout
    assert [name for name in VIEWS if name not in told] == []


def test_a_query_without_rows_says_where_to_look_for_some(one_run: Path) -> None:
    done = fathom("query", "select * from points where iops < 0")
    assert done.returncode == 0
    assert done.stdout.startswith("no rows; `fathom runs`")
    assert "describe points" in done.stdout
    assert "limited_by" in fathom("query", "describe points").stdout
    assert fathom("query", "select run from points where iops < 0", "--csv").stdout == "run\n"


@pytest.mark.parametrize("command", [("report", "last"), ("query", "select 1")])
def test_two_forms_of_output_at_once_are_refused(runs_home: Path, command: tuple[str, str]) -> None:
    result = fathom(*command, "--json", "--csv", FATHOM_RUNS=str(runs_home))
    assert result.returncode == 2
    assert result.stderr == "fathom: --json and --csv exclude each other; give only one\n"


def test_a_piped_table_is_as_wide_as_it_needs_to_be() -> None:
    lines = fathom("catalog", "show", "wd-ultrastar-dc-sn861").stdout.splitlines()
    assert max(len(line.rstrip()) for line in lines) > 80
    narrow = fathom("catalog", "show", "wd-ultrastar-dc-sn861", COLUMNS="80").stdout.splitlines()
    assert max(len(line.rstrip()) for line in narrow) <= 80


def test_a_shown_twin_says_how_many_published_rates_its_ranges_hold() -> None:
    shown = " ".join(fathom("catalog", "show", "kioxia-cm9-r-15.36tb").stdout.split())
    assert "hold 1 of 4 of its published rates, fewer than chance explains" in shown


def test_repeats_are_runs_of_their_own_with_their_own_seeds_and_are_pooled(tmp_path: Path):
    result = fathom("run", SHORT, TWIN, "--repeats", "2", "--seed", "5", "--out", tmp_path, "--json")
    document = json.loads(result.stdout)
    first, second = (run["run"] for run in document["runs"])
    assert (first["seed"], second["seed"]) == (5, 6)
    assert (first["repeat_of"], second["repeat_of"]) == (None, first["id"])
    assert [row["repeats"] for row in document["pooled"]] == [2] * len(document["runs"][0]["points"])
    assert "mean of 2 repeats" in (tmp_path / first["id"] / "report.html").read_text()


def test_a_review_repeats_as_any_run_does(tmp_path: Path):
    result = fathom("review", TWIN, "--repeats", "2", "--seed", "5", "--out", tmp_path, "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    first, second = (run["run"] for run in document["runs"])
    assert (first["seed"], second["seed"], second["repeat_of"]) == (5, 6, first["id"])
    rows = [row for row in document["pooled"] if row["step"] == "4k-rand-write"]
    assert [row["repeats"] for row in rows] == [2]
    assert rows[0]["iops_low"] < rows[0]["iops"] < rows[0]["iops_high"]
    assert "mean of 2 repeats" in (tmp_path / first["id"] / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("four-corners null:", "fathom run four-corners TARGET"),
        ("replay app.log", "fathom run replay --trace TRACE"),
    ],
)
def test_a_method_in_the_place_of_a_command_is_told_how_to_run(words: str, advice: str) -> None:
    code, text = refused(*words.split())
    assert code == 2
    assert advice in text
