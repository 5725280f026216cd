"""Curves: latency against rate, as points at shares of a measured maximum, and the capacity at an SLO by bisection.

The steps of a curve are known before the run. Their rates follow from what the steps before have recorded, so a resumed
run offers the same rates. Nothing here issues I/O or reads a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, NotRequired, TypedDict, cast, get_args

from fathom._core import Job
from fathom.errors import FathomError
from fathom.method.job import NS_PER_S
from fathom.statistics.latency_columns import PREFIXES, percentile_name
from fathom.statistics.means import mean_by_count

Latency = Literal["service", "response"]
Percentile = Literal["p50", "p95", "p99", "p999", "p9999"]
"""What an objective may limit."""
_LIMITED = [f"{prefix}{percentile}_us" for prefix in PREFIXES.values() for percentile in get_args(Percentile)]

MARK = "@"
"""Separates a curve's name from a point's. Steps of a method file may not have it in their names."""
SEARCH = f"{MARK}slo-"
SUSTAINED_LEAST = 0.99
"""Least achieved rate of a sustained point, as a fraction of the offered one."""
GROWTH_MOST = 0.001
"""Growth of the backlog, as a fraction of the offered rate, up to which it counts as none."""
CHANCE_SD = 2.0
"""Standard deviations of the number of arrivals up to which a backlog is attributed to chance. The queue at the end of
a short window varies as much.
"""
Arrival = Literal["exponential", "uniform", "deterministic"]
"""How the points of a curve arrive."""
GAP_CV2: Mapping[Arrival, float] = {"exponential": 1.0, "uniform": 1 / 3, "deterministic": 0.0}
"""Variance of the gap between arrivals over the square of its mean. Arrivals with independent gaps are a renewal
process: the variance of their number approaches n times this, for threads with gaps of their own too. Uniform gaps lie
between 0 and twice the mean g, so their variance is (2g)^2 / 12.
"""


@dataclass(frozen=True)
class Slo:
    """The objective: the most that a percentile of the curve's latency may be, which each operation must meet. The
    search takes at most `steps` points.
    """

    percentile: Percentile
    limit_us: float
    steps: int

    @property
    def name(self) -> str:
        """Returns the percentile as people write it: `p99.9`."""
        return percentile_name(f"{self.percentile}_us")


@dataclass(frozen=True)
class Objective:
    """The most that a column of `points` may hold, us."""

    column: str
    limit_us: float


@dataclass(frozen=True)
class Curve:
    """The part of a curve after its maximum: points, and the search for an SLO."""

    shares: tuple[float, ...]
    time_s: float
    arrival: Arrival
    latency: Latency
    slo: Slo | None

    @property
    def objective(self) -> Objective | None:
        """The column that the SLO limits, and its limit; None without one."""
        if self.slo is None:
            return None
        return Objective(f"{PREFIXES[self.latency]}{self.slo.percentile}_us", self.slo.limit_us)


class SloJson(TypedDict):
    """Normal form of an SLO: one percentile, and the points of the search."""

    p50_ns: NotRequired[int]
    p95_ns: NotRequired[int]
    p99_ns: NotRequired[int]
    p999_ns: NotRequired[int]
    p9999_ns: NotRequired[int]
    steps: int


class CurveJson(TypedDict):
    """Normal form of a curve, as the parser returns it."""

    points: list[float]
    time_ns: int
    arrival: Arrival
    latency: Latency
    slo: SloJson | None


def parse_curve(curve: CurveJson) -> Curve:
    """Returns the curve of a method in normal form."""
    return Curve(
        shares=tuple(curve["points"]),
        time_s=curve["time_ns"] / NS_PER_S,
        arrival=curve["arrival"],
        latency=curve["latency"],
        slo=_slo(curve["slo"]) if curve["slo"] else None,
    )


def _slo(slo: SloJson) -> Slo:
    for percentile, limit_ns in _limits_ns(slo):
        if limit_ns is not None:
            return Slo(percentile, limit_ns / 1e3, slo["steps"])
    raise AssertionError("the parser lets no objective without a percentile through")


def _limits_ns(slo: SloJson) -> Iterator[tuple[Percentile, int | None]]:
    yield "p50", slo.get("p50_ns")
    yield "p95", slo.get("p95_ns")
    yield "p99", slo.get("p99_ns")
    yield "p999", slo.get("p999_ns")
    yield "p9999", slo.get("p9999_ns")


@dataclass(frozen=True)
class Place:
    """Where a step lies on a curve: at a share of the maximum, or where the search for the SLO leads (`None`)."""

    curve: str
    share: float | None


@dataclass(frozen=True)
class Figures:
    """One step of a curve on one target, all operations together. Rates are I/O per s.

    A mean is None where it was not recorded: response latency under closed load.
    """

    step: str
    offered_iops: float | None
    iops: float
    mbps: float
    backlog_growth_iops: float
    in_flight_most: int
    mean_us: float | None
    response_mean_us: float | None
    percentiles: Mapping[str, "Worst"] = field(default_factory=dict)
    """By column of `points`."""

    @property
    def sustained(self) -> bool:
        """Whether the target kept up: it achieved 0.99 of what was offered, and the backlog did not grow.

        A backlog that fits into the iodepth, or that grew by at most 0.1 % of the offered rate, is attributed to
        chance. So is one within `CHANCE_SD` of the number of arrivals, where these vary.
        """
        if self.offered_iops is None:
            return True
        grows = self.backlog_growth_iops > GROWTH_MOST * self.offered_iops
        return self.iops >= SUSTAINED_LEAST * self.offered_iops and not grows

    def mean(self, latency: Latency) -> float | None:
        """Returns the mean service or response latency in us."""
        return self.mean_us if latency == "service" else self.response_mean_us

    def meets(self, objective: Objective) -> bool | None:
        """Returns whether the point is sustained and meets the objective; None where its percentile is unknown."""
        worst = self.percentiles.get(objective.column, Worst())
        if not self.sustained or worst.least_us > objective.limit_us:
            return False
        return None if worst.us is None else worst.us <= objective.limit_us


@dataclass(frozen=True)
class Worst:
    """The worst operation's percentile, us. It is None where one of them has too few I/Os. The worst of the others,
    `least_us`, is then a lower bound.
    """

    us: float | None = None
    least_us: float = 0.0


def is_point(step: str) -> bool:
    """Returns whether a step of that name is a point of a curve."""
    return MARK in step


def curve_of(step: str) -> str:
    """Returns the curve that a point belongs to."""
    return step.partition(MARK)[0]


def place_of(step: str) -> str:
    """Returns a point's place on its curve: `60`, a percentage of its maximum, or `slo-2`, a point of the search."""
    return step.partition(MARK)[2]


