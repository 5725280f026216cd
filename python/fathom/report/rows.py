"""The plain values that a report is made of: points as they are shown, and what is summed up from tables by step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from fathom.columns.column import columns_of
from fathom.columns.schema import Point
from fathom.statistics.failed import is_withheld
from fathom.statistics.series import Floats


class StepOfTarget(NamedTuple):
    """Names a step on one target."""

    target: str
    step: str


class OpOfStep(NamedTuple):
    """Names one operation of a step on one target."""

    target: str
    step: str
    op: str

    @property
    def of(self) -> StepOfTarget:
        """The step whose operation it is."""
        return StepOfTarget(self.target, self.step)


@dataclass(frozen=True)
class Share:
    """The part of a step that one host, port, drive or namespace had: `n` I/Os of `mean_us` each.

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


FIGURES = tuple(name for name, one in columns_of(Point).items() if not one.column.is_fact)
"""Columns of a point that are figures of its I/O."""


def as_shown(point: Point) -> Point:
    """Returns the point without its figures where so much I/O failed that they are withheld
    (`fathom.statistics.failed`).
    """
    return replace(point, **dict.fromkeys(FIGURES)) if is_withheld(point.failed_share) else point


def have_figures(points: Sequence[Point]) -> bool:
    """Returns whether figures of these points are shown: none are where too much of the I/O of one failed."""
    return not any(is_withheld(point.failed_share) for point in points)


@dataclass(frozen=True)
class StepRecord:
    """A step of the method: `kind` is fill, precondition, measure or point; `published` names its published workload.

    The maximum of a curve is a measured step; loads at shares of it are points.
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


@dataclass(frozen=True, eq=False)
class Seconds(Sequence[Second]):
    """Intervals of a step in order, as columns: a day of them takes 2 MiB."""

    start_s: Floats
    length_s: Floats
    n: NDArray[np.int64]

    def __len__(self) -> int:
        """Number of intervals."""
        return len(self.n)

    @overload
    def __getitem__(self, place: int) -> Second: ...
    @overload
    def __getitem__(self, place: slice) -> "Seconds": ...
    def __getitem__(self, place: int | slice) -> "Second | Seconds":
        """Returns an interval, or several as they are."""
        if isinstance(place, slice):
            return self.at(place)
        return Second(float(self.start_s[place]), float(self.length_s[place]), int(self.n[place]))

    def at(self, places: "slice | NDArray[np.bool_] | NDArray[np.int64]") -> "Seconds":
        """Returns the intervals at some places."""
        return Seconds(self.start_s[places], self.length_s[places], self.n[places])

    def longer_than(self, length_s: float) -> "Seconds":
        """Returns the intervals that took longer."""
        return self.at(self.length_s > length_s)

    def with_end_of(self, least_s: float) -> "Seconds":
        """Returns them with a last interval shorter than `least_s` as part of the one before it."""
        if len(self) < 2 or self.length_s[-1] >= least_s:
            return self
        end_s = self.start_s[-1] + self.length_s[-1]
        length_s, n = self.length_s[:-1].copy(), self.n[:-1].copy()
        length_s[-1], n[-1] = end_s - self.start_s[-2], n[-1] + self.n[-1]
        return Seconds(self.start_s[:-1], length_s, n)

    def shifted(self, by_s: float) -> "Seconds":
        """Returns them later by some time."""
        return replace(self, start_s=self.start_s + by_s)

    def before(self, others: "Seconds") -> "Seconds":
        """Returns them with others behind."""
        return Seconds(
            np.concatenate([self.start_s, others.start_s]),
            np.concatenate([self.length_s, others.length_s]),
            np.concatenate([self.n, others.n]),
        )

    @property
    def rates(self) -> Floats:
        """I/O per second of each."""
        return self.n / self.length_s

    @property
    def end_s(self) -> float:
        """When the last ends."""
        return float(self.start_s[-1] + self.length_s[-1])


@dataclass(frozen=True)
class Busy:
    """How busy a resource was over a step: mean over time and over equal servers, 0..1."""

    resource: str
    mean: float
