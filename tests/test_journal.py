"""Acknowledged writes are looked for after a crash, from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fathom import _core

SIZE_BYTES = 1 << 20


def verify(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fathom", "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def journaled(tmp_path: Path) -> tuple[Path, Path]:
    """A target after a job of 256 writes, and the directory of the job's journal."""
    target, directory = tmp_path / "target", tmp_path / "journal"
    target.write_bytes(bytes(SIZE_BYTES))
    job = {
        "mix": "write",
        "block": "4KiB",
        "pattern": "random-once",
        "content": {"verify": 1},
        "journal": str(directory),
        "load": {"iodepth": 8},
        "until": {"written": "1x"},
        "direct": False,
    }
    handle = _core.start_engine(json.dumps(job), [_core.EngineTarget(str(target), "file", SIZE_BYTES)], 1)
    handle.result()
    return target, directory


def test_acknowledged_writes_that_are_there_pass(journaled: tuple[Path, Path]):
    target, directory = journaled
    result = verify(directory)
    assert result.returncode == 0, result.stderr
    assert f"{target}: 256 acknowledged writes in 1 journals, 256 blocks looked for" in result.stdout
    assert "every one of them is there" in result.stdout


def test_lost_writes_are_named_and_fail_the_command(journaled: tuple[Path, Path]):
    target, directory = journaled
    with target.open("r+b") as file:
        file.seek(40_960)
        file.write(bytes(4096))
    result = verify(directory, target, "--json")
    assert result.returncode == 1
    document = json.loads(result.stdout)
    assert document["schema"] == "fathom-verify/1"
    assert document["wrong"] == {"unwritten": 1}
    assert "the write of 4096 bytes at 40960" in result.stderr
    assert "acknowledged writes are not there: 1 unwritten" in result.stderr


def test_a_directory_without_a_journal_is_one_line(tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    for place in (tmp_path, file):
        result = verify(place)
        assert result.returncode == 2, "1 says that writes were lost"
        assert "name the directory that the job's `journal` names" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
