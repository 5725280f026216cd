"""The pages that start runs of twins, wait until one can be watched, and stop it."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from fathom.catalog import CatalogError, device_names, load_device, method_names
from fathom.errors import FathomError, UsageError
from fathom.method.method import load_method
from fathom.serve.catalog_view import GROUPS
from fathom.serve.folder import NoRunError, run_at
from fathom.serve.forms import read_form
from fathom.serve.pages import run_address, show
from fathom.serve.settings import Settings
from fathom.serve.starts import MOST_AT_ONCE, MOST_TWINS, Asked, Starts

FIRST_METHOD = "four-corners"


class StartForm(BaseModel):
    """What to run, on which twins."""

    method: str = Field(max_length=200)
    twin: tuple[str, ...] = ()
    quick: bool = False
    seed: int = Field(default=1, ge=0, lt=1 << 64)


@dataclass(frozen=True)
class Choice:
    """An entry of a form: its name, and what people read."""

    name: str
    label: str
    detail: str


def add_start(app: FastAPI, settings: Settings, home: Path, starts: Starts) -> None:
    """Adds the form, its pages and the button that stops a run."""

    @app.get("/start")
    def _form(
        method: str = FIRST_METHOD,
        twin: Annotated[list[str], Query(max_length=MOST_TWINS)] = [],  # noqa: B006 (FastAPI copies defaults)
    ) -> Response:
        return show(
            "start.html.jinja",
            settings,
            here="/start",
            methods=_methods(),
            method=method,
            groups=_twins(),
            ticked=twin,
            most=MOST_TWINS,
            at_once=MOST_AT_ONCE,
        )

    @app.post("/start")
    async def _start(request: Request) -> Response:
        form = await read_form(request, StartForm)
        asked = Asked(form.method, tuple(dict.fromkeys(form.twin)), form.quick, form.seed)
        return RedirectResponse(f"/started/{starts.start(asked).number}", 303)

    @app.get("/started/{number}")
    def _started(number: int) -> Response:
        started = starts.numbered(number)
        if started is None:
            raise NoRunError(f"no run {number} was started here", "choose one from the list of runs")
        if started.run is not None and not started.failed:
            page = "/live" if started.goes_on else ""
            return RedirectResponse(run_address(started.run, page), 303)
        return show("started.html.jinja", settings, here="/start", started=started)

    @app.post("/runs/{name}/stop")
    def _stop(name: str) -> Response:
        run_at(home, name)
        started = starts.of_run(name)
        if started is None:
            raise UsageError("this run was not started here, or has ended", "stop it where it was started")
        started.stop()
        return RedirectResponse(run_address(name, "/live"), 303)


def _methods() -> list[Choice]:
    """Returns the methods of the catalogue but those that need a trace. Damaged ones of the user's are left out too."""
    found: list[Choice] = []
    for name in method_names():
        with suppress(FathomError):
            method = load_method(name)
            found.append(Choice(name, method.title, method.summary))
    return found


def _twins() -> list[tuple[str, list[Choice]]]:
    """Returns the twins of the catalogue below their headings. Damaged entries of the user's are left out."""
    groups: dict[str, list[Choice]] = {heading: [] for heading, _ in GROUPS}
    for name in device_names():
        try:
            device = load_device(name)
        except CatalogError:
            continue
        if device.twin is None:
            continue
        heading = next((heading for heading, kinds in GROUPS if device.twin.kind in kinds), "Systems")
        groups[heading].append(Choice(name, device.identity.label, device.identity.interface or ""))
    return [(heading, choices) for heading, choices in groups.items() if choices]
