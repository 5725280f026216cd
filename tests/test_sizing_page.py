"""A sizing as a page: the count first, each need beside what a drive gives, and room to grow."""

from pathlib import Path

from typer.testing import CliRunner

from fathom.cli import app
from fathom.report.sizing_page import render
from fathom.sizing.drive import rated_drive
from fathom.sizing.needs import parse_need
from fathom.sizing.size import Sizing, size
from fathom.sizing.terminal import growth, sentences

SN861 = "wd-ultrastar-dc-sn861"


def sized(*needs: str) -> Sizing:
    return size(rated_drive(SN861), [parse_need(need) for need in needs])


def test_the_page_opens_with_the_count_and_what_binds() -> None:
    text = render(sized("64 GB/s read", "150 TB"))
    assert "20 x Western Digital Ultrastar DC SN861 7.68 TB: 150 TB binds." in text
    assert "cannot carry it: spread it over 2 links" in text
    assert text.index("150 TB binds") < text.index("What each need takes")
    assert text.count("150 TB binds") == 2, "in the opening and in the description, and not repeated"


def test_reasons_that_the_opening_has_no_room_for_follow_in_a_part_of_their_own() -> None:
    needs = [f"{count} TB" for count in range(1, 40)]
    sizing = size(rated_drive(SN861), [*map(parse_need, needs), parse_need("9 kW")])
    text = render(sizing)
    for said in sentences(sizing):
        assert text.count(said) == 1


def test_the_binding_need_may_grow_by_just_what_is_said() -> None:
    [said] = growth(sized("150 TB"))
    assert said == "150 TB may grow by 2 % before 21 drives are needed."
    [said] = growth(sized("150.7 TB"))
    assert said == "150.7 TB may grow by 1 % before 21 drives are needed."
    assert sized("153.6 TB").drives == 20
    assert sized("153.7 TB").drives == 21


def test_a_budget_that_is_too_small_is_the_answer_and_nothing_grows() -> None:
    sizing = sized("200 TB", "400 W")
    text = render(sizing)
    assert "enough for 20 drives; 27 are needed." in text
    assert "allows at most" in text
    assert growth(sizing) == []


def test_the_command_writes_the_page_and_no_existing_file(tmp_path: Path) -> None:
    page, own = tmp_path / "size.html", tmp_path / "thesis.txt"
    own.write_text("mine")
    run = ["size", "--device", SN861, "--need", "150 TB", "--out"]
    assert CliRunner().invoke(app, [*run, str(page)]).exit_code == 0
    assert "150 TB binds" in page.read_text()
    assert CliRunner().invoke(app, [*run, str(own)]).exit_code != 0
    assert own.read_text() == "mine"
