"""The columns of a run's tables: the single definition of name, type, unit, meaning and pooling.

Schemas, rows of reports, headings of `--csv` and the tables of docs/reference/run-directory.md follow from it. A name
means the same in every table, so it has one `Column`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fathom.columns.column import Column, Rule, columns_of, schema_of
from fathom.statistics.censored import edge_of, is_lower_bound
from fathom.statistics.limits import Limit, limit_in
from fathom.statistics.percentiles import bounds_of

RUN_SCHEMA = "fathom-run/1"

SAME, SUM, COUNT, MEAN, LARGEST, LEAST = (
    Rule.SAME,
    Rule.SUM,
    Rule.COUNT,
    Rule.MEAN,
    Rule.LARGEST,
    Rule.LEAST,
)
COMPUTED, NULL = Rule.COMPUTED, Rule.NULL


def _key(meaning: str, *, operations: Rule = SAME, rounds: Rule = SAME) -> Column:
    """Returns what a row is of."""
    return Column("", meaning, SAME, operations, rounds, is_fact=True)


def _bound(unit: str, meaning: str, operations: Rule = COMPUTED) -> Column:
    """Returns an end of a 95 % interval: nothing follows from the ends of several rows."""
    return Column(unit, meaning, COMPUTED, operations, COMPUTED)


def _percentile(meaning: str) -> Column:
    """Returns a percentile, or an end of its interval, from histograms that are added up."""
    return Column("us", meaning, COMPUTED, COMPUTED, NULL)


TARGET = _key("what was measured; null in telemetry: the whole machine")
METHOD = _key("the method's name")
STEP = _key("the step's key", rounds=COMPUTED)
WORKLOAD = _key("the key by which results are compared")
STREAM = _key("the name of one of several workloads at once")
OP = _key("the operation", operations=COMPUTED)
PLACEMENT = _key("the placement handles of the stream: `1`, `0,2`")
KIND = _key("fill, purge, idle, precondition, measure, or point: a point of a curve")
BLOCK_BYTES = Column("B", "block size of the operation; null when it has several", SAME, SAME, SAME, True)
READ_PCT = Column("%", "share of reads in the mix", SAME, SAME, SAME, True)
THREADS = Column("", "submitting threads", SAME, SAME, SAME, True, bits=32)
IODEPTH = Column("", "outstanding I/O per thread", SAME, SAME, SAME, True, bits=32)
OFFERED_IOPS = Column("1/s", "open load: arrivals per second", MEAN, SAME, MEAN, True)
IOPS = Column("1/s", "mean over the window or the second", MEAN, SUM, COMPUTED)
IOPS_BOUND = _bound(
    "1/s",
    "95 % interval of the mean from the whole seconds, or the batches of a window that a "
    "[twin watched](../explanation/statistics.md#windows-in-virtual-time). "
    "Null for fewer than five, or where drift leaves less than one independent second. Reports leave it out where a "
    "replay keeps up with its trace, which then sets the rate",
)
MBPS = Column("MB/s", "mean over the window or the second", MEAN, SUM, COMPUTED)
MEAN_US = Column("us", "mean service latency, issue to completion", COMPUTED, COMPUTED, COMPUTED)
MEAN_BOUND = _bound(
    "us", "95 % interval of the mean, from the whole seconds weighted by their I/Os, or a twin's own"
)
PERCENTILE = _percentile(
    "service latency. The p99.999 (`p99999_us`) takes ten million I/Os; runs of versions before it have none"
)
PERCENTILE_BOUND = _percentile(
    "95 % interval of each percentile by its rank, from the independent I/Os of the seconds, or of the batches of a "
    "twin's window of less than 16 s. Null for fewer than five seconds, or too few independent I/Os"
)
MAX_US = Column("us", "largest service latency", LARGEST, LARGEST, LARGEST)
CENSORED = Column(
    "I/O",
    "I/O in flight at the end for longer than any that returned. It counts with its age in mean, percentiles, "
    "maximum and histograms, not in `n`; 0 or null: none",
    COUNT,
    COUNT,
    COUNT,
    is_fact=True,
)
CENSORED_US = Column(
    "us",
    "from here on [latencies are lower bounds](../explanation/statistics.md#percentiles), and the mean is one; "
    "null: none is",
    LEAST,
    LEAST,
    LEAST,
)
RESPONSE_MEAN_US = Column(
    "us", "open load: mean response latency, intended start to completion", COMPUTED, COMPUTED, NULL
)
RESPONSE_PERCENTILE = _percentile("open load: response latency, intended start to completion")
RESPONSE_BOUND = _percentile(
    "open load: 95 % intervals by the same rules. An unsustained point's response latency grows with the window: its "
    "interval holds for this window alone"
)
ERRORS = Column("I/O", "failed I/O, not in the latencies", SUM, SUM, SUM, is_fact=True)
FAILED_SHARE = Column(
    "0..1",
    "errors / (n + errors). [Above 0.001](../explanation/statistics.md#percentiles) reports mark the row; above 0.01 "
    "reports, `--json` and `--csv` leave its figures out",
    LARGEST,
    LARGEST,
    LARGEST,
    is_fact=True,
)
WAF = Column(
    "1",
    "media bytes written / host bytes written over the window, all operations of the step. A twin counts them; a real "
    "drive by its FDP log (22h), or the OCP log (C0h) with SMART. Null where it has neither, and where all "
    "writes still wait in a buffer",
    MEAN,
    SAME,
    COMPUTED,
)
WAF_BOUND = _bound("1", "95 % interval of the WAF, by the same rules as of the rate", operations=SAME)
JOULES = Column(
    "J",
    "energy of the device over the window. A twin's own; of a real drive its mean sampled power times the window, or "
    "what a [power meter](../how-to/power.md) measured; null where there is neither",
    SUM,
    SAME,
    SUM,
)
JOULES_BOUND = Column(
    "J", "95 % interval of a window that a twin watched; reports have that of mean power", NULL, SAME, NULL
)
OUTSTANDING = Column("I/O", "mean I/O in flight", MEAN, SAME, MEAN)
BACKLOG = Column(
    "I/O",
    "open load: requests arrived and not issued at the end of the window or the second. It and `offered_iops` are "
    "lower bounds where a note says that arrivals were not counted",
    SUM,
    SAME,
    SUM,
)
LIMITED_BY = Column(
    "",
    "what bound the rate: a saturated resource, what I/O waited for longest, or the load (outstanding I/O, offered "
    "rate, think time). Real targets: `target or outstanding I/O`, a limit of the control group, or the client's CPU "
    "([the rule](../explanation/ssd-twin.md#what-limits))",
    Rule.COMMONEST,
    SAME,
    Rule.COMMONEST,
)
LIMIT = Column(
    "",
    "what bound the rate, as values. `kind`: saturated, queue, offered-rate, outstanding-io, target-or-outstanding-io, "
    "think-time, target-or-think-time or target-or-io-limit. `resource` and `next`, the busiest other one: mean and "
    "busiest share, 0..1. `waiting`: I/Os that wait for it. `amount`: the offered rate in 1/s, or the mean in flight. "
    'Null in runs of earlier versions, which have the words alone. SQL: `points."limit".kind`',
    Rule.COMMONEST,
    SAME,
    Rule.COMMONEST,
)
STEADY = Column(
    "",
    "whether the precondition of this workload reached steady state; null: there was none, or a quick run",
    Rule.ALL,
    SAME,
    NULL,
    is_fact=True,
)
WINDOW_S = Column("s", "length of the window", SUM, SAME, SUM, is_fact=True)
N = Column("I/O", "I/Os in the window or the second", SUM, SUM, SUM, is_fact=True)
MEMBER = Column(
    "", "number of the parameter set in the ensemble of the twin's device, from 1", SAME, SAME, SAME, bits=32
)
PHASE = Column("", "0-based stretch of a replayed trace; null: all of it", SAME, SAME, SAME, bits=32)
RECORDED_START_S = Column("s", "from the trace's first I/O, at its own speed", SAME, SAME, SAME)
RECORDED_LENGTH_S = Column("s", "length at the trace's own speed", SAME, SAME, SAME)
RECORDED_N = Column("I/O", "I/Os of the trace that a replay issues", SAME, SUM, SUM, is_fact=True)
RECORDED_IOPS = Column("1/s", "rate in the trace, at its own speed", SAME, SUM, COMPUTED)
RECORDED_MEAN_US = Column("us", "mean latency in the trace", SAME, COMPUTED, COMPUTED)
RECORDED_PERCENTILE = Column("us", "latency in the trace", SAME, COMPUTED, NULL)
AT_BLOCK_LAYER = Column(
    "",
    "whether recorded latencies were taken in the kernel's block layer, where the load generator is not; null: there "
    "are none, or the trace does not show where",
    SAME,
    SAME,
    SAME,
    is_fact=True,
)
INDEX = Column("", "0-based second of the step; null: the whole step", SAME, SAME, SAME, bits=32)
START_S = Column("s", "from the start of the step", SAME, SAME, SAME)
LENGTH_S = Column("s", "length", SAME, SAME, SAME)
BYTES = Column("B", "bytes moved in the second", SUM, SUM, SUM)
OFFERED = Column("I/O", "open load: arrivals in the second", SUM, SAME, SUM)
LATENCY_KIND = _key("`service` or `response`")
EDGE_NS = Column("ns", "an I/O of the bin took at least `low_ns` and less than `high_ns`", SAME, SAME, SAME)
BIN_COUNT = Column("I/O", "I/Os in the bin", SUM, SUM, SUM)
READING_NAME = _key("what was read, listed below")
READING = Column("", "its value in `unit`; bytes and joules add up, all else is a mean", NULL, NULL, NULL)
READING_UNIT = _key("the unit of `value`")

Percentile = Annotated[float | None, PERCENTILE]
PercentileBound = Annotated[float | None, PERCENTILE_BOUND]
ResponsePercentile = Annotated[float | None, RESPONSE_PERCENTILE]
ResponseBound = Annotated[float | None, RESPONSE_BOUND]


@dataclass(frozen=True)
class _Latencies:
    """What points and streams have of service latency."""

    mean_us: Annotated[float | None, MEAN_US]
    mean_low_us: Annotated[float | None, MEAN_BOUND]
    mean_high_us: Annotated[float | None, MEAN_BOUND]
    p50_us: Percentile
    p50_low_us: PercentileBound
    p50_high_us: PercentileBound
    p95_us: Percentile
    p95_low_us: PercentileBound
    p95_high_us: PercentileBound
    p99_us: Percentile
    p99_low_us: PercentileBound
    p99_high_us: PercentileBound
    p999_us: Percentile
    p999_low_us: PercentileBound
    p999_high_us: PercentileBound
    p9999_us: Percentile
    p9999_low_us: PercentileBound
    p9999_high_us: PercentileBound
    p99999_us: Percentile
    p99999_low_us: PercentileBound
    p99999_high_us: PercentileBound
    max_us: Annotated[float | None, MAX_US]
    censored: Annotated[int | None, CENSORED]
    censored_us: Annotated[float | None, CENSORED_US]

    def interval(self, name: str) -> tuple[float, float] | None:
        """Returns the 95 % interval of a figure by its column; None where there is none."""
        low, high = (getattr(self, bound) for bound in bounds_of(name))
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class _PointRates:
    """What a point is of, and its rates: the columns before its latencies."""

    target: Annotated[str, TARGET]
    method: Annotated[str, METHOD]
    step: Annotated[str, STEP]
    workload: Annotated[str, WORKLOAD]
    op: Annotated[str, OP]
    block_bytes: Annotated[int | None, BLOCK_BYTES]
    read_pct: Annotated[float | None, READ_PCT]
    threads: Annotated[int | None, THREADS]
    iodepth: Annotated[int | None, IODEPTH]
    offered_iops: Annotated[float | None, OFFERED_IOPS]
    iops: Annotated[float | None, IOPS]
    iops_low: Annotated[float | None, IOPS_BOUND]
    iops_high: Annotated[float | None, IOPS_BOUND]
    mbps: Annotated[float | None, MBPS]


@dataclass(frozen=True)
class Point(_Latencies, _PointRates):
    """A row of points: one (target, measured step or point of a curve, workload, operation)."""

    response_mean_us: Annotated[float | None, RESPONSE_MEAN_US]
    response_mean_low_us: ResponseBound
    response_mean_high_us: ResponseBound
    response_p50_us: ResponsePercentile
    response_p50_low_us: ResponseBound
    response_p50_high_us: ResponseBound
    response_p95_us: ResponsePercentile
    response_p95_low_us: ResponseBound
    response_p95_high_us: ResponseBound
    response_p99_us: ResponsePercentile
    response_p99_low_us: ResponseBound
    response_p99_high_us: ResponseBound
    response_p999_us: ResponsePercentile
    response_p999_low_us: ResponseBound
    response_p999_high_us: ResponseBound
    response_p9999_us: ResponsePercentile
    response_p9999_low_us: ResponseBound
    response_p9999_high_us: ResponseBound
    response_p99999_us: ResponsePercentile
    response_p99999_low_us: ResponseBound
    response_p99999_high_us: ResponseBound
    response_censored_us: Annotated[float | None, CENSORED_US]
    errors: Annotated[int | None, ERRORS]
    failed_share: Annotated[float | None, FAILED_SHARE]
    waf: Annotated[float | None, WAF]
    waf_low: Annotated[float | None, WAF_BOUND]
    waf_high: Annotated[float | None, WAF_BOUND]
    joules: Annotated[float | None, JOULES]
    joules_low: Annotated[float | None, JOULES_BOUND]
    joules_high: Annotated[float | None, JOULES_BOUND]
    outstanding: Annotated[float | None, OUTSTANDING]
    backlog: Annotated[int | None, BACKLOG]
    limited_by: Annotated[str | None, LIMITED_BY]
    limit: Annotated[Limit | None, LIMIT]
    steady: Annotated[bool | None, STEADY]
    window_s: Annotated[float | None, WINDOW_S]
    n: Annotated[int | None, N]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Point":
        """Returns a row that was read; in a run of an earlier version, words are all that its limit has."""
        return cls(**{**values, "limit": limit_in(values)})

    def as_row(self) -> dict[str, object]:
        """Returns the values of the columns, in order, as Parquet and JSON have them."""
        values: dict[str, object] = dict(vars(self))
        return values | {"limit": self.limit.as_row() if self.limit else None}

    def is_lower_bound(self, name: str) -> bool:
        """Returns whether a latency, by its column, is only known to be at least that long."""
        return is_lower_bound(name, getattr(self, name), getattr(self, edge_of(name)))


@dataclass(frozen=True)
class _StreamRates:
    """What a stream's row is of, and its rates: the columns before its latencies."""

    target: Annotated[str, TARGET]
    step: Annotated[str, STEP]
    workload: Annotated[str, WORKLOAD]
    stream: Annotated[str, STREAM]
    op: Annotated[str, OP]
    placement: Annotated[str | None, PLACEMENT]
    block_bytes: Annotated[int | None, BLOCK_BYTES]
    threads: Annotated[int | None, THREADS]
    iodepth: Annotated[int | None, IODEPTH]
    iops: Annotated[float, IOPS]
    iops_low: Annotated[float | None, IOPS_BOUND]
    iops_high: Annotated[float | None, IOPS_BOUND]
    mbps: Annotated[float, MBPS]


