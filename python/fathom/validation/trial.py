"""One trial in virtual time: bring the twin into its state, run the workload, measure it.

On a bench that states what went before a test, the twin does that, and the window is as long as the bench's. Where that
work leads to a state that theory gives, the twin begins in it (`overwritten`).

On others it is filled, and the measuring window is the steady window itself, as SNIA PTS has it. These are the rounds
by which the combined criterion calls the workload steady, extended until the 95 % interval of their mean is narrow. A
trial that does not get there in time reports its last rounds and says so. Compares nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from threading import Event
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from fathom import _core
from fathom._core import Job
from fathom.analysis.consistency import floor_of
from fathom.analysis.depths import enough
from fathom.catalog.models import PublishedRow
from fathom.errors import FathomError, InterruptedRunError
from fathom.load.backend import TwinBackend, sync_twins
from fathom.load.seeds import step_seed
from fathom.method.job import NS_PER_S
from fathom.report.sections.added_latency import CONTROLLER
from fathom.session.filled import FILL, FILLED_TURNOVER, settled
from fathom.session.twin_windows import POINT_COUNT, ROUND_COUNT, WITHOUT_LIMIT
from fathom.statistics.limits import limit_of
from fathom.statistics.means import mean_by_count
from fathom.statistics.steady import SteadyState, Verdict
from fathom.statistics.uncertainty import mean_interval
from fathom.validation import overwritten
from fathom.validation.cases import Metric, Trial

ROUND_S = 1.0
CACHE_FILL_BYTES = 4 << 30
"""Eight times the largest write cache of a disk in the catalogue, 512 MB."""
NO_MATTER = 1e9
"""A precision that any window has: it ends by what it has written."""
POLL_S = 0.25
DEPTH_PRECISION = 0.01
DEPTH_TURNOVER = 1 / 64
"""Half the 95 % interval of the rate at a depth, over the rate, and the least share of the capacity that is written."""


@dataclass(frozen=True)
class Limits:
    """Longest duration of a trial, in virtual seconds, and the precision to reach (half width / mean)."""

    most_s: float = 120.0
    interval: float = 0.01


LIMITS = Limits()


@dataclass(frozen=True)
class OpFigures:
    """One operation, or all, over the window."""

    iops: float
    mbps: float
    mean_us: float
    max_us: float = 0.0
    bins: tuple[tuple[int, int, int], ...] = ()
    """Service latencies: from and to in ns, and how many."""

    def above_pct(self, threshold_us: float) -> float:
        """Returns the share of I/O that took longer, in percent."""
        n = sum(count for _, _, count in self.bins)
        return 100 * sum(count for low, _, count in self.bins if low >= 1000 * threshold_us) / n if n else 0.0

    def value(self, metric: Metric) -> float:
        """Returns the figure in a published row's unit."""
        mibps = self.mbps * 1e6 / 2**20
        return {
            "iops": self.iops,
            "mbps": self.mbps,
            "mibps": mibps,
            "latency_us": self.mean_us,
            "max_us": self.max_us,
        }[metric]


@dataclass(frozen=True)
class AtDepth:
    """The mean rate at an iodepth; half its 95 % interval, of the mean: None with too few seconds."""

    iodepth: int
    iops: float
    interval_pct: float | None


ByOp = Annotated[
    dict[str | None, OpFigures],
    PlainSerializer(lambda ops: [*ops.items()], return_type=list[tuple[str | None, OpFigures]]),
    BeforeValidator(lambda pairs: dict(pairs) if isinstance(pairs, list) else pairs),
]
"""Figures by operation, all of them under `None`. As pairs where they are JSON, whose names are all text."""


@dataclass(frozen=True)
class Measured:
    """The result of a trial."""

    ops: ByOp
    window_s: float
    interval_pct: float | None
    """Half the 95 % interval of the mean rate, of the mean; None with too few rounds."""
    steady: bool
    grounds: str
    limited_by: str | None
    bench_limits: bool = False
    """Whether the host's processors limit: then the figure is the bench's and not the drive's."""
    rates: tuple[float, ...] = ()
    """IOPS of the single rounds."""
    joules: float = 0.0
    """What the drive took over the window."""
    depths: tuple[AtDepth, ...] = ()
    """What followed the window, at one iodepth after the other."""
    added_us: float = 0.0
    """Mean time of an I/O in the controller of a system."""
    waf: float | None = None
    """Bytes programmed over bytes written in the window; None where nothing is written, or it is not known."""
    begins_settled: bool = False
    """Whether the state that the bench's prior work leads to was computed, and only its last part simulated."""

    def value(self, row: PublishedRow, metric: Metric) -> float:
        """Returns the figure that a row publishes."""
        if metric == "floor_iops":
            return floor_of(self.rates) or 0.0
        if metric == "depth":
            return self.depths[enough([one.iops for one in self.depths])].iodepth
        if metric == "added_us":
            return self.added_us
        if metric == "above_pct":
            return self.ops[row.op].above_pct(row.latency_us or 0.0)
        return self.ops[row.op].value(metric)

    def ratio(self, other: "Measured", row: PublishedRow, metric: Metric) -> float:
        """Returns IOPS, or I/O per joule, over the same figure of the other drive."""
        ratio = self.ops[row.op].iops / other.ops[row.op].iops
        return ratio * other.watts / self.watts if metric == "iops_per_w_ratio" else ratio

    @property
    def watts(self) -> float:
        """Mean power over the window."""
        return self.joules / self.window_s


