"""Runs that go on, for tests of the server: this process holds their lock, and writes what they show."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fathom.runs.document import RunDocument
from fathom.runs.live import LiveRun, LiveSeries, LiveStep, LiveTarget, write_live
from fathom.runs.writer import writing_run
from serve_client import copied

BEGAN = timedelta(seconds=40)


def series(values: Sequence[float]) -> LiveSeries:
    """A second for each value, the last of them now."""
    first = BEGAN.total_seconds() - len(values)
    return LiveSeries(
        at_s=tuple(first + number for number in range(1, len(values) + 1)),
        step=(3,) * len(values),
        iops=tuple(values),
        bytes_per_s=tuple(value * 4096 for value in values),
        mean_latency_us=tuple(80.0 + number for number in range(len(values))),
    )


def live_run(run: Path, iops: float = 812_345.0, label: str | None = None) -> LiveRun:
    """What two targets show: the first is measured at that rate, the second waits."""
    now = datetime.now(UTC)
    targets = [target for target in RunDocument.load(run).targets if target.part_of is None]
    step = LiveStep(
        number=3,
        total=12,
        name="4k-rand-read",
        label="4 KiB random read",
        kind="measure",
        phase="measuring",
        large_blocks=False,
        steady=True,
        state="",
        elapsed_s=24.0,
        iops=iops,
        bytes_per_s=iops * 4096,
        mean_latency_us=87.2,
        share=0.4,
        left_s=36.0,
        basis="time",
    )
    past = [162_000.0, 731_000.0, 812_000.0, 788_000.0, iops]
    return LiveRun(
        run=run.name,
        method="four-corners",
        title="Four corners",
        pid=1,
        started=now - BEGAN,
        updated=now,
        targets=(
            LiveTarget(
                name=targets[0].name,
                label=label or targets[0].label,
                kind="twin",
                state="running",
                step=step,
                recent=series(past),
            ),
            LiveTarget(name=targets[1].name, label=targets[1].label, kind="twin", state="waiting"),
        ),
    )


@contextmanager
def going(of: Path, run: Path) -> Iterator[Path]:
    """A copy of a finished run that goes on as long as the `with`; then it looks like a killed one."""
    copied(of, run, status="running")
    (run / "manifest.json").unlink(missing_ok=True)
    with writing_run(run):
        write_live(run, live_run(run))
        yield run


def end(run: Path) -> None:
    """Lets run.json say that the run has ended, and removes its live.json, as a session does at its end."""
    document = RunDocument.load(run)
    document.status = "complete"
    document.save(run)
    (run / "live.json").unlink()
