"""Jobs of fio, from a job file or the commands of a script: their options as written, each with its line.

Global options are those of every job after them; of an option that is given twice the last one counts.
"""

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from fathom.errors import UsageError
from fathom.imports.draft import Draft
from fathom.imports.units import bytes_of, number_of, seconds_of

#: The name by which this package knows an option, by fio's other names for it.
ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "bs_split": "bssplit",
    "blocksize_range": "bsrange",
    "blockalign": "ba",
    "io_limit": "io_size",
    "fileoffset": "offset",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
    "wait_for_previous": "stonewall",
    "timeout": "runtime",
    "mem": "iomem",
    "plids": "fdp_pli",
}


#: Options that say nothing of the I/O, or what Fathom does by itself.
_NOT_OF_THE_IO = re.compile(
    r"name|description|filename|directory|filename_format|unique_filename|unlink|overwrite|fallocate|create_.*"
    r"|group_reporting|new_group|stonewall|thread|time_based|norandommap|buffered|stats|eta|disk_util|unit_base"
    r"|(all)?rand(repeat|seed)|random_generator|clocksource|gtod_.*|invalidate|(refill|scramble)_buffers"
    r"|disable_.*|buffer_compress_chunk|.*_percentiles|percentile_list|significant_figures|unified_rw_reporting"
    r"|write_(bw|lat|iops|hist)_log|log_.*|per_job_logs|(bw|iops)avgtime"
    r"|hipri|registerfiles|fixedbufs|nonvectored|force_async|sqthread_poll_cpu|cmd_type|fdp|dataplacement"
    r"|iodepth_(batch|batch_submit|batch_complete_max|low)|allow_(file_create|mounted_write)"
    r"|continue_on_error|error_dump|exit.*|verify_(fatal|dump|async|state_save|state_load)|end_fsync|fsync_on_close"
)


@dataclass(frozen=True)
class Option:
    """What an option says, and where: the file and the line."""

    value: str
    place: str


@dataclass
class FioJob:
    """A job by its name, and its options, global ones among them."""

    name: str
    place: str
    options: dict[str, Option] = field(default_factory=dict)
    waits: bool = False
    """Whether it begins only when those before it have ended."""


class Given:
    """The options of a job as they are asked for, and those that nobody asked for."""

    def __init__(self, job: FioJob, draft: Draft) -> None:
        """Of a job, with notes for a draft."""
        self._job = job
        self._draft = draft
        self._left = {key for key in job.options if not _NOT_OF_THE_IO.fullmatch(key)}

    def has(self, key: str) -> bool:
        """Whether it is given."""
        return key in self._job.options

    def text(self, key: str, default: str) -> str:
        """As written."""
        self._left.discard(key)
        one = self._job.options.get(key)
        return one.value if one else default

    def flag(self, key: str, *, usual: bool = False) -> bool:
        """Whether it is on."""
        return self.text(key, str(int(usual))) not in ("0", "")

    def number(self, key: str, default: float) -> float:
        """Raises UsageError."""
        return number_of(self.text(key, str(default)), self.place(key))

    def size(self, key: str) -> int:
        """In bytes. Raises UsageError."""
        return bytes_of(self.text(key, ""), self.place(key))

    def seconds(self, key: str, unit: str = "s") -> float:
        """A duration, of `unit` where it says none; 0 where it is not given. Raises UsageError."""
        return seconds_of(self.text(key, "0"), self.place(key), unit)

    def place(self, key: str) -> str:
        """Where it stands, or where its job does."""
        one = self._job.options.get(key)
        return f"{one.place}: {key}" if one else self._job.place

    def error(self, key: str, what: str, hint: str) -> UsageError:
        """Why it cannot be taken over."""
        return UsageError(f"{self.place(key)}: {what}", hint)

    def note(self, key: str, what: str) -> None:
        """Tells how it differs."""
        self._draft.note(f"{self.place(key)}: {what}")

    def tell_left(self) -> None:
        """Notes what nobody asked for."""
        for key in sorted(self._left):
            one = self._job.options[key]
            self._draft.note(f"{one.place}: {key}={one.value} has no counterpart and is left out")


