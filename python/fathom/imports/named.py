"""A method as users name it: of the catalogue, a file, a file of fio or Vdbench, or a command of fio."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fathom.errors import UsageError
from fathom.fitting.of_trace import method_of
from fathom.imports import Imported, import_text
from fathom.load.binding import without_name
from fathom.method.method import Method, parse_method
from fathom.plan.replay import Replay
from fathom.targets.array import member_texts
from fathom.text_file import read_text

COMMAND = "the fio command"
_COMMAND = re.compile(r"\s*(?:\S*/)?fio[\s\\]+-")
_JOB_NAME = re.compile(r"--?name[=\s]([^\s'\"]+)")
_REAL = ("/", "file:", "dir:")
"""How the texts of targets begin that have hardware behind them."""
_OWN_SUFFIXES = (".toml", ".json")
_SCHEMA = re.compile(r"^\s*schema\s*=", re.MULTILINE)
"""A line that every method file has, and no file of fio or Vdbench."""


class Named(NamedTuple):
    """A method, what is to be known of it, a sentence each, and the targets that an imported file or command names."""

    method: Method
    notes: list[str]
    targets: list[str]


def method_named(name: str, replay: Replay | None, *, quick: bool = False) -> Named:
    """Returns the method of that name, file or fio command, with the workload of the trace where it takes one.

    The notes are of the trace, or on what differs from the imported file. Raises UsageError.
    """
    imported = _imported(name)
    if imported is None:
        return Named(*method_of(name, replay, quick=quick), [])
    if replay is not None:
        raise UsageError(f"--trace does not belong to {_called(name)}", "leave --trace out")
    return Named(parse_method(imported.text, _called(name), quick=quick), imported.notes, imported.targets)


def notes_on_targets(name: str, named: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Returns a note where a fio command or file names real targets, and others are given.

    `named` are those of `method_named`, `texts` those that the user gives. Twins stand in for any target.
    """
    given = [one for text in texts for one in member_texts(without_name(text))]
    loaded = {_place(one) for one in given if one.startswith(_REAL)}
    others = [one for text in named for one in member_texts(without_name(text)) if _place(one) not in loaded]
    if not others or not loaded:
        return []
    shown = " ".join(one for one in given if one.startswith(_REAL))
    return [f"{_called(name)} names {' '.join(others)}, and the target is {shown}"]


def _place(text: str) -> str:
    """Returns the path of a target, with links resolved."""
    path = text.partition(":")[2] if text.startswith(("file:", "dir:")) else text
    return os.path.realpath(path)


def _imported(name: str) -> Imported | None:
    """Returns a file of fio or Vdbench, or a command of fio, as a method with its notes; None for anything else."""
    if _COMMAND.match(name):
        job = _JOB_NAME.search(name)
        return import_text(name, COMMAND, job[1] if job else "fio")
    path = Path(name)
    if "\n" in name or path.suffix in ("", *_OWN_SUFFIXES) or not path.is_file():
        return None
    text = read_text(path, "name a method file, or a file of fio or Vdbench")
    return None if _SCHEMA.search(text) else import_text(text, name, path.stem)


def _called(name: str) -> str:
    return COMMAND if _COMMAND.match(name) else name
