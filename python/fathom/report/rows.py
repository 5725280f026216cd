"""The plain values that a report is made of: points as they are shown, and what is summed up from tables by step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.columns.column import columns_of
from fathom.columns.schema import Point
from fathom.statistics.failed import is_withheld


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


@dataclass(frozen=True)
class Busy:
    """How busy a resource was over a step: mean over time and over equal servers, 0..1."""

    resource: str
    mean: float
