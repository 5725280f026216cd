"""The figures that are compared, by the names that users write in `--metrics` and `--fail-if`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from fathom.errors import UsageError
from fathom.report.rows import Point
from fathom.statistics.latency_columns import QUANTILES, percentile_name
from fathom.statistics.percentiles import bounds_of
from fathom.statistics.uncertainty import Bounds

BIN_WIDTH = 2.0**-7
"""Relative width of a latency histogram's bin at most (crate `recording`): a percentile is anywhere in its bin."""

WAF = "waf"
RATE = "rate"
"""Stands for the headline of a workload: MB/s of large blocks, else IOPS."""


@dataclass(frozen=True)
class Metric:
    """One figure of a point: how it is read, and in which direction it is better."""

    name: str
    title: str
    unit: str
    higher_is_better: bool
    value: Callable[[Point], float | None]
    bounds: Callable[[Point], Bounds | None]
    resolution: float = 0.0
    column: str = ""
    """The column of the points table, where the figure is one."""
    is_of_step: bool = False
    """Whether it is one figure of all operations of a step, because no operation has a share of its own."""


def _column(
    name: str, title: str, unit: str, column: str, *, higher: bool = False, resolution: float = 0.0
) -> Metric:
    def value(point: Point) -> float | None:
        return getattr(point, column)

    def bounds(point: Point) -> Bounds | None:
        return point.interval(column) if hasattr(point, bounds_of(column)[0]) else None

    return Metric(name, title, unit, higher, value, bounds, resolution, column)


def _mbps_bounds(point: Point) -> Bounds | None:
    """Returns the bounds of MB/s, which scale with IOPS: a workload has fixed block sizes."""
    bounds = point.interval("iops")
    if bounds is None or not point.iops or point.mbps is None:
        return None
    return bounds[0] * point.mbps / point.iops, bounds[1] * point.mbps / point.iops


def _ios_per_joule(point: Point) -> float | None:
    return point.n / point.joules if point.n and point.joules else None


def _ios_per_joule_bounds(point: Point) -> Bounds | None:
    """Returns the bounds of rate and energy together, in squares. Both rise together, so they are wide enough."""
    value, rate, energy = _ios_per_joule(point), point.interval("iops"), point.interval("joules")
    if (
        value is None
        or rate is None
        or energy is None
        or not point.iops
        or not point.joules
        or energy[0] <= 0
    ):
        return None
    below = hypot(1 - rate[0] / point.iops, 1 - point.joules / energy[1])
    above = hypot(rate[1] / point.iops - 1, point.joules / energy[0] - 1)
    return value * (1 - below), value * (1 + above)


_PERCENTILES = {percentile_name(column): column for column in QUANTILES}


def _latencies() -> Sequence[Metric]:
    found = [_column("mean", "mean latency", "us", "mean_us")]
    found += [
        _column(name, name, "us", column, resolution=BIN_WIDTH) for name, column in _PERCENTILES.items()
    ]
    found += [_column("response-mean", "mean response", "us", "response_mean_us")]
    found += [
        _column(f"response-{name}", f"{name} of response", "us", f"response_{column}", resolution=BIN_WIDTH)
        for name, column in _PERCENTILES.items()
    ]
    return found


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        _column("iops", "IOPS", "IOPS", "iops", higher=True),
        Metric("mbps", "MB/s", "MB/s", True, lambda point: point.mbps, _mbps_bounds),
        *_latencies(),
        _column("max", "largest latency", "us", "max_us"),
        _column(WAF, "WAF", "", "waf"),
        Metric(
            "iops/W", "IOPS per watt", "IOPS/W", True, _ios_per_joule, _ios_per_joule_bounds, is_of_step=True
        ),
    )
}
DEFAULT = (RATE, "p50", "p99", "p99.9", WAF)
OF_OPEN_LOADS = {name: f"response-{name}" for name in ("p50", "p99", "p99.9")}
"""What stands in the place of a default metric under open load: latency from the intended start, waits included."""


def metric_names(text: str | None) -> Sequence[str]:
    """Returns the metrics of a comma-separated list, or the default ones. Raises UsageError."""
    if text is None:
        return DEFAULT
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        check_name(name)
    if not names:
        raise UsageError("--metrics names no metric", f"known are {known()}")
    return names


def check_name(name: str) -> None:
    """Raises UsageError for a metric that does not exist."""
    if name != RATE and name not in METRICS:
        raise UsageError(f"no metric {name!r}", f"known are {known()}")


def known() -> str:
    """Returns the names of all metrics for an error's hint."""
    return ", ".join((RATE, *METRICS))


def metric_of(name: str, *, in_bandwidth: bool) -> Metric:
    """Returns the metric of that name; `rate` is MB/s where `in_bandwidth`, else IOPS."""
    if name == RATE:
        return METRICS["mbps" if in_bandwidth else "iops"]
    return METRICS[name]
