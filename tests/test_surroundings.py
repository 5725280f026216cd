"""What a command is started in: standard streams that are closed or that nobody reads, and its directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from as_user import SHORT, TWIN
from fathom.runs.check import check


@pytest.mark.parametrize(
    "words", ["--help", "methods", "methods show snia-iops", "catalog --kind devices", "devices --json"]
)
def test_an_output_that_nobody_reads_ends_the_command_quietly(words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        command = [sys.executable, "-m", "fathom", *words.split()]
        ended = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_caller_closed_ends_no_command_and_is_given_to_no_file(
    closed: str, tmp_path: Path
) -> None:
    words = f"run {SHORT} {TWIN} --out {tmp_path}"
    ended = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m fathom {words} {closed}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)
    [run] = tmp_path.iterdir()
    assert check(run).whole
    assert ("report.html" in ended.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_a_current_directory_that_was_removed_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"rmdir {gone}; exec {sys.executable} -m fathom review --quick"
    ended = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, cwd=gone)
    assert ended.returncode == 1
    assert ended.stderr == "fathom: the current directory was removed; change to another\n"
