"""Findings: what the figures of a run say, in plain words, each with the figures and the interval it rests on.

They say who leads which workload and by how much, what is level, what limits it, and how steady it ran. They name
differences from what was published; `surprises` adds those from physics and the data sheet. Nothing is said that the
data do not show; `validity` says what is doubtful.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Protocol

import numpy as np

from fathom._core import Job
from fathom.analysis.consistency import floor_of
from fathom.analysis.finding import Finding, cited, joined, number, rate_text
from fathom.analysis.run_view import Key, RunView, StepFigures
from fathom.analysis.settled import Unsettled, tags, unsettled, verbs
from fathom.analysis.surprises import PhysicsOf, RatedOf, surprises
from fathom.columns.schema import Point
from fathom.output.text import duration, percent, signed_pct, span
from fathom.statistics.uncertainty import Comparison, compare, repeats_interval

SURPRISE_PCT = 10.0
"""A published figure counts as contradicted from this difference on."""
STALL_US = 1e6
STALL_MEANS = 100
"""An I/O that takes longer than both, the second in mean latencies, is a stall. A host waits for it visibly, and a
queue does not explain it.
"""
FITTED = "fitted"
"""Role of a row that a twin's free parameters were fitted to."""
UNCERTAIN = "uncertain"
"""Role of a row whose source leaves the figure in doubt: it proves nothing, so it is reported separately."""
ROWS = {
    "validation": "figures that nothing was fitted to",
    FITTED: "figures that the twin was fitted to",
}
UNSTEADY = 0.10
"""Standard deviation of one-second rates, as a fraction of their mean, from which a finding mentions it."""


class PublishedRow(Protocol):
    """The fields of a published figure that findings read; absent ones are `None` or nan.
    `fathom.catalog.published_for` returns such rows.
    """

    @property
    def iops(self) -> float | None: ...  # noqa: D102
    @property
    def mbps(self) -> float | None: ...  # noqa: D102
    @property
    def role(self) -> str | None: ...  # noqa: D102
    @property
    def source(self) -> str | None: ...  # noqa: D102
    @property
    def statistic(self) -> str | None: ...  # noqa: D102
    @property
    def uncertain(self) -> bool: ...  # noqa: D102


PublishedLookup = Callable[[str, str], Sequence[PublishedRow]]
"""(catalogue device, published workload) -> its rows, best first."""


def findings(
    view: RunView,
    published_lookup: PublishedLookup | None = None,
    physics: PhysicsOf | None = None,
    rated: RatedOf | None = None,
) -> list[Finding]:
    """Returns findings on one run, the most telling first. Without a lookup there are no findings that need it."""
    steps: dict[str, list[StepFigures]] = {}
    for figures in view.steps.values():
        if figures.headline > 0:
            steps.setdefault(figures.step, []).append(figures)
    gate = unsettled(view)
    ranked = [sorted(members, key=lambda one: -one.headline) for members in steps.values()]
    outcomes = [_gated(view, members, gate) for members in ranked]
    return [
        *_overall(view, outcomes),
        *outcomes,
        *_stalls(view),
        *(_published(view, ranked, published_lookup, gate) if published_lookup else ()),
        *(_order(view, ranked, published_lookup, gate) if published_lookup else ()),
        *surprises(view, physics, rated),
        *_limits(view, ranked),
        *_consistency(view, ranked),
    ]


def _gated(view: RunView, ranked: Sequence[StepFigures], gate: Mapping[Key, Unsettled]) -> Finding:
    """Returns the outcome among the targets that support a claim, and names the others. Without any there is no
    outcome.
    """
    out = {one.target: why for one in ranked if (why := gate.get((one.target, one.step)))}
    if not out:
        outcome = _outcome(view, ranked)
        return replace(outcome, text=outcome.text + _cached(view.jobs.get(ranked[0].step)))
    left = [one for one in ranked if one.target not in out]
    names = joined([view.label(target) for target in out])
    why = joined(list(dict.fromkeys(reason.value for reason in out.values())))
    if not left:
        text = f"No figure is claimed in {ranked[0].label}: {names} {verbs(out.values())} ({why})."
        return Finding("unsettled", text, tuple(out), ranked[0].step)
    outcome = _outcome(view, left)
    return replace(outcome, text=f"{outcome.text} Left out: {names}, {tags(out.values())} ({why}).")


def _cached(job: Job | None) -> str:
    """Returns a caveat for writes that end in the host's memory."""
    if job is None or job.streams or job.direct or "write" not in job.weights:
        return ""
    return " These writes end in the page cache, so part of the rate may be that of memory."