def search_number(step: str) -> str | None:
    """Returns the number of a point of the search for an SLO; None for any other step."""
    return step.partition(SEARCH)[2] or None


def share_or_search(step: str) -> str:
    """Returns in words which point of its curve a step is: `60 % of its maximum`, `point 2 of the search`."""
    number = search_number(step)
    return f"point {number} of the search" if number else f"{place_of(step)} % of its maximum"


def point_name(curve: str, share: float) -> str:
    """Returns `4k-rand-read@80`."""
    return f"{curve}{MARK}{round(100 * share, 4):g}"


def search_name(curve: str, number: int) -> str:
    """Returns `4k-rand-read@slo-1`."""
    return f"{curve}{SEARCH}{number}"


def figures(rows: Sequence[Mapping[str, object]], arrival: Arrival) -> Figures:
    """Returns the figures of one step on one target from its rows of `points`, one per operation.

    `arrival` is that of the curve's points.
    """
    table = cast("Sequence[Mapping[str, float | None]]", rows)
    first = table[0]
    window_s = first["window_s"] or 0.0
    backlog = first["backlog"] or 0
    in_flight_most = round((first["threads"] or 1) * (first["iodepth"] or 1))
    arrivals = (first["offered_iops"] or 0.0) * window_s
    by_chance = max(in_flight_most, CHANCE_SD * sqrt(arrivals * GAP_CV2[arrival]))
    return Figures(
        step=str(rows[0]["step"]),
        offered_iops=first["offered_iops"],
        iops=sum(row["iops"] or 0.0 for row in table),
        mbps=sum(row["mbps"] or 0.0 for row in table),
        # The backlog begins empty, so this is its mean growth over the window.
        backlog_growth_iops=backlog / window_s if window_s and backlog > by_chance else 0.0,
        in_flight_most=in_flight_most,
        mean_us=_mean(table, "mean_us"),
        response_mean_us=_mean(table, "response_mean_us"),
        percentiles={column: _worst(table, column) for column in _LIMITED},
    )


