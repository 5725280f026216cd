"""The examples of the documentation run, and its links lead somewhere."""

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from fathom.exports import export_method
from fathom.imports import import_method
from fathom.method.method import parse_method

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "fathom"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DEMO: str = runpy.run_path(str(ROOT / "tools" / "site.py"))["DEMO"]
"""A page that the site is given when it is built."""


def test_the_examples_of_the_python_page_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/python-api.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(examples) >= 6
    exec(compile("\n".join(examples), "docs/how-to/python-api.md", "exec"), {"__name__": "example"})
    assert "four-corners" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_pages(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        made = (page.parent / link).resolve() == ROOT / "docs" / DEMO
        assert made or (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_site_is_built_without_a_warning_and_has_a_page_with_a_twin_inside(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert 'id="twin"' in (tmp_path / DEMO).read_text()
    assert f'href="../../{DEMO}"' in (tmp_path / "how-to/what-if/index.html").read_text()


def test_the_imported_job_of_the_import_page_is_what_import_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/how-to/import.md").read_text()
    [job], [method] = (re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL) for kind in ("ini", "toml"))
    monkeypatch.chdir(tmp_path)
    Path("oltp.fio").write_text(job)
    assert import_method(Path("oltp.fio"))[0] == method


def test_the_job_file_of_the_export_page_is_what_export_makes() -> None:
    page = (ROOT / "docs/how-to/export.md").read_text()
    [method], [job] = (re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL) for kind in ("toml", "ini"))
    assert export_method(parse_method(method, "oltp.toml"))[0] == job


def test_the_gate_of_the_page_on_comparisons_finds_the_slower_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/how-to/compare.md").read_text()
    [method] = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    commands = re.findall(r"^\$ fathom (.*)$", page.rpartition("```console")[2], flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("firmware.toml").write_text(method)
    done = [
        subprocess.run(
            f"{sys.executable} -m fathom {command}", shell=True, capture_output=True, text=True, check=False
        )
        for command in commands
    ]
    assert [one.returncode for one in done] == [0, 0, 4], done
    assert "Limit missed, iops < -3%: IOPS of 4 KiB random read" in done[-1].stdout


def test_the_page_on_results_of_others_compares_fio_with_a_run_of_the_same_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    page = (ROOT / "docs/how-to/results.md").read_text()
    [job] = re.findall(r"```ini\n(.*?)```", page, flags=re.DOTALL)
    commands = re.findall(r"^\$ (.*)$", page, flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("randread.fio").write_text(job)
    printed = []
    for command in commands:
        here = re.sub(r"^fathom", f"{sys.executable} -m fathom", command)
        done = subprocess.run(here, shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
        printed.append(done.stdout)
        monkeypatch.setenv("FATHOM_RUNS", str(tmp_path / "ours"))
    compared = printed[-2]
    assert "measured by fio" in compared
    assert "no interval" in compared
    assert Path("run.json").is_file()


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_tutorial_on_your_own_workload_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/tutorial-workload.md").read_text()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FATHOM_RUNS", str(tmp_path / "runs"))
    commands = re.findall(r"^\$ (.*)$", page, flags=re.MULTILINE)
    assert len(commands) == 11
    for command in commands:
        own = (
            command.replace("fathom", f"{sys.executable} -m fathom", 1)
            if command[:6] == "fathom"
            else command
        )
        done = subprocess.run(own.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "app.html").exists()


def test_the_commands_of_the_page_on_pages_with_a_twin_inside_work_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/how-to/what-if.md").read_text()
    blocks = re.findall(r"```console\n\$ fathom (.*)\n(.*)\n?```", page)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOM_RUNS", str(tmp_path))
    assert len(blocks) == 4
    for command, printed in blocks:
        done = subprocess.run(
            f"{sys.executable} -m fathom {command}", shell=True, capture_output=True, text=True, check=True
        )
        if printed:
            assert done.stdout == f"{printed}\n"
            assert 1_000_000 < Path(printed).stat().st_size < 1_300_000


def _rules_in(file: Path) -> Iterator[str]:
    """Yields the rules of the notes that a module makes, where it names them."""
    for call in ast.walk(ast.parse(file.read_text())):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in ("Note", "NoteRecord")
        ):
            given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "rule")]
            for one in (part for rule in given for part in ast.walk(rule)):
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one.value
                elif isinstance(one, ast.Name) and one.id.isupper():
                    module = ".".join(("fathom", *file.relative_to(PACKAGE).with_suffix("").parts))
                    yield getattr(import_module(module), one.id)


def test_the_page_on_statistics_lists_the_rule_of_every_note() -> None:
    rules = {rule for file in PACKAGE.rglob("*.py") for rule in _rules_in(file)}
    assert len(rules) > 40
    listed = set(re.findall(r"`([a-z-]+)`", (ROOT / "docs/explanation/statistics.md").read_text()))
    assert rules <= listed
