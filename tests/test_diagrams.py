"""Diagrams of the documentation: as they are drawn, and fit to be read."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from documented import PAGES, ROOT
from synthetic import Visit

TOOL = runpy.run_path(str(ROOT / "tools" / "diagrams.py"))
NAMES = list(TOOL["PICTURES"])
ASIDE = """() => {
  const wide = document.documentElement.viewBox.baseVal;
  const texts = [...document.querySelectorAll("text")].map(one => [one.textContent, one.getBBox()]);
  const out = texts.filter(([, b]) => b.x < 4 || b.x + b.width > wide.width - 4 || b.y + b.height > wide.height);
  const boxes = [...document.querySelectorAll("rect[stroke]")].map(one => one.getBBox());
  const over = texts.filter(([, b]) => boxes.some(box =>
    b.y > box.y && b.y + b.height < box.y + box.height && b.x < box.x + box.width && b.x + b.width > box.x
    && (b.x < box.x + 2 || b.x + b.width > box.x + box.width - 2)));
  const met = texts.filter(([, a], at) => texts.some(([, b], other) => other > at
    && a.x < b.x + b.width && b.x < a.x + a.width && a.y + 3 < b.y + b.height && b.y + 3 < a.y + a.height));
  return [...out, ...over, ...met].map(([text]) => text);
}"""
"""Texts that leave the picture, cross the border of a box, or lie on another text."""


@pytest.mark.parametrize("name", NAMES)
def test_a_diagram_is_the_one_that_the_tool_draws(name: str) -> None:
    assert (ROOT / f"docs/images/{name}.svg").read_text() == TOOL["PICTURES"][name]().svg()


@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_diagram_leaves_it_or_lies_on_another(name: str, visit: Callable[..., Visit]) -> None:
    assert visit(ROOT / f"docs/images/{name}.svg").page.evaluate(ASIDE) == []


def test_a_text_that_is_too_wide_is_noticed(tmp_path: Path, visit: Callable[..., Visit]) -> None:
    drawing = TOOL["Drawing"]("Faulty", 120)
    drawing.box(10, 10, 60, ["wider than its box"])
    drawing.text(440, 100, "beyond the edge")
    drawing.text(200, 100, "one on")
    drawing.text(210, 100, "the other")
    (tmp_path / "faulty.svg").write_text(drawing.svg())
    found = visit(tmp_path / "faulty.svg").page.evaluate(ASIDE)
    assert set(found) == {"wider than its box", "beyond the edge", "one on"}


def test_every_diagram_is_on_a_page_and_has_words_for_those_who_cannot_see_it() -> None:
    shown = {
        Path(path).name: words
        for page in PAGES
        for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", page.read_text())
    }
    assert {f"{name}.svg" for name in NAMES} <= shown.keys()
    assert all(len(words) > 20 for words in shown.values())


def test_no_page_draws_with_letters() -> None:
    drawn = [str(page) for page in PAGES if re.search(r"[─│┌└▶◀]|--->|-{9,}>|\|  \*", page.read_text())]
    assert drawn == []
