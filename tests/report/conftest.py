"""A synthetic run, its report, and a headless browser to look at it with."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import synthetic
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, sync_playwright
from synthetic import Visit

from fathom.report import write_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="session")
def report(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_html([run], tmp_path_factory.mktemp("report") / "report.html", synthetic.lookup)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the page cannot be looked at (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    pages: list[Page] = []

    def open_page(path: Path, *, dark: bool = False, width: int = 1280) -> Visit:
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        pages.append(page)
        seen = Visit(page)

        def on_console(message: ConsoleMessage) -> None:
            seen.complaints.append(f"{message.type}: {message.text}")

        def on_dialog(dialog: Dialog) -> None:
            seen.complaints.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        def on_request(request: Request) -> None:
            seen.requests.append(request.url)

        page.on("console", on_console)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("dialog", on_dialog)
        page.on("request", on_request)
        page.goto(path.as_uri())
        page.wait_for_load_state("networkidle")
        return seen

    yield open_page
    for page in pages:
        page.close()
