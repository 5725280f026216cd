"""Which files and folders runs and sweeps have, and whether a folder is one. Opens no file of a run."""

import json
import sys
from pathlib import Path

from fathom.runs.files import text_of

RUN = "run.json"
JOURNAL = "journal.jsonl"
MANIFEST = "manifest.json"
LIVE = "live.json"
"""How far a run is, only while a process writes it. No checksum covers it."""
SWEEP = "sweep.json"
"""What marks the folder of a sweep, whose runs lie in `points`."""
SWEEP_SCHEMA = "fathom-sweep/1"
STEPS = "steps"
STEP = "step.json"
SET_ASIDE = "damaged"
"""Where `resume` puts the folders of steps that it measures again."""


def step_folders(run: Path) -> list[Path]:
    """Returns the folders of finished steps in order of target and step; not those that are being written."""
    steps = run / STEPS
    if not steps.is_dir():
        return []
    found = [path for path in steps.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted(found, key=lambda path: in_order(path.name))


def in_order(folder: str) -> tuple[int, int, str]:
    """Returns what sorts folders of steps by target and number: as texts, step 1000 stands before step 101."""
    target, number, _ = [*folder.split("-", 2), "", ""][:3]
    if target.isdecimal() and number.isdecimal():
        return int(target), int(number), folder
    return sys.maxsize, 0, folder


def is_sweep(path: Path) -> bool:
    """Returns whether a folder is a sweep."""
    try:
        document = json.loads(text_of(path / SWEEP))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("schema") == SWEEP_SCHEMA


def is_run(path: Path) -> bool:
    """Returns whether a folder is a run, even one that has lost its run.json.

    A folder whose making a crash cut short has none of these files.
    """
    return (path / RUN).is_file() or (path / MANIFEST).is_file() or bool(step_folders(path))
