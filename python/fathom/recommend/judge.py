"""Replays a trace on one twin, at its own speed and at those that find how much more of it the drive bears.

Runs on a worker: a function of its arguments.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from fathom import _core
from fathom._core import Job
from fathom.catalog import load_device
from fathom.fitting.on_twin import fresh_twin, least_written_bytes, run_plain, twin_holding, write_once
from fathom.method.job import job_of
from fathom.output.text import size
from fathom.plan.replay import RECORDED_DEPTH, Replay, measure_step
from fathom.plan.zones import check_order
from fathom.recommend.objective import Objective, keeps
from fathom.recommend.portion import Portion, at_speed
from fathom.statistics.limits import Limit, limit_of
from fathom.traces.prepare import Prepared

MOST_FACTOR = 64.0
"""Factors of the load between 1/64 and 64 are tried."""
PRECISION = 1.05
"""The factor is known to this ratio."""
LEAST_S = 1.0
"""Least virtual time of a replay: a shorter trace is repeated."""
DRAINED_S, DRAINED_IOS = 10.0, 20_000
"""A slow load is repeated for ten seconds, up to 20,000 I/Os. The last burst's I/Os end after the last arrival. On a
disk that takes a tenth of a second, which must not count as a rate that is missed.
"""
_PATIENCE = 1.1
_PATIENCE_S = 0.05
MOST_SLICE_BYTES = 64 << 30
"""Trace that reaches beyond it is wrapped onto it: several twins are in memory at once."""


@dataclass(frozen=True)
class Judged:
    """What a twin makes of a trace. Latencies in us, by objective; none of a trace whose I/Os are spread. `headroom` is
    the factor by which the load may grow; None where the drive is too small for the trace.

    `below` and `beyond`: the headroom is less, or more, than what is given.
    """

    device: str
    fits: bool
    """Whether the drive has as many bytes as the trace reaches."""
    lacks_bytes: int
    """How many bytes the trace reaches beyond its end; 0 where it fits."""
    wrapped_bytes: int | None
    """Offsets are taken modulo this."""
    meets: bool
    values_us: Sequence[float | None]
    means_us: dict[str, float]
    p99_us: dict[str, float]
    headroom: float | None
    below: bool
    beyond: bool
    limit: Limit | None
    """What limits at the first factor that is too much; at the largest one tried where none is. None: not known, or no
    headroom.
    """
    waf: float | None
    """None too where the trace writes too little to have a WAF of its own."""
    watts: float | None
    runs: int


def judge(
    name: str, whole: Portion, prepared: Prepared, objectives: Sequence[Objective], seed: int
) -> Judged:
    """Returns what the twin of a device makes of a trace. Raises FathomError for a twin that refuses it."""
    replays = _Replays(name, whole, prepared, objectives, seed)
    own = replays.run(1.0)
    found = (
        _headroom(replays.run, lambda found, factor: keeps(found, whole.rate_iops * factor, objectives), own)
        if replays.fits
        else None
    )
    media = own.counters.get("media_write_bytes")
    written = sum(op.bytes for op in own.ops if op.op == "write")
    joules = own.counters.get("joules")
    # Where in the clock's step an I/O came is drawn, so its latency is of no load that was recorded.
    timed = [] if whole.step_ns else own.ops
    return Judged(
        device=name,
        fits=replays.fits,
        lacks_bytes=replays.lacks_bytes,
        wrapped_bytes=replays.wrapped_bytes,
        meets=found is not None and found.factor >= 1 and not found.below,
        values_us=[one.value(own) for one in objectives],
        means_us={op.op: us for op in timed if (us := op.response_mean_us) is not None},
        p99_us={op.op: us for op in timed if (us := op.response_p99_us) is not None},
        headroom=found.factor if found else None,
        below=found is not None and found.below,
        beyond=found is not None and found.beyond,
        limit=limit_of(found.shows) if found else None,
        waf=media / written if media and written >= replays.least_written_bytes else None,
        watts=joules / own.window_s if joules else None,
        runs=replays.runs,
    )


class _Replays:
    """Replays the trace at any speed, each time on a fresh twin that was written once."""

    def __init__(
        self, name: str, whole: Portion, prepared: Prepared, objectives: Sequence[Objective], seed: int
    ) -> None:
        device = load_device(name)
        self.lacks_bytes = max(0, whole.extent_bytes - device.addressed_bytes)
        self.fits = not self.lacks_bytes
        self.runs = 0
        self._parameters = twin_holding(
            name, min(whole.extent_bytes, device.addressed_bytes, MOST_SLICE_BYTES)
        )
        parameters = json.loads(self._parameters)
        check_order(self._parameters, writes=bool(whole.ios_of.get("write")))
        self._fills = parameters["kind"] == "ssd"
        capacity = fresh_twin(self._parameters, seed).capacity_bytes
        self.wrapped_bytes = capacity if capacity < whole.extent_bytes else None
        self.least_written_bytes = least_written_bytes(self._parameters, whole.extent_bytes, capacity)
        self._whole, self._prepared, self._seed = whole, prepared, seed
        self._laps = [ceil(one.least_ios / ios) for one in objectives if (ios := whole.ios_of.get(one.op))]

    def run(self, factor: float) -> "_core.Recording":
        """Returns what the drive did with the load at that speed."""
        self.runs += 1
        device = fresh_twin(self._parameters, self._seed)
        if self._fills:
            write_once(device, self._seed)
        with at_speed(self._whole, factor) as one:
            return run_plain(self._job(one), device, self._seed + 1)

    def _job(self, one: Portion) -> Job:
        """Returns the job that replays it; a short portion again and again.

        So what waits at its end is little, and percentiles have their I/Os.
        """
        offsets = "as-is" if self.wrapped_bytes is None else "wrap"
        own = Prepared(
            self._prepared.name,
            one.ios,
            one.extent_bytes,
            round(one.length_s * 1e9),
            self._prepared.sizes,
            path=one.path,
        )
        job = job_of(measure_step(own, Replay(one.path, offsets=offsets, iodepth=RECORDED_DEPTH)))
        slow = min(ceil(DRAINED_S / one.length_s), DRAINED_IOS // one.ios)
        laps = max(1, ceil(LEAST_S / one.length_s), slow, *self._laps)
        # What is not done by then has not been kept up with.
        time_s = _PATIENCE * laps * one.length_s + _PATIENCE_S
        return job.with_until(count=laps * one.ios, time_ns=ceil(1e3 * time_s) * 1_000_000)


@dataclass(frozen=True)
class _Headroom:
    """The largest factor that is kept."""

    factor: float
    below: bool
    """Whether none was kept: it is less."""
    beyond: bool
    """Whether all were kept: it is more."""
    shows: "_core.Recording"
    """The run that shows why it ends there."""


def _headroom(
    run: Callable[[float], "_core.Recording"],
    keeps_at: Callable[["_core.Recording", float], bool],
    own: "_core.Recording",
) -> _Headroom:
    """Returns the largest factor that is kept.

    Factors are doubled or halved until one is kept and one is not. Then their ratio is halved on a logarithmic scale.
    """
    shown = own
    low: float | None = None
    high: float | None = None
    factor = 1.0
    while low is None or high is None or high > PRECISION * low:
        shown_at = own if factor == 1 else run(factor)
        if keeps_at(shown_at, factor):
            low = factor
        else:
            high = factor
            shown = shown_at
        if high is None:
            if factor >= MOST_FACTOR:
                return _Headroom(factor, False, True, shown_at)
            factor *= 2
        elif low is None:
            if factor <= 1 / MOST_FACTOR:
                return _Headroom(factor, True, False, shown)
            factor /= 2
        else:
            factor = (low * high) ** 0.5
    return _Headroom(low, False, False, shown)


def placed(judged: Judged) -> str:
    """Returns how a trace that is larger than the twin was placed on it; empty where it fits."""
    if judged.wrapped_bytes is None:
        return ""
    return f"offsets wrapped at {size(judged.wrapped_bytes)}"
