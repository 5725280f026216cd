"""Shared fixtures: every test has its own home of runs, and asks for what it needs by name."""

import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from fathom.runs.document import RunDocument


@pytest.fixture(autouse=True)
def runs_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "runs"
    monkeypatch.setenv("FATHOM_RUNS", str(home))
    return home


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A folder on a file system with O_DIRECT."""
    probe = tmp_path / "probe"
    probe.write_bytes(b"\0" * 4096)
    try:
        os.close(os.open(probe, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip(f"{tmp_path} has no O_DIRECT")
    probe.unlink()
    return tmp_path


@pytest.fixture
def interrupted(tmp_path: Path) -> Callable[[Path, Iterable[str]], Path]:
    """Copies a finished run as a crash would have left it: still running, without the steps of those folders."""

    def copy_without(run: Path, lost: Iterable[str]) -> Path:
        copy = tmp_path / "interrupted"
        shutil.copytree(run, copy)
        for folder in lost:
            shutil.rmtree(copy / "steps" / folder)
        (copy / "manifest.json").unlink()
        document = RunDocument.load(copy)
        document.status = "running"
        document.save(copy)
        journal = copy / "journal.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join(line for line in lines if json.loads(line).get("folder") not in lost))
        return copy

    return copy_without
