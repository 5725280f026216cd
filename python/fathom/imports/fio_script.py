"""Jobs of fio from the commands of a shell script, one command after the other.

A line that calls fio is taken or refused: none is passed over. Loops, conditions and functions around it are ignored,
and a note says so. Variables have the value that the script gives them once, or that of the caller.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.errors import UsageError
from fathom.imports.draft import Draft
from fathom.imports.fio_file import FioJob, Option, says_how_to_report, set_option, waits
from fathom.imports.variables import Variables, missing

#: A call of fio, however it is reached.
CALL = re.compile(r"(?<![\w./-])(?:\S*/)?fio\s+-", re.MULTILINE)

#: Programs before fio that say where or as whom it runs.
_LAUNCHERS = frozenset(
    ("sudo", "env", "taskset", "numactl", "nice", "nohup", "exec", "time", "stdbuf", "command")
)

#: Words before a command that do not say which it is.
_BEFORE_COMMANDS = frozenset(("do", "then", "else", "elif", "if", "while", "until", "!", "{"))
#: Programs that may name fio and do not call it.
_NO_CALL = frozenset(
    (
        *(
            "echo",
            "printf",
            "tee",
            "cat",
            "which",
            "type",
            "hash",
            "whereis",
            "man",
            "grep",
            "test",
            "[",
            "[[",
        ),
        *(
            "apt",
            "apt-get",
            "yum",
            "dnf",
            "zypper",
            "apk",
            "brew",
            "pacman",
            "pip",
            "dpkg",
            "rpm",
            "git",
            "make",
        ),
        *("killall", "pkill", "pgrep", "rm", "cp", "mv", "ls", "ln", "mkdir", "chmod", "chown", "cd"),
        *("export", "readonly", "local", "declare", "for", "case", "function", "return"),
    )
)
_NAMED_FIO = re.compile(r"\$\{?\w*fio\w*\}?", re.IGNORECASE)

_SHELL = "$|><&`;()"
_OPENS = re.compile(r"\s*(for|while|until|if|case)\b")
_CLOSES = re.compile(r"\s*(done|fi|esac|\})(?![\w-])")
_FUNCTION = re.compile(r"\s*(?:function\s+[\w-]+|[\w-]+\s*\(\s*\))\s*(?:\(\s*\))?\s*")
_ASSIGNS = re.compile(r"(?:^|[\s;&|({])(\w+)\+?=|\b(?:for|read|unset)\s+(\w+)")
_SETS = re.compile(
    r"\s*(?:export\s+|readonly\s+|local\s+|declare\s+)?(?P<name>\w+)=(?P<value>\S*)\s*(?:#.*)?"
)

#: Options of a command that say nothing of the I/O.
_OF_THE_PROGRAM = re.compile(
    r"output|output-format|append-terse|minimal|terse-version|eta|eta-newline|eta-interval|status-interval|debug"
    r"|bandwidth-log|latency-log|alloc-size|warnings-fatal|max-jobs|aux-path|readonly"
)


def jobs_of_script(text: str, file: str, draft: Draft, variables: Variables) -> list[FioJob]:
    """Returns the jobs of a script's fio commands. Raises UsageError."""
    jobs: list[FioJob] = []
    for place, words in _commands(text, file, draft, variables):
        shared: dict[str, Option] = {}
        into = shared
        first = len(jobs)
        for word in words:
            if not word.startswith("-"):
                raise UsageError(f"{place}: {word}: a job file among the options", "import that file")
            name, _, value = word.lstrip("-").partition("=")
            if name == "name" and value.startswith("global"):
                into = shared
            elif name == "name":
                jobs.append(FioJob(value, place, dict(shared)))
                into = jobs[-1].options
            elif not _OF_THE_PROGRAM.fullmatch(name):
                set_option(into, word.lstrip("-"), place)
        if len(jobs) == first:
            raise UsageError(f"{place}: a fio command without --name", "give each job its --name")
        for number, job in enumerate(jobs[first:]):
            job.waits = number == 0 or waits(job)
    return jobs


