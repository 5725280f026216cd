"""What docs/ARCHITECTURE.md and docs/how-to/extend.md send a newcomer to is there, and the recipes work as written."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from test_architecture import LAYERS

ROOT = Path(__file__).parents[1]
MAP = (ROOT / "docs/ARCHITECTURE.md").read_text()
RECIPES = (ROOT / "docs/how-to/extend.md").read_text()
LIMIT_S = 300
BUILD_LIMIT_S = 1800
"""A build from nothing takes five minutes on two cores, and longer where they are shared."""


def section(name: str) -> str:
    return RECIPES.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def commands(text: str) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    return [
        line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")
    ]


def change(text: str, folder: Path) -> None:
    """Applies the section's change to a copy of the tree."""
    [diff] = re.findall(r"```diff\n(.*?)```", text, flags=re.DOTALL)
    subprocess.run(["git", "apply", "-"], cwd=folder, input=diff, text=True, check=True)


def saved(text: str) -> tuple[str, str]:
    """The module that the section has saved: its name and its source."""
    [found] = re.findall(r"Save it as `(\w+\.py)`:\n\n```python\n(.*?)```", text, flags=re.DOTALL)
    return found


def carried_out(script: list[str], folder: Path, limit_s: float = LIMIT_S, **environment: str) -> str:
    """Runs the commands in one shell; `fathom` is this tree's. Returns what they printed."""
    called = f'fathom() {{ python -m fathom "$@"; }}; python() {{ "{sys.executable}" "$@"; }}'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join([called, *script])],
        cwd=folder,
        env=os.environ | {"HOME": str(folder), "FATHOM_RUNS": str(folder / "runs")} | environment,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_file_that_the_map_names_is_there():
    named = set(re.findall(r"`((?:python|crates|docs|tests)/[\w./-]+)`", MAP))
    assert len(named) > 20
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_every_name_that_the_map_puts_beside_a_file_is_in_it():
    pairs = re.findall(r"`((?:python|crates)/[\w./-]+)` \(`(\w+)`\)", MAP)
    assert len(pairs) >= 5
    assert [pair for pair in pairs if not re.search(rf"\b{pair[1]}\b", (ROOT / pair[0]).read_text())] == []


def test_the_map_lists_the_layers_in_the_order_that_the_test_checks():
    table = MAP.partition("| package | what it does |")[2].partition("\n\n")[0]
    rows = (re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines() if row.startswith("| `"))
    assert [name for row in rows for name in row] == [name for name in LAYERS if name != "__main__"]


def test_the_recipe_for_a_device_makes_one_that_runs(tmp_path: Path):
    carried_out(commands(section("A device")), tmp_path)
    [document] = (tmp_path / "runs").glob("*-four-corners-*/run.json")
    assert "twin:my-drive" in document.read_text()


def test_the_recipe_for_a_method_makes_one_that_runs(tmp_path: Path):
    carried_out(commands(section("A method")), tmp_path)
    assert [*(tmp_path / "runs").glob("*/run.json")]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A scratch copy of the package, in a tree as the repository has it."""
    tree = tmp_path / "tree"
    shutil.copytree(
        ROOT / "python/fathom", tree / "python/fathom", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tree


def test_the_recipe_for_a_report_section_puts_it_on_the_page(copied: Path, tmp_path: Path):
    name, source = saved(section("A report section"))
    (copied / "python/fathom/report/sections" / name).write_text(source)
    run = "fathom run four-corners twin:samsung-pm9a3-7.68tb --quick"
    carried_out([run], tmp_path, PYTHONPATH=str(copied / "python"))
    [page] = (tmp_path / "runs").glob("*/report.html")
    assert "The longest I/Os" in page.read_text()


def test_the_recipe_for_an_import_format_reads_a_command_of_it(copied: Path, tmp_path: Path):
    text = section("An import format")
    name, source = saved(text)
    (copied / "python/fathom/imports" / name).write_text(source)
    change(text, copied)
    carried_out(commands(text), tmp_path, PYTHONPATH=str(copied / "python"))
    assert "write = 30" in (tmp_path / "mine.toml").read_text()
    assert [*(tmp_path / "runs").glob("*/run.json")]


def test_the_recipe_for_a_column_puts_it_into_runs_queries_and_the_reference(copied: Path, tmp_path: Path):
    for name in ("tools/columns.py", "docs/reference/run-directory.md"):
        (copied / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, copied / name)
    text = section("A column")
    change(text, copied)
    printed = carried_out(commands(text), copied, PYTHONPATH=str(copied / "python"))
    assert printed.splitlines()[-2:] == ["moved", "True"]
    assert "| moved_bytes | int64 | B |" in (copied / "docs/reference/run-directory.md").read_text()


def test_the_recipe_for_a_kind_of_target_makes_one_that_is_held_and_loaded(copied: Path, tmp_path: Path):
    text, scratch = section("A kind of target"), tmp_path / "scratch"
    scratch.mkdir()
    change(text, copied)
    carried_out(commands(text), tmp_path, PYTHONPATH=str(copied / "python"), TMPDIR=str(scratch))
    [run] = (tmp_path / "runs").glob("*/run.json")
    [target] = json.loads(run.read_text())["targets"]
    assert (target["name"], target["kind"]) == ("temp:", "temp")
    assert (scratch / "fathom-scratch.bin").exists()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A scratch copy of what cargo builds, and of what its tests read."""
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml", "crates", "docs", "python/fathom/catalog"):
        whole = ROOT / name
        _ = shutil.copytree(whole, tmp_path / name) if whole.is_dir() else shutil.copy(whole, tmp_path)
    return tmp_path


def built(script: list[str], folder: Path) -> None:
    own = {"HOME": os.environ["HOME"], "CARGO_TARGET_DIR": str(ROOT / "target")}
    carried_out(script, folder, BUILD_LIMIT_S, **own)


def test_the_recipe_for_an_operation_compiles_in_every_place_that_the_compiler_names(workspace: Path):
    text = section("An operation")
    change(text, workspace)
    built([line for line in commands(text) if line.startswith("cargo check")], workspace)


@pytest.mark.long
def test_the_recipe_for_an_operation_keeps_the_tests_of_jobs(workspace: Path):
    text = section("An operation")
    change(text, workspace)
    built(commands(text), workspace)


@pytest.mark.long
def test_the_recipe_for_a_victim_policy_compiles_and_keeps_the_closed_forms_of_the_others(workspace: Path):
    text = section("A victim policy")
    change(text, workspace)
    built(commands(text), workspace)