def jobs_of_file(text: str, file: str) -> list[FioJob]:
    """The jobs of a job file. Raises UsageError."""
    jobs: list[FioJob] = []
    shared: dict[str, Option] = {}
    into: dict[str, Option] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line, place = raw.strip(), f"{file}:{number}"
        if not line or line[0] in "#;":
            continue
        if section := re.fullmatch(r"\[([^\]]+)\]", line):
            if section[1] == "global":
                into = shared
            else:
                jobs.append(FioJob(section[1], place, dict(shared)))
                into = jobs[-1].options
        elif line.startswith("include "):
            raise UsageError(f"{place}: include is not followed", "put the other file's lines here")
        elif into is None:
            raise UsageError(f"{place}: an option before any [job]", "begin with [global] or a job's name")
        else:
            _set(into, line, place)
    for job in jobs:
        job.waits = "stonewall" in job.options
    return jobs


def jobs_of_script(text: str, file: str) -> list[FioJob]:
    """The jobs of a script's fio commands, one command after the other. Raises UsageError."""
    jobs: list[FioJob] = []
    for place, words in _commands(text, file):
        shared: dict[str, Option] = {}
        first = len(jobs)
        for word in words:
            if not word.startswith("-"):
                raise UsageError(f"{place}: {word}: a job file among the options", "import that file")
            name, _, value = word.lstrip("-").partition("=")
            if name == "name":
                jobs.append(FioJob(value, place, dict(shared)))
            elif not _OF_THE_PROGRAM.fullmatch(name):
                into = jobs[-1].options if len(jobs) > first else shared
                _set(into, word.lstrip("-"), place)
        if len(jobs) == first:
            raise UsageError(f"{place}: a fio command without --name", "give each job its --name")
        for number, job in enumerate(jobs[first:]):
            job.waits = number == 0 or "stonewall" in job.options
    return jobs


#: Options of a command that say nothing of the I/O.
_OF_THE_PROGRAM = re.compile(
    r"output|output-format|append-terse|minimal|terse-version|eta|eta-newline|eta-interval|status-interval|debug"
    r"|bandwidth-log|latency-log|parse-only|section|alloc-size|warnings-fatal|max-jobs|aux-path"
)


def _commands(text: str, file: str) -> Iterator[tuple[str, list[str]]]:
    """The arguments of each fio command, with its line. Values follow their option after `=` or a space."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        place = f"{file}:{number + 1}"
        line = lines[number]
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + " " + lines[number].strip()
        number += 1
        if not re.match(r"\s*(sudo\s+)?(\S*/)?fio\s+-", line):
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise UsageError(f"{place}: {error}", "write the command without shell syntax") from error
        words = words[words.index(next(word for word in words if word.split("/")[-1] == "fio")) + 1 :]
        arguments: list[str] = []
        for word in words:
            if any(mark in word for mark in "$|><&`"):
                raise UsageError(f"{place}: {word}: shell syntax", "write the value that it stands for")
            if word.startswith("-") or not arguments or "=" in arguments[-1]:
                arguments.append(word)
            else:
                arguments[-1] += f"={word}"
        yield place, arguments


def _set(into: dict[str, Option], text: str, place: str) -> None:
    key, equals, value = text.partition("=")
    key = key.strip().lower().replace("-", "_")
    key = ALIASES.get(key, key)
    into[key] = Option(_expanded(value.strip(), place) if equals else "1", place)


def _expanded(value: str, place: str) -> str:
    """With the environment's variables, as fio puts them in."""

    def of_environment(match: re.Match[str]) -> str:
        if (found := os.environ.get(match[1])) is None:
            raise UsageError(
                f"{place}: {match[0]} is not set", "set it in the environment, or write its value"
            )
        return found

    return re.sub(r"\$\{(\w+)\}", of_environment, value)
