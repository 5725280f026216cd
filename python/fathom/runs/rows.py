"""From what a backend returns to rows of the run's tables."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathom import _core
from fathom._core import WRITES, Job, OpResult, Recording
from fathom.columns.schema import TABLES, Reading
from fathom.method.method import Step
from fathom.runs.bins import BIN_COLUMNS, latency_of
from fathom.runs.phases import Phases, phases_of
from fathom.runs.sampled import Sampled
from fathom.runs.seconds import VALUE_COLUMNS, interval_rows, readings
from fathom.runs.spool import Row, Spool
from fathom.runs.window import Window, around, waf_bounds
from fathom.statistics.failed import failed_share, is_withheld
from fathom.statistics.latency_columns import PREFIXES, QUANTILES
from fathom.statistics.limits import Limit, limit_in, limit_of, with_client, with_io_limit, with_think_time
from fathom.targets.io_limits import limits_reached


@dataclass
class StepRows:
    """The rows of one step on one target, growing interval by interval, kept in `scratch`.

    Where the backend has parts (hosts, drives), `parts` are theirs in its order. An interval of target 0 is of the
    whole, one of target k of part k. A part keeps its histograms of the whole step, not of each second. Every
    part has a job of its own, the whole the threads of all.
    """

    target: str
    step: Step
    parts: Sequence["StepRows"] = ()
    each_second: bool = True
    scratch: Path | None = None
    points: list[Row] = field(default_factory=list)
    streams: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Starts with no rows."""
        self.intervals = Spool(TABLES["intervals"], self.scratch)
        self.telemetry = Spool(TABLES["telemetry"], self.scratch)
        self._load = self._new_load()
        self._streams = {name: self._new_load() for name in self.step.job.streams}
        self._phases = self._phases_of_streams()
        self.phases: list[Row] = []
        self._host_bytes, self._media_bytes = array("d"), array("d")
        self._last_index: int | None = None

    def tables(self) -> Mapping[str, Sequence[Row] | Spool]:
        """Returns rows by table name: the target's own, then those of its parts. Nothing can be added afterwards. The
        intervals of percentiles are computed here: they need all seconds once more.
        """
        for part in self.parts:
            self.intervals.pour(part.intervals)
            self._load.latency.pour(part._load.latency)
            self.telemetry.pour(part.telemetry)
        self._bound_percentiles()
        return {
            "points": [row for rows in (self, *self.parts) for row in rows.points],
            "streams": [row for rows in (self, *self.parts) for row in rows.streams],
            "phases": self.phases,
            "intervals": self.intervals,
            "latency": self._load.latency,
            "telemetry": self.telemetry,
        }

    def add(self, interval: _core.Interval) -> None:
        """Adds one second."""
        self._of(interval)._add(interval)

    def of(self, interval: _core.Interval) -> dict[str, list[Row]]:
        """Returns one second's rows by table."""
        return self._of(interval)._rows(interval)

    def _of(self, interval: _core.Interval) -> "StepRows":
        return self.parts[interval.target - 1] if interval.target else self

    def _add(self, interval: _core.Interval) -> None:
        common, ops = self._common(), interval.ops
        self.intervals += interval_rows(common, self.step.kind, interval, self._asked)
        self.telemetry.add_rows(*readings(self.target, self.step.name, interval), VALUE_COLUMNS)
        whole_second = interval.length_s == 1.0
        self._last_index = interval.index if self.each_second else None
        self._load.add(common, interval.index, ops, self._asked, whole_second=whole_second)
        if self._is_measured and self._streams:
            for name, own in interval.streams.items():
                asked = self.step.job.streams[name].weights
                self._streams[name].add(common, interval.index, own, asked, whole_second=whole_second)
        for name, phases in self._phases.items():
            own = interval.streams.get(name, []) if name else ops
            phases.add(interval.start_s, interval.length_s, own)
        media = interval.counters.get("media_write_bytes")
        if whole_second and media is not None:
            self._host_bytes.append(_host_writes(ops))
            self._media_bytes.append(media)

    def _rows(self, interval: _core.Interval) -> dict[str, list[Row]]:
        common, ops = self._common(), interval.ops
        of_values, values = readings(self.target, self.step.name, interval)
        return {
            "intervals": interval_rows(common, self.step.kind, interval, self._asked),
            "latency": [
                of_bins | dict(zip(BIN_COLUMNS, bin, strict=True))
                for op in ops
                if self.each_second
                for of_bins, bins in latency_of(common, interval.index, op)
                for bin in bins
            ],
            "telemetry": [of_values | dict(zip(VALUE_COLUMNS, value, strict=True)) for value in values],
        }

    def _common(self) -> Row:
        return {"target": self.target, "step": self.step.name, "workload": self.step.workload}

    def finish(self, recordings: Sequence[Recording], method: str, steady: bool | None) -> None:
        """Adds the recordings of target and parts; measured steps and points of curves become rows of `points`."""
        for rows, recording in zip((self, *self.parts), recordings, strict=True):
            rows._finish(recording, method, steady)

    def _finish(self, recording: Recording, method: str, steady: bool | None) -> None:
        if not self.each_second:
            self._load.add_latency(self._common(), None, recording.ops)
        self._load.add_censored(self._common(), self._last_index, recording.ops)
        if not self._is_measured:
            return
        for op in recording.ops:
            self.points.append(self._point(recording, op, method, steady))
        self._load.keep(recording.ops, recording.parts, recording.part_bins())
        for name, job in self.step.job.streams.items():
            own = recording.streams.get(name, [])
            for op in own:
                self.streams.append(self._stream(recording, name, job, op))
            self._streams[name].keep(own, recording.parts, recording.part_bins(name))
        for name, phases in self._phases.items():
            own = recording.streams.get(name, []) if name else recording.ops
            self.phases += phases.rows(self._common() | {"stream": name}, own, recording.window_s)

    def _phases_of_streams(self) -> dict[str | None, Phases]:
        """Returns the phases of a replayed trace, by stream where it has several devices."""
        if not (self._is_measured and self.each_second):
            return {}
        job = self.step.job
        found = {name: phases_of(own) for name, own in job.streams.items()} or {None: phases_of(job)}
        return {name: phases for name, phases in found.items() if phases}

    @property
    def _asked(self) -> Collection[str]:
        """The operations that the job asks for; none of an idle step."""
        return () if self.step.kind == "idle" else self.step.job.weights

    @property
    def _is_measured(self) -> bool:
        return self.step.kind in ("measure", "point")

    def _bound_percentiles(self) -> None:
        self._load.bound(self.points)
        for name, load in self._streams.items():
            load.bound([row for row in self.streams if row["stream"] == name])

    def _new_load(self) -> Window:
        return Window(self.target, each_second=self.each_second, scratch=self.scratch)

    def take_io_limits(
        self, identities: Mapping[str, Mapping[str, object]], *, whole_reached: bool = False
    ) -> bool:
        """Adds to what limits the points that a control group may have.

        `identities` are of targets that have such limits of their own, by name. Returns whether the limit was reached:
        the target's own, or those of all its parts. Parts of a whole that reached its own share that limit.
        """
        moved = [(str(row["op"]), _number(row["iops"]), 1e6 * _number(row["mbps"])) for row in self.points]
        own = whole_reached or bool(limits_reached(identities.get(self.target, {}), moved))
        of_parts = [part.take_io_limits(identities, whole_reached=own) for part in self.parts]
        reached = own or (bool(of_parts) and all(of_parts))
        for point in self.points:
            point |= _limit_columns(with_io_limit(limit_in(point), reached=reached))
        return reached

    def take_telemetry(self, sampled: Sequence[Reading]) -> None:
        """Adds samples from outside the backend. A client without processor time left becomes the limit of its points.
        Points get a WAF where the drive counts its media writes, and joules where it has a power sensor. For several
        drives, each must have one.
        """
        self.telemetry += [vars(reading) for reading in sampled]
        for one in (self, *self.parts):
            one._take(Sampled(sampled, one.target, [part.target for part in one.parts]))

    def _take(self, sampled: Sampled) -> None:
        host, media = sampled.total("host_write_bytes"), sampled.total("media_write_bytes")
        watts = sampled.per_s("joules")
        busy_pct = sampled.client_busy_pct()
        for point in self.points:
            if host and media and point["waf"] is None:
                point["waf"] = media / host
                point |= waf_bounds(*sampled.written_together())
            if (
                watts is not None
                and point["joules"] is None
                and isinstance(window_s := point["window_s"], float)
            ):
                point["joules"] = watts * window_s
            if busy_pct is not None:
                point |= _limit_columns(with_client(limit_in(point), busy_pct))

    def _point(self, recording: Recording, op: OpResult, method: str, steady: bool | None) -> Row:
        job, window_s = self.step.job, recording.window_s
        counters = recording.counters
        host_writes = _host_writes(recording.ops)
        media_writes = counters.get("media_write_bytes")
        # Writes that all wait in a buffer say nothing of what they will cost.
        waf = media_writes / host_writes if media_writes and host_writes else None
        known = recording.half_widths
        return {
            "target": self.target,
            "method": method,
            "step": self.step.name,
            "workload": self.step.workload,
            "op": op.op,
            "block_bytes": job.block_bytes(op.op),
            "read_pct": job.read_pct,
            **_depth(self._jobs()),
            "offered_iops": None
            if recording.offered is None or not window_s
            else recording.offered / window_s,
            **_measured(op, window_s),
            **self._load.bounds(op, window_s, known.ops.get(op.op) if known else None),
            **_latencies(op, PREFIXES["response"]),
            "response_censored_us": op.response_censored_us,
            "waf": waf,
            **self._waf_interval(waf, known.waf if known else None, watched=known is not None),
            "joules": counters.get("joules"),
            **around("joules", counters.get("joules"), known.joules if known else None),
            "outstanding": recording.outstanding,
            "backlog": recording.backlog,
            **_limit_columns(self._limit(recording) if _is_whole(recording, op) else None),
            "steady": steady,
        }

    def _limit(self, recording: Recording) -> Limit | None:
        """Returns what set the throughput; under the interactive response time law, think time where it outlasts the
        I/O.
        """
        jobs = [own for job in self._jobs() for own in job.streams.values() or (job,)]
        asked = sum(job.threads * job.iodepth for job in jobs)
        pauses = all(job.thinks for job in jobs) and (recording.outstanding or 0.0) < asked / 2
        limit = limit_of(recording)
        return with_think_time(limit) if pauses else limit

    def _jobs(self) -> list[Job]:
        """Returns the jobs of the parts; without parts, the step's own."""
        return [part.step.job for part in self.parts] or [self.step.job]

    def _stream(self, recording: Recording, name: str, job: Job, op: OpResult) -> Row:
        window_s, known = recording.window_s, recording.half_widths
        own = known.streams.get(name) if known else None
        return {
            "target": self.target,
            "step": self.step.name,
            "workload": self.step.workload,
            "stream": name,
            "op": op.op,
            "placement": ",".join(map(str, job.placement)) or None,
            "block_bytes": job.block_bytes(op.op),
            **_depth([part.streams[name] for part in self._jobs() if name in part.streams]),
            **_measured(op, window_s),
            **self._streams[name].bounds(op, window_s, own.get(op.op) if own else None),
        }

    def _waf_interval(self, waf: float | None, half_width: float | None, *, watched: bool) -> Row:
        """Returns the 95 % interval of the window's WAF: the load generator's own where it has one, else from whole
        seconds.
        """
        if watched or waf is None:
            return around("waf", waf, half_width)
        return waf_bounds(self._host_bytes, self._media_bytes)


