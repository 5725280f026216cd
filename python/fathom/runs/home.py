"""Where runs live and how they are named and found. Reads and writes no run."""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from fathom.errors import UsageError
from fathom.output.text import agreeing
from fathom.runs.layout import is_run
from fathom.text_file import check_utf8


@dataclass(frozen=True)
class Place:
    """Where runs are looked for, and what to do there."""

    name: str
    first: str
    """What to do where there are no runs yet."""
    listing: str
    """What lists the runs."""


def home_place() -> Place:
    """Returns the home of all runs as a place."""
    return Place(str(runs_home()), "`fathom review` makes the first", "`fathom runs` lists the runs")


def runs_home() -> Path:
    """Returns the folder of all runs: $FATHOM_RUNS, else $XDG_DATA_HOME/fathom/runs, else
    ~/.local/share/fathom/runs.
    """
    if chosen := os.environ.get("FATHOM_RUNS"):
        check_utf8(chosen)
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    check_utf8(data)
    return Path(data) / "fathom" / "runs"


def called(run: Path) -> str:
    """Returns what commands call a run: its id in the home of all runs, its path elsewhere."""
    return run.name if run.parent.resolve() == runs_home().resolve() else quote(str(run))


def new_run_id(method: str) -> str:
    """Returns an id that sorts by time: `20261120-231500-four-corners-7f3a`."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{method}-{secrets.token_hex(2)}"


def run_directories(home: Path | None = None) -> list[Path]:
    """Returns every run in a folder, by default the home of all runs, oldest first."""
    home = home or runs_home()
    if not home.is_dir():
        return []
    return sorted(path for path in home.iterdir() if not path.name.startswith(".") and is_run(path))


def find_run(text: str) -> Path:
    """Returns the run named by a path, an id, a unique part of an id, or `last`.

    Raises UsageError when none or several match.
    """
    check_named(text)
    path = Path(text)
    if is_run(path):
        return path
    inside = run_directories(path) if path.is_dir() else []
    if path.is_dir() and path.name != text:
        raise _no_run(text, inside)
    home = runs_home()
    try:
        return home / chosen(text, [run.name for run in run_directories()], home_place())
    except UsageError:
        if inside:
            raise _no_run(text, inside) from None
        raise


def check_named(text: str) -> None:
    """Raises UsageError for an empty name, which as a path is the working directory."""
    if not text:
        raise UsageError("a run's name is empty", "write an id, a part of one, or `last`")


def _no_run(folder: str, inside: Sequence[Path]) -> UsageError:
    """Returns the error of a folder that is no run, but may have runs inside."""
    if not inside:
        return UsageError(
            f"{folder}: a folder without run.json, so not a run", "`fathom runs` lists the runs"
        )
    holds = agreeing(f"{len(inside):,}", "run", "runs")
    return UsageError(
        f"{folder}: not a run, but a folder that holds {holds}",
        f"name one, such as {inside[-1]}, or all of them as {folder.rstrip('/')}/*",
    )


def chosen(text: str, runs: Sequence[str], place: Place) -> str:
    """Returns the one of some runs that an id, a unique part of an id, or `last` names.

    Raises UsageError when none or several match.
    """
    check_named(text)
    if not runs:
        raise UsageError(f"no run {text!r}: no runs in {place.name} yet", place.first)
    if text == "last":
        return runs[-1]
    matches = [run for run in runs if text in run]
    if text in runs or len(matches) == 1:
        return text if text in runs else matches[0]
    if matches:
        names = ", ".join(matches[-3:])
        raise UsageError(
            f"run {text!r} is not unique: {len(matches)} runs match ({names})", "name one in full"
        )
    raise UsageError(f"no run {text!r} in {place.name}", place.listing)
