"""Every kind of page, wide and narrow, light and dark: pictures to look at, and what no page may do.

Pictures go to the folder that FATHOM_SCREENSHOTS names, else to target/screenshots: the first screen four times, and
the page from top to bottom in light.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page
from typer.testing import CliRunner

from cut_methods import CUTS, SN861, run_cut
from fathom.cli import app
from fathom.report import write_html
from fathom.serve.settings import settings_of
from live_runs import going
from serve_client import Served, copied, serving, small_run
from small_trace import write_trace
from synthetic import Visit, assert_fits

pytestmark = pytest.mark.long

PICTURES = Path(os.environ.get("FATHOM_SCREENSHOTS") or Path(__file__).parents[2] / "target/screenshots")
SCREENS = ((1280, 900), (390, 844))
FIGURES_MS = 600_000
"""What a twin in a page may take at most to draw its figures, on a busy machine."""
MOST_PX = 8000
"""As much of a page as a picture of all of it shows."""
_, _, OTHERS = (Path(__file__).parents[2] / "docs/gallery.md").read_text().partition("## Other pages")
SAID = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", OTHERS, re.MULTILINE))
"""What the documentation says that pages other than reports of methods say first."""
FIGURE = "main :is(.chart, .cards, svg, table, .numbers, .heat)"
NEEDS = """schema = "fathom-needs/1"
needs = ["250 TB", "2M IOPS read", "30 GB/s read"]
"""
SYSTEMS = (
    "weka-cluster-high-capacity-6500-ion weka-cluster-mainstream-7450-pro weka-cluster-performance-9400-pro"
)
COMMANDS: Mapping[str, str] = {
    "choose": f"choose {{folder}}/needs.toml {SYSTEMS} --out {{out}}",
    "size": "size --need '64 GB/s read' --need '150 TB' --device wd-ultrastar-dc-sn861 --out {out}",
    "recommend": "recommend {folder}/app.csv twin:wd-ultrastar-dc-sn861-7.68tb twin:samsung-pm9a3-7.68tb --out {out}",
    "characterise": "characterise {folder}/app.csv --out {out}",
    "what-if-of-a-drive": "what-if twin:samsung-pm9a3-7.68tb --out {out}",
    "what-if-of-a-shelf": "what-if twin:atto-xstreamcore-9400 --out {out}",
    "what-if-of-a-cluster": "what-if twin:weka-6x-micron-7450-pro --out {out}",
    "compare": "compare {runs}/20261120-231500-four-corners-aaaa {runs}/20261121-231500-four-corners-bbbb --out {out}",
    "short-edition": "report {runs}/20261120-231500-four-corners-aaaa --edition short --out {out}",
    "report-with-what-if": "report {runs}/20261120-231500-four-corners-aaaa --what-if --out {out}",
}
"""The pages that a command writes where it is told to."""
FIRST, SECOND = "20261120-231500-four-corners-aaaa", "20261121-231500-four-corners-bbbb"
GOING = "20261125-151500-four-corners-live"
SERVED = {
    "serve-list": "/",
    "serve-start": "/start",
    "serve-catalogue": "/catalog",
    "serve-drive": "/catalog/devices/wd-ultrastar-dc-sn861-7.68tb",
    "serve-what-if": "/catalog/devices/samsung-pm9a3-7.68tb/what-if",
    "serve-about": f"/runs/{FIRST}/about",
    "serve-report": f"/runs/{FIRST}",
    "serve-compare": f"/compare?run={FIRST}&run={SECOND}",
    "serve-phone": "/phone",
    "serve-live": f"/runs/{GOING}/live",
}
WITHOUT_FIGURE = {"serve-start", "serve-about", "serve-phone", "report-with-what-if"}
"""Pages that are forms or words."""
CHARTED = {"compare", "serve-compare"}
"""Pages whose first figure is a chart, even of single runs."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that have ended."""
    home = tmp_path_factory.mktemp("screenshots") / "runs"
    first = small_run(home / FIRST)
    copied(first, home / SECOND, created="2026-11-21T23:15:00Z", seed=2)
    return home


