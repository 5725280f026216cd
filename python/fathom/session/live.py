"""Keeps live.json of a running session up to date, and passes every event on to the session's own observer.

A thread writes the file once a second, so that a slow disk delays no measurement. A run of less than a second writes
none. Whatever goes wrong with the file, the run goes on.
"""

import os
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from fathom._core import LARGE_BLOCK_BYTES
from fathom.method.method import Method, Step
from fathom.runs.live import PHASES, Basis, LiveRun, LiveSeries, LiveStep, LiveTarget, drop_live, write_live
from fathom.runs.store import StepOutcome
from fathom.session.options import Observer
from fathom.session.remaining import remaining_of
from fathom.session.stepper import Progress
from fathom.targets.target import Target

EVERY_S = 1.0
MOST_SAMPLES = 180
"""Three minutes of a target's past."""
END_S = 2.0
"""Time for a write under way to end when the run does."""


class _Sample(NamedTuple):
    """What a target did at a time, in the order of the lists of `LiveSeries`. Rounded once: it is written often."""

    at_s: float
    step: int
    iops: float
    bytes_per_s: float
    mean_latency_us: float | None


@dataclass
class _Seen:
    """What was seen of one target. `verdicts` are those of the workloads' preconditions; `sampled` is the progress that
    the last sample is of.
    """

    target: Target
    step: Step | None = None
    number: int = 0
    total: int = 0
    began_s: float = 0.0
    progress: Progress | None = None
    sampled: Progress | None = None
    ended: bool = False
    error: str | None = None
    verdicts: dict[str, bool | None] = field(default_factory=dict)
    samples: deque[_Sample] = field(default_factory=lambda: deque(maxlen=MOST_SAMPLES))


class LiveFile:
    """A `session.Observer` that writes live.json. Use as a context manager around the run."""

    def __init__(
        self,
        run: Path,
        method: Method,
        targets: Sequence[Target],
        watcher: Observer,
        every_s: float = EVERY_S,
    ) -> None:
        self._run = run
        self._method = method
        self._watcher = watcher
        self._every_s = every_s
        self._lock = Lock()
        self._seen = {target.name: _Seen(target) for target in targets}
        self._began_s = monotonic()
        self._started = datetime.now(UTC)
        self._ended = Event()
        self._thread = Thread(target=self._write, name="live.json", daemon=True)

    def __enter__(self) -> "LiveFile":
        """Begins to write, with what a killed run left removed."""
        drop_live(self._run)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Removes the file."""
        self._ended.set()
        self._thread.join(END_S)
        drop_live(self._run)

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        """Keeps the step that begins."""
        with self._lock:
            seen = self._seen[target.name]
            seen.step, seen.number, seen.total, seen.progress = step, number, total, None
            seen.began_s = monotonic()
        self._watcher.step_started(target, number, total, step)

    def progressed(self, target: Target, progress: Progress) -> None:
        """Keeps how far the step is."""
        with self._lock:
            self._seen[target.name].progress = progress
        self._watcher.progressed(target, progress)

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        """Keeps the verdict on a precondition."""
        if step.kind == "precondition":
            with self._lock:
                self._seen[target.name].verdicts[step.workload] = outcome.steady
        self._watcher.step_ended(target, step, outcome)

    def target_ended(self, target: Target, error: str | None) -> None:
        """Keeps that a target is done."""
        with self._lock:
            seen = self._seen[target.name]
            seen.ended, seen.error = True, error
        self._watcher.target_ended(target, error)

    def _write(self) -> None:
        while not self._ended.wait(self._every_s):
            # A figure that the file cannot hold is no reason to stop either.
            with suppress(OSError, ValueError):
                write_live(self._run, self._live())

    def _live(self) -> LiveRun:
        now_s = monotonic()
        with self._lock:
            for seen in self._seen.values():
                _sample(seen, now_s - self._began_s)
            states = [replace(seen, samples=seen.samples.copy()) for seen in self._seen.values()]
        return LiveRun(
            run=self._run.name,
            method=self._method.name,
            title=self._method.title,
            pid=os.getpid(),
            started=self._started,
            updated=datetime.now(UTC),
            targets=tuple(_target(seen, now_s) for seen in states),
        )


def _sample(seen: _Seen, at_s: float) -> None:
    """Adds what the target did last, once."""
    progress = seen.progress
    if progress is None or progress is seen.sampled or seen.ended:
        return
    seen.sampled = progress
    mean_us = None if progress.mean_us is None else round(progress.mean_us, 2)
    rates = round(progress.iops, 1), round(progress.mbps * 1e6)
    seen.samples.append(_Sample(round(at_s, 1), seen.number, *rates, mean_us))


def _target(seen: _Seen, now_s: float) -> LiveTarget:
    state = "failed" if seen.error else "done" if seen.ended else "running" if seen.step else "waiting"
    return LiveTarget(
        name=seen.target.name,
        label=seen.target.label,
        kind=seen.target.kind,
        state=state,
        error=seen.error,
        step=_step(seen, seen.step, now_s) if state == "running" and seen.step else None,
        recent=_series(seen.samples),
    )


def _series(samples: Collection[_Sample]) -> LiveSeries:
    lists = zip(*samples, strict=True) if samples else ((),) * len(_Sample._fields)
    return LiveSeries(**dict(zip(_Sample._fields, lists, strict=True)))


def _step(seen: _Seen, step: Step, now_s: float) -> LiveStep:
    begun = LiveStep(
        number=seen.number,
        total=seen.total,
        name=step.name,
        label=step.label,
        kind=step.kind,
        phase=PHASES[step.kind],
        large_blocks=step.job.largest_block_bytes >= LARGE_BLOCK_BYTES,
        steady=seen.verdicts.get(step.workload) if PHASES[step.kind] == "measuring" else None,
    )
    progress = seen.progress
    if progress is None:
        return begun
    remaining = remaining_of(step, seen.target, progress)
    left_s, basis = remaining.left_s, remaining.basis
    if seen.target.kind == "twin":
        left_s, basis = _by_pace(now_s - seen.began_s, remaining.share)
    moves = step.kind not in ("purge", "idle")
    return begun.model_copy(
        update={
            "steady": begun.steady if progress.steady is None else progress.steady,
            "rounds": progress.rounds,
            "state": progress.state,
            "elapsed_s": progress.elapsed_s,
            "iops": progress.iops if moves else None,
            "bytes_per_s": progress.mbps * 1e6 if moves else None,
            "mean_latency_us": progress.mean_us,
            "share": remaining.share,
            "left_s": left_s,
            "left_at_most": remaining.at_most,
            "basis": basis,
        }
    )


def _by_pace(took_s: float, share: float) -> tuple[float | None, Basis | None]:
    """Returns the real time that a twin needs for the rest of its virtual time, at its pace so far."""
    return (took_s * (1 / share - 1), "pace") if share else (None, None)
