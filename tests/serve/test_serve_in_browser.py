"""The server's pages in a browser: wide and narrow, light and dark, by keyboard, with the rules of axe-core."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe

from serve_client import Served
from synthetic import Visit

FIRST, SECOND = "20261120-231500-four-corners-aaaa", "20261121-231500-four-corners-bbbb"
PATIENCE_MS = 120_000
OWN = ("/", f"/runs/{FIRST}/about", "/phone", "/nothing")


def assert_stays_here(seen: Visit, served: Served) -> None:
    assert [url for url in seen.requests if not url.startswith((served.url, "data:", "blob:"))] == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_own_pages_fit_follow_the_rules_of_access_and_ask_nobody_else(
    served: Served, visit: Callable[..., Visit], width: int, dark: bool
) -> None:
    for path in OWN:
        seen = visit(served.url + path, width=width, dark=dark)
        found = Axe().run(seen.page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, path
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
