"""Commands that the pages teach: the program takes each, and those that need no drive succeed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

import fathom
from documented import PAGES, ROOT, Command, block, commands
from fathom.catalog import load_device
from fathom.cli import app
from fathom.runs.reader import Run

PROGRAM = cast("TyperGroup", typer.main.get_command(app))
TAUGHT = [
    page
    for page in PAGES
    if page.parent.name in ("docs", "how-to", ROOT.name)
    and page.name not in ("extend.md", "tutorial-workload.md")
    and any(command.runs_anywhere for command in commands(page))
]
"""`test_recipes.py` carries out extend.md, and `test_documentation.py` the tutorial on an own workload."""
NOT_RUN = {
    "fathom resume last": "needs a run that was interrupted: test_ended_runs.py kills some",
    "fathom run two.toml reader=file:reader.bin writer=file:writer.bin --size 16GiB": "writes 16 GiB",
    "fathom run mine.toml file:scratch.bin --size 4GiB --quick": "writes 4 GiB",
    "fathom serve": "serves until it is ended: tests/serve",
    "fathom serve --listen 0.0.0.0:8765 --token new": "the same",
    "fathom store init postgresql://db.example.org/fathom --data s3://bench/fathom": "needs servers: tests/store",
    "fathom validate": "tests/validation has every twin",
    "fathom validate --json > errors.json": "the same",
    "fathom validate --gate": "the same",
    "fathom calibrate samsung-pm9a3-7.68tb --write": "writes into the installed catalogue: tests/catalog has a copy",
}
MAY_FAIL = ("--fail-if", "--gate")
"""A gate that is missed ends with 4, which is what the page teaches."""
MOST_S = 1800
"""Seconds after which a command is taken for one that does not end."""
TRACE = """fio version 3 iolog
0 data add
0 data open
1 data write 0 4096
2 data read 8192 4096
3 data write 4096 8192
4 data read 0 4096
5 data close
"""


def bare(command: Command) -> str:
    return re.sub(r"\s+#.*$", "", command.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_is_one_that_the_program_takes(page: Path) -> None:
    for command in commands(page):
        for words in command.of_fathom():
            try:
                check_parsed(PROGRAM, words)
            except typer.Exit:
                pass  # An option such as --show-prices answers at once.
            except Exception as error:
                raise AssertionError(str(command)) from error


def test_the_reference_has_every_option_of_every_command() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    own, shared = rows_of_commands(page), rows_of_options(page)
    taken = {name: options_of(command) for name, command in commands_of(PROGRAM)}
    for name, options in taken.items():
        for option in options:
            in_row = re.search(rf"{option}(?![\w-])", own[name.split()[0]])
            listed = shared.get(option, [])
            assert in_row or listed is None or name in listed, f"cli.md lacks {option} of {name}"
    for option, names in shared.items():
        for name in names or []:
            assert option in taken[name], f"cli.md gives {name} the option {option}"


def options_of(command: TyperCommand | TyperGroup) -> list[str]:
    return [
        one
        for parameter in command.params
        for one in [*parameter.opts, *parameter.secondary_opts]
        if one[:2] == "--"
    ]


def commands_of(group: TyperGroup, before: str = "") -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand | TyperGroup)
        yield f"{before}{name}", command
        if isinstance(command, TyperGroup):
            yield from commands_of(command, f"{before}{name} ")


def rows_of_commands(page: str) -> dict[str, str]:
    """Returns the rows of each command, by its first word."""
    found: dict[str, str] = {}
    for row, name in re.findall(r"^(\| `fathom ([\w-]+).*)$", page, flags=re.MULTILINE):
        found[name] = found.get(name, "") + row
    return found


def rows_of_options(page: str) -> dict[str, list[str] | None]:
    """Returns the commands that the table of common options gives to each option; None: most of them."""
    table = page.partition("## Options that several commands have")[2].partition("\n## ")[0]
    found: dict[str, list[str] | None] = {}
    names: list[str] | None = None
    for options, of in re.findall(r"^\| (`--.*?) \| (.*?) \|", table, flags=re.MULTILINE):
        if of != "the same":
            names = re.findall(r"`([\w -]+)`", of) or None
        found |= dict.fromkeys(re.findall(r"`(--[\w-]+)", options), names)
    return found


@pytest.mark.parametrize(
    "words", ["run --nope", "run four-corners twin:x", "report last --jso", "nonsense", "catalog sow x"]
)
def test_a_misspelt_command_is_noticed(words: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|did you mean|expected|no device"):
        check_parsed(PROGRAM, words.split())


def check_parsed(program: TyperCommand | TyperGroup, words: list[str]) -> None:
    """Parses the words down to the last command, as the program would. Twins must be in the catalogue."""
    context = program.make_context("fathom", list(words))
    if isinstance(program, TyperGroup):
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, found, rest = program.resolve_command(context, rest)
        assert isinstance(found, TyperCommand | TyperGroup), name
        check_parsed(found, rest)
        return
    for target in context.params.get("targets") or ():
        twin = re.match(r"twin:(?!my-drive|acme-one)([\w.-]+)", target)
        if twin:
            load_device(twin[1])


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Four runs of one method on one twin, which pages call BASE, NEW-1 or RUN-1."""
    folder = tmp_path_factory.mktemp("earlier")
    target = "twin:samsung-pm9a3-7.68tb"
    return [fathom.run("four-corners", target, quick=True, seed=seed, out=folder) for seed in range(1, 5)]


