"""From what a backend returns to rows of the run's tables. Column meanings are those of `fathom.runs.schema`."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from fathom import _core
from fathom._core import OpBins, OpHalfWidths, OpResult, Recording
from fathom.method.method import Job, Step
from fathom.runs.schema import TABLES
from fathom.runs.spool import Spool
from fathom.statistics.censored import edge_of, is_lower_bound
from fathom.statistics.failed import failed_share, is_withheld
from fathom.statistics.limits import Limit, limit_in, limit_of, with_client, with_think_time
from fathom.statistics.percentiles import PREFIXES, Histogram, OpLatency, Parts, bounds_of, intervals_us
from fathom.statistics.uncertainty import (
    LEAST_SAMPLES,
    Interval,
    latency_interval,
    mean_interval,
    ratio_interval,
)

Row = dict[str, object]

#: Unit of each counter that a backend may report.
COUNTER_UNITS = {
    "media_read_bytes": "B",
    "media_write_bytes": "B",
    "media_erase_bytes": "B",
    "joules": "J",
    "throttled_ns": "ns",
    "temperature_c": "C",
    "wear_pct": "%",
    "unmapped_reads": "I/O",
    "cpu_user_ns": "ns",
    "cpu_sys_ns": "ns",
}

#: What differs from bin to bin of one second's latency, and from value to value of its telemetry.
BIN_COLUMNS = ("low_ns", "high_ns", "count")
CENSORED_COLUMNS = (*BIN_COLUMNS, "censored")
VALUE_COLUMNS = ("name", "value", "unit")


@dataclass
class StepRows:
    """The rows of one step on one target, growing interval by interval, kept in `scratch`.

    Where the backend has parts (hosts, drives), `parts` are theirs in its order: an interval of target 0 is of the
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
        self._host_bytes, self._media_bytes = array("d"), array("d")
        self._last_index: int | None = None

    def tables(self) -> Mapping[str, Sequence[Row] | Spool]:
        """Rows by table name, those of the parts behind the target's own. Nothing can be added afterwards.

        Only now the intervals of percentiles are known: they take a second look at every second.
        """
        for part in self.parts:
            self.intervals.pour(part.intervals)
            self._load.latency.pour(part._load.latency)
            self.telemetry.pour(part.telemetry)
        self._bound_percentiles()
        return {
            "points": [row for rows in (self, *self.parts) for row in rows.points],
            "streams": [row for rows in (self, *self.parts) for row in rows.streams],
            "intervals": self.intervals,
            "latency": self._load.latency,
            "telemetry": self.telemetry,
        }

    def add(self, interval: _core.Interval) -> None:
        """Takes one second in."""
        self._of(interval)._add(interval)

    def of(self, interval: _core.Interval) -> dict[str, list[Row]]:
        """One second's rows by table."""
        return self._of(interval)._rows(interval)

    def _of(self, interval: _core.Interval) -> "StepRows":
        return self.parts[interval.target - 1] if interval.target else self

    def _add(self, interval: _core.Interval) -> None:
        common, ops = self._common(), interval.ops
        self.intervals += [self._interval_row(common, interval, op) for op in ops]
        _add_columns(self.telemetry, *self._telemetry(interval), VALUE_COLUMNS)
        whole_second = interval.length_s == 1.0
        self._last_index = interval.index if self.each_second else None
        self._load.add(common, interval.index, ops, whole_second=whole_second)
        if self._is_measured and self._streams:
            for name, own in interval.streams.items():
                self._streams[name].add(common, interval.index, own, whole_second=whole_second)
        media = interval.counters.get("media_write_bytes")
        if whole_second and media is not None:
            self._host_bytes.append(_host_writes(ops))
            self._media_bytes.append(media)

    def _rows(self, interval: _core.Interval) -> dict[str, list[Row]]:
        common, ops = self._common(), interval.ops
        of_values, values = self._telemetry(interval)
        return {
            "intervals": [self._interval_row(common, interval, op) for op in ops],
            "latency": [
                of_bins | dict(zip(BIN_COLUMNS, bin, strict=True))
                for op in ops
                if self.each_second
                for of_bins, bins in _latency(common, interval.index, op)
                for bin in bins
            ],
            "telemetry": [of_values | dict(zip(VALUE_COLUMNS, value, strict=True)) for value in values],
        }

    def _common(self) -> Row:
        return {"target": self.target, "step": self.step.name, "workload": self.step.workload}

    def finish(self, recordings: Sequence[Recording], method: str, steady: bool | None) -> None:
        """Takes the recordings of the target and of its parts; measured steps and points of curves become points."""
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
        self._load.keep(recording.ops, [batch.ops for batch in recording.batches])
        for name, job in self.step.job.streams.items():
            own = recording.streams.get(name, [])
            for op in own:
                self.streams.append(self._stream(recording, name, job, op))
            self._streams[name].keep(own, [batch.streams.get(name, []) for batch in recording.batches])

    @property
    def _is_measured(self) -> bool:
        return self.step.kind in ("measure", "point")

    def _bound_percentiles(self) -> None:
        self._load.bound(self.points)
        for name, load in self._streams.items():
            load.bound([row for row in self.streams if row["stream"] == name])

    def _new_load(self) -> "_Load":
        return _Load(self.target, each_second=self.each_second, scratch=self.scratch)

    def take_telemetry(self, rows: Sequence[Row]) -> None:
        """Takes what was sampled beside the backend.

        Points name a client without processor time left as their limit. They get their WAF where a drive counts its
        media writes, and their joules where it has a power sensor; those of several drives where each of them has.
        """
        self.telemetry += rows
        for one in (self, *self.parts):
            one._take_sums(rows)
            one._take_client(rows)

    def _take_sums(self, rows: Sequence[Row]) -> None:
        host, _ = self._sampled(rows, "host_write_bytes")
        media, _ = self._sampled(rows, "media_write_bytes")
        joules, seconds = self._sampled(rows, "joules")
        for point in self.points:
            if host and point["waf"] is None:
                point["waf"] = media / host
                point |= _waf_bounds(*self._sampled_together(rows))
            if seconds and point["joules"] is None and isinstance(window_s := point["window_s"], float):
                point["joules"] = joules / seconds * window_s

    def _take_client(self, rows: Sequence[Row]) -> None:
        """A host of a fleet samples for its part, a machine alone for all that it loads."""
        busy_pct = [
            (cast("float", row["value"]), cast("float", row["length_s"]))
            for row in rows
            if row["name"] == "cpu_busy" and row["target"] in (None, self.target)
        ]
        seconds = sum(length_s for _, length_s in busy_pct)
        if seconds:
            mean_pct = sum(value * length_s for value, length_s in busy_pct) / seconds
            for point in self.points:
                point |= _limit_cells(with_client(limit_in(point), mean_pct))

    def _sampled(self, rows: Sequence[Row], name: str) -> tuple[float, float]:
        """Sum of a value of this target, or of all its parts, and of the seconds over which it was sampled."""
        own = [row for row in rows if row["target"] == self.target and row["name"] == name]
        if not own and self.parts:
            each = [part._sampled(rows, name) for part in self.parts]
            lengths_s = [seconds for _, seconds in each]
            return (sum(value for value, _ in each), max(lengths_s)) if all(lengths_s) else (0.0, 0.0)
        values, lengths = ([cast("float", row[key]) for row in own] for key in ("value", "length_s"))
        return sum(values), sum(lengths)

    def _sampled_together(self, rows: Sequence[Row]) -> tuple[list[float], list[float]]:
        """Bytes that the host and the media of this target wrote in each sample that has both."""
        host, media = (
            {
                row["start_s"]: cast("float", row["value"])
                for row in rows
                if row["target"] == self.target and row["name"] == name
            }
            for name in ("host_write_bytes", "media_write_bytes")
        )
        both = [start_s for start_s in host if start_s in media]
        return [host[start_s] for start_s in both], [media[start_s] for start_s in both]

    def _interval_row(self, common: Row, interval: _core.Interval, op: OpResult) -> Row:
        seconds = interval.length_s
        return common | {
            "kind": self.step.kind,
            "op": op.op,
            "index": interval.index,
            "start_s": interval.start_s,
            "length_s": seconds,
            "n": op.n,
            "bytes": op.bytes,
            "errors": op.errors,
            "iops": op.n / seconds,
            "mbps": op.bytes / 1e6 / seconds,
            "mean_us": op.mean_us,
            "p50_us": op.p50_us,
            "p99_us": op.p99_us,
            "max_us": op.max_us,
            "offered": interval.offered,
            "backlog": interval.backlog,
        }

    def _telemetry(self, interval: _core.Interval) -> tuple[Row, list[tuple[str, float, str]]]:
        """What the second's values have in common, and of each `VALUE_COLUMNS`."""
        common: Row = {
            "target": self.target,
            "step": self.step.name,
            "start_s": interval.start_s,
            "length_s": interval.length_s,
        }
        values = [(name, value, COUNTER_UNITS[name]) for name, value in interval.counters.items()]
        if interval.outstanding is not None:
            values.append(("outstanding", interval.outstanding, "I/O"))
        for use in interval.utilisation:
            values.append((f"utilisation: {use.resource}", use.mean, "1"))
            if use.waiting:
                values.append((f"waiting for: {use.resource}", use.waiting, "I/O"))
        values += [(f"time in: {part}", mean_us, "us") for part, mean_us in interval.residence_us.items()]
        for group, member, n, mean_us, written in interval.shares:
            values.append((f"iops of: {group} {member}", n / interval.length_s, "IOPS"))
            if mean_us is not None:
                values.append((f"mean of: {group} {member}", mean_us, "us"))
            if written is not None:
                host, media = written
                values.append((f"host writes of: {group} {member}", host, "B"))
                values.append((f"media writes of: {group} {member}", media, "B"))
        return common, values

    def _point(self, recording: Recording, op: OpResult, method: str, steady: bool | None) -> Row:
        job, window_s = self.step.job, recording.window_s
        counters = recording.counters
        host_writes = _host_writes(recording.ops)
        media_writes = counters.get("media_write_bytes")
        waf = media_writes / host_writes if media_writes is not None and host_writes else None
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
            "response_mean_us": op.response_mean_us,
            "response_p50_us": op.response_p50_us,
            "response_p95_us": op.response_p95_us,
            "response_p99_us": op.response_p99_us,
            "response_p999_us": op.response_p999_us,
            "response_p9999_us": op.response_p9999_us,
            "response_p99999_us": op.response_p99999_us,
            "response_censored_us": op.response_censored_us,
            "waf": waf,
            **self._waf_interval(waf, known.waf if known else None, watched=known is not None),
            "joules": counters.get("joules"),
            **_around("joules", counters.get("joules"), known.joules if known else None),
            "outstanding": recording.outstanding,
            "backlog": recording.backlog,
            **_limit_cells(self._limit(recording) if _is_whole(recording, op) else None),
            "steady": steady,
        }

    def _limit(self, recording: Recording) -> Limit | None:
        """What set the throughput; under the interactive response time law, think time where it outlasts the I/O."""
        jobs = [own for job in self._jobs() for own in job.streams.values() or (job,)]
        asked = sum(job.threads * job.iodepth for job in jobs)
        pauses = all(job.thinks for job in jobs) and (recording.outstanding or 0.0) < asked / 2
        limit = limit_of(recording)
        return with_think_time(limit) if pauses else limit

    def _jobs(self) -> list[Job]:
        """What the parts do; without parts the job itself."""
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
            **_depth([part.streams[name] for part in self._jobs()]),
            **_measured(op, window_s),
            **self._streams[name].bounds(op, window_s, own.get(op.op) if own else None),
        }

    def _waf_interval(self, waf: float | None, half_width: float | None, *, watched: bool) -> Row:
        """95 % interval of the window's WAF: the load generator's where it watched, else that of the whole seconds."""
        if watched or waf is None:
            return _around("waf", waf, half_width)
        return _waf_bounds(self._host_bytes, self._media_bytes)


