"""One step on one target: drives a backend's handle, judges rounds, collects rows. Knows no files and no safety."""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from threading import Event
from time import monotonic

from fathom import _core
from fathom._core import WRITES
from fathom.errors import FathomError
from fathom.load.backend import Backend, Handle, loads_at_once
from fathom.method.method import Step
from fathom.runs.rows import StepRows
from fathom.runs.store import StepOutcome
from fathom.session.steady_rounds import SteadyRounds
from fathom.session.still import StillSeconds
from fathom.session.twin_windows import precision_of
from fathom.statistics.means import mean_by_count

POLL_S = 0.25
WATCH_S = 60.0
"""How often a running step checks that its target is still the one claimed."""
WHOLE_LEAST = 0.99
"""A window, or a second, counts as whole from this share of its time."""


@dataclass(frozen=True)
class Progress:
    """What a watcher sees of a running step, once per poll. Rates and latency are those of the last second."""

    elapsed_s: float
    moved_bytes: int
    iops: float
    mbps: float
    mean_us: float | None
    rounds: int
    state: str
    steady: bool | None = None
    """Whether the target is steady by the rounds of the step; None where the step judges none."""
    share: float | None = None
    """Share done, 0..1, where neither time nor bytes show it: a drive that erases itself."""
    simulated_bytes: int | None = None
    """Capacity that a twin simulates; None for what is no twin."""
    parts: int = 1
    """Drives or hosts that move the bytes."""
    each_whole: bool = False
    """Whether each of them moves the whole job on a target of its own, as hosts do unless they share a fill."""


@dataclass(frozen=True)
class Attendance:
    """Who attends a running step: `interrupt` ends it early, `on_interval` takes what was measured, `on_progress` shows
    it, and `watch` is called once a minute. An exception from one of them ends the load.
    """

    interrupt: Event
    on_interval: Callable[[_core.Interval], None]
    on_progress: Callable[[Progress], None]
    watch: Callable[[], None] | None = None


@dataclass(frozen=True)
class Ran:
    """What the load of a step has left."""

    recordings: list[_core.Recording]
    """The target's own, then those of its parts."""
    outcome: StepOutcome
    began_unix_s: float | None
    """When the load began; None of a twin."""


def run_step(
    backend: Backend,
    step: Step,
    seed: int,
    rows: StepRows,
    steady: SteadyRounds | None,
    attendance: Attendance,
) -> Ran:
    """Runs the step to its end, to steadiness by its own rule, or to the interrupt.

    Raises `_core.BackendError` when the target fails for good; the rows collected until then stay in `rows`.
    """
    judge = steady or (StillSeconds(step.until_steady) if step.until_steady else None)
    every_s = judge.every_s if judge else None
    handle = backend.start(step.job, seed, every_s, precision_of(step, backend), fills=step.kind == "fill")
    load = _Load(handle, backend, judge, rows, attendance)
    try:
        load.follow()
    except KeyboardInterrupt:
        # The second request to end: what hangs is not waited for, what was measured is kept.
        if not attendance.interrupt.is_set():
            _end(handle)
            raise
        handle.abandon()
    except BaseException:
        _end(handle)
        raise
    began_ns = handle.started_unix_ns
    recordings = handle.result()
    # A lost host shortens the total alone, and is said as that.
    short = backend.real_time and not load.enough and all(_is_short(step, one) for one in recordings)
    outcome = StepOutcome(
        status="partial" if attendance.interrupt.is_set() or short else "complete",
        steady=judge.steady if judge else None,
        reason=judge.conclude() if judge else "",
        window_s=recordings[0].window_s,
        written_bytes=sum(op.bytes for op in recordings[0].ops if op.op in WRITES),
        moved_bytes=_moved_bytes(recordings[0]),
    )
    return Ran(recordings, outcome, None if began_ns is None else began_ns / 1e9)