def run_trial(
    parameters_json: str,
    trial: Trial,
    seed: int = 1,
    limits: Limits = LIMITS,
    interrupt: Event | None = None,
) -> Measured:
    """Runs the trial on a fresh twin.

    Args:
        parameters_json: the twin on the trial's bench, as `twin_params_json` gives it.
        trial: bench and job.
        seed: of every random choice; the same arguments give the same figures.
        limits: when to stop.
        interrupt: ends it early when set.

    Raises:
        FathomError: the parameters or the job are refused; InterruptedRunError after an interrupt.
    """
    try:
        return _run(parameters_json, trial, seed, limits, interrupt or Event())
    except _core.BackendError as error:
        raise FathomError(f"twin: {error}") from error


def _run(parameters_json: str, trial: Trial, seed: int, limits: Limits, interrupt: Event) -> Measured:
    if trial.window_s is not None:
        return _after_prior(parameters_json, trial, trial.window_s, seed, interrupt)
    backend = TwinBackend(parameters_json, seed, trial.file_system, hosts=trial.hosts)
    if trial.settled is not None:
        return _at_rest(backend, trial, trial.settled, seed, interrupt)
    job = trial.job.lasting(round(limits.most_s * NS_PER_S))
    if trial.covered is not None:
        return _once_covered(backend, trial, job, trial.covered, seed, interrupt)
    _fill(backend, trial, seed, interrupt)
    criterion = _criterion(trial, backend.capacity_bytes)
    return _until_steady(backend, job, criterion, limits, seed, interrupt)


def _until_steady(
    backend: TwinBackend, job: Job, criterion: SteadyState, limits: Limits, seed: int, interrupt: Event
) -> Measured:
    """Runs the workload in rounds until they are steady and their mean is known."""
    handle = backend.start(job, seed + 1, ROUND_S)
    judged = _Judged(criterion, backend.capacity_bytes, limits)
    while not handle.done():
        if interrupt.is_set():
            handle.stop()
        for interval in handle.poll(POLL_S):
            if not judged.enough:
                judged.add(interval)
        if handle.held():
            if judged.enough:
                handle.stop()
            else:
                handle.proceed()
    recording = handle.result()[0]
    if interrupt.is_set():
        raise InterruptedRunError("interrupted")
    return judged.measured(recording)


def _fill(backend: TwinBackend, trial: Trial, seed: int, interrupt: Event) -> None:
    """Writes data wherever the trial reads or writes. Under a file system this is the region, once. Before a trial that
    reads, the page cache is flushed to the device. A trial that writes begins at the rate of the device.
    """
    if trial.file_system is None:
        fill = FILL.with_until(bytes=CACHE_FILL_BYTES) if trial.overwrites else FILL
        _drain(backend, fill, seed, interrupt)
        return
    once = FILL.with_until(region_multiple=1.0).in_region_of(trial.job)
    _drain(backend, once, seed, interrupt)
    if trial.job.weights.keys() == {"read"}:
        sync_twins([backend.device])


def _after_prior(
    parameters_json: str, trial: Trial, window_s: float, seed: int, interrupt: Event
) -> Measured:
    """Runs the bench's own order: its prior work, the workload for the bench's time, then its other iodepths."""
    settled = _overwritten(parameters_json, trial, seed, interrupt)
    backend = settled or TwinBackend(parameters_json, seed, trial.file_system, hosts=trial.hosts)
    if settled is None:
        for number, prior in enumerate(trial.prior, 1):
            _drain(backend, _lasting(prior, prior.time_s, backend.scale), seed + number, interrupt)
    job = _lasting(trial.job, window_s, backend.scale)
    intervals, recording = _drain(backend, job, seed, interrupt)
    depths = tuple(
        _at_depth(backend, trial, iodepth, seed, interrupt, at_rest=settled is not None)
        for iodepth in trial.iodepths
    )
    names = sorted({op.op for interval in intervals for op in interval.ops})
    return Measured(
        ops={name: _figures(intervals, name) for name in (None, *names)},
        rates=tuple(_rate(interval) for interval in intervals),
        window_s=recording.window_s,
        joules=_joules(intervals),
        interval_pct=None,
        steady=True,
        grounds="as on the bench",
        limited_by=_limited_by(recording),
        bench_limits=_bench_limits(recording),
        depths=depths,
        waf=_waf(intervals),
        begins_settled=settled is not None,
    )