@dataclass(frozen=True)
class Stream(_Latencies, _StreamRates):
    """A row of streams: one (target, measured step, stream, operation) of several workloads at once."""

    errors: Annotated[int, ERRORS]
    failed_share: Annotated[float | None, FAILED_SHARE]
    window_s: Annotated[float, WINDOW_S]
    n: Annotated[int, N]


@dataclass(frozen=True)
class PhaseOfOp:
    """A row of phases: one (target, measured step, stream, phase, operation) of a trace that is replayed once."""

    target: Annotated[str, TARGET]
    step: Annotated[str, STEP]
    workload: Annotated[str, WORKLOAD]
    stream: Annotated[str | None, STREAM]
    phase: Annotated[int | None, PHASE]
    op: Annotated[str, OP]
    recorded_start_s: Annotated[float, RECORDED_START_S]
    recorded_length_s: Annotated[float, RECORDED_LENGTH_S]
    recorded_n: Annotated[int, RECORDED_N]
    recorded_iops: Annotated[float | None, RECORDED_IOPS]
    recorded_mean_us: Annotated[float | None, RECORDED_MEAN_US]
    recorded_p50_us: Annotated[float | None, RECORDED_PERCENTILE]
    recorded_p99_us: Annotated[float | None, RECORDED_PERCENTILE]
    recorded_p999_us: Annotated[float | None, RECORDED_PERCENTILE]
    at_block_layer: Annotated[bool | None, AT_BLOCK_LAYER]
    start_s: Annotated[float | None, START_S]
    length_s: Annotated[float | None, LENGTH_S]
    n: Annotated[int | None, N]
    iops: Annotated[float | None, IOPS]
    mean_us: Annotated[float | None, MEAN_US]
    p50_us: Percentile
    p99_us: Percentile
    p999_us: Percentile