def _outcome(view: RunView, ranked: Sequence[StepFigures]) -> Finding:
    best = ranked[0]
    if len(ranked) == 1:
        bounds = _interval(view, best)
        text = f"{view.label(best.target)} reaches {rate_text(best)} in {best.label}{_sure(bounds, best)}{_by(best)}."
        return Finding("single", text, (best.target,), best.step, {best.unit: best.headline}, bounds)
    contest = [(other, _compare(view, best, other)) for other in ranked[1:]]
    level = [other for other, verdict in contest if verdict is None or verdict.verdict != "a"]
    figures = {one.target: one.headline for one in ranked}
    second, ratio = contest[0]
    bounds = (ratio.low, ratio.high) if ratio and isfinite(ratio.high) else None
    if not level and ratio:
        text = (
            f"{view.label(best.target)} {leads(view)} {best.label}: {rate_text(best)}, {ratio.ratio:.2f} times "
            f"{view.label(second.target)} ({_bounds(ratio)}){_by(best)}."
        )
        return Finding("leader", text, (best.target,), best.step, figures, bounds)
    return _no_winner(view, ranked, level, contest, figures, bounds)


def _no_winner(
    view: RunView,
    ranked: Sequence[StepFigures],
    level: Sequence[StepFigures],
    contest: Sequence[tuple[StepFigures, Comparison | None]],
    figures: Mapping[str, float],
    bounds: tuple[float, float] | None,
) -> Finding:
    best = ranked[0]
    together = [best, *level]
    names = joined([view.label(one.target) for one in together])
    rates = joined([f"{number(one.headline)}" for one in together])
    ratios = [verdict for other, verdict in contest if other in level and verdict]
    if separable := len(ratios) == len(level):
        text = f"{names} are level in {best.label}: {rates} {best.unit}; {_includes_one(ratios)}."
    else:
        text = (
            f"No winner in {best.label}: {names} did {rates} {best.unit}; too few seconds to separate them."
        )
    behind = next((other for other in ranked if other not in together), None)
    if behind:
        text += f" {view.label(behind.target)} follows with {number(behind.headline)}."
    kind = "level" if separable else "no-winner"
    return Finding(kind, text, tuple(one.target for one in together), best.step, figures, bounds)


def _overall(view: RunView, outcomes: Sequence[Finding]) -> Iterable[Finding]:
    """Yields how many of the workloads each target leads; only for several targets on several workloads."""
    contested = [one for one in outcomes if one.kind in ("leader", "level", "no-winner")]
    unclaimed = sum(one.kind == "unsettled" for one in outcomes)
    if len(contested) + unclaimed < 2 or len(view.document.targets) < 2:
        return
    if not contested:
        yield Finding(
            "overall",
            f"No figure of these {unclaimed} workloads is claimed: no target had settled.",
            (),
            None,
        )
        return
    wins: dict[str, int] = {}
    for one in contested:
        if one.kind == "leader":
            wins[one.targets[0]] = wins.get(one.targets[0], 0) + 1
    level = sum(one.kind == "level" for one in contested)
    parts = [
        f"{view.label(target)} {leads(view)} {count}"
        for target, count in sorted(wins.items(), key=lambda w: -w[1])
    ]
    without_winner = sum(one.kind == "no-winner" for one in contested)
    behind = f" {unclaimed} more claim nothing: no target had settled." if unclaimed else ""
    if level == len(contested):
        parts.append("the best are level in all")
    elif level:
        parts.append(f"{level} {'is' if level == 1 else 'are'} level")
    if without_winner:
        parts.append(f"{without_winner} {'has' if without_winner == 1 else 'have'} no winner")
    if level == without_winner == 0 and len(wins) == 1:
        text = f"{view.label(next(iter(wins)))} {leads(view)} all {len(contested)} workloads."
    else:
        text = f"{len(contested)} workloads: {joined(parts)}."
    yield Finding(
        "overall", text + behind, tuple(wins), None, {target: float(count) for target, count in wins.items()}
    )


