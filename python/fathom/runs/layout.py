"""Which files and folders a run directory has, and whether a folder is one. Reads none of them."""

from pathlib import Path

RUN = "run.json"
JOURNAL = "journal.jsonl"
MANIFEST = "manifest.json"
LIVE = "live.json"
"""How far a run is, only while a process writes it. No checksum covers it."""
STEPS = "steps"
STEP = "step.json"
SET_ASIDE = "damaged"
"""Where `resume` puts the folders of steps that it measures again."""


def step_folders(run: Path) -> list[Path]:
    """Returns the folders of finished steps in order of target and step; not those that are being written."""
    steps = run / STEPS
    if not steps.is_dir():
        return []
    return sorted(path for path in steps.iterdir() if path.is_dir() and not path.name.startswith("."))


def is_run(path: Path) -> bool:
    """Returns whether a folder is a run, even one that has lost its run.json.

    A folder whose making a crash cut short has none of these files.
    """
    return (path / RUN).is_file() or (path / MANIFEST).is_file() or bool(step_folders(path))