@dataclass(frozen=True)
class MemberOfOp:
    """A row of ensemble: one (target, member, measured step, operation) of a twin with a member's parameters."""

    target: Annotated[str, TARGET]
    member: Annotated[int, MEMBER]
    step: Annotated[str, STEP]
    workload: Annotated[str, WORKLOAD]
    op: Annotated[str, OP]
    iops: Annotated[float | None, IOPS]
    mbps: Annotated[float | None, MBPS]
    mean_us: Annotated[float | None, MEAN_US]
    p50_us: Percentile
    p99_us: Percentile
    p999_us: Percentile
    waf: Annotated[float | None, WAF]
    joules: Annotated[float | None, JOULES]
    window_s: Annotated[float | None, WINDOW_S]
    n: Annotated[int, N]


@dataclass(frozen=True)
class SecondOfOp:
    """A row of intervals: one (target, step, operation, second), every kind of step."""

    target: Annotated[str, TARGET]
    step: Annotated[str, STEP]
    kind: Annotated[str, KIND]
    workload: Annotated[str, WORKLOAD]
    op: Annotated[str, OP]
    index: Annotated[int, INDEX]
    start_s: Annotated[float, START_S]
    length_s: Annotated[float, LENGTH_S]
    n: Annotated[int, N]
    bytes: Annotated[int | None, BYTES]
    errors: Annotated[int | None, ERRORS]
    iops: Annotated[float, IOPS]
    mbps: Annotated[float | None, MBPS]
    mean_us: Annotated[float | None, MEAN_US]
    p50_us: Percentile
    p99_us: Percentile
    max_us: Annotated[float | None, MAX_US]
    offered: Annotated[int | None, OFFERED]
    backlog: Annotated[int | None, BACKLOG]


