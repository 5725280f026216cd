"""Proves a fit: a trace and the job fitted to it run on the same twin, and their figures stand side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev

import numpy as np

from fathom._core import TRACE_OPERATIONS, Job
from fathom.fitting.chosen import OPS, Choice
from fathom.fitting.fit import Fitted
from fathom.fitting.missed import Miss, Property, missed
from fathom.fitting.on_twin import Ran, fresh_twin, least_written_bytes, run_logged, twin_holding, write_once
from fathom.fitting.to_method import fitted_job
from fathom.method.job import job_of
from fathom.plan.replay import Offsets, Replay, measure_step
from fathom.plan.zones import check_order
from fathom.statistics.student import critical
from fathom.targets.twin_names import twin_name
from fathom.traces.prepare import Prepared, prepare

DEFAULT_TWIN = "twin:samsung-pm9a3-7.68tb"
MOST_IOS = 300_000
"""I/Os of the trace that are run; of a longer trace its first ones, and as much of the fitted job."""
LEAST_IOS = 100
"""Fewer I/Os say too little: the gap behind the last one alone is a hundredth of the time, and the p99 is the largest.
"""
COUNTED = (Property.FORCED, Property.LEFT_OUT)
"""What is counted rather than compared, so that any number of I/Os shows it."""
SEEDS = 5
CONFIDENCE = 0.95
WAF = "WAF"
LEVEL = 0.005
"""Figures nearer than this are not told apart, however small their spread."""


@dataclass(frozen=True)
class Row:
    """A figure of the trace and of the fitted job, means over the seeds; the ratio with the interval of its noise.

    Were the trace one more run of the job, the ratio would lie from `low` to `high`, with 95 % confidence. None: not
    known.
    """

    name: str
    unit: str
    trace: float
    fitted: float
    low: float | None
    high: float | None

    @property
    def ratio(self) -> float:
        """Returns fitted over trace."""
        return self.fitted / self.trace

    @property
    def within(self) -> bool:
        """Returns whether they differ by no more than two runs of the job would."""
        if abs(self.ratio - 1) <= LEVEL:
            return True
        return self.low is not None and self.high is not None and self.low <= self.ratio <= self.high


@dataclass(frozen=True)
class Proof:
    """Both sides on a twin. `ios` of the trace were run; `closed` at its depth, else at the times that were fitted."""

    twin: str
    ios: int
    whole: bool
    closed: bool
    rows: Sequence[Row]
    misses: Sequence[Miss]
    step_ns: int = 0
    """The step of the trace's clock over which its I/Os were spread; 0 where they ran at the recorded times."""
    least_written_bytes: int | None = None
    """What the trace would have to write for a WAF of its own; None where it does, or where it writes nothing."""

    @property
    def has_few(self) -> bool:
        """Whether too few I/Os were run to compare any figure; then there is none."""
        return self.ios < LEAST_IOS


def prove(fitted: Fitted, choice: Choice, twin: str = DEFAULT_TWIN) -> Proof:
    """Runs both on a twin, each on a fresh one that was written once, with several seeds.

    `choice` is the one that the job was fitted to.

    Raises UsageError for a trace that the twin cannot hold, or whose writes its zones do not take.
    """
    name = twin_name(twin) or twin
    parameters = twin_holding(name, max(part.high_bytes for part in fitted.parts))
    prepared = prepare(choice.opened(), choice.device, align_bytes=choice.align_bytes)
    closed = fitted.arrivals.depth is not None
    ios = min(prepared.ios, MOST_IOS)
    replayed, own = _replay_job(prepared, fitted, ios), _own_job(fitted, ios)
    check_order(
        parameters,
        writes=replayed.writes,
        name=twin,
        hint="name another twin with --on, or none to leave it out",
    )
    sides: list[tuple[Ran, Ran]] = []
    for seed in range(1, SEEDS + 1):
        one = [_run(parameters, job, seed) for job in (replayed, own)]
        sides.append((one[0], one[1]))
    capacity = fresh_twin(parameters, 1).capacity_bytes
    least = least_written_bytes(parameters, prepared.extent_bytes, capacity)
    written = min(_written_bytes(ran) for pair in sides for ran in pair)
    figures = [(_figures(one, closed), _figures(two, closed)) for one, two in sides]
    rows = [row for row in _rows(figures) if row.name != WAF or written >= least]
    whole = ios == prepared.ios
    misses = missed(fitted, sides[0][0].trace, sides[0][1].trace)
    if ios < LEAST_IOS:
        counted = [miss for miss in misses if miss.property in COUNTED]
        return Proof(name, ios, whole, closed, [], counted, fitted.step_ns)
    return Proof(
        name, ios, whole, closed, rows, misses, fitted.step_ns, least if 0 < written < least else None
    )