def _moved_bytes(recording: _core.Recording) -> dict[str, int]:
    """Returns what each stream moved; what a job without streams moved has an empty name."""
    streams = recording.streams or {"": recording.ops}
    return {name: sum(op.bytes for op in ops) for name, ops in streams.items()}


class _Load:
    """A step's load while it runs."""

    def __init__(
        self,
        handle: Handle,
        backend: Backend,
        judge: SteadyRounds | StillSeconds | None,
        rows: StepRows,
        attendance: Attendance,
    ) -> None:
        self.enough = False
        """Whether its judge has found it steady."""
        self._handle = handle
        self._backend = backend
        self._judge = judge
        self._rows = rows
        self._attendance = attendance
        self._moved_bytes = 0
        self._last: deque[_core.Interval] = deque()

    def follow(self) -> None:
        """Collects what it does until it has ended."""
        handle, attendance = self._handle, self._attendance
        watched_s = monotonic()
        while not handle.done():
            if attendance.interrupt.is_set():
                handle.stop()
            if attendance.watch and monotonic() - watched_s >= WATCH_S:
                attendance.watch()
                watched_s = monotonic()
            for interval in handle.poll(POLL_S):
                self._take(interval)
            if handle.held() and self.enough:
                handle.stop()
            elif handle.held():
                handle.proceed()

    def _take(self, interval: _core.Interval) -> None:
        self._rows.add(interval)
        self._attendance.on_interval(interval)
        if interval.target:
            return
        self._moved_bytes += sum(op.bytes for op in interval.ops)
        self._keep_last(interval)
        if self._judge and not self.enough and self._judge.add(interval):
            self.enough = True
            if self._backend.real_time:
                self._handle.stop()
        self._attendance.on_progress(self._progress(interval))

    def _keep_last(self, interval: _core.Interval) -> None:
        """Keeps the last second: the end of a step may be some microseconds with one I/O, which is no rate."""
        self._last.append(interval)
        while sum(one.length_s for one in islice(self._last, 1, None)) >= WHOLE_LEAST:
            self._last.popleft()

    def _progress(self, interval: _core.Interval) -> Progress:
        ops = [op for one in self._last for op in one.ops]
        seconds = sum(one.length_s for one in self._last)
        n = sum(op.n for op in ops)
        rounds = self._judge if isinstance(self._judge, SteadyRounds) else None
        return Progress(
            elapsed_s=interval.start_s + interval.length_s,
            moved_bytes=self._moved_bytes,
            iops=n / seconds,
            mbps=sum(op.bytes for op in ops) / 1e6 / seconds,
            mean_us=mean_by_count((op.n, op.mean_us) for op in ops),
            rounds=rounds.rounds if rounds else 0,
            state=rounds.state if rounds else "",
            steady=rounds.steady if rounds else None,
            simulated_bytes=self._backend.capacity_bytes,
            parts=max(1, len(self._backend.parts)),
            each_whole=self._backend.of_hosts and not self._backend.divides_fill,
        )


def on_this_machine(step: Step, backend: Backend) -> Step:
    """Returns a curve's step with no more load threads than there are cores, and as much in flight.

    A thread that waits for a core issues its arrivals late, and the delay would count as the target's. Twins have the
    cores of their bench.
    """
    if not backend.real_time or (step.curve is None and step.place is None):
        return step
    cores = len(os.sched_getaffinity(0))
    most = max(1, cores // loads_at_once(step.job, backend))
    return replace(step, job=step.job.on_threads(most))


def _is_short(step: Step, recording: _core.Recording) -> bool:
    """Returns whether the window is shorter than asked: an I/O that never returned may have kept a load thread from its
    end.
    """
    asked_s = step.job.time_s
    return step.job.ends_by_time and asked_s is not None and recording.window_s < WHOLE_LEAST * asked_s


def _end(handle: Handle) -> None:
    """Ends a load whose figures are not used: it must be over before its target is released."""
    handle.stop()
    with suppress(FathomError, _core.BackendError):
        handle.result()