@dataclass(frozen=True)
class Bin:
    """A row of latency: one occupied histogram bin of one second."""

    target: Annotated[str, TARGET]
    step: Annotated[str, STEP]
    workload: Annotated[str, WORKLOAD]
    op: Annotated[str, OP]
    latency: Annotated[str, LATENCY_KIND]
    index: Annotated[int | None, INDEX]
    low_ns: Annotated[int, EDGE_NS]
    high_ns: Annotated[int, EDGE_NS]
    count: Annotated[int, BIN_COUNT]
    censored: Annotated[int | None, CENSORED]


@dataclass(frozen=True)
class Reading:
    """A row of telemetry: one named value of one target over one stretch of time."""

    target: Annotated[str | None, TARGET]
    step: Annotated[str, STEP]
    start_s: Annotated[float, START_S]
    length_s: Annotated[float, LENGTH_S]
    name: Annotated[str, READING_NAME]
    value: Annotated[float, READING]
    unit: Annotated[str, READING_UNIT]


ROWS: dict[str, type] = {
    "points": Point,
    "streams": Stream,
    "phases": PhaseOfOp,
    "ensemble": MemberOfOp,
    "intervals": SecondOfOp,
    "latency": Bin,
    "telemetry": Reading,
}
TABLES = {name: schema_of(row) for name, row in ROWS.items()}
POINTS, STREAMS, PHASES, ENSEMBLE, INTERVALS, LATENCY, TELEMETRY = TABLES.values()

CSV_NAMES = [name for name, one in columns_of(Point).items() if not one.is_struct]
"""Columns of points that CSV has: a struct is beside a column with its words."""

SPARSE = frozenset({"streams", "phases", "ensemble"})
"""Tables that a step has only where there are rows."""
ADDED = frozenset({"ensemble"})
"""Tables that a run is given after it has ended, if at all. Its steps have none of their rows."""
