"""What fio asks the kernel for, read from strace: by file, the I/O of each of its jobs."""

import itertools
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Io:
    """One request of a job."""

    op: str
    offset: int
    size: int


_CALLS = {"pread64": "read", "pwrite64": "write", "fsync": "flush", "fdatasync": "flush"}
_CALL = re.compile(r"(\w+)\(\d+<([^>]*)>(?:, .*, (\d+), (\d+))?\) += (\d+)")


def by_fio(directory: Path, job_file: Path) -> dict[str, list[list[Io]]]:
    """What fio asks for: by file, the I/O of each of its jobs."""
    found: dict[str, list[list[Io]]] = {}
    for calls in in_order(directory, job_file):
        for name in dict.fromkeys(name for name, _ in calls if name.endswith((".bin", ".0"))):
            found.setdefault(name, []).append([one for other, one in calls if other == name])
    return found


def in_order(directory: Path, job_file: Path) -> list[list[tuple[str, Io]]]:
    """What each of fio's processes asks for: names of files, each with a request."""
    return [
        [
            (Path(call[2]).name, Io(_CALLS[call[1]], int(call[4] or 0), int(call[3] or 0)))
            for line in lines
            if (call := _CALL.match(line))
        ]
        for lines in _traced(directory, job_file, ",".join(_CALLS), "-s", "0")
    ]


def calls_of(directory: Path, job_file: Path, call: str, mark: str, path: str) -> list[list[str]]:
    """The paths of one system call that each of fio's jobs makes, where its line has the mark; the main process is none
    of them.
    """
    found = [
        [
            at[0].strip('"')
            for line in lines
            if line.startswith(f"{call}(") and mark in line and (at := re.search(path, line))
        ]
        for lines in _traced(directory, job_file, call)[1:]
    ]
    return [paths for paths in found if paths]


def lines_of(directory: Path, job_file: Path, call: str) -> list[list[str]]:
    """The lines of strace that name one system call, for each of fio's processes, the main one first."""
    return [
        [line for line in lines if line.startswith(f"{call}(")]
        for lines in _traced(directory, job_file, call)
    ]


def _traced(directory: Path, job_file: Path, calls: str, *options: str) -> list[list[str]]:
    """The lines of strace for each of fio's processes, the main one first."""
    traces = directory / "traces"
    traces.mkdir()
    command = ["strace", "-ff", "-y", "-qq", *options, "-e", f"trace={calls}", "-o", f"{traces}/t"]
    subprocess.run(
        [*command, "fio", str(job_file)], cwd=directory, check=True, capture_output=True, timeout=60
    )
    return [
        trace.read_text().splitlines()
        for trace in sorted(traces.iterdir(), key=lambda one: int(one.suffix[1:]))
    ]


def shares(requests: Sequence[Io], what: Callable[[Io], object]) -> dict[object, float]:
    """How large a share has each value."""
    counts = Counter(map(what, requests))
    return {value: count / len(requests) for value, count in counts.items()}


def follow_ons(requests: Sequence[Io]) -> float:
    """The share of requests that follow on behind the one before."""
    moving = [one for one in requests if one.op != "flush"]
    pairs = list(itertools.pairwise(moving))
    return sum(one.offset + one.size == next_one.offset for one, next_one in pairs) / len(pairs)
