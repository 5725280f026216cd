"""A folder of runs as people have them, and a server of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fathom.serve.settings import settings_of
from serve_client import Served, copied, serving, small_run

#: A name that is markup, 300 characters, and characters that steer.
SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"{SCRIPT}\x1b]0;owned\x07‮{'S' * 300}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good runs, one of hostile names, and one whose run.json is damaged."""
    home = tmp_path_factory.mktemp("served") / "runs"
    first = small_run(home / "20261120-231500-four-corners-aaaa")
    copied(first, home / "20261121-231500-four-corners-bbbb", created="2026-11-21T23:15:00Z", seed=2)
    document = json.loads((first / "run.json").read_text())
    document["targets"][0]["label"] = HOSTILE
    copied(
        first,
        home / "20261119-100000-four-corners-<b>&'\"",
        created="2026-11-19T10:00:00Z",
        targets=document["targets"],
        method=document["method"] | {"title": HOSTILE, "name": "x'\"><img src=x onerror=alert(2)>"},
    )
    damaged = copied(first, home / "20261118-100000-four-corners-dddd")
    (damaged / "run.json").write_text('{"schema": "fathom-run/1", "id": "<b>"')
    return home


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    with serving(settings_of(home, "127.0.0.1:0", None)) as server:
        yield server
