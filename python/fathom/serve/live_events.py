"""The stream of a run that goes on, once a second (server-sent events), until it ends or the reader leaves.

Format: WHATWG HTML, "Server-sent events". Each event is a JSON object of texts by the page's names for them.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

from fathom.errors import FathomError
from fathom.runs.document import RunDocument
from fathom.runs.live import life_of, read_live
from fathom.runs.writer import is_written
from fathom.serve.live_view import view_of

EVERY_S = 1.0
MOST_STREAMS = 64
"""Streams at once: fewer than the server's connections, so that pages are answered beside them."""
STREAM_TYPE = "text/event-stream"


class TooManyStreamsError(FathomError):
    """More pages watch runs than the server serves at once."""


class LiveStreams:
    """The streams that the server sends now."""

    def __init__(self) -> None:
        self._count = 0

    def stream(self, run: Path) -> AsyncIterator[str]:
        """Returns the events of a run. Raises TooManyStreamsError."""
        if self._count >= MOST_STREAMS:
            raise TooManyStreamsError(
                f"{MOST_STREAMS} pages watch runs already", "close one of them, then reload this page"
            )
        return self._counted(run)

    async def _counted(self, run: Path) -> AsyncIterator[str]:
        self._count += 1
        try:
            while True:
                name, text = await asyncio.to_thread(event_of, run)
                yield f"event: {name}\ndata: {text}\n\n"
                if name != "live":
                    return
                await asyncio.sleep(EVERY_S)
        finally:
            self._count -= 1


def event_of(run: Path) -> tuple[str, str]:
    """Returns the name of the next event and its data: `live` with the page's texts, `ended` or `killed`."""
    live = read_live(run)
    if live is not None:
        now = datetime.now(UTC)
        life = life_of(run, live, now)
        if life != "dead":
            return "live", json.dumps(view_of(live, life, now).fields())
    elif is_written(run):
        return "live", "{}"
    return ("ended" if has_ended(run) else "killed"), "{}"


def has_ended(run: Path) -> bool:
    """Returns whether a run has come to its end, so that it has a report; False for a damaged one."""
    try:
        return RunDocument.load(run).has_ended
    except FathomError:
        return False
