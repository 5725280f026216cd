"""Axes of charts: their bounds, ticks, and how their values are written."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fathom.report.blocks import Option
from fathom.report.style import with_micro

Format = Literal["count", "us", "pct", "seconds", "minutes", "hours", "tail", "depth", "size"]
"""How assets/charts.js writes values: `count` 2.1M, `us` 140 µs, `tail` 3 -> 99.9 %, `depth` 5 -> 32,
`size` 12 -> 4 KiB."""
TIME: tuple[Format, ...] = ("seconds", "minutes", "hours")


LEAST_TICKS = 4
"""Fewer figures beside a log axis do not show how it runs."""
LEAST_TICKS_BELOW = 2
"""As `LEAST_TICKS` below a chart: a phone has no room for more figures side by side."""


@dataclass(frozen=True)
class Axis:
    """An axis; a vertical one is named by its panel's title. `step`: distance of ticks; `ticks`: the only ones."""

    name: str
    format: Format
    log: bool = False
    low: float | None = None
    high: float | None = None
    step: float | None = None
    ticks: Sequence[float] = ()

    def option(self, *, vertical: bool) -> Option:
        """Returns the ECharts axis."""
        least = LEAST_TICKS if vertical else LEAST_TICKS_BELOW
        ticks = self.ticks or (log_ticks(self.low, self.high, least) if self.log else ())
        custom: Option = {"customValues": list(ticks)} if ticks else {}
        bounds: Option = {}
        if self.low is not None:
            bounds["min"] = self.low
        if self.high is not None:
            bounds["max"] = self.high
        if self.step is not None:
            bounds["interval"] = self.step
        return {
            "type": "log" if self.log else "value",
            "name": with_micro(self.name),
            "nameLocation": "middle",
            "nameGap": 24,
            "nameTextStyle": {"color": "$muted"},
            "axisLine": {"show": not vertical, "lineStyle": {"color": "$rule-strong"}},
            "axisTick": {"show": not vertical, "lineStyle": {"color": "$rule-strong"}} | custom,
            "axisLabel": {
                "color": "$muted",
                "formatter": f"@{self.format}",
                "hideOverlap": True,
                "showMaxLabel": None if vertical or self.format not in TIME else False,
            }
            | custom,
            "splitLine": {"show": vertical, "lineStyle": {"color": "$rule"}},
            "minorSplitLine": {"show": False},
            "axisPointer": {"label": {"formatter": f"@pointer-{self.format}"}},
        } | bounds


@dataclass(frozen=True)
class Switch:
    """A y axis that the reader can switch between logarithmic and linear: bounds of either."""

    log_low: float
    log_high: float
    linear_high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> "Switch":
        """Returns whole decades around the positive values; the linear axis starts at zero."""
        positive = [value for value in values if value > 0] or [1.0]
        low, high = 10 ** math.floor(math.log10(min(positive))), 10 ** math.ceil(math.log10(max(positive)))
        return cls(low, max(high, low * 10), max(positive))

    def option(self) -> Option:
        """Returns what assets/charts.js needs to switch."""
        linear = from_zero(self.linear_high, "count")
        return {
            "switch": {"low": self.log_low, "high": self.log_high, "linear": linear.high, "step": linear.step}
        }


def from_zero(most: float, format: Format) -> Axis:
    """Returns a vertical axis from zero to at least `most`, with at most six ticks at round figures."""
    if most <= 0:
        return Axis("", format, low=0)
    scale = 10 ** math.floor(math.log10(most))
    step = next(step * scale for step in (0.2, 0.25, 0.5, 1.0, 2.0) if 6 * step * scale >= most)
    return Axis("", format, low=0, high=step * math.ceil(most / step), step=step)


def log_ticks(low: float | None, high: float | None, least: int = LEAST_TICKS) -> Sequence[float]:
    """Returns the ticks of a log axis: powers of ten, and figures between them where those are fewer than `least`.

    None without both bounds.
    """
    if not low or not high:
        return ()
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        each = (step * 10.0**decade for decade in decades for step in steps)
        ticks = [tick for tick in each if low * 0.999 <= tick <= high * 1.001]
        if len(ticks) >= least:
            break
    return ticks


def rounded(value: float) -> float:
    """Returns a value with the five digits that a chart shows, so that pages stay small."""
    return float(f"{value:.5g}")


def time_axis(end_s: float) -> Axis:
    """Returns the axis from zero to the end, with at most ten ticks at round parts of a second to hours."""
    steps = [step / 1000 for step in (1, 2, 5, 10, 20, 50, 100, 200)]
    steps += [size * step for size in (1, 60) for step in (1, 2, 5, 10, 20, 30)]
    steps += [3600 * step for step in (1, 2, 4, 6, 12, 24, 48, 96)]
    step = next((step for step in steps if step * 10 >= end_s), steps[-1])
    return Axis("", TIME[(step >= 60) + (step >= 3600)], low=0, high=end_s, step=step)


def around_1_2_5(low: float, high: float) -> tuple[float, float]:
    """Bounds at 1, 2 or 5 times a power of ten around a positive range, for log axes; a single such value is amid."""
    below = [step * 10 ** math.floor(math.log10(low)) for step in (1, 2, 5)]
    above = [step * 10 ** math.floor(math.log10(high)) for step in (1, 2, 5, 10)]
    start, end = max(value for value in below if value <= low), min(value for value in above if value >= high)
    return (start, end) if start < end else (start / 2, end * 2)
