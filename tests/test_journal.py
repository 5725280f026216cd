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
    handle = _core.start_engine(
        _core.Job(json.dumps(job)), [_core.EngineTarget(str(target), "file", SIZE_BYTES)], 1
    )
    handle.result()
    return target, directory


def test_acknowledged_writes_that_are_there_pass(journaled: tuple[Path, Path]):
    target, directory = journaled
    result = verify(directory)
    assert result.returncode == 0, result.stderr
    assert f"{target}: 256 acknowledged writes in 1 journal; 256 blocks checked" in result.stdout
    assert "all of them are on the target" in result.stdout


def test_the_target_may_be_named_as_a_run_names_it(journaled: tuple[Path, Path], tmp_path: Path):
    target, directory = journaled
    result = verify(directory, f"file:{target}")
    assert result.returncode == 0, result.stderr
    for other in (f"dir:{tmp_path}", "twin:samsung-pm9a3-7.68tb", "null:"):
        result = verify(directory, other)
        assert (result.returncode, result.stderr) == (
            2,
            f"fathom: {other}: neither a device nor a file; name its path, such as /dev/nvme3n1\n",
        )


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
    assert "acknowledged writes are missing: 1 unwritten" in result.stderr


def test_a_directory_without_a_journal_is_one_line(tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    for place in (tmp_path, file):
        result = verify(place)
        assert result.returncode == 2, "1 says that writes were lost"
        assert "name the directory that the job's `journal` names" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


def test_a_run_in_which_blocks_were_wrong_says_so_and_fails(tmp_path: Path):
    path, method = tmp_path / "x.bin", tmp_path / "verify.toml"
    step = '[[steps]]\nname = "{op}"\njob = {{ mix = "{op}", block = "4KiB", pattern = "sequential", direct = false, '
    step += 'content = {{ verify = 1 }}, load = {{ threads = 1 }}, until = {{ bytes = "1MiB" }} }}\n'

    def run(op: str) -> subprocess.CompletedProcess[str]:
        method.write_text(f'schema = "fathom-method/1"\nname = "verify"\n{step.format(op=op)}')
        command = [
            sys.executable,
            "-m",
            "fathom",
            "run",
            method,
            f"file:{path}",
            "--size",
            "1MiB",
            "--out",
            tmp_path,
        ]
        return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60, check=False)

    assert run("write").returncode == 0
    assert run("read").returncode == 0
    with path.open("r+b") as file:
        file.seek(40_960)
        file.write(b"x" * 8192)
    done = run("read")
    assert done.returncode == 1
    assert "2 blocks read did not hold what was written" in done.stderr.splitlines()[-1]
    assert "kernel log" not in done.stdout + done.stderr
    assert "report  " in done.stdout
