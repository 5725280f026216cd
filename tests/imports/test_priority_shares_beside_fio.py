"""Shares of a job's I/O with a priority of their own: as strace shows fio's, and as the method declares them."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from fio_jobs import job

import fathom
from fathom.errors import UsageError
from fathom.exports import export_method
from fathom.imports import import_method
from fathom.method.method import parse_method

needs_strace = pytest.mark.skipif(
    shutil.which("fio") is None or shutil.which("strace") is None, reason="fio or strace is not installed"
)
_JOB = (
    "[x]\nfilename=x.bin\nioengine=libaio\niodepth=4\nrw=randrw\nbssplit=4k/50:16k/50\nsize=16m\ndirect=1\n"
    "norandommap\n"
)
_SUBMITTED = re.compile(
    r"IOCB_CMD_P(READ|WRITE)(?:, aio_reqprio=IOPRIO_PRIO_VALUE\(IOPRIO_CLASS_(\w+), (\d)\))?, .*?aio_nbytes=(\d+)"
)
_CLASSES = {"RT": "realtime", "BE": "best-effort", "IDLE": "idle"}
Kind = tuple[str, int]


def job_file(directory: Path, lines: str) -> Path:
    path = directory / "job.fio"
    path.write_text(_JOB + lines)
    return path


def by_fio(directory: Path, file: Path) -> dict[Kind, Counter[tuple[str, int] | None]]:
    """By operation and block size: how many of fio's I/Os have each class and level; None has that of the thread."""
    calls = directory / "calls"
    traced = ["strace", "-f", "-qq", "-v", "-s0", "-e", "trace=io_submit", "-o", str(calls), "fio", str(file)]
    subprocess.run(traced, cwd=directory, check=True, capture_output=True, timeout=120)
    found: dict[Kind, Counter[tuple[str, int] | None]] = {}
    for op, kind, level, size in _SUBMITTED.findall(calls.read_text()):
        has = (_CLASSES[kind], int(level)) if kind else None
        found.setdefault((op.lower(), int(size)), Counter())[has] += 1
    return found


def declared(file: Path) -> Sequence[tuple[float, tuple[str | None, int | None], tuple[str, int], int]]:
    [*_, step] = parse_method(import_method(file)[0], "made.toml").steps
    return step.job.priority_shares


@needs_strace
@pytest.mark.parametrize(
    "lines",
    [
        "cmdprio_percentage=20\n",
        "cmdprio_percentage=0,60\ncmdprio_class=3\n",
        "cmdprio_percentage=30,60\ncmdprio_class=2,1\ncmdprio=4,0\nprioclass=3\n",
        "cmdprio_bssplit=4k/100:16k/0,16k/40\n",
        "cmdprio_bssplit=4k/25/2/1:4k/50/3/0:16k/10,16k/40/2/7\ncmdprio=5\n",
        "cmdprio_bssplit=8k/30:16k/20\n",
    ],
)
def test_fio_gives_the_shares_that_the_method_declares(tmp_path: Path, lines: str) -> None:
    file = job_file(tmp_path, lines)
    theirs = by_fio(tmp_path, file)
    assert set(theirs) == {(op, size) for op in ("read", "write") for size in (4096, 16384)}
    for (op, size), counts in theirs.items():
        of_kind = [one for one in declared(file) if one[1][0] in (None, op) and one[1][1] in (None, size)]
        shares = {values: share for share, _, values, _ in of_kind}
        assert len(shares) == len(of_kind)
        for values in {*shares, *(one for one in counts if one)}:
            share, count = shares.get(values, 0.0), counts.total()
            chance = 4 * (share * (1 - share) / count) ** 0.5
            assert counts[values] / count == pytest.approx(share, abs=0.01 + chance), (op, size, values)


def test_the_engine_takes_them(tmp_path: Path) -> None:
    made = tmp_path / "made.toml"
    made.write_text(import_method(job_file(tmp_path, "cmdprio_bssplit=4k/25/2/1:4k/50/3/0\n"))[0])
    target = f"file:{tmp_path / 'x.bin'}"
    run = fathom.run(str(made), targets=[target], size_bytes=16 << 20, out=str(tmp_path / "runs"))
    points = run.to_pandas("points")
    assert {"read", "write"} <= set(points["op"])
    assert set(points["errors"]) == {0}


def test_they_go_to_fio_and_back(tmp_path: Path) -> None:
    file = job_file(tmp_path, "cmdprio_bssplit=4k/25/2/1:4k/50/1/0:16k/10,16k/40/2/7\ncmdprio_class=3\n")
    method = parse_method(import_method(file)[0], "made.toml")
    exported, _ = export_method(method, f"file:{tmp_path / 'x.bin'}", size_bytes=16 << 20)
    assert "cmdprio_bssplit=4k/25/2/1:4k/50/1/0:16k/10/3/0,16k/40/2/7" in exported
    again = tmp_path / "again.fio"
    again.write_text(exported.replace("ioengine=io_uring", "ioengine=libaio"))
    assert declared(again) == declared(file)


def test_a_hint_is_a_limit_of_the_drive_and_an_operation_alone_is_not_named(tmp_path: Path) -> None:
    found = job(tmp_path, "cmdprio_percentage=10", "cmdprio_class=2", "cmdprio_hint=3")
    assert found["priority_shares"] == [{"share": "10%", "class": "best-effort", "duration_limit": 3}]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("cmdprio_percentage=101\n", ":10: cmdprio_percentage: 101 is more than 100"),
        ("cmdprio_bssplit=4k/1/2\n", ":10: cmdprio_bssplit: 4k/1/2 is no share"),
        ("cmdprio_bssplit=4k/10/0/0\n", ":10: cmdprio_bssplit: class 0 is none"),
        ("cmdprio_bssplit=4k/60:4k/50\n", "come to more than 100%"),
        ("cmdprio_percentage=5\ncmdprio_bssplit=4k/60\n", ":11: cmdprio_bssplit: goes with no"),
        ("cmdprio_percentage=5\nioengine=psync\n", ":10: cmdprio_percentage: is of the engines libaio"),
    ],
)
def test_what_fio_would_not_do_is_refused(tmp_path: Path, lines: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        import_method(job_file(tmp_path, lines))
    assert what in str(error.value)
