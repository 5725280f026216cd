"""Outputs that the pages show are what the program prints."""

import shlex
import subprocess
import sys
from pathlib import Path

from documented import PAGES, ROOT, Output, block, commands, outputs

SHOWN = [shown for page in PAGES for shown in outputs(page)]
HOW_TO = ROOT / "docs/how-to"


def shown_in(name: str) -> list[Output]:
    return [shown for shown in SHOWN if shown.page == HOW_TO / name]


def printed(arguments: str, folder: Path, code: int = 0) -> str:
    """Returns what `fathom` prints in a folder, both streams, as one line."""
    words = [sys.executable, "-m", "fathom", *shlex.split(arguments)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    return one_line(done.stdout + done.stderr)


def one_line(text: str) -> str:
    """Returns the text with each break and indent as one space: terminals are narrower than pages."""
    return " ".join(text.split())


def test_no_page_shows_an_output_that_no_test_compares() -> None:
    pages = {str(shown.page.relative_to(ROOT)) for shown in SHOWN}
    assert pages == {
        "docs/how-to/choose.md",
        "docs/how-to/new-device.md",
        "docs/how-to/place-data.md",
        "docs/how-to/serve.md",
        "docs/how-to/what-if.md",
        "docs/reference/method.md",
        "docs/reference/safety.md",
    }, (
        "compare the new one here; targets/test_safety_page.py and test_documentation.py have safety.md and what-if.md"
    )


def test_the_choice_that_its_page_shows_is_made(tmp_path: Path) -> None:
    [shown] = shown_in("choose.md")
    (tmp_path / "needs.toml").write_text(block("docs/how-to/choose.md", "toml"))
    [command] = commands(shown.page)[:1]
    assert printed(command.text.removeprefix("fathom "), tmp_path).startswith(one_line(shown.text))


def test_a_server_for_others_without_a_token_is_refused_in_the_line_of_its_page(tmp_path: Path) -> None:
    [shown] = shown_in("serve.md")
    assert printed(shown.command.removeprefix("fathom "), tmp_path, code=2) == one_line(shown.text)


def test_the_data_sheet_with_wrong_ratings_has_the_problems_of_its_page(tmp_path: Path) -> None:
    [shown] = shown_in("new-device.md")
    sheet = block("docs/how-to/new-device.md", "toml")
    for right, wrong in (
        ("seq_read_mbps = 3500", "seq_read_mbps = 9000"),
        ("seq_write_mbps = 900", "seq_write_mbps = 6000"),
        ("tbw_tb = 876", "tbw_tb = 438"),
    ):
        assert right in sheet
        sheet = sheet.replace(right, wrong)
    (tmp_path / "acme.toml").write_text(sheet)
    assert printed("new-device acme.toml --check", tmp_path, code=2) == f"fathom: {one_line(shown.text)}"


def test_a_misspelt_key_is_refused_in_the_line_of_the_page_on_methods(tmp_path: Path) -> None:
    [shown] = (one for one in SHOWN if one.page.name == "method.md")
    shortest = block("docs/reference/method.md", "toml")
    before = next(at for at, line in enumerate(shortest.splitlines(), 1) if "iodepth" in line)
    wrong = "\n" * (30 - before) + shortest.replace("iodepth", "iodpeth", 1)
    (tmp_path / "mine.toml").write_text(wrong)
    text = printed("plan mine.toml twin:samsung-pm9a3-7.68tb", tmp_path, code=2)
    assert one_line(shown.text) in text


def test_the_write_amplification_that_its_page_shows_is_found(tmp_path: Path) -> None:
    [shown] = shown_in("place-data.md")
    text = printed(f"run data-placement twin:wd-ultrastar-dc-sn861-e1s-7.68tb --out {tmp_path}", tmp_path)
    assert one_line(shown.text) in text
