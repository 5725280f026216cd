"""One step on one target: drives a backend's handle, judges rounds, collects rows. Knows no files and no safety."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, sqrt
from threading import Event
from time import monotonic

from fathom import _core
from fathom._core import WRITES
from fathom.errors import FathomError
from fathom.load.backend import Backend, Handle, loads_at_once
from fathom.method.method import Job, Step
from fathom.runs.rows import StepRows
from fathom.runs.store import StepOutcome
from fathom.session.steady_rounds import SteadyRounds
from fathom.session.still import StillSeconds
from fathom.statistics.means import mean_by_count
from fathom.statistics.uncertainty import count_for

POLL_S = 0.25
WATCH_S = 60.0
"""How often a running step checks that its target is still the one claimed."""
POINT_COUNT = 100_000
"""Fewest I/O of a twin's window: enough for its p99.9."""
POINT_WIDENING = 2
"""How much wider a point's interval may be than its maximum's: a curve is read by its shape over a dozen points."""
LARGE_READS_COUNT = 10_000
"""I/Os of a window of large reads through a file system. Minutes yield no more I/Os; enough for p99."""
MEASURED_COUNT = 1_000_000
"""Fewest I/O of small blocks in a measured step: enough for their p99.99."""
ROUND_COUNT = 20_000
"""Fewest I/O of a step in rounds: enough for its p99. The figure is the mean of several rounds, whose intervals shrink
with the root of their number."""
ROUND_TURNOVER = 1 / 16
"""Least share of its region that a writing step in rounds writes: many times the buffer. A round writes more."""
LEAST_TURNOVER = 1 / 4
"""Least share of its region that a twin's writing window or round writes, unless its step says otherwise. It shows what
is far from steady.
"""
MOST_TURNOVER = 2
"""Most that a twin's window writes of its region before it ends, however well its figures are known."""
VOLUME_ROUNDS = 64
"""Rounds of a twin's precondition that ends by volume too: its slice may take all of it within a minute."""
WITHOUT_LIMIT = (1 << 64) - 1
WHOLE_LEAST = 0.99
"""A window counts as whole from this share of the time asked for."""
ROUND_WIDENING = 3
"""How much wider a round's interval may be than a result's: five rounds are judged within 10 and 20 %."""
COVERED_WIDENING = 6
COVERED_SHARE = 1 / 4
"""Least share once the workload's own writes have covered the region, and the part of its turnover that a round then
writes. Many short rounds show a drift for less I/O than few long ones.
"""
WRITES_ROUND_MOST = 1 / 8
"""Most of its region that a round writes where a mix settles without its reads. Many short rounds show a drift for less
I/O than few long ones.
"""


@dataclass(frozen=True)
class Progress:
    """What a watcher sees of a running step, once per poll."""

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


class _Rounds:
    """Groups intervals into rounds of a precondition."""

    def __init__(self, steady: SteadyRounds) -> None:
        self.steady = steady
        self.count = 0
        self._open: list[_core.Interval] = []

    def add(self, interval: _core.Interval) -> bool:
        """Adds an interval; returns whether the precondition may end."""
        self._open.append(interval)
        seconds = sum(part.length_s for part in self._open)
        if seconds < self.steady.round_s * (1 - 1e-6) and not interval.ends_round:
            return False
        ops = [op for part in self._open for op in part.ops]
        host = sum(op.bytes for op in ops if op.op in WRITES)
        media = [part.counters.get("media_write_bytes") for part in self._open]
        known = [value for value in media if value is not None]
        throttled = any(
            value > 0 for part in self._open for name, value in part.counters.items() if "throttle" in name
        )
        self._open = []
        self.count += 1
        return self.steady.add_round(
            sum(op.n for op in ops) / seconds,
            sum(known) / host if host and len(known) == len(media) else None,
            host,
            throttled=throttled,
        )


