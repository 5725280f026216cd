"""The capacity at an SLO of each repeat of a curve, and of all together. Every repeat searches by itself. So repeats
share no points, but each has a result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathom.columns.schema import Point
from fathom.method.curve import Curve, Figures, capacity, curve_of, failing_rate, figures, is_point
from fathom.report.data import RunData
from fathom.statistics.uncertainty import Interval, means_interval


@dataclass(frozen=True)
class Search:
    """What the search of one run found: the point of the highest rate that meets the objective, None where none does.

    `failing_iops` is the lowest rate above it that was tried and fails, None where none did. `judged`: whether every
    sustained point has the percentile of each operation; else one of the others might meet the objective.
    """

    best: Figures | None
    failing_iops: float | None
    maximum_iops: float
    judged: bool


@dataclass(frozen=True)
class Capacity:
    """A curve's capacity at its objective, by repeat."""

    curve: Curve
    searches: Sequence[Search]

    @property
    def met(self) -> list[Figures]:
        """The points found, of the repeats that found one."""
        return [one.best for one in self.searches if one.best]

    @property
    def iops(self) -> float | None:
        """Mean over repeats. None if a repeat meets the objective nowhere: the others' mean would be too high."""
        rates = [one.iops for one in self.met]
        return float(np.mean(rates)) if rates and len(rates) == len(self.searches) else None

    @property
    def interval(self) -> Interval | None:
        """95 % interval over repeats of what their searches find; None of a single one, and where one found nothing."""
        return None if self.iops is None else means_interval([one.iops for one in self.met])

    @property
    def share(self) -> float | None:
        """Share of the maximum, mean over repeats."""
        shares = [one.best.iops / one.maximum_iops for one in self.searches if one.best and one.maximum_iops]
        return float(np.mean(shares)) if shares else None

    @property
    def open_share(self) -> float | None:
        """How much higher the lowest failing rate is, as a mean over repeats: the gap that bisection left open. None if
        a repeat has no failing rate.
        """
        widths = [
            one.failing_iops / one.best.iops - 1
            for one in self.searches
            if one.best and one.failing_iops is not None and one.best.iops
        ]
        return float(np.mean(widths)) if widths and len(widths) == len(self.met) else None


def capacities_of(run: RunData, target: str) -> dict[str, Capacity]:
    """Returns the capacity of every curve of a target that has an objective, by the curve's step, over the run's
    repeats.
    """
    curves = {p.step: run.curve(p.step) for p in run.points if p.target == target and not is_point(p.step)}
    return {
        step: Capacity(curve, [found for one in run.repeats if (found := _search(one, target, step, curve))])
        for step, curve in curves.items()
        if curve and curve.slo
    }


def _search(run: RunData, target: str, step: str, curve: Curve) -> Search | None:
    """Returns what one run found; None where it did not come to the curve."""
    steps: dict[str, list[Point]] = {}
    for point in run.points:
        if point.target == target and curve_of(point.step) == step:
            steps.setdefault(point.step, []).append(point)
    objective = curve.objective
    if step not in steps or objective is None:
        return None
    found = {name: figures([vars(half) for half in halves], curve.arrival) for name, halves in steps.items()}
    points = [one for name, one in found.items() if is_point(name)]
    return Search(
        capacity(points, objective),
        failing_rate(points, objective),
        found[step].iops,
        all(point.meets(objective) is not None for point in points),
    )