@dataclass
class _Script:
    """The variables set so far, and the loops and conditions that are open."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    open: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def read(self, place: str, line: str) -> None:
        """Reads a line that does not call fio. A variable set again, or in a loop or condition, has no single value."""
        if found := _OPENS.match(line):
            if not re.search(rf"\b{'done' if found[1] in ('for', 'while', 'until') else 'fi|esac'}\b", line):
                self.open.append((place, line.strip()))
        elif _FUNCTION.fullmatch(line) or (line.endswith("{") and line.strip() != "{"):
            self.open.append((place, line.strip()))
        elif _CLOSES.match(line):
            self.open = self.open[:-1]
        elif found := _SETS.fullmatch(line):
            name, value = found["name"], found["value"].strip("\"'")
            known = self.open or any(mark in value for mark in _SHELL) or name in self.values
            self.values[name] = "" if known else value
            return
        for names in _ASSIGNS.findall(line):
            self.values[names[0] or names[1]] = ""

    @property
    def known(self) -> Mapping[str, str]:
        """The variables that have one value."""
        return {name: value for name, value in self.values.items() if value}


def _commands(text: str, file: str, draft: Draft, variables: Variables) -> Iterator[tuple[str, list[str]]]:
    """Yields the arguments of each fio command, with its line. Values follow their option after `=` or a space."""
    script = _Script()
    for place, raw in _logical_lines(text, file):
        line = _without_comment(raw)
        words = _words(line, place)
        called = [at for at, word in enumerate(words[:-1]) if word.rpartition("/")[2] == "fio"]
        called = [at for at in called if at == 0 or words[at + 1].startswith("-")]
        if not called:
            if CALL.search(line) or any(map(_calls, _simple_commands(line))):
                raise _within_shell(place, line)
            script.read(place, line)
            continue
        before, arguments = words[: called[0]], words[called[0] + 1 :]
        if arguments == ["--version"]:
            continue
        _check_launched(before, place, line)
        if before:
            draft.note(f"{place}: {' '.join(before)}: says where or as whom fio runs, and is left out")
        for where, what in script.open:
            draft.note(f"{where}: {what[:60]}: is ignored; the commands in it run once")
        filled = [variables.fill(word, place, draft, of_file=script.known) for word in arguments]
        yield place, _joined(filled, place)


def _logical_lines(text: str, file: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        place, line = f"{file}:{number + 1}", lines[number]
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + " " + lines[number].strip()
        number += 1
        if not line.lstrip().startswith("#"):
            yield place, line


def _words(line: str, place: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        if not CALL.search(line):
            return []
        raise UsageError(f"{place}: {error}", "write the command without shell syntax") from error


def _without_comment(line: str) -> str:
    """Returns a line up to a `#` at the start of a word: within one, it is part of the word."""
    quote, at = "", 0
    while at < len(line):
        mark = line[at]
        if mark == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if mark == quote else quote
        elif mark in "\"'":
            quote = mark
        elif mark == "#" and (at == 0 or line[at - 1] in " \t;&|()"):
            return line[:at].rstrip()
        at += 1
    return line.rstrip()


def _simple_commands(line: str) -> list[list[str]]:
    """Returns the words of each command of a line."""
    found = shlex.shlex(line, posix=True, punctuation_chars=True)
    found.whitespace_split, found.commenters = True, ""
    try:
        words = list(found)
    except ValueError:
        words = re.sub("([;()<>|&`])|[\"']", r" \1 ", line).split()
    commands: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set(_SHELL[1:]):
            commands.append([])
        else:
            commands[-1].append(word.strip("`"))
    return commands


def _calls(command: Sequence[str]) -> bool:
    """Returns whether a command calls fio, or may: a variable may stand for it."""
    left = list(command)
    while left and (
        left[0] in _BEFORE_COMMANDS
        or left[0].rpartition("/")[2] in _LAUNCHERS
        or re.fullmatch(r"\w+=.*", left[0])
    ):
        left.pop(0)
    if not left or left[0] in _NO_CALL:
        return False
    if any(word.rpartition("/")[2] == "fio" or _NAMED_FIO.fullmatch(word) for word in left[:-1]):
        return True
    return left[0].startswith("$") and any(word.startswith("--name") for word in left)


def _check_launched(before: Sequence[str], place: str, line: str) -> None:
    """Raises UsageError for words before fio that do more than say where it runs."""
    left = list(before)
    while left and re.fullmatch(r"\w+=[^;|<>&`()]*", left[0]):
        left.pop(0)
    launched = not left or left[0].rpartition("/")[2] in _LAUNCHERS
    if not launched or any(mark in word for word in left for mark in _SHELL):
        raise _within_shell(place, line)


def _within_shell(place: str, line: str) -> UsageError:
    return UsageError(
        f"{place}: {line.strip()[:60]}: fio is called within other shell syntax",
        "write each fio command on a line of its own",
    )


def _joined(words: Sequence[str], place: str) -> list[str]:
    arguments: list[str] = []
    for word in words:
        begins = word.startswith("-") or not arguments or "=" in arguments[-1]
        name = (word if begins else arguments[-1]).lstrip("-").partition("=")[0]
        counts = not (_OF_THE_PROGRAM.fullmatch(name) or says_how_to_report(name))
        if counts and re.search(r"\$\{?\w+", word):
            raise missing(word, place)
        if any(mark in word for mark in "|><&`") or (counts and "$" in word) or word.endswith(";"):
            raise UsageError(f"{place}: {word}: shell syntax", "write the value that it stands for")
        if begins:
            arguments.append(word)
        else:
            arguments[-1] += f"={word}"
    return arguments
