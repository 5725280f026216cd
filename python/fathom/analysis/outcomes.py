"""Outcomes: who leads which workload and by how much, what is level, and what is claimed of none."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite

from fathom._core import Job
from fathom.analysis.finding import Finding, Kind, joined, number, rate_text
from fathom.analysis.run_view import Key, RunView, StepFigures
from fathom.analysis.settled import Unsettled, no_target, tags, verbs
from fathom.method.curve import SUSTAINED_LEAST
from fathom.output.text import span
from fathom.statistics.uncertainty import LEAST_SAMPLES, Comparison, compare, repeats_interval


def outcome_of(view: RunView, ranked: Sequence[StepFigures], gate: Mapping[Key, Unsettled]) -> Finding:
    """Returns the outcome among the targets that support a claim, and names the others. Without any there is no
    outcome.
    """
    out = {one.target: why for one in ranked if (why := gate.get((one.target, one.step)))}
    if not out:
        outcome = _outcome(view, ranked)
        return replace(outcome, text=outcome.text + _cached(view.job_of(ranked[0].target, ranked[0].step)))
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
    loads = [*job.streams.values()] or [job] if job else []
    if not any("write" in one.weights and not one.direct for one in loads):
        return ""
    return " These writes end in the page cache, so part of the rate may be that of memory."


def _outcome(view: RunView, ranked: Sequence[StepFigures]) -> Finding:
    best = ranked[0]
    if len(ranked) == 1:
        bounds = interval_of(view, best)
        text = f"{view.label(best.target)} reaches {rate_text(best)} in {best.label}{_sure(bounds, best)}{_by(best)}."
        return Finding("single", text, (best.target,), best.step, {best.unit: best.headline}, bounds)
    kept_up = [one for one in ranked if one.at_offered_rate]
    if best.at_offered_rate and len(kept_up) > 1:
        return _kept_up(view, ranked, kept_up)
    contest = [(other, _compare(view, best, other)) for other in ranked[1:]]
    unbeaten = [other for other, verdict in contest if verdict is None or verdict.verdict != "a"]
    figures = {one.target: one.headline for one in ranked}
    second, ratio = contest[0]
    bounds = (ratio.low, ratio.high) if ratio and isfinite(ratio.high) else None
    if not unbeaten and ratio:
        text = (
            f"{view.label(best.target)} {leads(view)} {best.label}: {rate_text(best)}, {ratio.ratio:.2f} times "
            f"{view.label(second.target)} ({_bounds(ratio)}){_by(best)}."
        )
        return Finding("leader", text, (best.target,), best.step, figures, bounds)
    return _no_winner(view, ranked, unbeaten, contest, figures)


def _no_winner(
    view: RunView,
    ranked: Sequence[StepFigures],
    unbeaten: Sequence[StepFigures],
    contest: Sequence[tuple[StepFigures, Comparison | None]],
    figures: Mapping[str, float],
) -> Finding:
    best = ranked[0]
    together = [best, *unbeaten]
    names = joined([view.label(one.target) for one in together])
    rates = joined([f"{number(one.headline)}" for one in together])
    ratios = [verdict for other, verdict in contest if other in unbeaten and verdict]
    are_known = len(ratios) == len(unbeaten)
    # The bounds hold for every one of them.
    low, high = min((one.low for one in ratios), default=0.0), max((one.high for one in ratios), default=inf)
    bounds = (low, high) if are_known and isfinite(high) else None
    kind: Kind = "level" if are_known and all(one.shows_level for one in ratios) else "no-winner"
    if kind == "level":
        text = f"{names} are level in {best.label}: {rates} {best.unit}; {_includes_one(ratios)}."
    elif are_known:
        text = f"No winner in {best.label}: {names} did {rates} {best.unit}; {_includes_one(ratios)}."
    else:
        few = any(len(seconds) < LEAST_SAMPLES for one in together for seconds in view.repeats(one))
        why = "too few seconds to" if few else "their seconds scatter too much to"
        text = f"No winner in {best.label}: {names} did {rates} {best.unit}; {why} separate them."
    text += _next(view, ranked, together)
    return Finding(kind, text, tuple(one.target for one in together), best.step, figures, bounds)


def _kept_up(view: RunView, ranked: Sequence[StepFigures], kept_up: Sequence[StepFigures]) -> Finding:
    best, names = ranked[0], joined([view.label(one.target) for one in kept_up])
    rates = [number(one.headline) for one in kept_up]
    text = (
        f"{names} keep up with the rate offered in {best.label}, {rate_text(best)}, so it ranks none of them."
        if kept_up[-1].headline >= SUSTAINED_LEAST * best.headline
        else f"{names} keep up with the rates offered in {best.label}, {joined(rates)} {best.unit}, so these rank "
        "none of them."
    )
    figures = {one.target: one.headline for one in ranked}
    targets = tuple(one.target for one in kept_up)
    return Finding("kept-up", text + _next(view, ranked, kept_up), targets, best.step, figures)


def _next(view: RunView, ranked: Sequence[StepFigures], together: Sequence[StepFigures]) -> str:
    """Returns a sentence on the first that is not among the best; empty without one.

    Its rate may be above that of one of the best whose seconds scatter more.
    """
    behind = next((other for other in ranked if other not in together), None)
    if behind is None:
        return ""
    is_last = behind.headline <= min(one.headline for one in together)
    follows = "follows" if is_last else f"is behind {view.label(together[0].target)}"
    return f" {view.label(behind.target)} {follows} with {number(behind.headline)}."


def overall(view: RunView, outcomes: Sequence[Finding], gate: Mapping[Key, Unsettled]) -> Iterable[Finding]:
    """Yields how many of the workloads each target leads; only for several targets on several workloads."""
    contested = [one for one in outcomes if one.kind in ("leader", "level", "no-winner", "kept-up")]
    unsettled = [one for one in outcomes if one.kind == "unsettled"]
    unclaimed, alone = len(unsettled), sum(one.kind == "single" for one in outcomes)
    if len(contested) + unclaimed < 2 or len(view.document.targets) < 2:
        return
    why = no_target(gate[target, one.step or ""] for one in unsettled for target in one.targets)
    only = f" In {alone} more, one target alone has a figure that is claimed." if alone else ""
    if not contested:
        text = f"No figure of {unclaimed} workloads is claimed: {why}.{only}"
        yield Finding("overall", text, (), None)
        return
    wins: dict[str, int] = {}
    for one in contested:
        if one.kind == "leader":
            wins[one.targets[0]] = wins.get(one.targets[0], 0) + 1
    level = sum(one.kind == "level" for one in contested)
    kept_up = sum(one.kind == "kept-up" for one in contested)
    parts = [
        f"{view.label(target)} {leads(view)} {count}"
        for target, count in sorted(wins.items(), key=lambda w: -w[1])
    ]
    without_winner = sum(one.kind == "no-winner" for one in contested)
    claims = "claims" if unclaimed == 1 else "claim"
    behind = f" {unclaimed} more {claims} nothing: {why}." if unclaimed else ""
    workloads = "1 workload" if len(contested) == 1 else f"{len(contested)} workloads"
    every = workloads if len(contested) == 1 else f"all {workloads}"
    if level == len(contested):
        parts.append("the best are level in all" if level > 1 else "the best are level")
    elif level:
        parts.append(f"{level} {'is' if level == 1 else 'are'} level")
    if kept_up == len(contested):
        parts.append("the best keep up with the rate offered" + (" in all" if kept_up > 1 else ""))
    elif kept_up:
        parts.append(f"in {kept_up} the best keep up with the rate offered")
    if without_winner:
        parts.append(f"{without_winner} {'has' if without_winner == 1 else 'have'} no winner")
    if level == kept_up == without_winner == 0 and len(wins) == 1:
        text = f"{view.label(next(iter(wins)))} {leads(view)} {every}."
    else:
        text = f"{workloads}: {joined(parts)}."
    yield Finding(
        "overall",
        text + behind + only,
        tuple(wins),
        None,
        {target: float(count) for target, count in wins.items()},
    )


def leads(view: RunView) -> str:
    """Returns the verb for the best of several: a shortened run shows no steady state, so it names no leader."""
    return "is ahead in" if any(view.is_quick(one.name) for one in view.document.targets) else "leads"


def interval_of(view: RunView, figures: StepFigures) -> tuple[float, float] | None:
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


def _by(figures: StepFigures) -> str:
    limit = figures.rows[0].limit
    return f", limited by {limit.name}" if limit else ""


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