def _limit_cells(limit: Limit | None) -> Row:
    return {"limited_by": limit.words if limit else None, "limit": limit.as_row() if limit else None}


class _Load:
    """What is kept of the seconds of a load, a whole target's or one of its streams', to bound the window's figures."""

    def __init__(self, target: str, *, each_second: bool, scratch: Path | None) -> None:
        self.latency = Spool(TABLES["latency"], scratch)
        self._batches: dict[OpLatency, Parts] = {}
        self._target = target
        self._each_second = each_second
        self._seconds: dict[str, _Seconds] = {}
        self._whole: dict[OpLatency, Histogram] = {}

    def add(self, common: Row, index: int, ops: Sequence[OpResult], *, whole_second: bool) -> None:
        """Takes in what was done from one cut to the next."""
        if self._each_second:
            self.add_latency(common, index, ops)
        if whole_second:
            for op in ops:
                self._seconds.setdefault(op.op, _Seconds()).add(op)

    def add_latency(self, common: Row, index: int | None, ops: Sequence[OpResult]) -> None:
        """Takes in the histograms of a second, or of no second but the whole step."""
        _add_latency(self.latency, common, index, ops)

    def add_censored(self, common: Row, index: int | None, ops: Sequence[OpResult]) -> None:
        """Takes in the ages of I/O that was in flight at the end, with the last second or the whole step."""
        for op in ops:
            for kind, bins in _censored_bins(op):
                rows = [(*one, one[-1]) for one in bins]
                _add_columns(
                    self.latency,
                    common | {"op": op.op, "latency": kind, "index": index},
                    rows,
                    CENSORED_COLUMNS,
                )

    def keep(self, ops: Sequence[OpResult], batches: Sequence[Sequence[OpBins]]) -> None:
        """Keeps the histograms of a window, where equally long parts enough have theirs to bound its percentiles: the
        load generator's batches, else whole seconds.
        """
        bins: dict[OpLatency, list[tuple[int, int, int, int]]] = {}
        for index, batch in enumerate(batches):
            for op in batch:
                for kind, own in _bins(op):
                    bins.setdefault((op.op, kind), []).extend((index, *one) for one in own)
        for op in ops:
            parts = len(batches) or (len(self._seconds_of(op)) if self._each_second else 0)
            if op.n and parts >= LEAST_SAMPLES:
                late = dict(_censored_bins(op))
                for kind, own in _bins(op):
                    self._whole[op.op, kind] = Histogram.of(*zip(*own, *late.get(kind, ()), strict=True))
        self._batches = {key: Parts.of(bins[key]) for key in self._whole if key in bins}

    def bounds(self, op: OpResult, window_s: float, known: OpHalfWidths | None) -> Row:
        """95 % intervals of an operation's rate and mean latencies: the load generator's own where it watched, else
        those of the whole seconds. None where there are too few to tell, or they drift.
        """
        seconds = self._seconds_of(op)
        iops = op.n / window_s if window_s else 0.0
        service, response = (known.mean_latency, known.mean_response) if known else (None, None)
        rate = (
            (_from_zero(iops * (1 - known.rate)), iops * (1 + known.rate))
            if known and window_s
            else _ends(mean_interval(seconds.n))
        )
        found = {
            "iops": rate,
            "mean_us": _mean_interval(op.mean_us, service, seconds.mean_us, seconds.n),
            "response_mean_us": _mean_interval(op.response_mean_us, response, seconds.response_us, seconds.n),
        }
        # An interval around a lower bound would say that its upper end is known.
        unknown = [name for name in found if name != "iops" and op.censored]
        return {
            column: bound
            for name, pair in found.items()
            for column, bound in _bounds(name, (None, None) if name in unknown else pair).items()
        }

    def bound(self, rows: Sequence[Row]) -> None:
        """Puts the intervals of percentiles into the window's rows."""
        if not self._whole:
            return
        seconds = (Parts.of_table(table, self._target, self._whole) for table in self.latency.tables())
        found = intervals_us([self._batches] if self._batches else seconds, self._whole)
        for row in rows:
            for kind, prefix in PREFIXES.items():
                for name, pair in found.get((str(row["op"]), kind), {}).items():
                    column = prefix + name
                    _, high = pair
                    edge = cast("float | None", row.get(edge_of(column)))
                    if not is_lower_bound(column, high, edge):
                        row.update(_bounds(column, pair))

    def _seconds_of(self, op: OpResult) -> "_Seconds":
        return self._seconds.get(op.op, _Seconds())


