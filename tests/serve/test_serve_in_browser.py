"""The server's pages in a browser: wide and narrow, light and dark, by keyboard, with the rules of axe-core."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from fathom.runs.live import write_live
from fathom.serve.settings import settings_of
from live_runs import end, going, live_run
from playing import MOST_MS, move, settled
from serve_client import Served, serving
from synthetic import Visit, assert_fits

FIRST, SECOND = "20261120-231500-four-corners-aaaa", "20261121-231500-four-corners-bbbb"
GOING = "20261125-151500-four-corners-live"
PATIENCE_MS = 120_000
OWN = (
    "/",
    "/start",
    "/catalog",
    "/catalog/devices/wd-ultrastar-dc-sn861-7.68tb",
    f"/runs/{FIRST}/about",
    "/phone",
    "/nothing",
)


DRIVE, SYSTEM = "wd-ultrastar-dc-sn861-7.68tb", "weka-6x-micron-7450-pro"
ONCE = ((DRIVE, 1280, False), (SYSTEM, 390, True))
"""Each kind of page, width and scheme once; every combination of them takes minutes."""
PLAYED = [
    pytest.param(*one, marks=() if one in ONCE else pytest.mark.long)
    for one in product((DRIVE, SYSTEM), (1280, 390), (False, True))
]
SHOWN = [
    (1280, False),
    (390, True),
    *(pytest.param(*one, marks=pytest.mark.long) for one in ((1280, True), (390, False))),
]


def assert_stays_here(seen: Visit, served: Served) -> None:
    assert [url for url in seen.requests if not url.startswith((served.url, "data:", "blob:"))] == []


@pytest.mark.parametrize(("width", "dark"), SHOWN)
def test_own_pages_fit_follow_the_rules_of_access_and_ask_nobody_else(
    served: Served, visit: Callable[..., Visit], width: int, dark: bool
) -> None:
    for path in OWN:
        seen = visit(served.url + path, width=width, dark=dark)
        found = Axe().run(seen.page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert_fits(seen.page, width)
        assert_stays_here(seen, served)
        assert [line for line in seen.complaints if "404" not in line] == []


def test_ticked_runs_are_compared_with_the_oldest_as_base(
    served: Served, visit: Callable[..., Visit]
) -> None:
    seen = visit(served.url)
    compare = seen.page.get_by_role("button", name="Compare")
    assert compare.is_disabled()
    for name in (SECOND, FIRST):
        seen.page.get_by_label(name, exact=True).check()
    compare.click()
    seen.page.wait_for_url("**/compare?*", timeout=PATIENCE_MS)
    assert "What changed" in seen.page.title()
    assert seen.complaints == []
    assert_stays_here(seen, served)


def test_a_report_is_reached_from_the_list_by_keyboard_and_leads_back(
    served: Served, visit: Callable[..., Visit]
) -> None:
    seen = visit(served.url)
    seen.page.locator(f'a[href="/runs/{FIRST}"]').focus()
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url(f"**/runs/{FIRST}", timeout=PATIENCE_MS)
    assert seen.complaints == []
    assert_stays_here(seen, served)
    seen.page.get_by_role("link", name="All runs").click()
    seen.page.wait_for_url(f"{served.url}/", timeout=PATIENCE_MS)
    assert seen.page.get_by_role("heading", level=1).inner_text().startswith("4 runs")


@pytest.mark.parametrize(("name", "width", "dark"), PLAYED)
def test_a_twin_of_the_catalogue_is_played_with_in_the_page_and_nobody_is_asked(
    served: Served, visit: Callable[..., Visit], name: str, width: int, dark: bool
) -> None:
    seen = visit(f"{served.url}/catalog/devices/{name}", width=width, dark=dark)
    seen.page.get_by_role("link", name="Play with its twin").click()
    before = settled(seen.page)
    asked = len(seen.requests)
    seen.page.context.set_offline(True)
    move(seen.page, mix=0)
    after = settled(seen.page)
    seen.page.context.set_offline(False)
    assert [op["op"] for point in after for op in point["ops"]] == ["write"] * len(before)
    assert [url for url in seen.requests[asked:] if not url.startswith("blob:")] == []
    found = Axe().run(seen.page)
    assert found.violations_count == 0, found.generate_report()
    assert_fits(seen.page, width)
    curve = seen.page.locator("#curve").bounding_box()
    assert curve is not None
    assert curve["y"] + curve["height"] <= 900
    assert_stays_here(seen, served)
    assert seen.complaints == []
    seen.page.get_by_role("navigation").get_by_role("link").nth(2).click()
    seen.page.wait_for_url(f"{served.url}/catalog/devices/{name}", timeout=MOST_MS)


@pytest.fixture
def watched(home: Path, tmp_path: Path) -> Iterator[Served]:
    """A server of one run, which goes on."""
    with (
        going(home / FIRST, tmp_path / GOING),
        serving(settings_of(tmp_path, "127.0.0.1:0", None)) as server,
    ):
        yield server


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_live_page_fits_follows_the_rules_of_access_and_asks_nobody_else(
    watched: Served, visit: Callable[..., Visit], width: int, dark: bool
) -> None:
    seen = visit(f"{watched.url}/runs/{GOING}/live", width=width, dark=dark)
    found = Axe().run(seen.page)
    assert found.violations_count == 0, found.generate_report()
    assert_fits(seen.page, width)
    chart = seen.page.locator(".spark.rate svg").first.bounding_box()
    assert chart is not None
    assert chart["y"] + chart["height"] <= 900
    assert_stays_here(seen, watched)
    assert seen.complaints == []


def test_the_scale_of_a_line_stays_whole_while_a_step_has_no_figure_yet(
    home: Path, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    with (
        going(home / FIRST, tmp_path / GOING) as run,
        serving(settings_of(tmp_path, "127.0.0.1:0", None)) as served,
    ):
        live = live_run(run)
        first, *others = live.targets
        assert first.step is not None
        begun = first.step.model_copy(update={"iops": None, "bytes_per_s": None, "mean_latency_us": None})
        targets = (first.model_copy(update={"step": begun}), *others)
        write_live(run, live.model_copy(update={"targets": targets}))
        seen = visit(f"{served.url}/runs/{GOING}/live")
        scales = seen.page.locator(".card.live").first.locator(".scale")
        assert [" ".join(text.split()) for text in scales.all_inner_texts()] == [
            "last 40 s highest 812.3k IOPS",
            "last 40 s highest 84 µs",
        ]


def test_a_live_page_moves_by_itself_and_opens_the_report_at_the_end(
    home: Path, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    with serving(settings_of(tmp_path, "127.0.0.1:0", None)) as served:
        with going(home / FIRST, tmp_path / GOING) as run:
            seen = visit(f"{served.url}/runs/{GOING}/live")
            line = seen.page.locator('[data-path="0.rate-path"]')
            before = line.get_attribute("d")
            write_live(run, live_run(run, iops=1234.0))
            seen.page.get_by_text("1,234 IOPS").first.wait_for(timeout=PATIENCE_MS)
            assert line.get_attribute("d") != before
            end(run)
        seen.page.wait_for_url(f"{served.url}/runs/{GOING}", timeout=PATIENCE_MS)
        assert "Four corners" in seen.page.title()
        assert seen.complaints == []
        assert_stays_here(seen, served)


def test_a_live_page_says_when_its_run_was_killed_and_asks_no_more(
    home: Path, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    with serving(settings_of(tmp_path, "127.0.0.1:0", None)) as served:
        with going(home / FIRST, tmp_path / GOING):
            seen = visit(f"{served.url}/runs/{GOING}/live")
            assert seen.page.get_by_text("going on for").is_visible()
        seen.page.get_by_text(f"fathom resume {GOING}").wait_for(timeout=PATIENCE_MS)
        asked = len(seen.requests)
        seen.page.wait_for_timeout(4000)
        assert len(seen.requests) == asked
        for _ in range(2):  # as the events leave the page, and as it opens anew
            assert seen.page.get_by_text("812.3k IOPS").first.is_visible()
            assert seen.page.get_by_text("killed after").is_visible()
            assert not seen.page.get_by_text("going on for").is_visible()
            assert not seen.page.get_by_text("Time left of the step").first.is_visible()
            seen.page.reload()


def test_a_run_is_started_by_keyboard_watched_and_stopped(
    tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    with serving(settings_of(tmp_path / "runs", "127.0.0.1:0", None)) as served:
        seen = visit(f"{served.url}/start")
        seen.page.get_by_label("Samsung PM9A3 7.68TB").focus()
        seen.page.keyboard.press("Space")
        seen.page.get_by_label("Shortened").uncheck()
        seen.page.get_by_label("Method", exact=True).select_option("enterprise-steady-state")
        seen.page.get_by_role("button", name="Start").focus()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/live", timeout=PATIENCE_MS)
        seen.page.locator('[data-text="0.step"]').filter(has_text="Step").wait_for(timeout=PATIENCE_MS)
        seen.page.get_by_role("button", name="Stop it").click()
        seen.page.wait_for_url(re.compile(r"/runs/[^/]+$"), timeout=PATIENCE_MS)
        assert "interrupted" in seen.page.content()
        assert_stays_here(seen, served)
