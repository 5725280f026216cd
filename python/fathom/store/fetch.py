"""Runs of a store as directories, where every other command reads them: in the user's cache, or another folder."""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fathom.errors import FathomError
from fathom.runs.check import check
from fathom.runs.checksums import FileSum
from fathom.runs.files import write_errors_named
from fathom.runs.layout import MANIFEST
from fathom.runs.manifest import Manifest
from fathom.store.address import Address

_NAME = re.compile(r"(?:[\w@#+=,~-][\w.@#+=,~-]*/)*[\w@#+=,~-][\w.@#+=,~-]*")
"""Names of a run's files: nothing that leads out of its directory, nothing hidden."""


def cache_of(address: Address) -> Path:
    """Returns the folder with the runs of a store that were fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(address.catalogue.encode()).hexdigest()[:16]
    return cache / "fathom" / "store" / key


def fetched(folder: Path, name: str, manifest: str, parts: Iterable[tuple[str, bytes]]) -> Path:
    """Returns the directory of a run in a folder, written from `parts` where it is not there as `manifest` says.

    Raises FathomError where what came is not the run that was added.
    """
    if not _NAME.fullmatch(name) or "/" in name:
        raise FathomError(f"run {name!r}: not the name of a run", "ask who added it to the store")
    run = folder / name
    if _is_same(run, manifest):
        return run
    building = folder / f".{name}.{secrets.token_hex(4)}.new"
    with write_errors_named(run):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write(building, name, parts)
            _make_empty_files(building)
            if not (_is_same(building, manifest) and check(building).whole):
                raise FathomError(
                    f"run {name}: what the store has is not the run that was added", "add it again elsewhere"
                )
            if run.exists():
                shutil.rmtree(run)
            with suppress(FileExistsError):
                building.rename(run)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return run


def _is_same(run: Path, manifest: str) -> bool:
    try:
        return FileSum.of(run / MANIFEST).sha256 == manifest
    except OSError:
        return False


def _make_empty_files(run: Path) -> None:
    """Makes the files without a byte that the manifest lists: a store has no part of them."""
    manifest = Manifest.load(run)
    for name, listed in manifest.files.items() if isinstance(manifest, Manifest) else ():
        if listed.bytes == 0 and _NAME.fullmatch(name):
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).touch()


def _write(run: Path, name: str, parts: Iterable[tuple[str, bytes]]) -> None:
    run.mkdir()
    for file, content in parts:
        if not _NAME.fullmatch(file):
            raise FathomError(f"run {name}: the store has a file of the name {file!r}", "ask who added it")
        path = run / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as out:
            out.write(content)
