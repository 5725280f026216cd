"""Files that a real fio wrote against a small file, made once for all tests."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fathom.cli import main

JOBS = """
[global]
filename={folder}/file
size=4m
ioengine=psync
bs=4k
[oltp]
rw=randrw
rwmixread=70
io_size=24m
numjobs=2
group_reporting
[randread]
stonewall
rw=randread
io_size=80m
"""
LOGS = """
[logged]
filename={folder}/file
size=4m
ioengine=psync
bs=4k
rw=randread
rate_iops=2000
time_based
runtime=700ms
write_bw_log={folder}/x
write_iops_log={folder}/x
write_lat_log={folder}/x
write_hist_log={folder}/x
log_avg_msec=100
log_hist_msec=100
"""
EACH = """
[each]
filename={folder}/file
size=4m
ioengine=psync
bs=4k
rw=randread
io_size=12m
write_bw_log={folder}/each
write_lat_log={folder}/each
"""


@dataclass(frozen=True)
class FioFiles:
    """What fio wrote: its results in three formats, and its logs, averaged and one line an I/O."""

    json_plus: Path
    json: Path
    logs: list[Path]
    each: list[Path]


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


Fathom = Callable[..., Done]
"""Runs a command in this process."""


@pytest.fixture
def fathom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fathom:
    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["fathom", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return Done(int(end.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def fio(tmp_path_factory: pytest.TempPathFactory) -> FioFiles:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    folder = tmp_path_factory.mktemp("fio")
    for name, jobs in (("o", JOBS), ("x", LOGS), ("each", EACH)):
        (folder / f"{name}.fio").write_text(jobs.format(folder=folder))
    _fio(folder, "o.fio", "json+", "o.json")
    _fio(folder, "o.fio", "json", "plain.json")
    _fio(folder, "x.fio", "json+", "x.json")
    _fio(folder, "each.fio", "json+", "each.json")
    logs = [folder / f"x_{kind}.1.log" for kind in ("bw", "iops", "lat", "clat", "slat", "clat_hist")]
    each = [folder / f"each_{kind}.1.log" for kind in ("bw", "lat", "clat", "slat")]
    return FioFiles(folder / "o.json", folder / "plain.json", logs, each)


def _fio(folder: Path, jobs: str, form: str, out: str) -> None:
    command = ["fio", f"--output-format={form}", f"--output={folder / out}", str(folder / jobs)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