class _Seconds:
    """I/Os of one operation in each whole second, and their mean latencies in us; response only of an open load."""

    def __init__(self) -> None:
        self.n = array("d")
        self.mean_us = array("d")
        self.response_us = array("d")

    def __len__(self) -> int:
        return len(self.n)

    def add(self, op: OpResult) -> None:
        """Takes a second in."""
        self.n.append(op.n)
        self.mean_us.append(op.mean_us or 0.0)
        self.response_us.append(op.response_mean_us or 0.0)


def _host_writes(ops: Sequence[OpResult]) -> int:
    return sum(op.bytes for op in ops if op.op in ("write", "append"))


def _waf_bounds(host: Sequence[float], media: Sequence[float]) -> Row:
    """From the bytes of equally long stretches; nothing where there are too few to tell, or they drift."""
    over = ratio_interval(media, host)
    return _bounds("waf", (over.low, over.high)) if over else {}


def _around(name: str, value: float | None, half_width: float | None) -> Row:
    """The bounds of a figure that the load generator knows to a fraction of it."""
    if value is None or half_width is None:
        return {}
    return _bounds(name, (_from_zero(value * (1 - half_width)), value * (1 + half_width)))


def _bounds(name: str, pair: tuple[float | None, float | None]) -> Row:
    return dict(zip(bounds_of(name), pair, strict=True))