def run_step(
    backend: Backend,
    step: Step,
    seed: int,
    rows: StepRows,
    steady: SteadyRounds | None,
    interrupt: Event,
    on_interval: Callable[[_core.Interval], None],
    on_progress: Callable[[Progress], None],
    watch: Callable[[], None] | None = None,
) -> tuple[list[_core.Recording], StepOutcome]:
    """Runs the step to its end, to steadiness by its own rule, or to the interrupt.

    The first recording is the target's own.

    `watch` is called once a minute; an exception from it ends the load.

    Raises `_core.BackendError` when the target fails for good; the rows collected until then stay in `rows`.
    """
    rounds = _Rounds(steady) if steady else None
    still = StillSeconds(step.until_steady) if step.until_steady else None
    judged = rounds or still
    hold_s = steady.round_s if steady else still.every_s if still else None
    handle = backend.start(step.job, seed, hold_s, precision_of(step, backend), fills=step.kind == "fill")
    enough = False
    try:
        moved_bytes = 0
        watched_s = monotonic()
        while not handle.done():
            if interrupt.is_set():
                handle.stop()
            if watch and monotonic() - watched_s >= WATCH_S:
                watch()
                watched_s = monotonic()
            for interval in handle.poll(POLL_S):
                rows.add(interval)
                on_interval(interval)
                if interval.target:
                    continue
                moved_bytes += sum(op.bytes for op in interval.ops)
                if judged and not enough and judged.add(interval):
                    enough = True
                    if backend.real_time:
                        handle.stop()
                on_progress(_progress(interval, moved_bytes, rounds, backend))
            _answer_hold(handle, enough)
    except KeyboardInterrupt:
        # The second request to end: what hangs is not waited for, what was measured is kept.
        if not interrupt.is_set():
            _end(handle)
            raise
        handle.abandon()
    except BaseException:
        _end(handle)
        raise
    recordings = handle.result()
    recording = recordings[0]
    # A lost host shortens the total alone, and is said as that.
    short = backend.real_time and not enough and all(_is_short(step, one) for one in recordings)
    return recordings, StepOutcome(
        status="partial" if interrupt.is_set() or short else "complete",
        steady=steady.steady if steady else still.steady if still else None,
        reason=steady.conclude() if steady else still.reason if still else "",
        window_s=recording.window_s,
        written_bytes=sum(op.bytes for op in recording.ops if op.op in WRITES),
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


def precision_of(step: Step, backend: Backend) -> _core.Precision | None:
    """Returns when a twin may end the step's window or rounds. A point follows its maximum's state and writes what it
    may.
    """
    capacity_bytes = backend.capacity_bytes
    if step.precision is None or step.until_steady or capacity_bytes is None or step.kind == "fill":
        return None
    if backend.settled:
        return _core.Precision(step.precision, POINT_COUNT, 0, WITHOUT_LIMIT)
    drives = max(1, len(backend.parts))
    region_bytes = drives * step.job.region_on(capacity_bytes // drives)[1]
    turnover = LEAST_TURNOVER if step.turnover is None else step.turnover
    least_bytes, most_bytes = round(turnover * region_bytes), MOST_TURNOVER * region_bytes
    if step.kind == "precondition" and step.job.region_multiple:
        round_bytes = round(step.job.region_multiple * region_bytes / VOLUME_ROUNDS)
        return _core.Precision(ROUND_WIDENING * step.precision, 0, round_bytes, round_bytes)
    if step.kind == "precondition" and step.turnover is not None:
        round_bytes = round(COVERED_SHARE * least_bytes)
        most_bytes = round(WRITES_ROUND_MOST * region_bytes) if step.without_reads else WITHOUT_LIMIT
        return _core.Precision(COVERED_WIDENING * step.precision, 0, round_bytes, most_bytes)
    if step.kind == "precondition":
        return _core.Precision(ROUND_WIDENING * step.precision, 0, least_bytes, WITHOUT_LIMIT)
    if step.place:
        return _core.Precision(POINT_WIDENING * step.precision, POINT_COUNT, 0, most_bytes)
    if step.round and step.round.metric != "latency":
        least_bytes = round(ROUND_TURNOVER * region_bytes)
        return _core.Precision(step.precision * sqrt(step.round.window), ROUND_COUNT, least_bytes, most_bytes)
    if step.percentile is not None:
        return _core.Precision(
            step.precision, _count_for(step.job, step.percentile), least_bytes, WITHOUT_LIMIT
        )
    largest = step.job.largest_block_bytes
    if not step.job.direct:
        large_reads = not step.job.destructive and largest > _core.LARGE_BLOCK_BYTES
        count = LARGE_READS_COUNT if large_reads else POINT_COUNT
        return _core.Precision(step.precision, count, least_bytes, least_bytes or WITHOUT_LIMIT)
    if step.curve or largest >= _core.LARGE_BLOCK_BYTES:
        return _core.Precision(step.precision, POINT_COUNT, least_bytes, most_bytes)
    return _core.Precision(step.precision, MEASURED_COUNT, least_bytes, WITHOUT_LIMIT)


def _count_for(job: Job, percentile: float) -> int:
    """Returns the fewest I/O of a mix for that percentile of its rarest operation.

    An operation has a little less or more than its share, so four standard deviations are added.
    """
    weights = job.weights
    share = min(weights.values()) / sum(weights.values())
    needed = count_for(percentile)
    return ceil((needed + 4 * sqrt(needed * (1 - share))) / share)


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


def _answer_hold(handle: Handle, enough: bool) -> None:
    if not handle.held():
        return
    if enough:
        handle.stop()
    else:
        handle.proceed()


def _progress(
    interval: _core.Interval, moved_bytes: int, rounds: _Rounds | None, backend: Backend
) -> Progress:
    ops, seconds = interval.ops, interval.length_s
    n = sum(op.n for op in ops)
    return Progress(
        elapsed_s=interval.start_s + seconds,
        moved_bytes=moved_bytes,
        iops=n / seconds,
        mbps=sum(op.bytes for op in ops) / 1e6 / seconds,
        mean_us=mean_by_count((op.n, op.mean_us) for op in ops),
        rounds=rounds.count if rounds else 0,
        state=rounds.steady.state if rounds else "",
        steady=rounds.steady.steady if rounds else None,
        simulated_bytes=backend.capacity_bytes,
        parts=max(1, len(backend.parts)),
    )
