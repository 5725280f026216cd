"""A latency in a table: its figure, and beneath it the 95 % interval, or why there is none."""

from fathom.columns.schema import Point
from fathom.report.blocks import Item
from fathom.report.comparison import margin_of
from fathom.report.style import grouped
from fathom.statistics.latency_columns import PREFIXES, QUANTILES
from fathom.statistics.uncertainty import count_for

FEW = "no interval: too few seconds, seconds that drift, or too few independent I/Os in them"

AT_LEAST = "lower bound: I/O was still in flight at the end of the window, longer than any that returned"


def latency(point: Point, name: str, why_none: str = FEW) -> Item | None:
    """Returns the latency of that column of the points; None where it was not recorded."""
    value_us: float | None = getattr(point, name)
    if value_us is None:
        return None
    if point.is_lower_bound(name):
        return Item(f"≥ {grouped(value_us)}", title=AT_LEAST)
    return with_interval(value_us, point.interval(name), why_none)


def with_interval(value_us: float, bounds: tuple[float, float] | None, why_none: str = FEW) -> Item:
    """Returns a latency and its 95 % interval, us."""
    if bounds is None:
        return Item(grouped(value_us), title=why_none)
    low, high = map(grouped, bounds)
    interval = f"{low} to {high}" if low != high else margin_of(value_us, *bounds)
    return Item(grouped(value_us), interval, title="95 % interval")


def percentile(point: Point, name: str, why_none: str = FEW) -> Item:
    """Returns a percentile as `latency` does, or why the point has none: too few I/Os, or not recorded."""
    found = latency(point, name, why_none)
    if found:
        return found
    need = count_for(QUANTILES[name.removeprefix(PREFIXES["response"])])
    if (point.n or 0) >= need:
        return Item(
            "not recorded", tone="quiet", title=("measured by a Fathom version that kept no such percentile")
        )
    return Item("n too small", tone="quiet", title=f"needs {need:,} I/Os, has {point.n or 0:,}")
