"""The pages of runs that go on: the page itself, and the stream that moves it."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from fathom.runs.document import RunDocument
from fathom.runs.live import life_of, read_live
from fathom.serve.folder import run_at
from fathom.serve.live_events import STREAM_TYPE, LiveStreams, has_ended
from fathom.serve.live_view import view_before, view_of
from fathom.serve.pages import run_address, show
from fathom.serve.settings import Settings
from fathom.serve.starts import Starts

KILLED = "This run was killed: no process writes it. Continue it with: fathom resume {run}"


def add_live(app: FastAPI, settings: Settings, home: Path, starts: Starts) -> None:
    """Adds the page of a run that goes on, and its events."""
    streams = LiveStreams()

    @app.get("/runs/{name}/live")
    def _live(name: str) -> Response:
        run = run_at(home, name)
        if has_ended(run):
            return RedirectResponse(run_address(name), 303)
        document, live, now = RunDocument.load(run), read_live(run), datetime.now(UTC)
        life = life_of(run, live, now) if live else "running"
        view = view_of(live, life, now) if live else view_before(document)
        killed, notice = document.status == "killed", KILLED.format(run=name)
        if killed:
            view = replace(view, notice=notice)
        return show(
            "live.html.jinja",
            settings,
            here="/",
            name=name,
            document=document,
            view=view,
            values=view.fields(),
            killed=killed,
            killed_notice=notice,
            stoppable=starts.of_run(name) is not None,
        )

    @app.get("/runs/{name}/live/events")
    def _events(name: str) -> Response:
        run = run_at(home, name)
        return StreamingResponse(streams.stream(run), media_type=STREAM_TYPE)
