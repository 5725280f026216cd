"""Tags and notes on runs, from the command line: added, removed, printed, and asked for in the list."""

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fathom.cli import app
from fathom.errors import FathomError, UsageError
from fathom.runs import labels as labels_module
from fathom.runs.labels import FOLDER, Labels, change_labels, labels_file, read_labels
from small_runs import add


def fathom(*words: str) -> str:
    done: Result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def runs(runs_home: Path) -> list[Path]:
    return [add(runs_home, number, float(number)) for number in (1, 2)]


def test_tags_are_added_removed_and_kept_beside_the_run(runs: list[Path]) -> None:
    before = {path: path.read_bytes() for path in runs[0].rglob("*") if path.is_file()}
    fathom("label", runs[0].name, "--tag", "golden", "--tag", "rack 7", "--note", "New firmware.")
    fathom("label", runs[0].name, "--tag", "golden", "--untag", "rack 7")
    assert read_labels(runs[0]) == Labels(tags=("golden",), note="New firmware.")
    assert {path: path.read_bytes() for path in runs[0].rglob("*") if path.is_file()} == before
    assert not labels_file(runs[1]).exists()


def test_without_options_the_labels_are_printed_and_nothing_is_written(runs: list[Path]) -> None:
    assert fathom("label", runs[0].name).splitlines() == [runs[0].name, "  tags: none"]
    assert not (runs[0].parent / FOLDER).exists()
    fathom("label", "0001", "0002", "--note", "One.\nTwo.")
    said = json.loads(fathom("label", "last", "--json"))
    assert said["runs"] == [{"run": runs[1].name, "tags": [], "note": "One.\nTwo."}]


def test_the_list_shows_tags_and_keeps_the_runs_that_have_all_that_are_asked_for(runs: list[Path]) -> None:
    fathom("label", "0001", "--tag", "golden", "--tag", "rack 7")
    fathom("label", "0002", "--tag", "golden")
    assert "[golden] [rack 7]" in fathom("runs").replace("\n", " ")
    both = fathom("runs", "--tag", "golden", "--tag", "rack 7", "--json")
    assert [(run["run"], run["tags"]) for run in json.loads(both)["runs"]] == [
        (runs[0].name, ["golden", "rack 7"])
    ]
    assert runs[0].name not in fathom("runs", "--tag", "silver")


def test_an_empty_home_has_no_run_with_a_tag(runs_home: Path) -> None:
    assert " has golden" in fathom("runs", "--tag", "golden")
    assert json.loads(fathom("runs", "--tag", "golden", "--json"))["runs"] == []


def test_no_tag_is_lost_where_many_label_a_run_at_once(runs: list[Path]) -> None:
    tags = [f"tag {number}" for number in range(16)]
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda tag: change_labels(runs[0], lambda old: old.changed([tag], [], None)), tags))
    assert sorted(read_labels(runs[0]).tags) == sorted(tags)


def test_damaged_labels_leave_the_list_whole(runs: list[Path]) -> None:
    fathom("label", "0001", "--tag", "golden")
    labels_file(runs[0]).write_text("{")
    assert runs[0].name in fathom("runs")


@pytest.mark.parametrize("tag", ["", "   ", "a,b", "x" * 41, "a\tb", "a\nb"])
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(UsageError, match=r"a tag has 1 to 40 characters.*give each tag by itself"):
        Labels().changed([tag], [], None)


def test_twenty_tags_are_the_most() -> None:
    full = Labels().changed((f"tag {number}" for number in range(20)), [], None)
    with pytest.raises(UsageError, match="20 tags at most"):
        full.changed(["one more"], [], None)


def test_a_label_that_cannot_be_written_has_advice_that_its_command_takes(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(labels_module, "write_json", full)
    with pytest.raises(FathomError) as refused:
        change_labels(runs[0], lambda labels: labels)
    folder = runs[0].parent / FOLDER
    assert str(refused.value) == f"cannot write into {folder}: No space left on device; free some space there"
