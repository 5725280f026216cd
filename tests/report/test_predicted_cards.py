"""Cards of twins: the range of measurements, and how likely the order holds for real drives."""

from pathlib import Path

import fathom
from fathom.report.blocks import Cards
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import summary

SHEET = "twin:samsung-pm9d3a-7.68tb"
PM9A3, SN861 = "twin:samsung-pm9a3-7.68tb", "twin:wd-ultrastar-dc-sn861-7.68tb"


def cards(targets: list[str], folder: Path) -> Cards:
    run = fathom.run("four-corners", targets=targets, quick=True, out=folder)
    section = summary.build(compare([load(run.path)]))
    assert section is not None
    assert section.key_figure is not None
    found = section.key_figure.block
    assert isinstance(found, Cards)
    return found


def test_a_card_of_two_twins_has_their_ranges_and_the_chance_of_their_order(tmp_path: Path):
    for card in cards([PM9A3, SN861], tmp_path).cards:
        assert "% likely that real drives keep this order" in card.detail
        for bar in card.bars:
            assert bar.expected is not None
            low, high = bar.expected
            assert low < bar.share < high <= 1


def test_a_lead_of_a_twin_of_a_data_sheet_is_said_to_be_that_of_its_ratings(tmp_path: Path):
    run = fathom.run("four-corners", targets=[SHEET, PM9A3], out=tmp_path, quick=True)
    section = summary.build(compare([load(run.path)]))
    assert section is not None
    key = section.key_figure
    assert key is not None
    assert (
        "Samsung PM9D3a leads by the ratings of its data sheet: its twin was fitted to nothing else."
        in key.reasons
    )
    assert isinstance(key.block, Cards)
    assert {bar.tag for bar in key.block.cards[0].bars} == {"twin of a data sheet", "twin"}


def test_two_twins_of_one_device_have_no_chance_of_their_order(tmp_path: Path):
    found = cards([PM9A3, f"{PM9A3}?programming_dies_max=25"], tmp_path).cards
    assert any(len(card.bars) == 2 and "ahead" in card.verdict for card in found)
    assert not any("real drives" in card.detail for card in found)
