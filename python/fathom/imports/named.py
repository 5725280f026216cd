"""A method as users name it: of the catalogue, a file, a file of fio or Vdbench, or a command of fio."""

import re
from pathlib import Path

from fathom.errors import UsageError
from fathom.fitting.of_trace import method_of
from fathom.imports import import_text
from fathom.method.method import Method, parse_method
from fathom.plan.replay import Replay
from fathom.text_file import read_text

COMMAND = "the fio command"
_COMMAND = re.compile(r"\s*(?:\S*/)?fio[\s\\]+-")
_JOB_NAME = re.compile(r"--?name[=\s]([^\s'\"]+)")
_OWN_SUFFIXES = (".toml", ".json")
_SCHEMA = re.compile(r"^\s*schema\s*=", re.MULTILINE)
"""A line that every method file has, and no file of fio or Vdbench."""


def method_named(name: str, replay: Replay | None, *, quick: bool = False) -> tuple[Method, list[str]]:
    """Returns the method of that name, file or fio command, with the workload of the trace where it takes one.

    Also returns what is to be known of the trace, or differs from the imported file, a sentence each. Raises
    UsageError.
    """
    imported = _imported(name)
    if imported is None:
        return method_of(name, replay, quick=quick)
    if replay is not None:
        raise UsageError(f"--trace does not belong to {_called(name)}", "leave --trace out")
    text, notes = imported
    return parse_method(text, _called(name), quick=quick), notes


def _imported(name: str) -> tuple[str, list[str]] | None:
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
