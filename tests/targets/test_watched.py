"""What happens to a held device during the run: noticed before each step and once a minute in a destructive one."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from loop_devices import Loops, sh

import fathom
from fathom.errors import ExitCode, RefusedError
from fathom.method.method import Step, load_method
from fathom.runs.reader import Run
from fathom.session import Options, SilentObserver, start_run, stepper
from fathom.session.stepper import Progress
from fathom.targets.claim import claim, recheck
from fathom.targets.parse import device_target
from fathom.targets.safety import destroy_token
from fathom.targets.target import Target

METHOD = """
schema = "fathom-method/1"
name = "watched"
"""
STEP = """
[[steps]]
name = "{name}"
[steps.job]
mix = "write"
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = 4 }}
until = {{ time = "{time}" }}
"""


class Meddler(SilentObserver):
    """Does something to the device once, at the start of a step, or in the middle of it."""

    def __init__(self, deed: Callable[[], object], *, step: str, in_the_middle: bool) -> None:
        self._deed, self._step, self._late = deed, step, in_the_middle

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        if step.name == self._step and not self._late:
            self._deed()

    def progressed(self, target: Target, progress: Progress) -> None:
        if self._late:
            self._late = False
            self._deed()


def run(loops: Loops, tmp_path: Path, times: tuple[str, str], meddle: Callable[[Path], Meddler]) -> Run:
    method = tmp_path / "watched.toml"
    steps = [STEP.format(name=name, time=time) for name, time in zip(("one", "two"), times, strict=True)]
    method.write_text(METHOD + "".join(steps))
    node = loops.attach(64 << 20, "--partscan")
    target = device_target(node)
    options = Options(destroy=(destroy_token(target.identity),), out=tmp_path / "runs", observer=meddle(node))
    return start_run(load_method(str(method)), [target], options)


def journalled(tmp_path: Path) -> list[dict[str, object]]:
    (journal,) = tmp_path.glob("runs/*/journal.jsonl")
    return [json.loads(line) for line in journal.read_text().splitlines()]


def add_partition(loops: Loops, node: Path) -> None:
    sh("addpart", node, "1", "2048", "4096")
    loops.later("delpart", str(node), "1")


@pytest.mark.parametrize(
    ("deed", "rule", "says"),
    [
        (lambda loops, node: loops.attach(node), "held", "the backing of loop"),
        (add_partition, "partitioned", "has 1 partition(s)"),
    ],
    ids=["loop", "partition"],
)
def test_what_comes_upon_a_device_between_two_steps_ends_the_run_before_the_second(
    loops: Loops, tmp_path: Path, deed: Callable[[Loops, Path], object], rule: str, says: str
):
    with pytest.raises(RefusedError, match="has come into use during the run") as caught:
        run(
            loops,
            tmp_path,
            ("100ms", "100ms"),
            lambda node: Meddler(lambda: deed(loops, node), step="two", in_the_middle=False),
        )
    assert caught.value.exit_code == ExitCode.REFUSED
    assert says in str(caught.value)
    events = journalled(tmp_path)
    assert [one["step"] for one in events if one["event"] == "step-start"] == ["one"]
    assert [one["rules"] for one in events if one["event"] == "target-failed"] == [[rule]]


def test_what_comes_upon_a_device_in_the_middle_of_a_step_ends_it_within_a_minute_and_keeps_its_seconds(
    loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stepper, "WATCH_S", 0.5)
    began_s = time.monotonic()
    with pytest.raises(RefusedError, match="the backing of loop"):
        run(
            loops,
            tmp_path,
            ("60s", "100ms"),
            lambda node: Meddler(lambda: loops.attach(node), step="one", in_the_middle=True),
        )
    assert time.monotonic() - began_s < 20
    (path,) = tmp_path.glob("runs/*")
    found = fathom.open_run(path)
    assert found.document.status == "failed"
    assert len(found.table("intervals")) >= 1
    assert [one["rules"] for one in journalled(tmp_path) if one["event"] == "target-failed"] == [["held"]]


def test_a_run_that_nobody_disturbs_is_watched_and_ends_well(
    loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stepper, "WATCH_S", 0.1)
    asked = 0

    def counted(target: Target, *, writes: bool) -> None:
        nonlocal asked
        asked += 1
        recheck(target, writes=writes)

    monkeypatch.setattr("fathom.load.initiator.recheck", counted)
    done = run(
        loops,
        tmp_path,
        ("2s", "100ms"),
        lambda node: Meddler(lambda: None, step="one", in_the_middle=True),
    )
    assert done.document.status == "complete"
    assert asked >= 4


READ_STEP = """
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "sequential"
load = { iodepth = 1 }
until = { time = "100ms" }
"""


def test_a_device_that_shrank_is_not_read_and_the_run_says_that_it_is_another(loops: Loops, tmp_path: Path):
    method = tmp_path / "read.toml"
    method.write_text(METHOD + READ_STEP)
    image = loops.image(64 << 20)
    node = loops.attach(image)

    def shrink() -> None:
        os.truncate(image, 32 << 20)
        sh("losetup", "--set-capacity", node)

    options = Options(out=tmp_path / "runs", observer=Meddler(shrink, step="read", in_the_middle=False))
    with pytest.raises(RefusedError, match=r"size_bytes was 67108864, is 33554432.*start a new run"):
        start_run(load_method(str(method)), [device_target(node)], options)


def test_a_mount_of_a_part_of_a_held_device_fails_the_recheck(loops: Loops):
    target = device_target(loops.attach(128 << 20))
    with claim(target, writes=True, destroy_tokens=[destroy_token(target.identity)]) as ready:
        recheck(ready, writes=True)
        inner = loops.attach(Path(target.name), "--offset", "64M")
        sh("mkfs.ext4", "-q", inner)
        point = loops.mount(inner)
        with pytest.raises(RefusedError, match=f"{inner.name} is mounted on {point}") as caught:
            recheck(ready, writes=True)
        assert set(caught.value.rules) == {"mounted", "held"}
        recheck(ready, writes=False)
