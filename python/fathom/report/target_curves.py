"""The IOPS-latency curves of a comparison: each target's maximum and points, grouped by workload."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom._core import Job
from fathom.analysis.beside_published import is_of_load
from fathom.columns.schema import Point
from fathom.method.curve import Curve, Figures, Latency, curve_of, figures, is_point
from fathom.prediction.interval import Spread
from fathom.report.capacity import Capacity, capacities_of
from fathom.report.charts import Whisker
from fathom.report.comparison import Column, Comparison, once
from fathom.report.findings import gate
from fathom.report.predicted import settled_spread, whisker
from fathom.report.rows import have_figures
from fathom.report.style import plain
from fathom.report.totals import total
from fathom.statistics.knee import knee


@dataclass(frozen=True)
class Dot:
    """A point of a curve: its figures, by which it is judged, and the row of all operations together."""

    figures: Figures
    row: Point


@dataclass(frozen=True)
class TargetCurve:
    """A target's curve: its maximum, then points by offered rate.

    `published`: (IOPS, mean us) of the maximum, where both are known.
    """

    column: Column
    curve: Curve
    top: Dot
    dots: Sequence[Dot]
    published: tuple[float, float] | None
    capacity: Capacity | None
    spread: Spread | None = None
    """How far measurements may lie from the rates of a twin that had settled in its maximum."""

    @property
    def maximum(self) -> Figures:
        """IOPS of the closed loop; points are shares of it."""
        return self.top.figures

    def whisker(self, latency: Latency) -> Whisker | None:
        """Returns the range around the greatest rate that was sustained, at its mean latency."""
        held = [dot.figures for dot in self.dots if dot.figures.sustained and dot.figures.mean(latency)]
        if self.spread is None or not held:
            return None
        most = max(held, key=lambda point: point.iops)
        return whisker(float(f"{most.mean(latency) or 0.0:.4g}"), self.spread, most.iops)

    @property
    def knee(self) -> Dot | None:
        """Kneedle's knee of service latency over the rate, among sustained points."""
        sustained = [dot for dot in self.dots if dot.figures.sustained and dot.figures.mean("service")]
        known = sorted(sustained, key=lambda dot: dot.figures.iops)
        rates, means = (
            [dot.figures.iops for dot in known],
            [dot.figures.mean("service") or 0.0 for dot in known],
        )
        place = knee(rates, means, "exploding")
        return None if place is None else known[place]


@dataclass(frozen=True)
class Workload:
    """One workload's curves on all targets that ran it."""

    key: str
    label: str
    drawn: Sequence[TargetCurve]


@once
def workloads_of(comparison: Comparison) -> Sequence[Workload]:
    """Returns the curves of all runs, grouped by workload."""
    out = gate(comparison)
    found: dict[str, list[TargetCurve]] = {}
    labels: dict[str, str] = {}
    for column in comparison.columns:
        steps: dict[str, list[Point]] = {}
        capacities = capacities_of(column.run, column.target.name)
        for point in column.run.points:
            if point.target == column.target.name:
                steps.setdefault(point.step, []).append(point)
        for name, members in steps.items():
            curve = None if is_point(name) else column.run.curve(name)
            if curve is None or not have_figures(members):
                continue
            halves = [
                own
                for step, own in steps.items()
                if is_point(step) and curve_of(step) == name and have_figures(own)
            ]
            dots = sorted(
                (_dot(column, curve, one) for one in halves), key=lambda dot: dot.figures.offered_iops or 0
            )
            step = column.run.steps[name]
            published = _published(comparison, column, step.published, column.run.jobs.get(name))
            spread = settled_spread(column, name, members[0].block_bytes, out)
            top = _dot(column, curve, members)
            drawn = TargetCurve(column, curve, top, dots, published, capacities.get(name), spread)
            found.setdefault(step.workload, []).append(drawn)
            labels.setdefault(step.workload, plain(step.label))
    return [Workload(key, labels[key], drawn) for key, drawn in found.items()]


def _dot(column: Column, curve: Curve, halves: Sequence[Point]) -> Dot:
    return Dot(figures([vars(half) for half in halves], curve.arrival), total(column.run, halves))


def _published(
    comparison: Comparison, column: Column, name: str | None, job: Job | None
) -> tuple[float, float] | None:
    if name is None or column.target.catalog is None:
        return None
    rows = comparison.lookup(column.target.catalog, name)
    known = (row for row in rows if is_of_load(row, job))
    return next(((row.iops, row.latency_us) for row in known if row.iops and row.latency_us), None)
