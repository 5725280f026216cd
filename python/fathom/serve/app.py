"""The server's pages and what each is made of. Who may see them is decided in `access`, before anything here runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from fathom.catalog import UnknownEntryError
from fathom.errors import FathomError, UsageError
from fathom.report import style
from fathom.runs.document import RunDocument
from fathom.runs.labels import Labels
from fathom.runs.live import read_live
from fathom.serve import renders
from fathom.serve.access import Access
from fathom.serve.catalog import add_catalog
from fathom.serve.folder import NoRunError
from fathom.serve.forms import read_form
from fathom.serve.index import AT_ONCE, STATES, Filters, RunIndex, RunRow, choices
from fathom.serve.live import add_live
from fathom.serve.live_events import TooManyStreamsError
from fathom.serve.live_view import progress_of
from fathom.serve.metrics import add_metrics
from fathom.serve.pages import (
    SCRIPT_TYPE,
    STYLE_TYPE,
    own_asset,
    problem_page,
    run_address,
    show,
    stylesheet,
    whole_page,
)
from fathom.serve.phone import phone_link
from fathom.serve.renders import Renders
from fathom.serve.settings import Settings
from fathom.serve.shared import SharedRuns
from fathom.serve.source import Source
from fathom.serve.start import add_start
from fathom.serve.starts import BusyError, Starts

MOST_RUNS = 12
"""Runs on one page: colours repeat after eight, and a page of many has many MB."""

SCRIPTS = ("serve.js", "live.js")
STATUS_OF = (
    (NoRunError, 404),
    (UnknownEntryError, 404),
    (TooManyStreamsError, 503),
    (BusyError, 503),
    (UsageError, 400),
)
"""The status of errors; any other is 422."""

Names = Annotated[list[str], Query(alias="run", max_length=MOST_RUNS)]


class LabelsForm(BaseModel):
    """Tags with commas between them, and a note."""

    tags: str = Field(default="", max_length=1000)
    note: str = Field(default="", max_length=5000)

    def labels(self) -> Labels:
        """Returns the checked labels. Raises UsageError."""
        return Labels.checked((tag for tag in self.tags.split(",") if tag.strip()), self.note)


def make_app(settings: Settings) -> FastAPI:
    """Returns the application. It keeps the list of runs and the last pages in memory, and what it fetches from a store
    in a temporary folder.
    """
    runs = settings.runs
    source: Source = RunIndex(runs) if isinstance(runs, Path) else SharedRuns(runs)
    pages, ends = Renders(), [source.close]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for end in ends:
            await asyncio.to_thread(end)

    app = FastAPI(title="Fathom", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.source = source
    _add_problems(app, settings)
    _add_assets(app)
    _add_list(app, settings, source)
    _add_runs(app, settings, source, pages)
    add_catalog(app, settings)
    _add_several(app, source, pages)
    _add_labels(app, source)
    if isinstance(source, RunIndex):
        starts = Starts(source.home)
        ends.insert(0, starts.end)
        add_live(app, settings, source.home, starts)
        add_start(app, settings, source.home, starts)
        add_metrics(app, source)
    app.add_middleware(Access, settings=settings)
    return app


def _add_problems(app: FastAPI, settings: Settings) -> None:
    """Makes a page of every error: those of a user with what to do, defects without their insides."""

    @app.exception_handler(FathomError)
    def _of_user(request: Request, error: FathomError) -> Response:
        status = next((number for kind, number in STATUS_OF if isinstance(error, kind)), 422)
        return problem_page(settings, status, _sentence(error.message), _sentence(error.hint))

    @app.exception_handler(HTTPException)
    def _of_http(request: Request, error: HTTPException) -> Response:
        return problem_page(
            settings,
            error.status_code,
            "There is no such page." if error.status_code == 404 else str(error.detail),
        )

    @app.exception_handler(RequestValidationError)
    def _of_address(request: Request, error: RequestValidationError) -> Response:
        return problem_page(
            settings, 400, "The address is incomplete or wrong.", "Begin at the list of runs."
        )

    @app.exception_handler(Exception)
    def _of_us(request: Request, error: Exception) -> Response:
        return problem_page(
            settings,
            500,
            "Fathom failed at this page.",
            "Its terminal shows where. The other pages still work.",
        )


def _sentence(text: str | None) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _add_assets(app: FastAPI) -> None:
    @app.get("/assets/style.css")
    def _style() -> Response:
        return _kept(stylesheet(), STYLE_TYPE)

    for name in SCRIPTS:
        app.add_api_route(f"/assets/{name}", _script(name))


def _script(name: str) -> Callable[[], Response]:
    return lambda: _kept(own_asset(name), SCRIPT_TYPE)


def _kept(text: str, kind: str) -> Response:
    """Returns a file that browsers keep for a minute: a newer Fathom may have another."""
    return Response(text, media_type=kind, headers={"Cache-Control": "private, max-age=60"})


def _add_list(app: FastAPI, settings: Settings, source: Source) -> None:
    @app.get("/")
    def _list(
        q: str = "",
        method: str = "",
        target: str = "",
        state: str = "",
        tag: str = "",
        page: Annotated[int, Query(ge=1)] = 1,
    ) -> HTMLResponse:
        filters, rows = Filters(q, method, target, state, tag), source.rows()
        kept = [row for row in rows if filters.keeps(row)]
        shown = kept[(page - 1) * AT_ONCE : page * AT_ONCE]
        return show(
            "list.html.jinja",
            settings,
            here="/",
            rows=shown,
            far=_far(settings.runs, shown) if isinstance(settings.runs, Path) else {},
            running=sum(row.state == "running" for row in rows),
            count=len(rows),
            kept=len(kept),
            filters=filters,
            page=page,
            pages=-(-len(kept) // AT_ONCE),
            methods=choices(rows, lambda row: (row.method,)),
            targets=choices(rows, lambda row: row.targets),
            tags=choices(rows, lambda row: row.labels.tags),
            states=[state for state in STATES if any(row.state == state for row in rows)],
        )

    @app.get("/phone")
    def _phone() -> HTMLResponse:
        return show("phone.html.jinja", settings, here="/phone", link=phone_link(settings, "/"))


def _far(home: Path, rows: Iterable[RunRow]) -> dict[str, str]:
    """Returns how far each run is that goes on, by its name."""
    going = [row.name for row in rows if row.state == "running"]
    found = {name: read_live(home / name) for name in going}
    return {name: progress_of(live) for name, live in found.items() if live}


def _add_runs(app: FastAPI, settings: Settings, source: Source, pages: Renders) -> None:
    @app.get("/runs/{name}")
    async def _report(name: str) -> HTMLResponse:
        def make() -> str:
            with source.opened([name]) as runs:
                goes_on = RunDocument.load(runs[0]).status == "running"
                live = (("Watch it live", run_address(name, "/live")),) if goes_on else ()
                return renders.report_of(runs, (*live, ("About this run", run_address(name, "/about"))))

        return whole_page(await pages.page(("report", source.stamp([name])), make))

    @app.get("/runs/{name}/about")
    def _about(name: str, saved: bool = False) -> HTMLResponse:
        with source.opened([name]) as [run]:
            return _about_page(settings, source, run, saved=saved)


def _about_page(settings: Settings, source: Source, run: Path, *, saved: bool) -> HTMLResponse:
    problem, document, labels = "", None, Labels()
    try:
        document = RunDocument.load(run)
        labels = source.labels(run.name)
    except FathomError as error:
        problem = style.plain(str(error))
    return show(
        "about.html.jinja",
        settings,
        here="/",
        name=run.name,
        document=document,
        labels=labels,
        problem=problem,
        saved=saved,
        link=phone_link(settings, run_address(run.name)),
    )


def _add_labels(app: FastAPI, source: Source) -> None:
    @app.post("/runs/{name}/about")
    async def _label(name: str, request: Request) -> Response:
        labels = (await read_form(request, LabelsForm)).labels()
        await asyncio.to_thread(source.label, name, lambda before: labels)
        return RedirectResponse(run_address(name, "/about?saved=true"), 303)


def _add_several(app: FastAPI, source: Source, pages: Renders) -> None:
    def _compared(runs: Sequence[Path]) -> str:
        return renders.comparison_of(runs[0], runs[1:])

    async def _page(
        kind: str, names: Sequence[str], least: int, make: Callable[[Sequence[Path]], str]
    ) -> str:
        """Returns the page of ticked runs, the oldest first. Raises UsageError for too few."""
        chosen = sorted(set(names))
        key = (kind, source.stamp(chosen))
        if len(chosen) < least:
            raise UsageError(
                f"{len(chosen)} runs are ticked, and this needs {least} or more",
                "tick more boxes in the list of runs",
            )

        def made() -> str:
            with source.opened(chosen) as runs:
                return make(sorted(runs, key=_begun))

        return await pages.page(key, made)

    @app.get("/compare")
    async def _compare(names: Names = []) -> HTMLResponse:  # noqa: B006 (FastAPI copies defaults)
        return whole_page(await _page("compare", names, 2, _compared))

    @app.get("/side-by-side")
    async def _side_by_side(names: Names = []) -> HTMLResponse:  # noqa: B006
        return whole_page(await _page("side by side", names, 1, renders.report_of))


def _begun(run: Path) -> tuple[str, str]:
    document = RunDocument.load(run)
    return document.measured or document.created, run.name
