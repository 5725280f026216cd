"""The folder of runs as the server may see it: which names are runs, and that none leads out of the folder.

A run directory may come from somebody else. A link or a special file in it could lead anywhere, or block whoever reads
it, so such a run is named and not opened.
"""

import os
import stat
from pathlib import Path
from typing import TypeAlias

from fathom.errors import FathomError, UsageError
from fathom.runs.layout import is_run
from fathom.text_file import check_utf8

Stamp: TypeAlias = tuple[int, int, int] | None


class NoRunError(UsageError):
    """No run of that name is in the folder."""


def run_at(home: Path, name: str) -> Path:
    """Returns the run of that name. Raises NoRunError for what is none, and FathomError as `check_plain`."""
    run = home / name
    if name in ("", ".", "..") or name.startswith(".") or "/" in name or "\0" in name or not _is_folder(run):
        raise NoRunError(f"no run {name!r} here", "choose one from the list of runs")
    check_plain(run)
    if not is_run(run):
        raise NoRunError(f"{name!r} is no run", "choose one from the list of runs")
    return run


def check_plain(run: Path) -> None:
    """Raises FathomError for a run that holds anything but folders and regular files."""
    for folder, folders, names in os.walk(run):
        for name in (*folders, *names):
            path = Path(folder, name)
            if _kind(path) not in (None, stat.S_IFREG, stat.S_IFDIR):
                raise FathomError(
                    f"run {run.name}: {path.relative_to(run)} is a link or a special file, so it is not opened",
                    "look where it leads; a run of Fathom has neither",
                )


def run_names(home: Path) -> list[str]:
    """Returns the names of folders that may be runs, in no order. Names that are no text are left out."""
    try:
        found = list(os.scandir(home))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FathomError(f"{home}: {error.strerror or error}", "give a folder of runs") from error
    return [
        one.name
        for one in found
        if not one.name.startswith(".") and one.is_dir(follow_symlinks=False) and _is_text(one.name)
    ]


def stamp_of(path: Path) -> Stamp:
    """Returns what changes when a file is written or replaced: its time, size and inode. None where it is not there."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _kind(path: Path) -> int | None:
    """Returns the type of a file; None for one that the run's writer has just replaced."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except FileNotFoundError:
        return None


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _is_text(name: str) -> bool:
    try:
        check_utf8(name)
    except UsageError:
        return False
    return True
