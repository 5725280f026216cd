"""Which measurements a folder of runs has already, by the digests of the files that they were imported from.

Kept in `.index/imported.json` beside the runs, so that an import into thousands of runs opens only those that are new
to it. A run counts while its run.json has the time, size and number that it had; any other is opened. The file may be
removed at any time.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, TypeAdapter, ValidationError

from fathom.runs.files import alone_in, write_json
from fathom.runs.home import run_directories
from fathom.runs.index import FOLDER
from fathom.runs.layout import RUN

LIST = "imported.json"

Digests = frozenset[str]


class _Entry(BaseModel):
    """A run of the list: what changes whenever its run.json is written, and the digests; none of Fathom's own run."""

    stamp: str
    files: Digests


_LISTED = TypeAdapter(dict[str, _Entry])


class Known:
    """The measurements of a folder of runs: digests of files, and the run that was made of them."""

    def __init__(self, home: Path, runs: Mapping[str, _Entry]) -> None:
        self._home = home
        self._runs = dict(runs)
        self._by_files = {entry.files: name for name, entry in runs.items() if entry.files}

    @classmethod
    def of(cls, home: Path) -> Self:
        """Returns those of a folder. A run that cannot be read is none."""
        listed = _load(home / FOLDER)
        found: dict[str, _Entry] = {}
        for run in run_directories(home):
            with suppress(OSError):
                stamp = _stamp(run)
                kept = listed.get(run.name)
                found[run.name] = (
                    kept if kept and kept.stamp == stamp else _Entry(stamp=stamp, files=files_of(run))
                )
        return cls(home, found)

    def run_of(self, files: Digests) -> str | None:
        """Returns the name of the run that was made of files with those digests; None if there is none."""
        return self._by_files.get(files)

    def add(self, files: Digests, run: str) -> None:
        """Adds a run that is being made of files."""
        self._by_files[files] = run

    def save(self) -> None:
        """Writes the list with the runs that have been made. Where it cannot be written, nothing is lost."""
        for files, name in self._by_files.items():
            if name not in self._runs:
                with suppress(OSError):
                    self._runs[name] = _Entry(stamp=_stamp(self._home / name), files=files)
        folder = self._home / FOLDER
        with suppress(OSError):
            if not folder.is_symlink():
                folder.mkdir(exist_ok=True)
                listed = {
                    name: {"stamp": entry.stamp, "files": sorted(entry.files)}
                    for name, entry in self._runs.items()
                }
                with alone_in(folder):
                    write_json(folder / LIST, listed, durable=False)


def _load(folder: Path) -> Mapping[str, _Entry]:
    """Returns the list; empty where it is missing or damaged."""
    try:
        if folder.is_symlink():
            return {}
        return _LISTED.validate_json((folder / LIST).read_bytes())
    except (OSError, ValidationError):
        return {}


def _stamp(run: Path) -> str:
    found = os.lstat(run / RUN)
    return f"{found.st_mtime_ns},{found.st_ctime_ns},{found.st_size},{found.st_ino}"


def files_of(run: Path) -> Digests:
    """Returns the digests of the files that a run was imported from; none for any other run, or a damaged one."""
    try:
        origin = json.loads((run / RUN).read_text(encoding="utf-8")).get("origin")
        return frozenset(file["sha256"] for file in origin["files"]) if origin else frozenset()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return frozenset()
