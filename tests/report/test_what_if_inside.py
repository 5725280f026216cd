"""The twins of a run inside its report, in a browser: begun when opened, offline, of single SSDs and systems."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fathom.cli import app
from fathom.errors import UsageError
from fathom.report import write_html
from fathom.what_if.inside import section
from fathom.what_if.page import render
from synthetic import DIES, FILE, LINK, TWINS, Fake, Visit, make_run
from synthetic import twin as fake_twin

MOST_MS = 60_000
SHELF = fake_twin(
    "atto-xstreamcore-9400",
    "ATTO XstreamCORE 9400, 24 drives",
    (13_300, 6_610, 2_010_000, 352_000),
    (LINK, DIES, LINK, DIES),
)


@pytest.mark.parametrize("twin", [TWINS[3], SHELF], ids=["an SSD", "a system"])
def test_a_report_holds_its_twins_which_answer_as_their_own_pages_do(
    twin: Fake, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    run = make_run(tmp_path / "run", (FILE, twin))
    out = write_html([run], tmp_path / "report.html", further=[section([run])])
    seen = visit(out)
    assert seen.page.locator("iframe").count() == 0
    seen.page.locator("#what-if > details > summary").click()
    seen.page.locator("details.inside > summary").click()
    curve = seen.page.frame_locator("iframe").locator("#curve[data-stage=settled]")
    inside = json.loads(curve.get_attribute("data-points", timeout=MOST_MS) or "")
    alone_file = tmp_path / "alone.html"
    alone_file.write_text(render(twin.name))
    alone = visit(alone_file)
    points = alone.page.locator("#curve[data-stage=settled]").get_attribute("data-points", timeout=MOST_MS)
    assert inside == json.loads(points or "")
    assert seen.complaints == []
    assert [asked for asked in seen.requests if not asked.startswith("blob:")] == [out.as_uri()]


def test_the_reports_button_between_light_and_dark_reaches_the_page_inside(
    tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    run = make_run(tmp_path / "run", (TWINS[3],))
    page = visit(write_html([run], tmp_path / "report.html", further=[section([run])])).page
    page.emulate_media(color_scheme="light")
    page.click("#theme")
    page.locator("#what-if > details > summary").click()
    page.locator("details.inside > summary").click()
    inside = page.frame_locator("iframe")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    inside.locator("html[data-theme=dark]").wait_for(timeout=MOST_MS)
    assert inside.locator("#theme").is_hidden()
    page.click("#theme")
    inside.locator("html[data-theme=light]").wait_for(timeout=MOST_MS)
    background = inside.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert background == page.evaluate("() => getComputedStyle(document.body).backgroundColor")


def test_a_report_holds_the_twin_and_the_library_that_draws_once(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", TWINS)
    plain = len(write_html([run], tmp_path / "plain.html").read_text())
    held = len(write_html([run], tmp_path / "held.html", further=[section([run])]).read_text())
    assert held - plain < len(render(TWINS[0].name))


@pytest.mark.parametrize(
    ("target", "why"),
    [(FILE.name, "no target is a twin"), ("twin:wd-ultrastar-dc-hc560-20tb", "single SSDs without zones")],
)
def test_a_run_without_a_virtual_ssd_or_system_is_refused_in_one_line(
    target: str, why: str, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", (FILE,))
    document = json.loads((run / "run.json").read_text())
    document["targets"][0]["name"] = target
    (run / "run.json").write_text(json.dumps(document))
    with pytest.raises(UsageError, match=why):
        section([run])
    said = CliRunner().invoke(app, ["report", str(run), "--what-if", "--out", str(tmp_path / "out.html")])
    assert said.exit_code != 0
    assert not (tmp_path / "out.html").exists()
