"""The page that lists the five sources names only what there is: methods, targets, sections, entries, options."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from fathom.catalog import device_names, entries, method_names
from fathom.catalog.settings import split
from fathom.cli import app

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/explanation/coverage.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| in the source")
]
CALLS = sorted({call for row in ROWS for call in re.findall(r"`(fathom [^`]+)`", row[1])})


def test_no_cell_is_empty_and_what_is_missing_has_a_reason() -> None:
    assert len(ROWS) >= 45
    for row in ROWS:
        assert len(row) == 4
        assert all(row), row
        if row[1] == "–":
            assert re.search(r"\b(No|Open)\b[^|]*: \w+", " ".join(row)), row


@pytest.mark.parametrize("call", CALLS)
def test_each_command_is_one_with_its_options_methods_and_targets(call: str) -> None:
    words = shlex.split(call)[1:]
    commands = getattr(get_command(app), "commands")  # noqa: B009 - the type of click's group is not exported
    command = commands[words.pop(0)]
    if words[:1] == ["show"]:
        command = command.commands[words.pop(0)]
        assert set(words) <= {entry.name for entry in entries("published")}
        return
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known
    if command.name == "run":
        assert words[0] in method_names()
    for target in (word for word in words if word.startswith("twin:")):
        assert split(target.removeprefix("twin:").split("*")[0])[0] in device_names()


def test_each_section_named_is_one_of_the_report() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "python/fathom/report/sections").glob("*.py"))
    keys = set(re.findall(r"`#([a-z-]+)`", PAGE))
    assert len(keys) >= 15
    for key in keys:
        assert re.search(rf'Section\(\s*"{key}"', sources), key


def test_each_published_row_named_is_in_the_catalogue() -> None:
    workloads = {
        name for entry in entries("published") for name in re.findall(r'workload = "([^"]+)"', entry.text())
    } | {entry.name for entry in entries("published")}
    for row in ROWS:
        for named in re.findall(r"`([a-z0-9*][a-z0-9.*-]+)`", row[3]):
            pattern = re.compile(named.replace(".", r"\.").replace("*", ".*"))
            assert any(pattern.fullmatch(name) for name in workloads), named
