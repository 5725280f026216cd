"""Jobs of fio as methods have them: what the tests of imports ask."""

import tomllib
from pathlib import Path
from typing import Any

from fathom.imports import import_method

#: One device for all jobs, so that each of `numjobs` has no file of its own.
ON_A_DISK = ("filename=/dev/sdz", "direct=1")
TIMED = ("time_based", "runtime=60")


def imported(tmp_path: Path, text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The steps of a job file, and the notes, which begin with the line."""
    file = tmp_path / "job.fio"
    file.write_text(text)
    method, notes = import_method(file)
    return tomllib.loads(method)["steps"], [note.removeprefix(f"{file}:") for note in notes]


def job(tmp_path: Path, *options: str) -> dict[str, Any]:
    """The job of a timed random read by libaio, with these options instead or besides."""
    usual = (*ON_A_DISK, "ioengine=libaio", "rw=randread", "bs=4k", "iodepth=4", "size=1g", *TIMED)
    steps, _ = imported(tmp_path, "\n".join(["[x]", *usual, *options]))
    return steps[-1]["job"]


def written(tmp_path: Path, text: str) -> str:
    """The method as it is written."""
    file = tmp_path / "job.fio"
    file.write_text(text)
    return import_method(file)[0]