def _published(
    view: RunView,
    ranked: Sequence[Sequence[StepFigures]],
    lookup: PublishedLookup,
    gate: Mapping[Key, Unsettled],
) -> Iterable[Finding]:
    """Yields contradictions one by one, the largest first; agreement in one sentence."""
    off: dict[str, list[float]] = {}
    far: list[tuple[float, Finding]] = []
    for beside in (one for members in ranked for one in _against_published(view, members, lookup, gate)):
        figures, off_pct = beside.figures, 100 * (beside.measured / beside.published - 1)
        fitted = beside.role == "calibration" and _is_twin(view, figures)
        off.setdefault(FITTED if fitted else beside.role, []).append(off_pct)
        if abs(off_pct) < SURPRISE_PCT or beside.role == UNCERTAIN:
            continue
        text = (
            f"{view.label(figures.target)} in {figures.label}: {'a floor of ' if beside.is_floor else ''}"
            f"{number(beside.measured)} {figures.unit} is {abs(off_pct):.0f} % "
            f"{'above' if off_pct > 0 else 'below'} the published {number(beside.published)}"
            f"{_although(view, fitted=fitted)} ({cited(beside.source)})."
        )
        bounds = _interval(view, figures)
        measured = {"measured": beside.measured, "published": beside.published}
        far.append(
            (abs(off_pct), Finding("surprise", text, (figures.target,), figures.step, measured, bounds))
        )
    yield from (finding for _, finding in sorted(far, key=lambda pair: -pair[0]))
    if off:
        yield _agreement(off)


@dataclass(frozen=True)
class _AgainstPublished:
    """A measured figure and the published one for comparison."""

    figures: StepFigures
    measured: float
    published: float
    role: str
    source: str
    is_floor: bool


def _against_published(
    view: RunView, members: Sequence[StepFigures], lookup: PublishedLookup, gate: Mapping[Key, Unsettled]
) -> list[_AgainstPublished]:
    """Returns the settled figures of one step that are published too."""
    catalog = {target.name: target.catalog for target in view.document.targets}
    found = []
    for figures in members:
        published = _published_figure(figures, catalog.get(figures.target), lookup)
        if published is None or (figures.target, figures.step) in gate:
            continue
        value, role, source, is_floor = published
        own = floor_of(view.rates(figures)) if is_floor else None
        found.append(
            _AgainstPublished(figures, own or figures.headline, value, role, source, own is not None)
        )
    return found


def _order(
    view: RunView,
    ranked: Sequence[Sequence[StepFigures]],
    lookup: PublishedLookup,
    gate: Mapping[Key, Unsettled],
) -> Iterable[Finding]:
    """Yields in how many workloads the published leader is ahead, and in how many the whole order is as published."""
    contests = [
        known for members in ranked if len(known := _against_published(view, members, lookup, gate)) > 1
    ]
    if not contests:
        return
    others, ordered = [], 0
    for known in contests:
        here, there = (max(known, key=key) for key in (_measured, _published_value))
        if here.published != there.published:
            names = (view.label(there.figures.target), view.label(here.figures.target))
            others.append(f"{here.figures.label} (published {names[0]}, here {names[1]})")
        ordered += _in_order(known)
    same = len(contests) - len(others)
    text = (
        f"The published leader is ahead in {same} of {len(contests)} workloads, and all targets come out in the "
        f"published order in {ordered} of them."
    )
    if others:
        text += f" Another is ahead in {joined(others)}."
    yield Finding("order", text, (), None, {"same_leader": float(same), "of": float(len(contests))})


def _measured(one: _AgainstPublished) -> float:
    return one.measured


def _published_value(one: _AgainstPublished) -> float:
    return one.published


def _in_order(known: Sequence[_AgainstPublished]) -> bool:
    """Returns whether the measured order is the published order."""
    values = [one.published for one in sorted(known, key=_measured)]
    return values == sorted(values)


def _agreement(off: Mapping[str, Sequence[float]]) -> Finding:
    """Returns the median and worst difference over all rows, separately for rows that the twin was fitted to."""
    parts, figures = [], {}
    doubtful = off.get(UNCERTAIN, ())
    counted = [one for one in off.items() if one[0] != UNCERTAIN]
    for role, errors in sorted(counted, key=lambda one: one[0] == FITTED):
        near = sum(abs(one) < SURPRISE_PCT for one in errors)
        middle, worst = float(np.median(np.abs(errors))), max(errors, key=abs)
        what = ROWS.get(role, "published figures")
        parts.append(
            f"over all {len(errors)} {what}, the median difference is {middle:.1f} %, the largest {signed_pct(worst)}; "
            f"{near} {'is' if near == 1 else 'are'} within {SURPRISE_PCT:.0f} %"
            if len(errors) > 1
            else f"the one {what.replace('figures', 'figure', 1)} is off by {signed_pct(worst)}"
        )
        figures |= {f"{role}_median_pct": middle, f"{role}_worst_pct": worst, f"{role}_n": float(len(errors))}
    sentences = [f"{part[0].upper()}{part[1:]}." for part in parts]
    if doubtful:
        figures |= {"uncertain_worst_pct": max(doubtful, key=abs), "uncertain_n": float(len(doubtful))}
        sentences.append(left_out(doubtful))
    if FITTED in off:
        sentences.append("Fitted rows show that the model can be right, not that it predicts.")
    return Finding("agreement", " ".join(sentences), (), None, figures)


