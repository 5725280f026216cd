"""A record of a real fio may be of several jobs, or of all directions, and is imported as what it is."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom.results.import_files import import_results
from fathom.runs.reader import Run

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")
GLOBAL = "[global]\nrw={rw}\nsize=4m\nruntime=600ms\ntime_based\nfilename={folder}/file\n"

Ran = Callable[..., tuple[Run, dict[str, Any]]]


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    def run(rw: str, jobs: str) -> tuple[Run, dict[str, Any]]:
        (tmp_path / "x.fio").write_text(GLOBAL.format(rw=rw, folder=tmp_path) + jobs)
        found = tmp_path / "x.json"
        subprocess.run(
            ["fio", "x.fio", "--output-format=json+", f"--output={found}"], cwd=tmp_path, check=True
        )
        [path] = import_results([found]).runs
        [job] = json.loads(found.read_text())["jobs"]
        return Run(path), job

    return run


def test_jobs_reported_as_a_group_have_the_options_of_none(ran: Ran) -> None:
    run, theirs = ran("randread", "group_reporting\n[small]\nbs=4k\n[large]\nbs=64k\nnumjobs=2\n")
    [row] = run.points.to_pylist()
    assert row["iops"] == pytest.approx(theirs["read"]["iops"])
    assert [row[name] for name in ("block_bytes", "threads", "iodepth", "read_pct")] == [None] * 4
    assert any("several jobs together (group_reporting)" in note.text for note in run.notes)
    assert [target.name for target in run.document.targets] == ["unknown"]


def test_clones_reported_as_a_group_are_one_load_and_their_processor_time_is_that_of_all(ran: Ran) -> None:
    run, theirs = ran("randread", "group_reporting\n[x]\nbs=4k\nnumjobs=2\n")
    [row] = run.points.to_pylist()
    assert (row["block_bytes"], row["threads"]) == (4096, 2)
    readings = {row["name"]: row for row in run.telemetry.to_pylist()}
    used = readings["fio usr_cpu"]
    assert used["length_s"] == pytest.approx(theirs["read"]["runtime"] / 1000)
    busy_s = used["value"] / 100 * used["length_s"]
    assert busy_s == pytest.approx(theirs["usr_cpu"] / 100 * theirs["job_runtime"] / 1000)


@pytest.mark.parametrize(("rw", "op"), [("randrw", "total"), ("randread", "read"), ("randwrite", "write")])
def test_figures_of_all_directions_are_kept_under_what_they_are(rw: str, op: str, ran: Ran) -> None:
    run, theirs = ran(rw, "unified_rw_reporting=1\n[x]\nbs=4k\n")
    [row] = run.points.to_pylist()
    assert row["op"] == op
    assert row["n"] == theirs["mixed"]["total_ios"]
    assert row["iops"] == pytest.approx(theirs["mixed"]["iops"])
    assert row["block_bytes"] == 4096


def test_a_block_size_that_the_ios_did_not_have_is_not_stated(ran: Ran) -> None:
    run, theirs = ran("randread", "bssplit=4k/50:8k/50\n[x]\n")
    assert theirs["read"]["total_ios"]
    assert run.points["block_bytes"].to_pylist() == [None]
