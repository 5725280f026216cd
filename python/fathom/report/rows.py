"""The plain values that a report is made of: rows of a run's tables, and what is summed up from them by step."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from fathom.statistics.censored import edge_of, is_lower_bound
from fathom.statistics.failed import is_withheld
from fathom.statistics.percentiles import bounds_of


@dataclass(frozen=True)
class Share:
    """What one host, port, drive or namespace had of a step: `n` I/O of `mean_us` each.

    `written` are (start in s, bytes it wrote, bytes programmed for it) of each interval in which it wrote; empty where
    that is not counted.
    """

    member: int
    n: float
    window_s: float
    mean_us: float | None
    written: Sequence[tuple[float, float, float]]

    @property
    def waf(self) -> float | None:
        """Bytes programmed per byte written."""
        host = sum(bytes_ for _, bytes_, _ in self.written)
        return sum(media for _, _, media in self.written) / host if host else None

    @property
    def iops(self) -> float:
        """I/O per second."""
        return self.n / self.window_s


@dataclass(frozen=True)
class Point:
    """A row of points.parquet; units are the last part of each name, None where it does not apply."""

    target: str
    method: str
    step: str
    workload: str
    op: str
    block_bytes: int | None
    read_pct: float | None
    threads: int | None
    iodepth: int | None
    offered_iops: float | None
    iops: float | None
    iops_low: float | None
    iops_high: float | None
    mbps: float | None
    mean_us: float | None
    mean_low_us: float | None
    mean_high_us: float | None
    p50_us: float | None
    p50_low_us: float | None
    p50_high_us: float | None
    p95_us: float | None
    p95_low_us: float | None
    p95_high_us: float | None
    p99_us: float | None
    p99_low_us: float | None
    p99_high_us: float | None
    p999_us: float | None
    p999_low_us: float | None
    p999_high_us: float | None
    p9999_us: float | None
    p9999_low_us: float | None
    p9999_high_us: float | None
    p99999_us: float | None
    p99999_low_us: float | None
    p99999_high_us: float | None
    max_us: float | None
    censored: int | None
    censored_us: float | None
    response_mean_us: float | None
    response_mean_low_us: float | None
    response_mean_high_us: float | None
    response_p50_us: float | None
    response_p50_low_us: float | None
    response_p50_high_us: float | None
    response_p95_us: float | None
    response_p95_low_us: float | None
    response_p95_high_us: float | None
    response_p99_us: float | None
    response_p99_low_us: float | None
    response_p99_high_us: float | None
    response_p999_us: float | None
    response_p999_low_us: float | None
    response_p999_high_us: float | None
    response_p9999_us: float | None
    response_p9999_low_us: float | None
    response_p9999_high_us: float | None
    response_p99999_us: float | None
    response_p99999_low_us: float | None
    response_p99999_high_us: float | None
    response_censored_us: float | None
    errors: int | None
    failed_share: float | None
    waf: float | None
    waf_low: float | None
    waf_high: float | None
    joules: float | None
    joules_low: float | None
    joules_high: float | None
    outstanding: float | None
    backlog: int | None
    limited_by: str | None
    steady: bool | None
    window_s: float | None
    n: int | None

    def interval(self, name: str) -> tuple[float, float] | None:
        """The 95 % interval of a figure by its column; None where there is none."""
        return _interval(self, name)

    def is_lower_bound(self, name: str) -> bool:
        """Whether a latency, by its column, is only known to be at least that long."""
        return is_lower_bound(name, getattr(self, name), getattr(self, edge_of(name)))


FACTS = frozenset(
    {
        "target",
        "method",
        "step",
        "workload",
        "op",
        "block_bytes",
        "read_pct",
        "threads",
        "iodepth",
        "offered_iops",
        "errors",
        "failed_share",
        "censored",
        "steady",
        "window_s",
        "n",
    }
)
"""Columns of a point that are no figures of its I/O."""


def as_shown(point: Point) -> Point:
    """The point without its figures where so much I/O failed that they are withheld (`fathom.statistics.failed`)."""
    if not is_withheld(point.failed_share):
        return point
    return replace(point, **{one.name: None for one in fields(Point) if one.name not in FACTS})


def _interval(row: object, name: str) -> tuple[float, float] | None:
    low, high = (getattr(row, bound) for bound in bounds_of(name))
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class StreamPoint:
    """A row of streams.parquet: one of several workloads at once."""

    target: str
    step: str
    stream: str
    op: str
    placement: str | None
    iops: float
    iops_low: float | None
    iops_high: float | None
    mbps: float
    mean_us: float | None
    mean_low_us: float | None
    mean_high_us: float | None
    p95_us: float | None
    p95_low_us: float | None
    p95_high_us: float | None
    p99_us: float | None
    p99_low_us: float | None
    p99_high_us: float | None
    p999_us: float | None
    p999_low_us: float | None
    p999_high_us: float | None
    failed_share: float | None
    n: int

    def interval(self, name: str) -> tuple[float, float] | None:
        """As of a point."""
        return _interval(self, name)


@dataclass(frozen=True)
class StepRecord:
    """A step of the method: `kind` is fill, precondition, measure or point; `published` names its published workload.

    The maximum of a curve is a measured step, what is offered shares of it are points.
    """

    name: str
    kind: str
    workload: str
    label: str
    published: str | None


@dataclass(frozen=True)
class Second:
    """One interval of a step, all operations together. `start_s` counts from the start of the step."""

    start_s: float
    length_s: float
    n: int


@dataclass(frozen=True)
class Busy:
    """How busy a resource was over a step: mean over time and over equal servers, 0..1."""

    resource: str
    mean: float