def _replay_job(prepared: Prepared, fitted: Fitted, ios: int) -> Job:
    depth = fitted.arrivals.depth
    timing = "as-recorded" if depth is None else "as-fast-as-possible"
    offsets: Offsets = "as-is"
    replay = Replay(prepared.path, timing=timing, offsets=offsets, iodepth=depth)
    return job_of(measure_step(prepared, replay, ios))


def _own_job(fitted: Fitted, ios: int) -> Job:
    """Returns the fitted job for as many I/Os: by time where they come on a clock, else by count."""
    share = ios / fitted.counts.ios
    job = job_of({"job": fitted_job(fitted, fitted.length_s * share)})
    by_count = fitted.arrivals.depth is not None and len(fitted.parts) == 1
    return job.with_until(count=ios) if by_count else job


def _run(parameters: str, job: Job, seed: int) -> Ran:
    device = fresh_twin(parameters, seed)
    write_once(device, seed)
    return run_logged(job, device, seed + SEEDS, "twin")


def _figures(ran: Ran, closed: bool) -> Mapping[tuple[str, str], float]:
    """Returns figures by name and unit: rates, latencies of each operation, write amplification."""
    columns, window_s = ran.trace.columns, ran.recording.window_s
    figures = {("IOPS", ""): len(columns["issue_ns"]) / window_s}
    latency_us = (columns["latency_ns"] if closed else ran.response_ns) / 1e3
    for op, number in (*OPS.items(), ("flush", TRACE_OPERATIONS.index("flush"))):
        own = latency_us[columns["operation"] == number]
        if len(own):
            figures[f"{op} mean", "us"] = float(own.mean())
            figures[f"{op} p50", "us"] = float(np.percentile(own, 50))
            figures[f"{op} p99", "us"] = float(np.percentile(own, 99))
    written = _written_bytes(ran)
    media = ran.recording.counters.get("media_write_bytes")
    if written and media:
        figures[WAF, ""] = media / written
    return figures


def _written_bytes(ran: Ran) -> int:
    columns = ran.trace.columns
    return int(columns["size_bytes"][columns["operation"] == OPS["write"]].sum())


def _rows(
    sides: Sequence[tuple[Mapping[tuple[str, str], float], Mapping[tuple[str, str], float]]],
) -> list[Row]:
    names = [name for name in sides[0][0] if all(name in one and name in two for one, two in sides)]
    return [_row(name, [(one[name], two[name]) for one, two in sides]) for name in names]


def _row(name: tuple[str, str], pairs: Sequence[tuple[float, float]]) -> Row:
    """Returns the figure of both. The fitted job's spread over its seeds is that of any run of such a load, so of the
    trace, which is one.
    """
    trace, fitted = fmean(one for one, _ in pairs), fmean(two for _, two in pairs)
    if min(min(pair) for pair in pairs) <= 0:
        return Row(*name, trace, fitted, None, None)
    spread = stdev(log(two) for _, two in pairs)
    half = critical(CONFIDENCE, len(pairs) - 1) * spread * sqrt(1 + 1 / len(pairs))
    return Row(*name, trace, fitted, exp(-half), exp(half))
