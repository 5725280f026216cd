"""Runs of several methods side by side open with one short answer for each method."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import synthetic
from cut_methods import run_cut
from fathom.cli import app
from fathom.report import build, print_built, write_html
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.method_answers import method_answers
from fathom.report.opening import opened
from fathom.report.sections import build_all
from synthetic import Visit, assert_fits, make_run

METHODS = {
    "four-corners": "Four corners",
    "depth-scaling": "Depth scaling",
    "snia-wsat": "SNIA write saturation",
}
"""Methods that measure different workloads, and what their answers stand beside."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("methods")
    return [run_cut(method, folder) for method in METHODS]


def alone(run: Path) -> str:
    """The answer that a run of one method opens with."""
    comparison = compare([load(run)])
    opening, _ = opened(build_all(comparison), wanted=comparison.key_figure)
    assert opening
    return opening.sentence


def without_letters(text: str) -> str:
    for letter in "ABC":
        text = text.replace(f" · {letter}", "")
    return text


def test_each_method_has_the_answer_that_its_runs_have_alone(runs: Sequence[Path]) -> None:
    found = method_answers(build(runs).comparison)
    assert [one.method for one in found] == list(METHODS.values())
    assert [one.where for one in found] == ["run A", "run B", "run C"]
    assert [without_letters(one.sentence) for one in found] == [alone(run) for run in runs]


def test_runs_of_one_method_share_an_answer_beside_another_method(
    runs: Sequence[Path], tmp_path: Path
) -> None:
    found = method_answers(build([*runs[:2], run_cut("four-corners", tmp_path)]).comparison)
    assert [(one.method, one.where) for one in found] == [
        ("Four corners", "runs A, C"),
        ("Depth scaling", "run B"),
    ]


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_first_screen_names_each_method_with_its_answer(
    runs: Sequence[Path], tmp_path: Path, visit: Callable[..., Visit], width: int, height: int
) -> None:
    seen = visit(write_html(runs, tmp_path / "report.html"))
    seen.page.set_viewport_size({"width": width, "height": height})
    assert seen.page.locator("h1").inner_text() == "Each of the 3 methods has its own answer."
    rows = seen.page.locator("#answer tbody tr")
    for place, (title, run) in enumerate(zip(METHODS.values(), runs, strict=True)):
        text = without_letters(rows.nth(place).inner_text().replace("\u00a0", " "))
        assert title in text
        assert alone(run).replace("\u00a0", " ") in text
    box = rows.last.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= height
    assert_fits(seen.page, width)
    assert seen.complaints == []


def test_the_terminal_begins_with_the_same_answers(runs: Sequence[Path]) -> None:
    console = Console(width=200, file=io.StringIO())
    built = build(runs)
    print_built(console, built)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    first = lines.index("") - len(METHODS)
    assert lines[first : first + len(METHODS)] == [
        f"{one.method}, {one.where}: {one.sentence}" for one in method_answers(built.comparison)
    ]


def test_the_report_command_prints_the_answers_beside_the_path(runs: Sequence[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = CliRunner().invoke(app, ["report", *map(str, runs), "--out", str(page)], env={"COLUMNS": "200"})
    assert said.stdout.split() == [str(page)]
    assert [line.partition(",")[0] for line in said.stderr.splitlines() if line] == list(METHODS.values())


def test_methods_that_measure_the_same_workloads_are_compared_instead(tmp_path: Path) -> None:
    both = []
    for name, targets in (("mine", synthetic.TWINS[:1]), ("yours", synthetic.TWINS[1:2])):
        run = make_run(tmp_path / name, targets)
        document = json.loads((run / "run.json").read_text())
        document["method"]["name"] = name
        (run / "run.json").write_text(json.dumps(document))
        both.append(run)
    assert method_answers(build(both, synthetic.lookup).comparison) == []


def test_an_answer_says_where_its_run_lacks_the_figure_that_its_method_declares(
    runs: Sequence[Path], tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run")
    document = json.loads((run / "run.json").read_text())
    document["method"]["parsed"]["key_figure"] = "cluster"
    document["method"]["name"] = "mine"
    (run / "run.json").write_text(json.dumps(document))
    first, second = method_answers(build([run, runs[1]], synthetic.lookup).comparison)
    assert first.caveat == "The method's key figure, cluster, needs steps that are not in this run."
    assert second.caveat == ""
