"""Makes a run look as those of versions before checksums, so that a test may change what is in it."""

import json
import shutil
from pathlib import Path


def without_checksums(run: Path) -> Path:
    """Takes every checksum out of a run directory; returns it."""
    (run / "manifest.json").unlink(missing_ok=True)
    _drop(run / "run.json", "sha256")
    for step in run.glob("steps/*/step.json"):
        _drop(step, "sha256", "files", "of")
    journal = run / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    journal.write_text("".join(json.dumps(_without(line, "sha256", "folder")) + "\n" for line in lines))
    return run


def changed(run: Path, **values: object) -> Path:
    """The same with other values in run.json."""
    without_checksums(run)
    document = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps(document | values))
    return run


def copy_of(run: Path, to: Path) -> Path:
    """A copy without checksums."""
    shutil.copytree(run, to)
    return without_checksums(to)


def _drop(path: Path, *names: str) -> None:
    path.write_text(json.dumps(_without(json.loads(path.read_text(encoding="utf-8")), *names)))


def _without(document: dict[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in document.items() if name not in names}
