"""Shared fixtures: every test has its own home of runs, and asks for what it needs by name: a browser, for one."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, sync_playwright

from as_user import SHORT, TWIN, fathom
from fathom.runs.document import RunDocument
from synthetic import Visit

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
PATIENCE_MS = 180_000
"""What a page may take at most: long, since a busy machine is slow and not wrong."""


@pytest.fixture(autouse=True)
def runs_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "runs"
    monkeypatch.setenv("FATHOM_RUNS", str(home))
    return home


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A folder on a file system with O_DIRECT."""
    probe = tmp_path / "probe"
    probe.write_bytes(b"\0" * 4096)
    try:
        os.close(os.open(probe, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip(f"{tmp_path} has no O_DIRECT")
    probe.unlink()
    return tmp_path


@pytest.fixture
def interrupted(tmp_path: Path) -> Callable[[Path, Iterable[str]], Path]:
    """Copies a finished run as a crash would have left it: still running, without the steps of those folders."""

    def copy_without(run: Path, lost: Iterable[str]) -> Path:
        copy = tmp_path / "interrupted"
        shutil.copytree(run, copy)
        for folder in lost:
            shutil.rmtree(copy / "steps" / folder)
        (copy / "manifest.json").unlink()
        document = RunDocument.load(copy)
        document.status = "running"
        document.save(copy)
        journal = copy / "journal.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join(line for line in lines if json.loads(line).get("folder") not in lost))
        return copy

    return copy_without


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

    def open_page(at: Path | str, *, dark: bool = False, width: int = 1280, height: int = 900) -> Visit:
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page.set_default_timeout(PATIENCE_MS)
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
        page.goto(at if isinstance(at, str) else at.as_uri())
        page.wait_for_load_state("networkidle")
        return seen

    yield open_page
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def home_of_one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of runs with one finished run, only to be read."""
    home = tmp_path_factory.mktemp("home") / "runs"
    assert fathom("run", SHORT, TWIN, "--json", FATHOM_RUNS=str(home)).returncode == 0
    return home


@pytest.fixture
def one_run(home_of_one_run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of runs is that of one finished run."""
    monkeypatch.setenv("FATHOM_RUNS", str(home_of_one_run))
    return home_of_one_run
