"""Methods on sets of files: planned, refused where they do not fit, run, resumed and reported."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fathom
from fathom.cli import app
from fathom.errors import FathomError, RefusedError, UsageError
from fathom.load.initiator import ThisMachine
from fathom.load.resolve import resolve_targets, targets_of_run
from fathom.method.method import parse_method
from fathom.plan.files import with_files
from fathom.targets.claim import check_target, claim
from fathom.targets.file_sets import DIRECTORY_NAME, remove_set
from fathom.targets.target import Identity

METHOD = """
schema = "fathom-method/1"
name   = "many-files"

[[steps]]
name = "fill"
kind = "fill"
[steps.job]
mix     = "write"
block   = "16KiB"
pattern = "sequential"
files   = { count = 20, size = [{ size = "16KiB", share = 50 }, { size = "64KiB", share = 50 }], select = "sequential" }
load    = { threads = 2, iodepth = 4 }
until   = { written = "1x" }

[[steps]]
name = "reads"
[steps.job]
mix     = "read"
block   = "4KiB"
pattern = "random-once"
files   = { count = 20, size = [{ size = "16KiB", share = 50 }, { size = "64KiB", share = 50 }], open = 3 }
load    = { threads = 2, iodepth = 2 }
until   = { volume = "1x" }
"""
ONE_FILE = """
[[steps]]
name = "one-file"
[steps.job]
mix     = "read"
block   = "4KiB"
pattern = "uniform"
load    = {}
until   = { count = 10 }
"""


@pytest.fixture
def method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FATHOM_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "many-files.toml"
    file.write_text(METHOD)
    return file


def test_a_plan_shows_the_files_and_their_bytes_and_makes_none(tmp_path: Path, method: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(method), f"dir:{tmp_path}"])
    assert done.exit_code == 0, done.output
    assert "20 files, 800 KiB, on" in done.output
    assert not (tmp_path / DIRECTORY_NAME).exists()


def test_a_run_writes_and_reads_every_block_of_every_file_and_keeps_the_set(
    tmp_path: Path, method: Path
) -> None:
    done = CliRunner().invoke(app, ["run", str(method), f"dir:{tmp_path}"])
    assert done.exit_code == 0, done.output
    run = fathom.Run(next((tmp_path / "runs").glob("*many-files*")))
    target = run.document.targets[0]
    assert (target.name, target.kind, target.capacity_bytes) == (f"dir:{tmp_path}", "files", 800 << 10)
    assert target.identity["file_uuid"]
    [reads] = [row for row in run.table("points").to_pylist() if row["step"] == "reads"]
    assert (reads["n"], reads["errors"]) == (200, 0)
    assert len(list((tmp_path / DIRECTORY_NAME).iterdir())) == 20


def test_several_directories_at_once_hold_a_set_each_and_get_the_whole_job(
    tmp_path: Path, method: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    array = f"array:dir:{tmp_path}/a,dir:{tmp_path}/b"
    done = CliRunner().invoke(app, ["run", str(method), array])
    assert done.exit_code == 0, done.output
    run = fathom.Run(next((tmp_path / "runs").glob("*many-files*")))
    rows = [row for row in run.table("points").to_pylist() if row["step"] == "reads"]
    assert {row["target"]: row["n"] for row in rows} == {
        array: 400,
        f"dir:{tmp_path}/a": 200,
        f"dir:{tmp_path}/b": 200,
    }
    for name in ("a", "b"):
        assert len(list((tmp_path / name / DIRECTORY_NAME).iterdir())) == 20


def test_a_size_for_an_array_of_sets_is_refused(tmp_path: Path, method: Path) -> None:
    array = f"array:dir:{tmp_path},dir:{tmp_path}"
    done = CliRunner().invoke(app, ["plan", str(method), array, "--size", "1GiB"])
    assert isinstance(done.exception, UsageError)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("twin:samsung-pm9a3-7.68tb", "twins hold none: name a directory"),
        ("file:{}/x.bin", "name the directory: dir:"),
        ("dir:{}*4", "name directories: array:dir:PATH,dir:PATH"),
    ],
)
def test_a_target_that_can_hold_no_files_is_refused_in_one_line(
    tmp_path: Path, method: Path, target: str, why: str
) -> None:
    text = target.format(tmp_path)
    size = [] if text.startswith("twin:") else ["--size", "1MiB"]
    done = CliRunner().invoke(app, ["run", str(method), text, *size])
    assert isinstance(done.exception, UsageError)
    assert why in (done.exception.hint or "")


def test_a_size_beside_sizes_of_files_is_refused(tmp_path: Path, method: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(method), f"dir:{tmp_path}", "--size", "1GiB"])
    assert isinstance(done.exception, UsageError)
    assert done.exception.hint == "leave --size out"


@pytest.mark.parametrize("change", [("", ONE_FILE), ('count = 20, size = [{ size = "16KiB"', None)])
def test_steps_with_different_files_on_one_target_are_refused(
    tmp_path: Path, change: tuple[str, str | None]
) -> None:
    old, more = change
    text = METHOD + more if more else METHOD.replace(old, old.replace("20", "40"), 1)
    [target] = resolve_targets([f"dir:{tmp_path}"], 1 << 20)
    with pytest.raises(UsageError, match=r"fill and .* have different files"):
        with_files(parse_method(text, "many-files.toml"), [target])


def test_the_load_loop_alone_goes_through_the_same_places(method: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(method), "null:", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)


def test_a_resumed_run_goes_on_with_its_set_and_no_other(tmp_path: Path, method: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(method), f"dir:{tmp_path}"])
    assert done.exit_code == 0, done.output
    document = fathom.Run(next((tmp_path / "runs").glob("*many-files*"))).document
    parsed = parse_method(document.method.text, "many-files.toml")
    [target] = with_files(parsed, targets_of_run(document, ThisMachine().resolve))
    assert (target.kind, target.made) == ("files", True)
    check_target(target, writes=True)
    remove_set(tmp_path / DIRECTORY_NAME)
    with pytest.raises(FathomError, match="the files that this run began with are gone"):
        check_target(target, writes=True)
    with claim(replace(target, made=False, identity=Identity()), writes=True):
        pass
    with pytest.raises(
        RefusedError, match=r"not the set of files that this run began with.*; start a new run$"
    ):
        check_target(target, writes=True)


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize(
    ("target", "advice"),
    [
        ("file:PLACE/new", "name the directory: dir:PLACE"),
        ("file:PLACE", "name the directory: dir:PLACE"),
        ("array:file:PLACE/a,file:PLACE/b", "name the directory: dir:PLACE"),
        ("array:file:PLACE/a,dir:/tmp", "name directories: array:dir:PLACE,dir:/tmp"),
    ],
)
def test_a_file_in_the_place_of_a_directory_is_said_at_once(
    tmp_path: Path, method: Path, command: str, target: str, advice: str
) -> None:
    done = CliRunner().invoke(app, [command, str(method), target.replace("PLACE", str(tmp_path))])
    assert isinstance(done.exception, UsageError)
    assert "many-files works on a set of files" in done.exception.message
    assert done.exception.hint == advice.replace("PLACE", str(tmp_path))
