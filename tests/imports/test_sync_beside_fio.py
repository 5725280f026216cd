"""Writes that wait until they are safe: the flags that fio and the engine open a file with, as strace shows them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fio_traces import calls_of

from fathom.imports import import_method

pytestmark = pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)

_FLAGS = re.compile(r"\bO_D?SYNC\b")


def opened_by_fathom(directory: Path, method: str) -> set[str]:
    """Such flags of all opens for writing of the file, in the steps that measure."""
    (directory / "made.toml").write_text(method)
    command = [sys.executable, "-m", "fathom", "run", "./made.toml", "file:x.bin"]
    command += ["--size", "1MiB", "--out", "runs"]
    traced = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=openat", "-o", "calls", *command]
    subprocess.run(traced, cwd=directory, check=True, capture_output=True, timeout=120)
    opens = [
        line
        for line in (directory / "calls").read_text().splitlines()
        if "x.bin" in line and "O_RDWR" in line
    ]
    assert opens
    return {flag for line in opens for flag in _FLAGS.findall(line)}


@pytest.mark.parametrize(
    ("sync", "flag"), [("none", None), ("dsync", "O_DSYNC"), ("sync", "O_SYNC"), ("1", "O_SYNC")]
)
def test_a_file_is_opened_with_fios_flags(tmp_path: Path, sync: str, flag: str | None) -> None:
    job_file = tmp_path / "job.fio"
    job_file.write_text(
        f"[x]\nfilename=x.bin\nioengine=psync\nrw=write\nbs=4k\nsize=64k\ndirect=1\nsync={sync}\n"
    )
    theirs = calls_of(tmp_path, job_file, "openat", flag or "O_RDWR", r"x\.bin")
    assert theirs
    (tmp_path / "x.bin").unlink()
    method, _ = import_method(job_file)
    assert opened_by_fathom(tmp_path, method) == ({flag} if flag else set())


def test_vdbenchs_synchronous_writes_are_o_dsync(tmp_path: Path) -> None:
    file = tmp_path / "case.parm"
    file.write_text(
        "sd=sd1,lun=x.bin,size=1m,openflags=(o_direct,o_sync)\nwd=wd1,sd=sd1,rdpct=0,xfersize=4k\n"
        "rd=rd1,wd=wd1,iorate=max,elapsed=1\n"
    )
    assert opened_by_fathom(tmp_path, import_method(file)[0]) == {"O_DSYNC"}