@pytest.fixture
def desk(tmp_path: Path, earlier: list[Run], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages name, earlier runs in the home of runs, and `fathom` in the path."""
    runs = tmp_path / "home"
    runs.mkdir()
    for run in earlier:
        shutil.copytree(run.path, runs / run.path.name)
    monkeypatch.setenv("FATHOM_RUNS", str(runs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    desk = tmp_path / "desk"
    desk.mkdir()
    monkeypatch.chdir(desk)
    write_files(desk)
    return desk


def write_files(desk: Path) -> None:
    texts = {
        "oltp.fio": block("docs/how-to/import.md", "ini"),
        "oltp.toml": block("docs/how-to/export.md", "toml"),
        "firmware.toml": block("docs/how-to/compare.md", "toml"),
        "acme.toml": block("docs/how-to/new-device.md", "toml"),
        "needs.toml": block("docs/how-to/choose.md", "toml"),
        "randread.fio": block("docs/how-to/results.md", "ini"),
        "app.log": TRACE,
        "run.sh": "for depth in 1 32; do\nfio --name=a --rw=randread --bs=4k --size=1g --iodepth=$depth\ndone\n",
        "two.fio": "[reader]\nrw=randread\nsize=16m\n[writer]\nstonewall\nrw=randwrite\nsize=16m\n",
    }
    for name, text in texts.items():
        (desk / name).write_text(text)
    shutil.copytree(ROOT / "tests/data/results", desk / "archive")
    shutil.copy(ROOT / "tests/data/results/summary.html", desk / "s.txt")
    fio = "fio --name=x --ioengine=null --size=1m --rw=randread --write_lat_log=x --write_bw_log=x"
    subprocess.run(f"{fio} --output=oltp.json --output-format=json", cwd=desk, shell=True, check=True)
    prices = subprocess.run(["fathom", "choose", "--show-prices"], capture_output=True, text=True, check=True)
    (desk / "prices.toml").write_text(prices.stdout)
    shutil.copy(Path(fathom.__file__).parent / "catalog/methods/four-corners.toml", desk / "mine.toml")


def typed(command: Command, earlier: list[Run]) -> str:
    """Returns the command with runs in the place of those that the page invents."""
    first, second, third, fourth = (run.path.name for run in earlier)
    names = {
        "NEW-1": second, "NEW-2": third, "NEW-3": fourth, "RUN-1": first, "RUN-2": second, "RUN-3": third,
        "20261120-231500": first, "BASE": first, "NEW": second, "SYSTEM...": "weka-cluster-high-capacity-6500-ion",
    }  # fmt: skip
    text = bare(command)
    for word, name in names.items():
        text = text.replace(word, name)
    return text


@pytest.mark.long
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("page", TAUGHT, ids=lambda page: page.name)
@pytest.mark.usefixtures("desk")
def test_every_command_that_a_page_teaches_succeeds(page: Path, earlier: list[Run]) -> None:
    for command in commands(page):
        if not command.runs_anywhere or bare(command) in NOT_RUN:
            continue
        text = typed(command, earlier)
        done = subprocess.run(
            ["bash", "-c", text], capture_output=True, text=True, check=False, timeout=MOST_S
        )
        allowed = (0, 4) if any(word in text for word in MAY_FAIL) else (0,)
        assert done.returncode in allowed, f"{command}\n{done.stdout}\n{done.stderr}"


def test_what_is_not_run_is_still_taught() -> None:
    taught = {bare(command) for page in PAGES for command in commands(page)}
    assert set(NOT_RUN) <= taught
