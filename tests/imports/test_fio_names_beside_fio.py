"""fio's engines on names of files, under strace, and as methods: the same operations on as many files, in order."""

import re
import shutil
from pathlib import Path

import pytest
from fio_traces import calls_of

from fathom import _core
from fathom.errors import UsageError
from fathom.imports import import_method
from fathom.method.method import parse_method

needs_fio = pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)

#: The system call of an operation, and what its line has.
CALLS = {
    "create": ("openat", "O_CREAT"),
    # fio 3.42 also looks every name up without following links before its engine does.
    "stat": ("newfstatat", "}, 0)"),
    "delete": ("unlink", ""),
    "mkdir": ("mkdir", ""),
    "rmdir": ("rmdir", ""),
}
CASES = {
    "filecreate": ("create", "ioengine=filecreate\nopenfiles=1"),
    "filecreate by three jobs": ("create", "ioengine=filecreate\nopenfiles=1\nnumjobs=3"),
    "filestat": ("stat", "ioengine=filestat"),
    "filestat in loops": ("stat", "ioengine=filestat\nloops=3"),
    "filedelete": ("delete", "ioengine=filedelete"),
    "filedelete of sections alike": ("delete", "ioengine=filedelete\n[names2]\nioengine=filedelete"),
}


def job_file(tmp_path: Path, lines: str) -> Path:
    file = tmp_path / "job.fio"
    file.write_text(f"[global]\nnrfiles=5\nfilesize=4k\n[names]\n{lines}\n")
    return file


def by_fathom(file: Path, operation: str) -> list[list[int]]:
    """The files that each thread works on, by their numbers among its own, in order."""
    text, _ = import_method(file)
    assert re.search(r"^# Run it on dir:\.$", text, re.MULTILINE)
    [step] = parse_method(text, "imported.toml").steps
    assert step.job.files is not None
    threads: dict[int, list[int]] = {}
    for thread, op, offset, _ in _core.requests(step.job, step.job.files.total_bytes, 512, 7, 1 << 20):
        if op == operation:
            threads.setdefault(thread, []).append(offset // 4096)
        else:
            assert op == "close"
    return [[number - files[0] for number in files] for files in threads.values()]


@needs_fio
@pytest.mark.parametrize("name", CASES)
def test_names_are_worked_on_as_by_fio(tmp_path: Path, name: str) -> None:
    operation, lines = CASES[name]
    file = job_file(tmp_path, lines)
    call, mark = CALLS[operation]
    # The last field of a file's name is its number. What the main process does is laying out.
    theirs = [
        [int(path.rpartition(".")[2]) for path in paths]
        for paths in calls_of(tmp_path, file, call, mark, r"\"[^\"]*\bnames\w*\.\d+\.\d+\"")
    ]
    assert by_fathom(file, operation) == theirs


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("ioengine=filecreate\nloops=2", "6: loops: the second time there is nothing to create"),
        ("ioengine=filedelete\nruntime=2\ntime_based", "7: time_based: the second time there is nothing"),
        (
            "ioengine=filecreate\nrate_iops=50",
            "6: rate_iops: has no counterpart in jobs of the engine filecreate",
        ),
        ("ioengine=filestat\nfile_service_type=zipf", "6: file_service_type: zipf comes to files again"),
        ("ioengine=filestat\nstat_type=statx", "6: stat_type: statx: looks the whole path up"),
        ("ioengine=filestat\nfilename=x", "6: filename: names one of several files"),
        ("ioengine=filestat\n[b]\nioengine=filecreate", r"2: nrfiles: \[names\] and \[b\] run at once"),
    ],
)
def test_what_names_have_no_counterpart_for_is_refused_with_its_line(
    tmp_path: Path, lines: str, what: str
) -> None:
    with pytest.raises(UsageError, match=rf"job\.fio:{what}"):
        import_method(job_file(tmp_path, lines))


@pytest.mark.parametrize(
    ("engine", "operation"),
    [("dircreate", "mkdir"), ("dirdelete", "rmdir"), ("dirstat", "stat-directory")],
)
def test_later_fio_works_on_directories_too(tmp_path: Path, engine: str, operation: str) -> None:
    assert by_fathom(job_file(tmp_path, f"ioengine={engine}"), operation) == [[0, 1, 2, 3, 4]]