def _host_writes(ops: Sequence[OpResult]) -> int:
    return sum(op.bytes for op in ops if op.op in WRITES)


def _measured(op: OpResult, window_s: float) -> Row:
    """Returns the columns of one operation that points and streams share."""
    return {
        "iops": op.n / window_s if window_s else 0.0,
        "mbps": op.bytes / 1e6 / window_s if window_s else 0.0,
        **_latencies(op, PREFIXES["service"]),
        "max_us": op.max_us,
        "censored": op.censored,
        "censored_us": op.censored_us,
        "errors": op.errors,
        "failed_share": failed_share(op.n, op.errors),
        "window_s": window_s,
        "n": op.n,
    }


def _latencies(op: OpResult, prefix: str) -> Row:
    """Returns the mean and percentiles of one latency, us."""
    return {name: getattr(op, name) for name in (f"{prefix}mean_us", *(prefix + one for one in QUANTILES))}


def _number(value: object) -> float:
    return value if isinstance(value, float | int) else 0.0


def _limit_columns(limit: Limit | None) -> Row:
    return {"limited_by": limit.words if limit else None, "limit": limit.as_row() if limit else None}


def _is_whole(recording: Recording, op: OpResult) -> bool:
    """Returns whether the operation ran as asked: hardly any I/O failed, and none hangs."""
    return not (op.censored or is_withheld(failed_share(op.n, op.errors)) or not recording.window_s)


def _depth(jobs: Sequence[Job]) -> Row:
    """Returns the threads of all jobs, and their iodepth: None for several workloads or unequal parts."""
    depths = {None if job.streams else job.iodepth for job in jobs}
    return {
        "threads": sum(job.threads for job in jobs),
        "iodepth": depths.pop() if len(depths) == 1 else None,
    }
