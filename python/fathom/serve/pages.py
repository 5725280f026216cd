"""The server's own pages: one frame, with the looks of reports, around what a page shows."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import HTMLResponse

from fathom.report import style
from fathom.report.html_page import asset, templates_of, unbroken
from fathom.serve.settings import Settings

if TYPE_CHECKING:
    from jinja2 import Environment

SITE = (
    ("Runs", "/"),
    ("Start", "/start"),
    ("Catalogue", "/catalog"),
    ("Phone", "/phone"),
)
"""The pages that each page leads to."""
OF_FOLDERS = frozenset({"/start"})
"""Those that only a server of a folder has."""
SCRIPT_TYPE = "text/javascript; charset=utf-8"
STYLE_TYPE = "text/css; charset=utf-8"
OF_A_REPORT = (
    "base-uri 'none'; form-action 'none'; connect-src 'none'; object-src 'none'; frame-ancestors 'none'"
)
"""Policy of pages that state their own as well: browsers obey both."""


def show(
    template: str, settings: Settings, here: str = "", status: int = 200, **values: object
) -> HTMLResponse:
    """Returns a page from a template; `here` is the address in `SITE` that it belongs to."""
    is_folder = isinstance(settings.runs, Path)
    site = [(name, address) for name, address in SITE if is_folder or address not in OF_FOLDERS]
    common = {"site": site, "here": here, "is_folder": is_folder, "place": style.plain(settings.place)}
    text = _templates().get_template(template).render(common, **values)
    return HTMLResponse(text, status)


def whole_page(text: str) -> HTMLResponse:
    """Returns a page that is complete in itself: a report, a comparison."""
    return HTMLResponse(text, headers={"Content-Security-Policy": OF_A_REPORT})


def problem_page(
    settings: Settings, status: int, what: str, then: str = "", *, sign_in: bool = False
) -> HTMLResponse:
    """Returns a page that says what is wrong, and what to do."""
    return show(
        "problem.html.jinja",
        settings,
        status=status,
        what=style.plain(what),
        then=style.plain(then),
        sign_in=sign_in,
    )


def run_address(name: str, page: str = "") -> str:
    """Returns the address of a page of a run."""
    return f"/runs/{quote(name, safe='')}{page}"


def entry_address(kind: str, name: str, page: str = "") -> str:
    """Returns the address of a page of an entry of the catalogue. Templates name the page."""
    return f"/catalog/{kind}/{quote(name, safe='')}{page}"


@cache
def stylesheet() -> str:
    """Returns the style sheet of the server's pages: that of reports, and what only servers have."""
    colours = zip(style.LIGHT, style.DARK, strict=True)
    palette = "".join(
        f"--c{slot}: light-dark({light}, {dark});" for slot, (light, dark) in enumerate(colours)
    )
    return f":root {{ {palette} }}\n{asset('assets', 'report.css')}\n{own_asset('serve.css')}"


@cache
def own_asset(name: str) -> str:
    """Returns a file that only the server's pages have."""
    return (files("fathom.serve") / "assets" / name).read_text(encoding="utf-8")


@cache
def _templates() -> "Environment":
    environment = templates_of("fathom.serve", unbroken)
    environment.filters |= {
        "when": style.when,
        "plain": style.plain,
        "printed": lambda text: "\n".join(map(style.plain, text.splitlines())),
        "run_address": run_address,
        "entry_address": entry_address,
    }
    return environment
