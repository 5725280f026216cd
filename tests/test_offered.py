"""Load at a share of what an earlier step achieved: reads beside writes at a quarter of the writes' maximum."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import fathom
from fathom.analysis.run_view import RunView
from fathom.analysis.validity import notes
from fathom.load.resolve import resolve_targets
from fathom.method.method import load_method
from fathom.plan.expect import expect, rating_of
from fathom.runs.reader import Run
from fathom.session import Options, resume_run

BESIDE = Path(__file__).parent / "data" / "beside.toml"
PM9A3 = "twin:samsung-pm9a3-7.68tb"
SHARES = {"reads-beside-25pct": 0.25, "reads-beside-75pct": 0.75, "reads-beside-200pct": 2.0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fathom.run(str(BESIDE), targets=[PM9A3], seed=5, out=tmp_path_factory.mktemp("runs"))


def iops(run: Run, step: str, op: str) -> float:
    return sum(row["iops"] for row in run.points.to_pylist() if (row["step"], row["op"]) == (step, op))


def test_writes_are_offered_their_share_while_reads_stay_in_closed_loop(run: Run) -> None:
    maximum = iops(run, "writes", "write")
    for step, share in SHARES.items():
        assert iops(run, step, "write") == pytest.approx(min(share, 1) * maximum, rel=0.05)
    reads = [row for row in run.table("streams").to_pylist() if row["stream"] == "reads"]
    assert [row["n"] > 0 for row in reads] == [True] * 3


def test_a_job_without_streams_is_offered_the_rate_itself(tmp_path: Path) -> None:
    head, _, _ = BESIDE.read_text().partition("offered = ")
    alone = head[head.rindex("job  =") :].splitlines()[0]
    method = tmp_path / "half.toml"
    method.write_text(f'{head}offered = {{ of = "writes", share = "50%" }}\n{alone}\n')
    run = fathom.run(str(method), targets=[PM9A3], seed=5, out=tmp_path)
    [row] = [row for row in run.points.to_pylist() if row["step"] == "reads-beside"]
    assert row["offered_iops"] == pytest.approx(iops(run, "writes", "write") / 2, rel=0.02)
    assert row["iops"] == pytest.approx(row["offered_iops"], rel=0.01)


def test_reads_take_longer_the_more_is_written_beside_them(run: Run) -> None:
    means = [
        row["mean_us"]
        for step in SHARES
        for row in run.table("streams").to_pylist()
        if (row["step"], row["op"]) == (step, "read")
    ]
    assert means == sorted(means)
    assert means[0] < 0.9 * means[-1]


def test_only_what_the_drive_cannot_do_is_noted_as_not_sustained(run: Run) -> None:
    found = [note.step for note in notes(RunView.of(run)) if note.rule == "unsustained"]
    assert found == ["reads-beside-200pct"]


def test_a_resumed_run_offers_the_same_rates(
    run: Run, interrupted: Callable[[Path, Iterable[str]], Path]
) -> None:
    resumed = resume_run(interrupted(run.path, ("00-004-reads-beside-75pct",)), Options())
    assert resumed.points.equals(run.points)


def test_a_plan_counts_the_share_of_the_writes() -> None:
    [target] = resolve_targets([PM9A3])
    step = next(step for step in load_method(str(BESIDE)).steps if step.name == "reads-beside-25pct")
    drive = rating_of(target)
    whole = expect(replace(step, offered=None), target, drive).written_bytes
    assert whole
    assert expect(step, target, drive).written_bytes == pytest.approx(whole / 4, abs=1)


@pytest.mark.parametrize(
    ("block", "load"),
    [("512", "iodepth = 128"), ("4KiB", 'iodepth = 128, rate = "1/s"')],
    ids=["left out", "nothing completed"],
)
def test_a_share_of_a_step_without_results_is_left_out(tmp_path: Path, block: str, load: str) -> None:
    text, method = BESIDE.read_text(), tmp_path / "beside.toml"
    own = text.replace(
        '"4KiB", pattern = "uniform", load = { iodepth = 128 }',
        f'"{block}", pattern = "uniform", load = {{ {load} }}',
        1,
    )
    method.write_text(own.replace("200ms", "1ms"))
    run = fathom.run(str(method), targets=[f"{PM9A3}?block_bytes=4096"], out=tmp_path)
    assert not run.points.to_pylist()
    journal = (run.path / "journal.jsonl").read_text()
    for step in SHARES:
        why = "its load is a share of the rate of writes, which has no results"
        assert f'"step": "{step}", "code": "left-out", "reason": "{why}"' in journal


def test_an_io_that_would_come_at_the_end_of_the_window_is_not_offered(tmp_path: Path) -> None:
    job = "fio --name=a --rw=randread --bs=4k --ioengine=libaio --rate_iops=1 --runtime=6 --time_based"
    run = fathom.run(job, targets=[f"{PM9A3}?settled_share=1"], out=tmp_path)
    [row] = run.points.to_pylist()
    assert (row["offered_iops"], row["iops"]) == (1.0, 1.0)
    assert row["limit"]["kind"] == "offered-rate"
