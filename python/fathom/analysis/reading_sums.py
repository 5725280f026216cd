"""What rules need of a run's telemetry: sums and means of each named value, and two of them over time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fathom.analysis.stretches import coded, joined, stretches

MaybeKey = tuple[str | None, str]
"""A (target, step); without a target, the whole machine."""
Floats = NDArray[np.float64]
OVER_TIME = ("media_write_bytes", "host_write_bytes")
"""Values that are kept for each stretch of time."""


@dataclass(frozen=True)
class ReadingSum:
    """A value of one target and step: its sum, the seconds in which it was recorded, and the sum of value x seconds."""

    unit: str
    total: float
    seconds: float
    weighted: float

    def __add__(self, other: "ReadingSum") -> "ReadingSum":
        """Returns both together."""
        return ReadingSum(
            self.unit,
            self.total + other.total,
            self.seconds + other.seconds,
            self.weighted + other.weighted,
        )


@dataclass(frozen=True)
class ReadingSums:
    """The telemetry of a run, reduced."""

    sums: Mapping[str, Mapping[MaybeKey, ReadingSum]]
    """By name, then by target and step."""
    series: Mapping[tuple[str, MaybeKey], tuple[Floats, Floats]]
    """Start (s) and value of each reading of the values `OVER_TIME`."""

    @classmethod
    def of(cls, parts: Iterable[pa.Table]) -> "ReadingSums":
        """Returns the sums of a table that comes in parts."""
        sums: dict[str, dict[MaybeKey, ReadingSum]] = {}
        series: dict[tuple[str, MaybeKey], list[tuple[Floats, Floats]]] = {}
        for part in parts:
            _add(part, sums, series)
        return cls(sums, {key: joined(pieces) for key, pieces in series.items()})

    def total(self, name: str) -> dict[MaybeKey, float]:
        """Returns the sum of a value per (target, step); the target is `None` for the whole machine."""
        return {key: one.total for key, one in self.sums.get(name, {}).items()}

    def seconds(self, name: str) -> dict[MaybeKey, float]:
        """Returns seconds over which a value was recorded, per (target, step)."""
        return {key: one.seconds for key, one in self.sums.get(name, {}).items()}

    def means(self, name: str) -> dict[MaybeKey, float]:
        """Returns the mean of a value per (target, step), weighted by time."""
        found = self.sums.get(name, {}).items()
        return {key: one.weighted / one.seconds for key, one in found if one.seconds}

    def mean(self, name: str) -> float | None:
        """Returns the mean of a value over the run, weighted by time; `None` when it was not recorded."""
        found = self.sums.get(name, {}).values()
        seconds = sum(one.seconds for one in found)
        return sum(one.weighted for one in found) / seconds if seconds > 0 else None

    def means_of(self, key: MaybeKey) -> dict[str, float]:
        """Returns the means of what is sampled as a share of time or speed (unit %), weighted by time, by name."""
        found = ((name, own[key]) for name, own in self.sums.items() if key in own)
        return {name: one.weighted / one.seconds for name, one in found if one.unit == "%" and one.seconds}


def _add(
    part: pa.Table,
    sums: dict[str, dict[MaybeKey, ReadingSum]],
    series: dict[tuple[str, MaybeKey], list[tuple[Floats, Floats]]],
) -> None:
    names, texts = coded(part["name"])
    units, unit_texts = coded(part["unit"])
    start_s, length_s, value = (part[name].to_numpy() for name in ("start_s", "length_s", "value"))
    weights = (None, value, length_s, value * length_s)
    for target, step, rows in stretches(part):
        own = names[rows]
        counts, totals, seconds, weighted = (
            np.bincount(own, None if one is None else one[rows], len(texts)) for one in weights
        )
        for place in np.flatnonzero(counts).tolist():
            name, key = str(texts[place]), (target, step)
            unit = str(unit_texts[units[rows][np.argmax(own == place)]])
            one = ReadingSum(unit, float(totals[place]), float(seconds[place]), float(weighted[place]))
            found = sums.setdefault(name, {})
            found[key] = found[key] + one if key in found else one
            if name in OVER_TIME:
                at = own == place
                series.setdefault((name, key), []).append((start_s[rows][at], value[rows][at]))
