"""Methods by what a caller names, with what a run of it differs in as warnings."""

import warnings
from pathlib import Path

from fathom.errors import ImportedWarning
from fathom.imports.named import method_named, notes_on_targets
from fathom.method.method import Method
from fathom.plan.prepare import Words, texts_of
from fathom.plan.replay import Replay


def method_of(
    name: str | Path,
    targets: Words,
    replay: Replay | None = None,
    *,
    quick: bool = False,
) -> Method:
    """Returns a method by its name, file, text in TOML or fio command.

    Warns of each thing that an imported one differs in, and of other real targets than `targets` that it names. What is
    to be known of a trace is no such thing. Raises UsageError.
    """
    found = method_named(str(name), replay, quick=quick)
    differences = found.notes if replay is None else []
    others = notes_on_targets(str(name), found.targets, texts_of(targets)) if found.targets else []
    for note in (*differences, *others):
        warnings.warn(note, ImportedWarning, stacklevel=2)
    return found.method
