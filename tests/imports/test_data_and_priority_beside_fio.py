"""I/O priorities as strace shows them, and patterns of data as they lie in the file: fio's and the engine's."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fathom
from fathom.errors import UsageError
from fathom.exports import export_method
from fathom.imports import import_method
from fathom.method.method import parse_method

pytestmark = pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)

_PRIORITY = re.compile(r"ioprio_set\(IOPRIO_WHO_PROCESS, 0, (.*)\) = 0")
_JOB = "[x]\nfilename=x.bin\nioengine=psync\nrw=write\nbs=4k\nsize=64k\ndirect=1\n"


def job_file(directory: Path, lines: str) -> Path:
    path = directory / "job.fio"
    path.write_text(_JOB + lines)
    return path


def priorities(directory: Path, *command: str) -> set[str]:
    """The priorities that the threads of a command take, in strace's words."""
    calls = directory / "calls"
    traced = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=ioprio_set", "-o", str(calls), *command]
    subprocess.run(traced, cwd=directory, check=True, capture_output=True, timeout=120)
    return set(_PRIORITY.findall(calls.read_text()))


def run_of(directory: Path, file: Path) -> list[str]:
    """The command that runs an imported job, as it is, on x.bin."""
    (directory / "made.toml").write_text(import_method(file)[0])
    command = [sys.executable, "-m", "fathom", "run", "./made.toml", "file:x.bin"]
    return [*command, "--size", "64KiB", "--out", "runs"]


@pytest.mark.parametrize("lines", ["prio=3\n", "prioclass=3\n", "prioclass=2\nprio=7\n"])
def test_the_load_threads_take_the_priority_that_fios_do(tmp_path: Path, lines: str) -> None:
    file = job_file(tmp_path, lines)
    theirs = priorities(tmp_path, "fio", str(file))
    (tmp_path / "x.bin").unlink()
    assert len(theirs) == 1
    assert priorities(tmp_path, *run_of(tmp_path, file)) == theirs


@pytest.mark.parametrize("pattern", ["0xdeadbeef", '"abc"', "7", '0x1"bc"0xfe', "0"])
def test_a_file_holds_the_bytes_that_fio_writes(tmp_path: Path, pattern: str) -> None:
    file = job_file(tmp_path, f"buffer_pattern={pattern}\n")
    subprocess.run(["fio", str(file)], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    theirs = (tmp_path / "x.bin").read_bytes()
    (tmp_path / "x.bin").unlink()
    fathom.run(import_method(file)[0], f"file:{tmp_path / 'x.bin'}", size_bytes=64 << 10, out=tmp_path)
    # Behind the data of the target is the label by which Fathom knows its own files.
    assert (tmp_path / "x.bin").read_bytes()[: 64 << 10] == theirs
    assert len(theirs) == 64 << 10


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("buffer_pattern=%o\n", "has no counterpart"),
        ("buffer_pattern='file'\n", "has no counterpart"),
        ("buffer_pattern=4096\n", "has no counterpart"),
        (f"buffer_pattern=0x{'ab' * 65}\n", "is 65 bytes"),
        ("buffer_pattern=0xab\nbuffer_compress_percentage=50\n", "fills a part of a block"),
        ("prio=8\n", "has no such value"),
    ],
)
def test_what_is_other_data_or_no_priority_is_refused(tmp_path: Path, lines: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        import_method(job_file(tmp_path, lines))


def test_both_go_to_fio_and_back(tmp_path: Path) -> None:
    file = job_file(tmp_path, "buffer_pattern=0xdeadbeef\nprioclass=3\n")
    method = parse_method(import_method(file)[0], "made.toml")
    exported, _ = export_method(method, f"file:{tmp_path / 'x.bin'}", size_bytes=1 << 16)
    assert "buffer_pattern=0xdeadbeef" in exported
    assert "prioclass=3" in exported
    again = tmp_path / "again.fio"
    again.write_text(exported)
    [step] = [one for one in parse_method(import_method(again)[0], "again.toml").steps if one.job.writes]
    assert (step.job.write_pattern, step.job.priority) == ("0xdeadbeef", ("idle", 0))
