"""What the opening of a page claims about published figures."""

from types import SimpleNamespace
from typing import cast

import pytest

from fathom.report.comparison import Cell
from fathom.report.published import Published, error_item
from fathom.report.published_count import fitted_count
from fathom.report.sections.summary import beside_published


def cell(role: str, error_pct: float, device: str = "") -> Cell:
    published = Published(100.0, role, "a source", False)
    target = SimpleNamespace(catalog=device or f"drive {role} {error_pct}")
    return cast(
        Cell,
        SimpleNamespace(
            published=published,
            error_pct=error_pct,
            fitted=role.startswith("calibration"),
            metric="iops",
            step=SimpleNamespace(published="4k-rand-read"),
            column=SimpleNamespace(target=target, is_twin=True),
        ),
    )


def test_a_figure_near_one_that_its_twin_was_fitted_to_has_not_the_colour_of_success() -> None:
    assert error_item(0.1, fitted=True).tone == "quiet"
    assert error_item(0.1).tone == "good"
    assert error_item(30.0, fitted=True).tone == error_item(30.0).tone == "bad"


def test_figures_that_a_twin_was_fitted_to_are_no_success() -> None:
    [sentence] = beside_published([cell("calibration", 0.1), cell("calibration", -0.2)])
    assert "predicts nothing" in sentence
    assert "are met" not in sentence


@pytest.mark.parametrize(("fitted", "apart"), [([], False), ([cell("calibration", 0.0)], True)])
def test_predicted_figures_count_without_the_fitted_ones(fitted: list[Cell], apart: bool) -> None:
    sentence = beside_published([cell("validation", 3.0), cell("validation", -20.0), *fitted])[0]
    assert sentence.startswith("1 of 2 published figures are met within ten percent")
    assert ("fitted ones apart" in sentence) == apart


def test_a_drive_in_two_runs_has_each_published_figure_once() -> None:
    twice = [cell("validation", 3.0, "one"), cell("validation", 4.0, "one")]
    [sentence] = beside_published([*twice, cell("validation", -20.0, "other")])
    assert sentence.startswith("1 of 2 published figures are met")
    assert fitted_count([cell("calibration", 0.1, "one"), cell("calibration", 0.2, "one")]) == 1
