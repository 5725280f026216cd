"""Methods from the files of other load generators: what they say, in Fathom's words, and what of it has none."""

import re
from pathlib import Path

from fathom.errors import UsageError
from fathom.imports.draft import Draft, name_of
from fathom.imports.fio import from_fio
from fathom.imports.vdbench import from_vdbench
from fathom.method import parse_method
from fathom.text_file import read_text

_FIO_SECTION = re.compile(r"^\s*\[[^\]]+\]\s*$", re.MULTILINE)
_FIO_COMMAND = re.compile(r"^\s*(sudo\s+)?(\S*/)?fio\s+-", re.MULTILINE)
_VDBENCH_RUN = re.compile(r"^\s*rd\s*=", re.MULTILINE)


def import_method(path: Path, name: str | None = None) -> tuple[str, list[str]]:
    """A method file that does what a job file of fio, a script of fio commands or a parameter file of Vdbench does,
    and notes of what is different or left out.

    Raises UsageError where a line has no counterpart without which it would be another test.
    """
    text = read_text(path, "give a job file of fio or a parameter file of Vdbench")
    draft = _draft(text, str(path))
    method = draft.to_toml(name_of(name or path.stem, "imported"), str(path))
    parse_method(method, f"{path} (imported)")
    return method, draft.notes


def _draft(text: str, file: str) -> Draft:
    if _FIO_SECTION.search(text) or _FIO_COMMAND.search(text):
        return from_fio(text, file)
    if _VDBENCH_RUN.search(text):
        return from_vdbench(text, file)
    raise UsageError(
        f"{file}: neither fio's nor Vdbench's",
        "expected [jobs], fio commands of a script, or sd=, wd= and rd= lines",
    )
