"""Whether every journal that a method's steps keep can be begun: one that is there is never overwritten."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from fathom.errors import UsageError
from fathom.method.method import Method
from fathom.targets.target import REAL_KINDS, Target

_HEADER_BYTES = 512
"""The first line of a journal, as the engine pads it (`HEADER_BYTES` of its `write_journal/file.rs`)."""
_HINT = "name another directory, or move it away"


def check_journals(method: Method, targets: Sequence[Target]) -> None:
    """Raises UsageError where a step's journal of a target is there already, or an earlier step keeps it.

    The step itself would be refused, behind all that goes before it.
    """
    kept: dict[tuple[Path, Path], str] = {}
    for target in targets:
        for one in target.members or (target,):
            for _, step in method.steps_on(target):
                opened = one.passthrough or one.path
                if opened is None or one.kind not in REAL_KINDS or not step.job.journal:
                    continue
                key = Path(step.job.journal).absolute(), opened
                if key in kept:
                    raise UsageError(
                        f"{one.name}: steps {kept[key]} and {step.name} keep one journal, {step.job.journal}",
                        _HINT,
                    )
                kept[key] = step.name
    for (directory, path), step in kept.items():
        for journal in _journals_of(directory, path):
            raise UsageError(f"{path}: step {step}: {journal} is the journal of an earlier run", _HINT)


def _journals_of(directory: Path, target: Path) -> Iterator[Path]:
    """Yields the journals of a target that are in a directory."""
    for journal in sorted(directory.glob("*.journal")):
        try:
            with journal.open("rb") as file:
                header = json.loads(file.read(_HEADER_BYTES))
        except (OSError, ValueError):
            continue
        if isinstance(header, dict) and header.get("target") == str(target):
            yield journal
