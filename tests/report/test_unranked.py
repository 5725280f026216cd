"""A target that a card does not rank stays on the card, with the reason."""

import re
from pathlib import Path

import fathom
from fathom.report import write_html
from fathom.report.blocks import Cards
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import finding_texts
from fathom.report.sections import summary
from fathom.runs.document import NoteRecord

HEAD = """schema = "fathom-method/1"
name = "short-writes"
slice = "8GB"
"""
STEP = """
[[steps]]
name = "{name}"
kind = "{kind}"
[steps.job]
mix = "write"
block = "{block}"
pattern = "{pattern}"
load = {{ threads = 1, iodepth = 32 }}
until = {until}
"""
ONCE = '{ written = "1x" }'
FILL = STEP.format(name="fill", kind="fill", block="128KiB", pattern="sequential", until=ONCE)
SETTLE = STEP.format(name="settle", kind="fill", block="4KiB", pattern="uniform", until=ONCE)
MEASURE = STEP.format(
    name="4k-rand-write", kind="measure", block="4KiB", pattern="uniform", until='{ time = "5s" }'
)


def measured(folder: Path, drive: str, *steps: str) -> Path:
    method = folder / f"{drive}.toml"
    method.write_text(HEAD + "".join(steps))
    return fathom.run(str(method), targets=[f"twin:{drive}"], out=folder).path


def test_a_target_that_had_not_settled_stays_on_the_card_without_a_bar(tmp_path: Path) -> None:
    runs = [
        measured(tmp_path, "samsung-pm1743-7.68tb", FILL, SETTLE, MEASURE),
        measured(tmp_path, "samsung-pm9a3-7.68tb", FILL, MEASURE),
    ]
    section = summary.build(compare([load(path) for path in runs]))
    assert section
    assert section.key_figure
    cards = section.key_figure.block
    assert isinstance(cards, Cards)
    [card] = cards.cards
    assert [bar.label for bar in card.bars] == ["Samsung PM1743 · A"]
    assert [(one.label, one.why) for one in card.unranked] == [
        ("Samsung PM9A3 · B", "not ranked: random writes had not come to the size of its region")
    ]


def heading(page: Path) -> str:
    [sentence] = re.findall(r'<h1 class="sentence">(.*?)</h1>', page.read_text())
    return sentence


def test_a_page_without_a_claimed_figure_opens_with_why_there_is_none(tmp_path: Path) -> None:
    one = measured(tmp_path, "samsung-pm9a3-7.68tb", FILL, MEASURE)
    other = measured(tmp_path, "samsung-pm1743-7.68tb", FILL, MEASURE)
    page = write_html([one], tmp_path / "one.html")
    assert heading(page) == "Samsung PM9A3 had not settled, so no figure is claimed."
    assert "Not claimed (not settled): 4k-rand-write." in page.read_text()
    both = write_html([one, other], tmp_path / "both.html")
    assert heading(both) == "No target had settled, so no figure is claimed."


def test_a_page_without_a_measured_step_opens_with_that(tmp_path: Path) -> None:
    page = write_html([measured(tmp_path, "samsung-pm9a3-7.68tb", FILL)], tmp_path / "page.html")
    assert heading(page) == "No measured step has finished, so there is no result to show."


def test_a_run_whose_notes_say_that_the_page_cache_served_it_claims_nothing(tmp_path: Path) -> None:
    one = load(measured(tmp_path, "samsung-pm1743-7.68tb", FILL, SETTLE, MEASURE))
    assert finding_texts(compare([one])).outcomes[0].startswith("Samsung PM1743 reaches ")
    one.document.notes.append(
        NoteRecord(
            rule="page-cache",
            level="error",
            target=one.document.targets[0].name,
            step="4k-rand-write",
            text="only 3 % of the bytes reached the device",
            next_step="",
        )
    )
    [text] = finding_texts(compare([one])).outcomes
    assert text.startswith("No figure is claimed in ")
    assert text.endswith("Samsung PM1743 used the page cache (not all bytes reached the device).")