def capacity(points: Sequence[Figures], objective: Objective) -> Figures | None:
    """Returns the sustained point of the highest rate that meets the objective, or None when none does."""
    met = [point for point in points if point.meets(objective)]
    return max(met, key=lambda point: point.iops, default=None)


def next_rate(points: Sequence[Figures], objective: Objective) -> float | None:
    """Returns the rate halfway between the highest that does not miss the objective and the lowest above it that does.
    A point with too few I/Os for the percentile neither meets nor misses it. A lower rate would give even fewer I/Os,
    so the search goes on above. None when no point misses the objective, or none was measured.
    """
    failing = failing_rate(points, objective)
    if failing is None:
        return None
    unknown = _rates(points, objective, None)
    return (max([_highest_met(points, objective), *(r for r in unknown if r < failing)]) + failing) / 2


def failing_rate(points: Sequence[Figures], objective: Objective) -> float | None:
    """Returns the lowest offered rate that misses the objective, above all that meet it; None if there is none. The
    capacity is below it.
    """
    low = _highest_met(points, objective)
    return min((rate for rate in _rates(points, objective, False) if rate > low), default=None)


def _highest_met(points: Sequence[Figures], objective: Objective) -> float:
    return max(_rates(points, objective, True), default=0.0)


def _rates(points: Sequence[Figures], objective: Objective, verdict: bool | None) -> list[float]:
    """Returns the offered rates of the points with that verdict."""
    return [point.offered_iops or 0.0 for point in points if point.meets(objective) is verdict]


def rate_of(place: Place, curve: Curve, measured: Sequence[Figures]) -> float | None:
    """Returns the rate to offer at a place, from the maximum and points before it; None where the search has ended.

    Raises FathomError when the maximum is 0.
    """
    maximum = next((one for one in measured if one.step == place.curve), None)
    if maximum is None or maximum.iops <= 0:
        raise FathomError(
            f"{place.curve}: no I/O completed at its maximum, so its points have no rate",
            "give the step more time, or look at its errors",
        )
    if place.share is not None:
        return place.share * maximum.iops
    assert curve.objective is not None
    points = [one for one in measured if one.offered_iops is not None]
    return next_rate(points, curve.objective)


def open_job(job: Job, curve: Curve, rate_iops: float) -> Job:
    """Returns the job of a point: the maximum's job with arrivals at `rate_iops`, and the same number in flight at
    most.
    """
    return job.with_rate(rate_iops, curve.arrival).with_until(time_ns=round(curve.time_s * NS_PER_S))


def _mean(rows: Sequence[Mapping[str, float | None]], column: str) -> float | None:
    return mean_by_count((row["n"], row[column]) for row in rows)


def _worst(rows: Sequence[Mapping[str, float | None]], column: str) -> Worst:
    """Returns the largest value; None if one is unknown, because that one could be the largest."""
    values = [row.get(column) for row in rows if row["n"]]
    least_us = max((value for value in values if value is not None), default=0.0)
    return Worst(least_us if values and None not in values else None, least_us)