def left_out(doubtful: Sequence[float]) -> str:
    """Returns the differences of rows that are not counted, so that nothing is hidden."""
    if len(doubtful) == 1:
        return (
            f"One figure is left out because its source is in doubt: it is off by {signed_pct(doubtful[0])}."
        )
    worst = signed_pct(max(doubtful, key=abs))
    return f"{len(doubtful)} figures are left out because their sources are in doubt: the largest is off by {worst}."


def _although(view: RunView, *, fitted: bool) -> str:
    """Returns a caveat for a figure that is far from the published one."""
    if view.document.quick:
        return ", but this run is shortened, and its drive may be less worn in"
    return ", although the twin may be fitted to it" if fitted else ""


def _published_figure(
    figures: StepFigures, device: str | None, lookup: PublishedLookup
) -> tuple[float, str, str, bool] | None:
    """Returns a published figure with its role and source, and whether it is the floor of the rates."""
    if device is None or figures.published is None:
        return None
    doubtful = None
    for row in lookup(device, figures.published):
        value = row.mbps if figures.in_bandwidth else row.iops
        if value is not None and isfinite(value) and value > 0:
            found = (value, row.role or "", row.source or "source not given", row.statistic == "floor")
            if not row.uncertain:
                return found
            doubtful = doubtful or (value, UNCERTAIN, *found[2:])
    return doubtful


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
            if largest_us is None or mean_us is None or _is_twin(view, figures):
                continue
            if row.censored or largest_us >= max(STALL_US, STALL_MEANS * mean_us):
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
        rates = view.rates(figures)
        if len(rates) < 20 or rates.mean() <= 0:
            continue
        spread = float(rates.std(ddof=1) / rates.mean())
        if spread > UNSTEADY:
            worst = float(rates.min() / rates.mean())
            found.setdefault(figures.target, []).append((spread, worst, figures))
    for target, uneven in found.items():
        spread, worst, figures = max(uneven, key=lambda one: one[0])
        where = figures.label if len(uneven) == 1 else f"{len(uneven)} workloads, most in {figures.label}"
        text = (
            f"{view.label(target)} runs unevenly in {where}: the standard deviation of "
            f"one-second rates is {percent(spread)} of their mean, the worst second {percent(worst)}."
        )
        measured = {"deviation": spread, "worst_second": worst}
        yield Finding("consistency", text, (target,), figures.step, measured)


def _by(figures: StepFigures) -> str:
    limit = figures.rows[0].limit
    return f", limited by {limit.name}" if limit else ""


def _is_twin(view: RunView, figures: StepFigures) -> bool:
    return any(target.name == figures.target and target.kind == "twin" for target in view.document.targets)


def _interval(view: RunView, figures: StepFigures) -> tuple[float, float] | None:
    """Returns the interval from seconds if there are enough, else the load generator's; never below 0."""
    interval = repeats_interval(view.repeats(figures))
    return (max(0.0, interval.low), interval.high) if interval else figures.interval


def _compare(view: RunView, best: StepFigures, other: StepFigures) -> Comparison | None:
    return compare(view.repeats(best), view.repeats(other), known=(best.interval, other.interval))


def _sure(interval: tuple[float, float] | None, figures: StepFigures) -> str:
    if interval is None:
        return " (no interval: too few seconds, or they drift)"
    low, high = (number(bound) for bound in interval)
    if low == high:
        half_pct = 50 * (interval[1] - interval[0]) / interval[0] if interval[0] else 0.0
        half = f"± {half_pct:.1g} %" if half_pct >= 0.01 else "less than ± 0.01 %"
        return f" (95 % interval {half})"
    return f" (95 % interval {low} to {high} {figures.unit})"


def leads(view: RunView) -> str:
    """Returns the verb for the best of several: a shortened run shows no steady state, so it names no leader."""
    return "is ahead in" if view.document.quick else "leads"


def _bounds(ratio: Comparison) -> str:
    if not isfinite(ratio.high):
        return f"at least {ratio.low:.2f} times by the seconds, which drift"
    bounds = span(ratio.low, ratio.high)
    return f"{bounds} by the seconds, which drift" if ratio.drifts else f"95 % interval {bounds}"


def _includes_one(ratios: Sequence[Comparison]) -> str:
    widest = max(ratios, key=lambda one: one.ratio)
    if widest.drifts:
        return f"the ratio of their seconds, which drift, includes 1 ({span(widest.low, widest.high)})"
    return f"the 95 % interval of the ratio includes 1 ({_bounds(widest)})"