@pytest.fixture(scope="module")
def served(runs: Path) -> Iterator[Served]:
    """A server of two runs that have ended, and of one that goes on."""
    with going(runs / FIRST, runs / GOING), serving(settings_of(runs, "127.0.0.1:0", None)) as server:
        yield server


def test_the_documentation_has_what_every_other_page_says_first() -> None:
    assert set(SAID) == {*COMMANDS, *SERVED, "sweep"}


@pytest.mark.parametrize("method", sorted(CUTS))
def test_the_report_of_a_method_is_fit_to_be_seen(
    method: str, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    page = write_html([run_cut(method, tmp_path)], tmp_path / "report.html")
    assert_fit(f"report-{method}", page.as_uri(), page.as_uri(), visit)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_page_of_a_command_is_fit_to_be_seen(
    name: str, runs: Path, tmp_path: Path, visit: Callable[..., Visit]
) -> None:
    (tmp_path / "needs.toml").write_text(NEEDS)
    write_trace(tmp_path / "app.csv")
    page = tmp_path / "page.html"
    command = COMMANDS[name].format(folder=tmp_path, out=page, runs=runs)
    done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
    assert page.exists(), done.output
    assert_fit(name, page.as_uri(), page.as_uri(), visit)


def test_the_page_of_a_sweep_is_fit_to_be_seen(tmp_path: Path, visit: Callable[..., Visit]) -> None:
    words = [
        "sweep",
        "what-if",
        SN861,
        "--set",
        "op=0.07,0.28",
        "--set",
        "settled_share=1",
        "--out",
        str(tmp_path),
    ]
    CliRunner().invoke(app, words, catch_exceptions=False)
    [page] = tmp_path.glob("*/report.html")
    assert_fit("sweep", page.as_uri(), page.as_uri(), visit)


@pytest.mark.parametrize("name", sorted(SERVED))
def test_a_page_of_the_server_is_fit_to_be_seen(
    name: str, served: Served, visit: Callable[..., Visit]
) -> None:
    assert_fit(name, served.url + SERVED[name], served.url, visit)


def assert_fit(name: str, address: str, own: str, visit: Callable[..., Visit]) -> None:
    """Takes pictures of a page. Passes where it asks nobody but its own, complains of nothing, fits, and has its
    first figure on the first screen.
    """
    PICTURES.mkdir(parents=True, exist_ok=True)
    for width, height in SCREENS:
        for dark in (False, True):
            what = f"{name}-{width}-{'dark' if dark else 'light'}"
            seen = visit(address, width=width, height=height, dark=dark)
            wait_for_figures(seen.page)
            said = seen.page.locator("h1").inner_text().replace("\N{NO-BREAK SPACE}", " ")
            assert said == SAID.get(name, said), what
            seen.page.screenshot(path=PICTURES / f"{what}.png")
            if not dark:
                whole(seen.page, width, PICTURES / f"{what}-whole.png")
            assert seen.complaints == [], what
            assert [url for url in seen.requests if not url.startswith((own, "data:", "blob:"))] == [], what
            assert_fits(seen.page, width)
            if name not in WITHOUT_FIGURE:
                figure = seen.page.locator(FIGURE).locator("visible=true").first
                box = figure.bounding_box()
                assert box is not None, what
                assert name not in CHARTED or figure.evaluate("element => element.matches('.chart')"), what
                assert box["y"] < height, what
            seen.page.close()


def wait_for_figures(page: Page) -> None:
    """Waits for the figures of a page that simulates."""
    if page.locator("#curve").count():
        page.wait_for_selector("#curve[data-stage=settled]", timeout=FIGURES_MS)


def whole(page: Page, width: int, picture: Path) -> None:
    """Takes a picture of a page from its top to its bottom, or as much of it as may be."""
    tall = min(MOST_PX, int(page.evaluate("() => document.documentElement.scrollHeight")))
    page.set_viewport_size({"width": width, "height": tall})
    page.wait_for_timeout(500)
    page.screenshot(path=picture)
