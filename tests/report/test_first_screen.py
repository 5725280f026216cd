"""The first screen of every method's page, in a browser: the answer, its figure, and how much there is to read.

Methods run shortened, and most with fewer steps than they have, so that all of them take about a minute.
"""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cut_methods import CUTS, run_cut
from fathom.catalog import method_names
from fathom.report import write_html
from fathom.report.blocks import Figure
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.html_page import unbroken
from fathom.report.opening import MOST_WORDS
from fathom.report.sections import build_all
from synthetic import Visit, assert_fits

SCREENS = ((1280, 900), (390, 844))
MOST_NUMBERS = 2
MOST_IN_A_SENTENCE = 25
NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")


@pytest.fixture(scope="session", params=sorted(CUTS))
def run_of_method(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_cut(request.param, tmp_path_factory.mktemp(request.param))


def test_every_method_has_its_page_looked_at() -> None:
    assert set(CUTS) == set(method_names())


def test_the_first_screen_holds_the_answer_and_its_figure_in_few_words_and_numbers(
    run_of_method: Path, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    path = write_html([run_of_method], tmp_path / "report.html")
    seen = visit(path)
    for width, height in SCREENS:
        seen.page.set_viewport_size({"width": width, "height": height})
        figure = seen.page.locator("#answer").locator(".chart, .cards, table").first
        box = figure.bounding_box()
        assert box is not None
        assert box["y"] < height / 2
        if "cards" not in (figure.get_attribute("class") or "") and figure.get_attribute("data-chart"):
            assert box["y"] + box["height"] <= height
        assert_fits(seen.page, width)
    assert seen.page.locator("h1").inner_text() == declared_sentence(run_of_method)
    said = [seen.page.locator("h1").inner_text(), *seen.page.locator(".reasons li").all_inner_texts()]
    assert sum(len(text.split()) for text in said) <= MOST_WORDS
    assert [text for text in said if numbers(text, run_of_method) > MOST_NUMBERS] == []
    assert [text for text in said if len(text.split()) > MOST_IN_A_SENTENCE] == []
    assert seen.complaints == []


def test_no_two_charts_of_a_page_have_one_key(run_of_method: Path) -> None:
    """Charts of one key would draw the same data."""
    sections = build_all(compare([load(run_of_method)]))
    opening = [one.key_figure.block for one in sections if one.key_figure]
    blocks = [block for section in sections for block in section.blocks] + opening
    charts = {id(chart): chart.key for block in blocks if isinstance(block, Figure) for chart in block.charts}
    assert len(charts) > 0
    assert [key for key, times in Counter(charts.values()).items() if times > 1] == []


def declared_sentence(run: Path) -> str:
    """The sentence of the key figure that the method of a run declares, as the page writes it."""
    comparison = compare([load(run)])
    declared = comparison.runs[0].key_figure
    [figure] = [one.key_figure for one in build_all(comparison) if one.key == declared and one.key_figure]
    return str(unbroken(figure.sentence))


def numbers(text: str, run: Path) -> int:
    """How many numbers a sentence has beside those in the names of targets, workloads and units."""
    comparison = compare([load(run)])
    names = [name for column in comparison.columns for name in (column.label, column.short)]
    names += [step.label for one in comparison.runs for step in one.steps.values()]
    text = text.replace("\u00a0", " ")
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    text = re.sub(r"\d+ [KM]iB|H100|PCIe \d\.\d x\d+|\d+ % reads?|p9\d*", "", text)
    return len(NUMBER.findall(text))
