"""Turns files of other load generators into methods, and names what has no counterpart in a method."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fathom.errors import UsageError
from fathom.imports.draft import Draft, name_of
from fathom.imports.fio import from_fio
from fathom.imports.fio_file import is_job_file, writes_job_files
from fathom.imports.fio_script import CALL
from fathom.imports.variables import Variables
from fathom.imports.vdbench import from_vdbench
from fathom.method.method import parse_method
from fathom.text_file import read_text

_IMPORTED = "the imported method"
_FORMATS: tuple[tuple[Callable[[str], object], Callable[[str, str, Variables], Draft]], ...] = (
    (is_job_file, from_fio),
    (CALL.search, from_fio),
    (re.compile(r"^\s*rd\s*=", re.MULTILINE).search, from_vdbench),
)
"""How the text of each format is recognised, and what reads it. The first that fits is taken."""


def import_method(
    path: Path, name: str | None = None, variables: Variables | None = None
) -> tuple[str, list[str]]:
    """Returns a method file for a fio job file, a script of fio commands or a Vdbench parameter file, and notes.

    Notes name what is different or left out. `variables` stand for `${NAME}` and `$NAME` of the file. Raises
    UsageError where a line has no counterpart and the test would be another without it.
    """
    text = read_text(path, "give a job file of fio or a parameter file of Vdbench")
    made = import_text(text, str(path), name or path.stem, variables)
    return made.text, made.notes


class Imported(NamedTuple):
    """A method file, what differs from the other tool's, and the targets that this one names, as `run` takes them."""

    text: str
    notes: list[str]
    targets: list[str]


def import_text(text: str, file: str, name: str, variables: Variables | None = None) -> Imported:
    """Returns what is made of the text of a file, as `import_method` does. `file` is what messages call it."""
    variables = variables or Variables()
    draft = _draft(text, file, variables)
    variables.check_all_used(file)
    called = name_of(name, "imported")
    method = draft.to_toml(called, file)
    try:
        parse_method(method, _IMPORTED)
    except UsageError as error:
        raise _at_its_line(error, draft, called, file) from error
    return Imported(method, draft.said(), draft.targets)


def _at_its_line(error: UsageError, draft: Draft, name: str, file: str) -> UsageError:
    """Returns a method's error, moved to the line of the imported file that caused it."""
    line, _, what = error.message.removeprefix(f"{_IMPORTED}:").partition(":")
    place = draft.place_of(int(line), name, file) if line.isdecimal() else ""
    if place:
        return UsageError(f"{place}: as a method: {what.strip()}", error.hint)
    return UsageError(
        f"{file}: the method made from it is refused: {what.strip() or error.message}",
        "leave that out; if it should work, report it",
    )


def _draft(text: str, file: str, variables: Variables) -> Draft:
    for marks, reader in _FORMATS:
        if not marks(text):
            continue
        if reader is from_vdbench and text.startswith("#!"):
            raise UsageError(
                f"{file}:1: a shell script that writes parameter files of Vdbench",
                "import a file that it has written",
            )
        return reader(text, file, variables)
    if '"fio version"' in text:
        raise UsageError(
            f"{file}: results of fio, not a job file", "`fathom import-results` makes a run of them"
        )
    if writes_job_files(text):
        raise UsageError(
            f"{file}:1: a shell script that writes job files of fio", "import a file that it has written"
        )
    raise UsageError(
        f"{file}: neither fio's nor Vdbench's",
        "expected [jobs], fio commands of a script, or sd=, wd= and rd= lines",
    )
