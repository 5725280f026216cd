"""A method says what the page of its runs opens with."""

import json
import tomllib
from pathlib import Path

import pytest

from fathom._core import KEY_FIGURES
from fathom.catalog import method_names, method_text
from fathom.errors import UsageError
from fathom.method.method import load_method, parse_method
from fathom.plan.review import review_method
from fathom.report.blocks import Group, KeyFigure, Section, Table
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.opening import PREFERRED, opened
from fathom.report.page import render
from synthetic import lookup, make_run

ABLE = ("summary", "verdict")
"""The key figures that a run of four corners holds."""


def declaring(path: Path, figure: str | None) -> Comparison:
    """A run of four corners whose method, which is the user's own, declares the figure."""
    run = make_run(path)
    document = json.loads((run / "run.json").read_text())
    document["method"]["name"] = "mine"
    if figure:
        document["method"]["parsed"]["key_figure"] = figure
    (run / "run.json").write_text(json.dumps(document))
    return compare([load(run)], lookup)


@pytest.mark.parametrize("name", method_names())
def test_every_method_of_the_catalogue_declares_its_key_figure(name: str) -> None:
    assert tomllib.loads(method_text(name))["key_figure"] in KEY_FIGURES


@pytest.mark.parametrize("full", [False, True])
def test_a_review_opens_with_the_corners_whatever_else_it_runs(full: bool) -> None:
    assert review_method(full=full).parsed["key_figure"] == "summary"


def test_the_page_knows_every_key_figure_that_a_method_may_declare() -> None:
    assert sorted(PREFERRED) == sorted(KEY_FIGURES)


@pytest.mark.parametrize("figure", KEY_FIGURES)
def test_a_page_says_where_its_method_asks_for_a_figure_that_the_run_does_not_hold(
    figure: str, tmp_path: Path
) -> None:
    page = render(declaring(tmp_path / "run", figure))
    missing = f"The method&#39;s key figure, {figure}, needs steps that are not in this run."
    assert (missing in page) == (figure not in ABLE)


def test_an_unknown_key_figure_is_refused_in_one_line_with_those_there_are() -> None:
    text = load_method("depth-scaling").text.replace('key_figure = "depths"', 'key_figure = "depth"')
    with pytest.raises(UsageError) as refused:
        parse_method(text, "mine.toml")
    said = str(refused.value)
    assert "\n" not in said
    assert said.startswith("mine.toml:")
    assert all(figure in said for figure in KEY_FIGURES)
    assert 'did you mean "depths"?' in said


@pytest.mark.parametrize(("declared", "opening"), [("mixes", "mixes"), (None, PREFERRED[0])])
def test_the_declared_figure_opens_the_page_and_without_one_the_first_of_those_preferred(
    declared: str | None, opening: str
) -> None:
    table = Table("", [], [Group("", [])])
    built = [Section(key, key, [], key_figure=KeyFigure(key, table)) for key in PREFERRED]
    chosen, rest = opened(built, wanted=declared)
    assert chosen is not None
    assert chosen.sentence == opening
    assert [section.key for section in rest] == [key for key in PREFERRED if key != opening]
