"""Runs the application on a socket until the user ends it."""

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread

import uvicorn
from fastapi import FastAPI

from fathom.errors import UsageError
from fathom.serve.access import PARAMETER
from fathom.serve.app import make_app
from fathom.serve.folder import run_names
from fathom.serve.settings import Settings

MOST_CONNECTIONS = 512
END_S = 2
"""Time for answers under way to end when the server does."""
MOST_HEADER_BYTES = 1 << 15
OPEN = "fathom: every user of this machine can read them{more}; --token new asks for a secret"


def serve(settings: Settings) -> None:
    """Serves until the user interrupts.

    Raises UsageError where nothing can listen at that address, FathomError where the store cannot be read.
    """
    with listening(settings) as listener:
        own = replace(settings, port=listener.getsockname()[1])
        app = make_app(own)
        is_folder = isinstance(own.runs, Path)
        if isinstance(own.runs, Path):
            run_names(own.runs)
            # The first page of a thousand runs would wait for a second.
            Thread(target=app.state.source.rows, daemon=True).start()
        else:
            # A store that cannot be read is an error of this command, not of its first page.
            app.state.source.rows()
        print(f"http://{own.address}/" + (f"?{PARAMETER}={own.token}" if own.token else ""), flush=True)
        is_missing = isinstance(own.runs, Path) and not own.runs.exists()
        missing = ", a folder that does not exist yet" if is_missing else ""
        print(f"fathom: runs of {own.place}{missing}; Ctrl-C ends the server", file=sys.stderr, flush=True)
        if own.token is None:
            more = ", change tags and start twins" if is_folder else ""
            print(OPEN.format(more=more), file=sys.stderr, flush=True)
        uvicorn.Server(config_of(app)).run(sockets=[listener])


def config_of(app: FastAPI) -> uvicorn.Config:
    """Returns how the application is run: bounds on connections and headers, and no line for each request."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=END_S,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        http="h11",
    )


def listening(settings: Settings) -> socket.socket:
    """Returns the socket to serve on. Raises UsageError where it cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=128)
    except OSError as error:
        raise UsageError(
            f"--listen {settings.address}: {os.strerror(error.errno) if error.errno else error}",
            "choose another port, or 0 for any free one",
        ) from error
