"""What the live table shows of a running step."""

import io
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from fathom.cli.progress import LiveObserver
from fathom.errors import FathomError
from fathom.load.initiator import ThisMachine
from fathom.method.method import load_method, parse_method
from fathom.output.sparkline import sparkline
from fathom.runs.store import StepOutcome
from fathom.session import Options, SilentObserver, start_run
from fathom.session.stepper import Progress
from fathom.targets.parse import parse_target
from fathom.targets.target import Target


@pytest.mark.parametrize(("share", "tells"), [(0.25, True), (None, False)])
def test_a_drive_that_erases_itself_shows_how_far_it_has_come_and_what_is_left(
    share: float | None, tells: bool
) -> None:
    target = parse_target("null:", size_bytes=1 << 30)
    step = next(step for step in load_method("gpu-feed").steps if step.kind == "purge")
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=140)
    with LiveObserver(console, [target]) as observer:
        observer.step_started(target, 1, 4, step)
        observer.progressed(target, Progress(60.0, 0, 0.0, 0.0, None, 0, "erases itself", share=share))
        deadline = time.monotonic() + 30
        while "erases itself" not in written.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    line = next(line for line in written.getvalue().splitlines() if "erases itself" in line)
    assert "1/4 purge" in line
    assert ("3 min" in line) == tells


def test_the_lines_of_drives_of_one_model_name_their_devices() -> None:
    drives = [
        replace(parse_target("null:"), name=f"/dev/nvme{number}n1", kind="device", label="A drive")
        for number in (0, 1)
    ]
    step = load_method("gpu-feed").steps[0]
    written = io.StringIO()
    with LiveObserver(Console(file=written, width=140), drives) as observer:
        for drive in drives:
            observer.step_started(drive, 1, 4, step)
            observer.step_ended(drive, step, StepOutcome("complete", None, "", 1.0, 0))
    assert [line.split(":")[0] for line in written.getvalue().splitlines()] == [
        "A drive, nvme0n1",
        "A drive, nvme1n1",
    ]


def test_a_sparkline_is_as_high_as_the_share_of_the_greatest_value() -> None:
    assert sparkline([1, 2, 4, 8]) == "▂▃▅█"
    assert sparkline([5, 5]) == "██"
    assert sparkline([0, 8]) == "▁█"
    assert sparkline([]) == sparkline([0, 0]) == ""


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_shows_the_last_seconds_of_the_rate_at_80_columns_and_of_latency_where_there_is_room(
    width: int,
) -> None:
    target = parse_target("null:", size_bytes=1 << 30)
    step = next(step for step in load_method("four-corners").steps if step.kind != "purge")
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=width)
    with LiveObserver(console, [target]) as observer:
        observer.step_started(target, 1, 4, step)
        for second in (1, 2, 4, 8):
            observer.progressed(
                target, Progress(float(second), 0, 1000.0 * second, 1.0, 100.0 / second, 0, "running")
            )
        deadline = time.monotonic() + 30
        while "▂▃▅█" not in written.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert "▂▃▅█" in written.getvalue()
    assert ("█▅▃▂" in written.getvalue()) == (width == 160)


SPARSE = """
schema = "fathom-method/1"
name = "sparse"
[[steps]]
name = "reads"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { rate = "10/s", arrival = "deterministic", iodepth = 1 }
until = { count = 21 }
"""


def test_a_step_that_ends_soon_after_a_whole_second_shows_the_rate_of_a_second(tmp_path: Path) -> None:
    seen: list[Progress] = []

    class Watcher(SilentObserver):
        def progressed(self, target: Target, progress: Progress) -> None:
            seen.append(progress)

    method = parse_method(SPARSE, "sparse.toml")
    start_run(
        method,
        ThisMachine().resolve(["twin:samsung-pm9a3-7.68tb"]),
        Options(out=tmp_path, observer=Watcher()),
    )
    assert 2.0 < seen[-1].elapsed_s < 2.1
    assert [round(one.iops) for one in seen] == pytest.approx([10] * len(seen), abs=1)


def test_a_start_that_fails_leaves_nothing_above_its_error() -> None:
    target = parse_target("null:", size_bytes=1 << 30)
    written = io.StringIO()
    with (
        pytest.raises(FathomError),
        LiveObserver(Console(file=written, force_terminal=True, width=80), [target]),
    ):
        raise FathomError("the target is gone")
    assert written.getvalue() == ""