def _mean_interval(
    mean_us: float | None, half_width: float | None, means_us: Sequence[float], counts: Sequence[float]
) -> tuple[float | None, float | None]:
    """From the load generator's half-width, a fraction, else from each whole second's mean and I/Os. None where there
    are too few to tell.
    """
    if mean_us is None:
        return None, None
    if half_width is not None:
        return _from_zero(mean_us * (1 - half_width)), mean_us * (1 + half_width)
    return _ends(latency_interval(means_us, counts))


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (_from_zero(interval.low), interval.high)


def _from_zero(bound: float) -> float:
    """No rate and no latency is below 0, however wide the interval: to cut it there costs no coverage."""
    return max(0.0, bound)


def _measured(op: OpResult, window_s: float) -> Row:
    """What one operation did in the window, as points and streams both have it."""
    return {
        "iops": op.n / window_s if window_s else 0.0,
        "mbps": op.bytes / 1e6 / window_s if window_s else 0.0,
        "mean_us": op.mean_us,
        "p50_us": op.p50_us,
        "p95_us": op.p95_us,
        "p99_us": op.p99_us,
        "p999_us": op.p999_us,
        "p9999_us": op.p9999_us,
        "p99999_us": op.p99999_us,
        "max_us": op.max_us,
        "censored": op.censored,
        "censored_us": op.censored_us,
        "errors": op.errors,
        "failed_share": failed_share(op.n, op.errors),
        "window_s": window_s,
        "n": op.n,
    }


