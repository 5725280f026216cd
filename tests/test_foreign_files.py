"""Files that Fathom did not make are read as they are, and never written."""

from pathlib import Path

import pytest

import fathom
from fathom.errors import RefusedError
from fathom.runs.reader import Run

FIO = "fio --name=x --rw={rw} --bs=4k --iodepth=1 --runtime=200ms --time_based --size=1m"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(range(256)) * (1 << 12))
    return path


def test_a_fio_job_that_reads_does_not_lay_out_a_file_that_is_there(file: Path, tmp_path: Path) -> None:
    before, changed = file.read_bytes(), file.stat().st_mtime_ns
    run = fathom.run(FIO.format(rw="randread"), f"file:{file}", out=tmp_path / "runs")
    assert [row["step"] for row in run.points.to_pylist()] == ["x"]
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, changed)
    assert Run(run.path).document.status == "complete"


def test_a_fio_job_that_writes_is_refused_on_it(file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(RefusedError, match="was not made by Fathom"):
        fathom.run(FIO.format(rw="randrw"), f"file:{file}", out=tmp_path / "runs")
    assert file.read_bytes() == before


def test_a_fio_job_that_reads_lays_out_a_file_of_fathoms_own(tmp_path: Path) -> None:
    run = fathom.run(FIO.format(rw="randread"), f"file:{tmp_path}/new.bin", out=tmp_path / "runs")
    laid_out = {row["step"]: row["bytes"] for row in run.intervals.to_pylist() if row["op"] == "write"}
    assert laid_out == {"lay-out-x": 1 << 20}
