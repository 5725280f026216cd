"""Jobs of fio from a job file: their options as written, each with its line.

Global options apply to every job after them. If an option is given twice, the last one counts. Text after `#` or `;` is
a comment, wherever it stands.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fathom.errors import UsageError
from fathom.imports.draft import Draft
from fathom.imports.fio_options import ALIASES, OPTIONS, REPORTS
from fathom.imports.variables import Variables, missing
from fathom.text_file import read_text

_SECTION = re.compile(r"^\s*\[[^\]\n]+\]", re.MULTILINE)
_SECTION_ALONE = re.compile(r"^\s*\[[^\]\n]+\]\s*$", re.MULTILINE)
_SHELL = re.compile(r"#!.*\b(?:ba|da|k|z)?sh\b")
_INCLUDED = 8
"""Most files within files."""
_KEEPS_SHARE = ("size", "offset", "offset_increment")
"""Options whose percentage fio 3.33 keeps beside a later number of bytes (`str_size_cb` of its `options.c`)."""
_OF_EACH = ("bs", "ba", "rate", "rate_iops", "percentage_random")
"""Options of reads, writes and trims: a value that is left out, as in `bs=,8k`, stays what it was."""


@dataclass(frozen=True)
class Option:
    """The value of an option, and its place: file and line."""

    value: str
    place: str


@dataclass
class FioJob:
    """A job by its name, and its options in the order of their lines, global ones first."""

    name: str
    place: str
    options: dict[str, Option] = field(default_factory=dict)
    waits: bool = False
    """Whether it begins only when those before it have ended."""


def is_job_file(text: str) -> bool:
    """Returns whether a text has sections of jobs. A shell script has none: its lines in brackets are conditions."""
    return not _SHELL.match(text) and bool(_SECTION.search(text))


def writes_job_files(text: str) -> bool:
    """Returns whether a shell script has a section of a job on a line of its own."""
    return bool(_SHELL.match(text) and _SECTION_ALONE.search(text))


def jobs_of_file(text: str, file: str, draft: Draft, variables: Variables) -> list[FioJob]:
    """Returns the jobs of a job file. Raises UsageError."""
    jobs: list[FioJob] = []
    shared: dict[str, Option] = {}
    into: dict[str, Option] | None = None
    for place, raw in _lines(text, file):
        line = variables.fill(raw, place, draft, environment=True)
        if section := re.fullmatch(r"\[([^\]]+)\]", line):
            if section[1].startswith("global"):
                into = shared
            else:
                jobs.append(FioJob(section[1], place, dict(shared)))
                into = jobs[-1].options
        elif into is None:
            raise UsageError(f"{place}: an option before any [job]", "begin with [global] or a job's name")
        else:
            set_option(into, line, place)
    for job in jobs:
        named = job.options.get("name")
        if named and named is not shared.get("name"):
            job.name = named.value
        elif named:
            draft.note(f"{named.place}: name={named.value}: jobs have names of their own")
        job.waits = waits(job)
    return jobs


def waits(job: FioJob) -> bool:
    """Returns whether it has a `stonewall` that is on."""
    return job.options.get("stonewall", Option("0", "")).value != "0"


def _lines(text: str, file: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yields each line with content and its place. Lines of an included file stand in place of the include."""
    for number, raw in enumerate(text.split("\n"), 1):
        line, place = re.split("[;#]", raw)[0].strip(), f"{file}:{number}"
        if not line:
            continue
        if not line.startswith("include "):
            yield place, line
            continue
        if depth == _INCLUDED:
            raise UsageError(f"{place}: more than {_INCLUDED} files within files", "put their lines here")
        other = Path(file).parent / line.removeprefix("include ").strip()
        yield from _lines(read_text(other, f"included by {place}"), str(other), depth + 1)


def set_option(into: dict[str, Option], text: str, place: str) -> None:
    """Sets `key=value`, as the last option.

    Raises UsageError for a key that fio does not have, and where fio mixes the value with that before.
    """
    key, equals, value = text.partition("=")
    name = _name_of(key.strip(), place)
    before = into.pop(name, None)
    into[name] = Option(value.strip() if equals else "1", place)
    if before and name in _KEEPS_SHARE and before.value.endswith("%") and not into[name].value.endswith("%"):
        raise UsageError(
            f"{place}: {name}: fio keeps the {before.value} that stands before it",
            "write a percentage here too, or leave the other out",
        )
    if before and name in _OF_EACH:
        into[name] = Option(_filled(into[name].value, before.value), place)


def of_each(value: str) -> list[str]:
    """Returns the values of reads, writes and trims. The last stands for those that follow."""
    parts = value.split(",")
    return [parts[min(place, len(parts) - 1)] for place in range(3)]


def _filled(value: str, before: str) -> str:
    """Returns `reads,writes,trims` with what the value leaves out from the one before."""
    if "" not in value.split(",") or "," not in value:
        return value
    return ",".join(new or old for new, old in zip(of_each(value), of_each(before), strict=True))


def _name_of(key: str, place: str) -> str:
    for one in (key, key.replace("-", "_")):
        if (name := ALIASES.get(one, one)) in OPTIONS:
            return name
    near = difflib.get_close_matches(key, [*OPTIONS, *ALIASES], n=1)
    raise UsageError(
        f"{place}: {key} is not an option of fio that this version knows",
        f"did you mean {near[0]}?" if near else "leave it out",
    )


def says_how_to_report(name: str) -> bool:
    """Returns whether an option is one whose value is left aside, whatever it is."""
    option = OPTIONS.get(ALIASES.get(name, name))
    return bool(option) and option.says == REPORTS


def check_values(jobs: Iterable[FioJob]) -> None:
    """Raises UsageError for a variable without a value; `filename_format` has words of fio's own."""
    for job in jobs:
        for name, one in job.options.items():
            if "$" in one.value and name != "filename_format" and not says_how_to_report(name):
                raise missing(one.value, one.place)
