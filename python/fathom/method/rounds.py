"""Rounds: a list of steps repeated until the tracked ones are steady, judged by the window of SNIA SSS PTS 2.0.

The rules only, over figures that were measured; the session runs the steps, `fathom.report` shows the rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from fathom.statistics.means import mean_by_count
from fathom.statistics.steady import WindowVerdict, snia_window

Metric = Literal["iops", "mbps", "latency"]
UNITS: Mapping[Metric, str] = {"iops": "IOPS", "mbps": "MB/s", "latency": "us"}


class RoundJson(TypedDict):
    """The parser's normal form of a step's place in rounds."""

    of: str
    step: str
    number: int
    most: int
    window: int
    range: float
    slope: float
    track: list[str]
    metric: Metric


@dataclass(frozen=True)
class Round:
    """The position of a step: step `step` of round `number` in the rounds `of`, and when these end."""

    of: str
    step: str
    number: int
    most: int
    window: int
    range_fraction: float
    slope_fraction: float
    track: tuple[str, ...]
    metric: Metric

    @property
    def judged(self) -> bool:
        """Whether steady rounds end early. If the window holds all rounds, they only end by their number."""
        return self.window < self.most

    def judge(self, series: Sequence[float]) -> WindowVerdict:
        """Returns the window over the last rounds of one tracked step."""
        return snia_window(series, self.window, self.range_fraction, self.slope_fraction)

    def steady(self, tracked: Sequence[Sequence[float]]) -> bool:
        """Returns whether all tracked steps are steady over the same last rounds; False where there are none."""
        return bool(tracked) and all(self.judge(series).passed for series in tracked)

    def name(self, number: int, step: str) -> str:
        """Returns the name in the method of a step of a round, as the parser writes it."""
        return f"{self.of}.{number:02}.{step}"


def parse_round(place: RoundJson) -> Round:
    """Returns a step's position from the parser's normal form."""
    return Round(
        of=place["of"],
        step=place["step"],
        number=place["number"],
        most=place["most"],
        window=place["window"],
        range_fraction=place["range"],
        slope_fraction=place["slope"],
        track=tuple(place["track"]),
        metric=place["metric"],
    )


def figure(rows: Sequence[Mapping[str, object]], metric: Metric) -> float | None:
    """Returns the tracked figure over all operations of a step, from its rows of `points`: IOPS, MB/s or us.

    None where nothing was completed, and where an operation has no figure because too much of its I/O failed.
    """
    column = "mean_us" if metric == "latency" else metric
    known = [(count, _number(row, column)) for row in rows if (count := _number(row, "n"))]
    values = [value for _, value in known if value is not None]
    if not values or len(values) < len(known):
        return None
    return mean_by_count(known) if metric == "latency" else sum(values)


def _number(row: Mapping[str, object], name: str) -> float | None:
    value = row[name]
    return float(value) if isinstance(value, int | float) else None
