"""A server of pages in a thread of the test, and the plainest client for it: what is sent is what is written here."""

import http.client
import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

import uvicorn

import synthetic
from fathom.serve.app import make_app
from fathom.serve.server import config_of, listening
from fathom.serve.settings import Settings

START_S = 10


def small_run(path: Path) -> Path:
    """A finished run of two twins, as short as one can be."""
    return synthetic.make_run(path, synthetic.TWINS[:2], measure_s=2, precondition_s=2, fill_s=1)


def copied(run: Path, copy: Path, **values: object) -> Path:
    """A copy of a run, with other values in run.json."""
    shutil.copytree(run, copy)
    document = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(document | {"id": copy.name} | values))
    return copy


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Served:
    settings: Settings

    @property
    def home(self) -> Path:
        """The folder of runs of a server that has one."""
        assert isinstance(self.settings.runs, Path)
        return self.settings.runs

    @property
    def url(self) -> str:
        return f"http://{self.settings.address}"

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Sends the path as it stands; underscores of header names are hyphens."""
        connection = http.client.HTTPConnection(self.settings.host, self.settings.port, timeout=60)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8")
            return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, text)
        finally:
            connection.close()

    def send(self, path: str, body: str, **headers: str) -> Answer:
        """Sends a form as a page of the server does."""
        return self.ask(path, "POST", body, **{"Origin": self.url} | headers)


@contextmanager
def serving(settings: Settings) -> Iterator[Served]:
    with listening(settings) as listener:
        own = replace(settings, port=listener.getsockname()[1])
        server = uvicorn.Server(config_of(make_app(own)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        end_s = monotonic() + START_S
        while not server.started:
            assert monotonic() < end_s
            sleep(0.01)
        yield Served(own)
        server.should_exit = True
        thread.join(START_S)
