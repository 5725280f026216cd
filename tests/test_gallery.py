"""The gallery: every method on twins, each with its report."""

import re
import runpy
from html import unescape
from pathlib import Path

import pytest

from fathom.catalog import method_names
from fathom.load.resolve import resolve_targets

DOCUMENTED = Path(__file__).parents[1] / "docs" / "gallery.md"
GALLERY = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "gallery.py"))


@pytest.mark.parametrize("name", method_names())
def test_every_method_of_the_gallery_runs_on_twins_alone(name: str):
    targets = resolve_targets(list(GALLERY["targets_of"](name)))
    assert targets
    assert {target.kind for target in targets} == {"twin"}


def test_the_gallery_names_no_method_that_is_gone():
    assert set(GALLERY["OTHERS"]) <= set(method_names())


def test_a_gallery_has_the_report_of_each_method_and_the_command_that_gives_it(tmp_path: Path):
    page = GALLERY["make"](tmp_path / "gallery", ["what-if"]).read_text()
    report = tmp_path / "gallery" / "what-if.html"
    assert report.stat().st_size > 100_000
    assert 'href="what-if.html"' in page
    [sentence] = re.findall(r"<h1[^>]*>(.+?)</h1>", report.read_text())
    assert f"<strong>{sentence}</strong>" in page
    assert "fathom run what-if twin:wd-ultrastar-dc-sn861-7.68tb?settled_share=1" in page
    assert sorted(path.suffix for path in report.parent.iterdir() if path.stem == "what-if") in (
        [".html"],
        [".html", ".png"],
    )


def told_by(page: Path) -> dict[str, str]:
    """The sentence of each report of a gallery, as its first screen shows it."""
    found = re.findall(r'href="([\w-]+)\.html".*?<strong>(.*?)</strong>', page.read_text())
    return {name: unescape(sentence).replace("\xa0", " ") for name, sentence in found}


def documented() -> dict[str, str]:
    """The sentences of methods on the page of the documentation."""
    methods, _, _ = DOCUMENTED.read_text().partition("## ")
    return dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", methods, re.MULTILINE))


def test_the_documentation_has_the_sentence_of_every_method(tmp_path: Path):
    assert list(documented()) == sorted(method_names())
    few = ["what-if", "snia-rwsw-replay-native"]
    assert told_by(GALLERY["make"](tmp_path, few)) == {name: documented()[name] for name in few}


@pytest.mark.long
def test_every_sentence_of_the_documentation_is_that_of_the_report(tmp_path: Path):
    assert told_by(GALLERY["make"](tmp_path, method_names())) == documented()


def test_the_trace_of_the_gallery_fits_on_the_drive_that_replays_it(tmp_path: Path):
    page = GALLERY["make"](tmp_path, ["snia-rwsw-replay-native"])
    assert "--trace app.csv" in page.read_text()


def test_a_method_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert GALLERY["main"]([str(tmp_path), "no-such-method"]) == 2
    assert capsys.readouterr().err.startswith("gallery.py: no method called")
    assert GALLERY["main"]([]) == 2
