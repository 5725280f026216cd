"""How large a new file is where nobody gives its size: as large as what the method's steps reach."""

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path

from fathom._core import Job
from fathom.load.binding import without_name
from fathom.method.method import Method
from fathom.traces.prepare import extent_of

_FILE = "file:"
_STEP_BYTES = 1 << 20
"""Sizes are whole MiB: requests leave at most that much at the end of a target."""


def size_of_new_files(method: Method, words: Sequence[str]) -> int | None:
    """Returns the size in bytes; None where a file is there already, or a step reaches a share of its target.

    `words` are the targets as a user writes them.
    """
    paths = [Path(word.removeprefix(_FILE)) for word in map(without_name, words) if word.startswith(_FILE)]
    if not paths or any(path.exists() or path.is_symlink() for path in paths):
        return None
    ends = [_end_bytes(job) for job in _jobs(method)]
    known = [end for end in ends if end]
    if not known or len(known) < len(ends):
        return None
    return ceil(max(known) / _STEP_BYTES) * _STEP_BYTES


def _jobs(method: Method) -> Iterable[Job]:
    """Yields the jobs that reach something of their own; those that lay out or fill a file have the whole of it."""
    for step in method.steps:
        if not step.only_files and (step.kind != "fill" or step.job.region_size.fraction is None):
            yield from step.job.streams.values() or [step.job]


def _end_bytes(job: Job) -> int | None:
    """Returns the end of what a job reaches; None where that depends on the target."""
    if job.pattern.kind == "replay":
        as_recorded = job.pattern.file if job.pattern.offsets == "as-is" else None
        return extent_of(Path(as_recorded)) if as_recorded else None
    start, size = job.region_start.bytes, job.region_size.bytes
    return None if start is None or size is None else start + size
