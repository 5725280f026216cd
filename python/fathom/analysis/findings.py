"""Findings: what the figures of a run say, in plain words, each with the figures and the interval it rests on.

They say who leads which workload and by how much, what is level, what limits it, and how steady it ran. They name
differences from what was published; `surprises` adds those from physics and the data sheet. Nothing is said that the
data do not show; `validity` says what is doubtful.
"""

from collections.abc import Iterable, Sequence

from fathom.analysis.beside_published import PublishedLookup, differences, order_beside_published
from fathom.analysis.consistency import consistency
from fathom.analysis.finding import Finding, joined
from fathom.analysis.outcomes import outcome_of, overall
from fathom.analysis.run_view import RunView, StepFigures
from fathom.analysis.settled import unsettled
from fathom.analysis.surprises import PhysicsOf, RatedOf, surprises
from fathom.columns.schema import Point
from fathom.output.text import duration, percent

STALL_US = 1e6
STALL_MEANS = 100
"""An I/O that takes longer than both, the second in mean latencies, is a stall. A host waits for it visibly, and a
queue does not explain it. One that never returned is in the mean with its age, so the first alone is its limit.
"""
UNSTEADY = 0.10
"""Standard deviation of one-second rates, as a fraction of their mean, from which a finding mentions it."""


def findings(
    view: RunView,
    published_lookup: PublishedLookup | None = None,
    physics: PhysicsOf | None = None,
    rated: RatedOf | None = None,
) -> list[Finding]:
    """Returns findings on one run, the most telling first. Without a lookup there are no findings that need it."""
    # Methods of several runs may have steps of one name in different units, which are not compared.
    steps: dict[tuple[str, bool], list[StepFigures]] = {}
    for figures in view.steps.values():
        if figures.headline > 0:
            steps.setdefault((figures.step, figures.in_bandwidth), []).append(figures)
    gate = unsettled(view)
    ranked = [sorted(members, key=lambda one: -one.headline) for members in steps.values()]
    outcomes = [outcome_of(view, members, gate) for members in ranked]
    return [
        *overall(view, outcomes, gate),
        *outcomes,
        *_stalls(view),
        *(differences(view, ranked, published_lookup, gate) if published_lookup else ()),
        *(order_beside_published(view, ranked, published_lookup, gate) if published_lookup else ()),
        *surprises(view, physics, rated, gate),
        *_limits(view, ranked),
        *_consistency(view, ranked),
    ]


def _limits(view: RunView, ranked: Sequence[Sequence[StepFigures]]) -> Iterable[Finding]:
    """Yields what limits each target, one sentence per target."""
    found: dict[str, dict[str, list[StepFigures]]] = {}
    for figures in (one for members in ranked for one in members):
        limit = figures.rows[0].limit
        if limit:
            found.setdefault(figures.target, {}).setdefault(limit.name, []).append(figures)
    for target, limits in found.items():
        parts = [
            f"by {limit} in {joined([one.label for one in members])}" for limit, members in limits.items()
        ]
        yield Finding("limit", f"{view.label(target)} is limited {joined(parts)}.", (target,))


def _stalls(view: RunView) -> Iterable[Finding]:
    """Yields the longest stall of each real target: an I/O that took far longer than others, or never returned."""
    found: dict[str, list[tuple[float, Point, StepFigures]]] = {}
    for figures in view.steps.values():
        for row in figures.rows:
            largest_us, mean_us = row.max_us, row.mean_us
            if largest_us is None or mean_us is None or view.is_twin(figures.target):
                continue
            if largest_us >= (STALL_US if row.censored else max(STALL_US, STALL_MEANS * mean_us)):
                found.setdefault(figures.target, []).append((largest_us, row, figures))
    for target, stalls in found.items():
        largest_us, row, figures = max(stalls, key=lambda one: one[0])
        took = f"took {duration(largest_us / 1e6)}"
        if row.censored:
            took = f"had not returned after {duration(largest_us / 1e6)}, when the window ended"
        text = f"The longest stall of {view.label(target)} is in {figures.label}: a {row.op} {took}."
        yield Finding("stall", text, (target,), figures.step, {"largest_us": largest_us})


def _consistency(view: RunView, ranked: Sequence[Sequence[StepFigures]]) -> Iterable[Finding]:
    """Yields one sentence per uneven target, about its worst workload."""
    found: dict[str, list[tuple[float, float, StepFigures]]] = {}
    for figures in (one for members in ranked for one in members):
        over = consistency(*view.repeats(figures))
        # An open load that is kept up with is as uneven as its arrivals.
        if over and over.spread > UNSTEADY and not figures.kept_up:
            found.setdefault(figures.target, []).append((over.spread, over.worst / over.mean, figures))
    for target, uneven in found.items():
        spread, worst, figures = max(uneven, key=lambda one: one[0])
        where = figures.label if len(uneven) == 1 else f"{len(uneven)} workloads, most in {figures.label}"
        text = (
            f"{view.label(target)} runs unevenly in {where}: the standard deviation of "
            f"one-second rates is {percent(spread)} of their mean, the worst second {percent(worst)}."
        )
        measured = {"deviation": spread, "worst_second": worst}
        yield Finding("consistency", text, (target,), figures.step, measured)
