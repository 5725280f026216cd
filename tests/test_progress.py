"""What the live table shows of a running step."""

import io
import time

import pytest
from rich.console import Console

from fathom.cli.progress import LiveObserver
from fathom.method.method import load_method
from fathom.session.stepper import Progress
from fathom.targets.parse import parse_target


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