def _overwritten(parameters_json: str, trial: Trial, seed: int, interrupt: Event) -> TwinBackend | None:
    """Returns the twin as the bench's prior work leaves it, begun settled; None where that would be another state."""
    settled_json = overwritten.settled_params(parameters_json, trial)
    if settled_json is None:
        return None
    try:
        backend = TwinBackend(settled_json, seed)
    except FathomError:  # Some drives cannot begin settled: those with an SLC cache, for one.
        return None
    _, warmed = _drain(backend, overwritten.warm_up(trial), step_seed(seed, 0), interrupt)
    drive_bytes = backend.capacity_bytes / backend.scale
    return backend if overwritten.suffices(trial, warmed, drive_bytes) else None


def _at_rest(backend: TwinBackend, trial: Trial, precision: float, seed: int, interrupt: Event) -> Measured:
    """Runs the workload on a system that has no state to bring to rest, until its figures are known."""
    known = _core.Precision(precision, POINT_COUNT, 0, WITHOUT_LIMIT)
    return _until_known(backend, trial.job, known, seed, interrupt, "a system is at rest from the start")


def _once_covered(
    backend: TwinBackend, trial: Trial, job: Job, precision: float, seed: int, interrupt: Event
) -> Measured:
    """Fills the twin, lets the job's writes cover their region once, and measures until the figures are known."""
    _fill(backend, trial, seed, interrupt)
    turnover_bytes = 0
    if job.writes:
        _, region_bytes = job.region_on(backend.capacity_bytes)
        once = _core.Precision(NO_MATTER, 0, region_bytes, WITHOUT_LIMIT)
        _drain(backend, job, seed + 1, interrupt, once)
        turnover_bytes = round(FILLED_TURNOVER * region_bytes)
    known = _core.Precision(precision, ROUND_COUNT, turnover_bytes, WITHOUT_LIMIT)
    return _until_known(backend, job, known, seed + 2, interrupt, "its region is covered once")


def _until_known(
    backend: TwinBackend, job: Job, known: _core.Precision, seed: int, interrupt: Event, grounds: str
) -> Measured:
    intervals, recording = _drain(backend, job, seed, interrupt, known)
    counts = [sum(op.n for op in interval.ops) for interval in intervals]
    added = [interval.residence_us.get(CONTROLLER, 0.0) for interval in intervals]
    names = sorted({op.op for interval in intervals for op in interval.ops})
    return Measured(
        ops={name: _figures(intervals, name) for name in (None, *names)},
        window_s=recording.window_s,
        interval_pct=None,
        steady=True,
        grounds=grounds,
        limited_by=_limited_by(recording),
        bench_limits=_bench_limits(recording),
        rates=tuple(_rate(interval) for interval in intervals),
        waf=_waf(intervals),
        added_us=sum(map(mul, added, counts)) / sum(counts) if sum(counts) else 0.0,
    )


def _at_depth(
    backend: TwinBackend, trial: Trial, iodepth: int, seed: int, interrupt: Event, *, at_rest: bool
) -> AtDepth:
    """Runs the workload at another iodepth, from the twin's present state. At rest the time makes no difference, so it
    ends once the rate is known.
    """
    job = _lasting(trial.job, trial.depth_s, backend.scale).with_load(iodepth=iodepth)
    least_bytes = round(DEPTH_TURNOVER * backend.capacity_bytes)
    known = _core.Precision(DEPTH_PRECISION, POINT_COUNT, least_bytes, WITHOUT_LIMIT) if at_rest else None
    intervals, recording = _drain(backend, job, step_seed(seed, iodepth), interrupt, known)
    around = mean_interval([_rate(one) for one in intervals])
    interval_pct = 50 * (around.high - around.low) / around.mean if around else None
    return AtDepth(iodepth, sum(op.n for op in recording.ops) / recording.window_s, interval_pct)


def _lasting(job: Job, time_s: float | None, scale: float) -> Job:
    """Returns the job with a time of the whole drive in the slice's share; without a time as it is."""
    return job if time_s is None else job.lasting(max(1, round(time_s * NS_PER_S * scale)))


