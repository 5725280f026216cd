"""Shows a running session on stderr: a live table on a terminal, one line per step elsewhere."""

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fathom._core import LARGE_BLOCK_BYTES
from fathom.method.method import Step
from fathom.output.sparkline import sparkline
from fathom.output.terminal import Terminal
from fathom.output.text import duration, iops_text, latency_text, mbps_text, told_apart
from fathom.runs.store import StepOutcome
from fathom.session.remaining import Remaining, remaining_of
from fathom.session.stepper import Progress
from fathom.targets.target import Target

SEEN = 8
"""How many reports of progress the sparklines show."""


@dataclass
class _Line:
    """What the table shows of one target."""

    target: Target
    label: str
    step: Step | None = None
    number: int = 0
    total: int = 0
    progress: Progress | None = None
    ended: str | None = None
    rates: deque[float] = field(default_factory=lambda: deque[float](maxlen=SEEN))
    latencies_us: deque[float] = field(default_factory=lambda: deque[float](maxlen=SEEN))

    def begin(self, number: int, total: int, step: Step) -> None:
        """Shows a step from its start on."""
        self.step, self.number, self.total, self.progress = step, number, total, None
        self.rates.clear()
        self.latencies_us.clear()

    def add(self, progress: Progress) -> None:
        """Shows how far the step is. Nothing is drawn twice: a poll may find nothing new."""
        if self.progress is None or progress.elapsed_s > self.progress.elapsed_s:
            self.rates.append(progress.iops)
            self.latencies_us.append(progress.mean_us or 0.0)
        self.progress = progress


class ProgressConsole(Terminal):
    """Standard error while a run goes on. When its reader is gone, it prints nothing more."""

    def on_broken_pipe(self) -> None:
        """Stops printing; rich's own handler would end the run and close standard output."""
        self.quiet = True


class LiveObserver:
    """A `session.Observer` that draws from the first step on. Use as a context manager around the run.

    A start that fails leaves nothing above its error. A run goes on without its terminal or pipe: only the drawing
    ends.
    """

    def __init__(self, console: Console, targets: list[Target]) -> None:
        self._console = console
        self._lock = Lock()
        names = [Path(target.name).name if target.kind == "device" else None for target in targets]
        labels = told_apart([target.label for target in targets], names)
        self._lines = {
            target.name: _Line(target, label) for target, label in zip(targets, labels, strict=True)
        }
        self._started = monotonic()
        self._draws = False
        self._live = Live(console=console, get_renderable=self._table, refresh_per_second=4, transient=True)

    def __enter__(self) -> "LiveObserver":
        """Draws nothing yet."""
        return self

    def __exit__(self, *error: object) -> None:
        """Removes the table."""
        if self._console.is_terminal:
            with suppress(OSError):
                self._live.stop()

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        """Shows the step that begins, on a terminal only."""
        with self._lock:
            self._lines[target.name].begin(number, total, step)
            begins = self._console.is_terminal and not self._draws
            self._draws = self._draws or begins
        if begins:
            with suppress(OSError):
                self._live.start()

    def progressed(self, target: Target, progress: Progress) -> None:
        """Updates the table."""
        with self._lock:
            self._lines[target.name].add(progress)

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        """Prints the step's line, if not on a terminal."""
        if self._console.is_terminal:
            return
        with self._lock:
            line = self._lines[target.name]
            progress = line.progress
        rate = f", last second {_rate(step, progress)}" if progress and step.kind != "purge" else ""
        virtual = "virtual " if target.kind == "twin" else ""
        with suppress(OSError):
            self._console.print(
                f"{line.label}: {line.number}/{line.total} {step.name}: {outcome.status}, "
                f"{virtual}{duration(outcome.window_s)}{rate}{_steadiness(outcome)}",
                highlight=False,
                soft_wrap=True,
            )

    def target_ended(self, target: Target, error: str | None) -> None:
        """Marks a target as done."""
        with self._lock:
            self._lines[target.name].ended = f"failed: {error}" if error else "done"

    def _table(self) -> Table:
        elapsed = duration(round(monotonic() - self._started))
        shown = _columns_within(self._console.width)
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand="state" in shown)
        for name in shown:
            header = f"after {elapsed}" if name == "target" else "" if name in UNNAMED else name
            width = None if name == "state" else WIDTHS[name]
            table.add_column(
                header, width=width, ratio=1 if width is None else None, no_wrap=True, overflow="ellipsis"
            )
        with self._lock:
            rows = [_cells(line) for line in self._lines.values()]
        for cells in rows:
            table.add_row(*(cells.get(name, "") for name in shown))
        return table


#: Columns and their widths; on a narrow terminal the first of `DISPENSABLE` go first.
WIDTHS = {
    "target": 18,
    "step": 20,
    "bar": 8,
    "rate": 11,
    "rates": SEEN,
    "latency": 8,
    "latencies": SEEN,
    "left": 14,
    "state": 20,
}
DISPENSABLE = ("state", "bar", "latencies", "latency")
UNNAMED = ("bar", "rates", "latencies")


def _columns_within(width: int) -> list[str]:
    shown = list(WIDTHS)
    for name in DISPENSABLE:
        if sum(WIDTHS[column] + 2 for column in shown) - 2 > width:
            shown.remove(name)
    return shown


def _cells(line: _Line) -> dict[str, Text | str | ProgressBar]:
    cells: dict[str, Text | str | ProgressBar] = {"target": Text(line.label, style="bold")}
    if line.ended:
        return cells | {"step": Text(line.ended, style="red" if line.ended != "done" else "green")}
    if line.step is None:
        return cells | {"step": Text("waiting", style="dim")}
    step, progress = line.step, line.progress
    cells["step"] = f"{line.number}/{line.total} {step.name}"
    if progress is None:
        return cells | {"bar": ProgressBar(total=1, completed=0, width=WIDTHS["bar"])}
    remaining = remaining_of(step, line.target, progress)
    return cells | {
        "bar": ProgressBar(total=1, completed=remaining.share, width=WIDTHS["bar"]),
        "rate": "" if step.kind == "purge" else _rate(step, progress),
        "rates": "" if step.kind == "purge" else sparkline(line.rates),
        "latency": latency_text(progress.mean_us),
        "latencies": sparkline(line.latencies_us),
        "left": _left(line.target, remaining),
        "state": Text(progress.state, style="dim"),
    }


def _left(target: Target, remaining: Remaining) -> str:
    """Returns the time left: at most, where the step may end sooner; in virtual time, for a twin."""
    if remaining.left_s is None:
        return ""
    at_most = "≤ " if remaining.at_most else ""
    return f"{at_most}{duration(round(remaining.left_s))}{' virt.' if target.kind == 'twin' else ''}"


def _rate(step: Step, progress: Progress) -> str:
    large = step.job.largest_block_bytes >= LARGE_BLOCK_BYTES
    return mbps_text(progress.mbps) if large else iops_text(progress.iops)


def _steadiness(outcome: StepOutcome) -> str:
    if outcome.steady is None:
        return ""
    return f", {outcome.reason}" if outcome.reason else ", steady" if outcome.steady else ", not steady"
