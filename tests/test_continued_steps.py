"""Steps that continue the step before: ordered I/O goes on where that step ended, also in a resumed run."""

import json
from pathlib import Path
from threading import Event

import pytest

import fathom
from fathom.errors import InterruptedRunError, UsageError
from fathom.method.method import Step, parse_method
from fathom.runs.store import StepOutcome
from fathom.session.options import SilentObserver
from fathom.targets.target import Target

BLOCK = 64 << 10
BLOCKS = 128
FIRST, SECOND = 16, 24
"""Blocks that the two steps write."""
STEP = """
[[steps]]
name = "%(name)s"
%(continues)s
[steps.job]
mix = "write"
block = "64KiB"
pattern = "sequential"
load = { threads = 2, iodepth = 1 }
until = { bytes = "%(bytes)d" }
"""


def method(*, continues: bool) -> str:
    """Returns two steps of one job."""
    first = STEP % {"name": "first", "continues": "", "bytes": FIRST * BLOCK}
    key = "continues = true" if continues else ""
    second = STEP % {"name": "second", "continues": key, "bytes": SECOND * BLOCK}
    return f'schema = "fathom-method/1"\nname = "log"\n{first}{second}'


def written(path: Path) -> list[int]:
    """Returns the numbers of the blocks of a file that hold data."""
    data = path.read_bytes()[: BLOCKS * BLOCK]
    return [at // BLOCK for at in range(0, len(data), BLOCK) if any(data[at : at + BLOCK])]


def both_threads(each: range) -> list[int]:
    """Returns the blocks of two threads, of which one begins in the middle."""
    return [*each, *(BLOCKS // 2 + block for block in each)]


@pytest.mark.parametrize("continues", [False, True])
def test_each_thread_of_a_continuing_step_goes_on_where_it_was(continues: bool, tmp_path: Path) -> None:
    target = tmp_path / "target"
    size_bytes = BLOCKS * BLOCK
    fathom.run(method(continues=continues), f"file:{target}", out=tmp_path / "runs", size_bytes=size_bytes)
    each = (FIRST + SECOND) // 2 if continues else SECOND // 2
    assert written(target) == both_threads(range(each))


def test_a_step_that_continues_keeps_the_rate_that_it_is_offered(tmp_path: Path) -> None:
    text = method(continues=True).replace(
        "continues = true",
        'continues = true\noffered = { of = "first", share = "50%", arrival = "deterministic" }',
    )
    run = fathom.run(text, "twin:samsung-pm9a3-7.68tb", out=tmp_path)
    found = {row["step"]: row for row in run.table("points").to_pylist() if row["op"] == "write"}
    # Two dozen arrivals: one more or less is 4 %.
    assert found["second"]["offered_iops"] == pytest.approx(0.5 * found["first"]["iops"], rel=0.1)


def test_a_resumed_run_continues_where_the_interrupted_one_was(tmp_path: Path) -> None:
    class Hurried(SilentObserver):
        def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
            interrupt.set()

    interrupt, target = Event(), tmp_path / "target"
    with pytest.raises(InterruptedRunError):
        fathom.run(
            method(continues=True),
            f"file:{target}",
            out=tmp_path / "runs",
            size_bytes=BLOCKS * BLOCK,
            observer=Hurried(),
            interrupt=interrupt,
        )
    assert written(target) == both_threads(range(FIRST // 2))
    [path] = (tmp_path / "runs").iterdir()
    fathom.resume_run(path)
    assert written(target) == both_threads(range((FIRST + SECOND) // 2))


@pytest.mark.parametrize("threads", ["part", "shared"])
def test_a_method_in_normal_form_cannot_begin_its_positions_further_on(threads: str) -> None:
    form = json.loads(json.dumps(parse_method(method(continues=False), "log.toml").parsed))
    position: dict[str, object] = {"threads": threads}
    form["steps"][0]["job"]["position"] = position
    assert parse_method(json.dumps(form), "log.json").steps[0].name == "first"
    position["ahead_bytes"] = BLOCK
    with pytest.raises(
        UsageError, match=r"^log\.json: step first: ahead_bytes is of jobs that Fathom itself"
    ):
        parse_method(json.dumps(form), "log.json")
