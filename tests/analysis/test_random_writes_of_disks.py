"""What random writes of disks must do before they are claimed: fill a cache, and hold still behind it."""

from pathlib import Path

import drive_managed
import pytest
from judged_runs import Measured, device, run_view

import fathom
from fathom._core import Job
from fathom.analysis.disk_caches import WRITE_CACHE_BYTES, Cache, cache_of
from fathom.analysis.run_view import RunView
from fathom.analysis.settled import Unsettled, unsettled
from fathom.analysis.validity import notes
from fathom.method.method import load_method
from fathom.runs.document import TargetRecord
from fathom.runs.reader import Run
from fathom.session.steady_rounds import SteadyRounds, Written

CMR = "twin:wd-ultrastar-dc-hc560-20tb"
DISK = "/dev/sda"
GB = 10**9
CAPACITY = 20_000 * GB
METHOD = """
schema = "fathom-method/1"
name = "random-writes"
[quick]
divide_times_by = 12
divide_preconditioning_by = 100
[[steps]]
name = "settle"
kind = "precondition"
workload = "writes"
steady = { round = "150s" }
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = { threads = 8, iodepth = 32 }
until = { time = "25min" }
[[steps]]
name = "writes"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = { threads = 8, iodepth = 32 }
until = { time = "60s" }
"""
WRITES = {
    "mix": {"ops": [{"op": "write"}]},
    "pattern": {"kind": "uniform"},
    "region": {"size": {"fraction": 1.0}},
    "content": {"compressible": 0.0},
}


def run_of(target: str, folder: Path, *, quick: bool = False) -> Run:
    path = folder / "random-writes.toml"
    path.write_text(METHOD, encoding="utf-8")
    return fathom.run(str(path), targets=[target], quick=quick, out=folder)


def why_not(run: Run) -> list[Unsettled]:
    return list(unsettled(RunView.of(run)).values())


def rates(run: Run) -> list[float]:
    """The IOPS of each minute of settling."""
    seconds = [row["iops"] for row in run.table("intervals").to_pylist() if row["step"] == "settle"]
    return [sum(seconds[first : first + 60]) / 60 for first in range(0, len(seconds), 60)]


@pytest.mark.parametrize("quick", [False, True])
def test_random_writes_of_a_cmr_disk_are_claimed_once_they_hold_still(tmp_path: Path, quick: bool) -> None:
    run = run_of(CMR, tmp_path, quick=quick)
    assert why_not(run) == []
    [measured] = run.points.to_pylist()
    assert measured["steady"] is (None if quick else True)
    assert measured["iops"] == pytest.approx(403, rel=0.03), "what ten rounds of 150 s come to"
    assert "unsettled-waf" not in {note.rule for note in run.notes}


def test_a_drive_managed_disk_is_claimed_at_the_rate_behind_its_media_cache_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path / "catalog"))
    target = drive_managed.write_device(tmp_path / "catalog", 25 * GB)
    run = run_of(target, tmp_path)
    burst, *_, last = rates(run)
    assert burst > 100 * last
    assert why_not(run) == []
    assert run.points.to_pylist()[0]["iops"] == pytest.approx(last, rel=0.2)
    assert why_not(run_of(target, tmp_path, quick=True)) == [Unsettled.CACHE_NOT_FULL]


def job(method: str = "four-corners", step: str = "settle-4k-rand-write") -> Job:
    return next(one.job for one in load_method(method).steps if one.name == step)


def disk(**changed: object) -> TargetRecord:
    return device(DISK, "Disk", **({"rotational": True, "zoned": "none", "transport": "sata"} | changed))


def test_a_real_disk_is_asked_to_fill_the_usual_write_cache_where_it_reports_no_zones() -> None:
    assert cache_of([disk()], job()) == Cache("write cache", WRITE_CACHE_BYTES)
    assert cache_of([disk(), disk()], job()) == Cache("write cache", 2 * WRITE_CACHE_BYTES)
    for other in ({"zoned": "host-aware"}, {"zoned": None}, {"rotational": False}, {"transport": "virtio"}):
        assert cache_of([disk(), disk(**other)], job()) is None


def test_a_real_disk_that_says_that_it_is_shingled_is_asked_to_fill_the_largest_media_cache() -> None:
    shingled = disk(drive_managed=True)
    assert cache_of([shingled], job()) == Cache("media cache", 100e9)
    assert cache_of([disk(drive_managed=False)], job()) == Cache("write cache", WRITE_CACHE_BYTES)
    assert doubts(2e9, drive_managed=True) == []


def settling(written_bytes: int, *, cache: Cache | None) -> tuple[bool, str]:
    """Whether 25 even rounds that write so much together end steady, and what is said."""
    step = next(one for one in load_method("four-corners").steps if one.name == "settle-4k-rand-write")
    rounds = SteadyRounds(step, CAPACITY, Written(2 * CAPACITY), quick=False, cache=cache)
    assert rounds.every_s == (60.0 if cache else 150.0)
    return any([rounds.add_round(400.0, None, written_bytes // 25) for _ in range(25)]), rounds.reason


def test_rounds_on_a_disk_must_fill_its_cache_and_no_more() -> None:
    cache = cache_of([disk()], job())
    assert settling(2 * GB, cache=cache)[0]
    steady, reason = settling(GB // 4, cache=cache)
    assert (steady, reason) == (False, "238.4 MiB of the 512 MiB that its write cache holds written")
    burst = settling(25 * 80 * GB // 100, cache=Cache("media cache", 25 * GB))
    assert burst == (False, "18.63 GiB of the 23.28 GiB that its media cache holds written")
    assert settling(2 * GB, cache=None) == (
        False,
        "0.00x of 1x the capacity written at random in this run",
    )


def doubts(written_bytes: float, **changed: object) -> list[str]:
    """What a run says of the recording of a disk that it wrote to at random for a minute."""
    written = Measured(
        DISK, [written_bytes / 4096 / 60] * 60, step="4k-rand-write", op="write", job=WRITES, kind="measure"
    )
    found = notes(run_view([written], [disk(**changed)], job=WRITES))
    return [note.text for note in found if note.rule == "maybe-shingled"]


def test_a_real_disk_that_reports_no_zones_may_still_be_shingled_until_its_media_cache_must_be_full() -> None:
    assert doubts(2e9) == [
        "2 GB were written at random. A drive-managed SMR disk also reports no zones, and slows down many times once "
        "its media cache of 20 to 100 GB is full"
    ]
    assert doubts(101e9) == []
    assert doubts(2e9, zoned="host-managed") == doubts(2e9, rotational=False) == []