def _is_whole(recording: Recording, op: OpResult) -> bool:
    """Whether what an operation did is what was asked for: hardly any of it failed, and none of it stands still."""
    return not (op.censored or is_withheld(failed_share(op.n, op.errors)) or not recording.window_s)


def _depth(jobs: Sequence[Job]) -> Row:
    """Threads of all together, and the iodepth that they share; of several workloads, or of unequal parts, none."""
    depths = {None if job.streams else job.iodepth for job in jobs}
    return {
        "threads": sum(job.threads for job in jobs),
        "iodepth": depths.pop() if len(depths) == 1 else None,
    }


def _add_columns(
    spool: Spool, common: Row, rows: Sequence[tuple[object, ...]], names: tuple[str, ...]
) -> None:
    if rows:
        spool.add_columns(common, dict(zip(names, zip(*rows, strict=True), strict=True)))


def _add_latency(
    spool: Spool, common: Row, index: int | None, ops: Iterable[OpResult] | Iterable[OpBins]
) -> None:
    for op in ops:
        for of_bins, bins in _latency(common, index, op):
            _add_columns(spool, of_bins, bins, BIN_COLUMNS)


def _latency(
    common: Row, index: int | None, op: OpResult | OpBins
) -> Iterable[tuple[Row, list[tuple[int, int, int]]]]:
    """What the bins of each latency that was counted have in common, and the bins."""
    for kind, bins in _bins(op):
        yield common | {"op": op.op, "latency": kind, "index": index}, bins


def _bins(op: OpResult | OpBins) -> Iterable[tuple[str, list[tuple[int, int, int]]]]:
    """The occupied bins of each latency that was counted."""
    found = (("service", op.service_bins), ("response", op.response_bins))
    return [(kind, bins) for kind, bins in found if bins]


def _censored_bins(op: OpResult) -> Iterable[tuple[str, list[tuple[int, int, int]]]]:
    """The same of I/O that was in flight at the end for longer than any that returned."""
    found = (("service", op.censored_service_bins), ("response", op.censored_response_bins))
    return [(kind, bins) for kind, bins in found if bins]