def _drain(
    backend: TwinBackend, job: Job, seed: int, interrupt: Event, precision: _core.Precision | None = None
) -> tuple[list[_core.Interval], _core.Recording]:
    handle = backend.start(job, seed, precision=precision)
    intervals = []
    while not handle.done():
        if interrupt.is_set():
            handle.stop()
        intervals += handle.poll(POLL_S)
    recording = handle.result()[0]
    if interrupt.is_set():
        raise InterruptedRunError("interrupted")
    return intervals, recording


def _criterion(trial: Trial, capacity_bytes: int) -> SteadyState:
    """Returns the combined criterion after the fill. Random writes have to cover their region once, not the whole
    drive; where a place costs the same to write again, they need not.
    """
    job = trial.job
    at_random = "write" in job.weights and job.pattern.kind != "sequential" and not trial.overwrites
    _, size_bytes = job.region_on(capacity_bytes)
    return settled(at_random=at_random, region_share=size_bytes / capacity_bytes)


class _Judged:
    """Rounds of a trial, judged as they come."""

    def __init__(self, criterion: SteadyState, capacity_bytes: int, limits: Limits) -> None:
        self.enough = False
        self._criterion = criterion
        self._capacity_bytes = capacity_bytes
        self._limits = limits
        self._rounds: list[_core.Interval] = []
        self._verdict: Verdict | None = None
        self._interval_pct: float | None = None

    def add(self, interval: _core.Interval) -> None:
        """Adds a round; sets `enough` when no more are needed. A cut-off round is left out."""
        if interval.length_s < ROUND_S * (1 - 1e-6):
            return
        self._rounds.append(interval)
        self._verdict = self._criterion.add_round(
            _rate(interval), _waf([interval]), _written_bytes([interval]) / self._capacity_bytes
        )
        if self._verdict.steady:
            around = mean_interval([_rate(one) for one in self._window()])
            if around:
                self._interval_pct = 50 * (around.high - around.low) / around.mean
                self.enough = self._interval_pct <= 100 * self._limits.interval

    def _window(self) -> Sequence[_core.Interval]:
        return self._rounds[-self._verdict.judged_rounds :] if self._verdict else ()

    def measured(self, recording: _core.Recording) -> Measured:
        """Returns the figures of the window."""
        window = self._window()
        steady = bool(self._verdict and self._verdict.steady)
        names = sorted({op.op for interval in window for op in interval.ops})
        return Measured(
            ops={name: _figures(window, name) for name in (None, *names)},
            rates=tuple(_rate(interval) for interval in window),
            window_s=sum(interval.length_s for interval in window),
            joules=_joules(window),
            waf=_waf(window),
            interval_pct=self._interval_pct if steady else None,
            steady=steady,
            grounds=self._criterion.conclude().reason if self._verdict else "no round finished",
            limited_by=_limited_by(recording),
            bench_limits=_bench_limits(recording),
        )


def _limited_by(recording: _core.Recording) -> str | None:
    limit = limit_of(recording)
    return limit.words if limit else None


def _bench_limits(recording: _core.Recording) -> bool:
    limit = limit_of(recording)
    return bool(limit and limit.resource and limit.resource.name == _core.HOST_CPU)


def _rate(interval: _core.Interval) -> float:
    return sum(op.n for op in interval.ops) / interval.length_s


def _written_bytes(window: Sequence[_core.Interval]) -> int:
    return sum(op.bytes for interval in window for op in interval.ops if op.op == "write")


def _waf(window: Sequence[_core.Interval]) -> float | None:
    written_bytes = _written_bytes(window)
    media = [interval.counters.get("media_write_bytes") for interval in window]
    known = [value for value in media if value is not None]
    return sum(known) / written_bytes if written_bytes and len(known) == len(media) else None


def _joules(window: Sequence[_core.Interval]) -> float:
    return sum(interval.counters["joules"] for interval in window)


def _figures(window: Sequence[_core.Interval], name: str | None) -> OpFigures:
    ops = [op for interval in window for op in interval.ops if name in (None, op.op)]
    seconds = sum(interval.length_s for interval in window)
    n = sum(op.n for op in ops)
    return OpFigures(
        iops=n / seconds if seconds else 0.0,
        mbps=sum(op.bytes for op in ops) / 1e6 / seconds if seconds else 0.0,
        mean_us=mean_by_count((op.n, op.mean_us) for op in ops) or 0.0,
        bins=tuple(part for op in ops for part in op.service_bins),
        max_us=max((op.max_us or 0.0 for op in ops), default=0.0),
    )
