"""A comparison in sentences: the answer first, then what else differs and what its intervals mean."""

from collections import Counter
from math import isclose

from fathom.analysis.finding import joined
from fathom.compare.gate import Outcome
from fathom.compare.loads import loads_in_words
from fathom.compare.rows import Result, Row
from fathom.compare.sides import PUBLISHED
from fathom.output.text import signed_pct
from fathom.prediction.words import order_words
from fathom.statistics.differences import Difference, Verdict

MOST_NAMED = 4
WIDEST = 100.0
"""The greatest ratio that is printed as the bound of a change; one beyond it says only that little is known."""


def workload_of(row: Row) -> str:
    """Returns the metric and the workload as one name."""
    return f"{row.metric.title} of {row.workload}"


def change(found: Difference) -> str:
    """Returns a change with its interval, `+7.1 % (+3.2 to +11.2)`."""
    low, high = (
        signed_pct(100 * (min(bound, WIDEST) - 1)).removesuffix(" %") for bound in (found.low, found.high)
    )
    beyond = "over " if found.high > WIDEST else ""
    return f"{signed_pct(found.change_pct)} ({low} to {beyond}{high})"


def change_of(row: Row) -> str:
    """Returns a row's change, with its interval where it has one; a dash where nothing is known."""
    if row.difference:
        return change(row.difference)
    return "–" if row.change_pct is None else signed_pct(row.change_pct)


def answer(result: Result) -> list[str]:
    """Returns the outcome in sentences, the worst first."""
    texts = [
        *_gates(result),
        *_named(result, Verdict.WORSE, "Worse"),
        *_named(result, Verdict.BETTER, "Better"),
        *_unproven(result),
        *loads_in_words([load for pair in result.pairs for load in pair.loads]),
    ]
    return [*texts, _count(result)]


def headline(result: Result) -> str:
    """Returns the outcome in a sentence: what came of the limits, or how many figures differ, and which the most."""
    if gates := _gates(result):
        return gates[0]
    differing = [row for row in result.rows if row.verdict in (Verdict.WORSE, Verdict.BETTER)]
    if not differing:
        return answer(result)[0]
    counts = Counter(row.verdict for row in differing)
    told = joined(
        [f"{which.value} in {counts[which]}" for which in (Verdict.WORSE, Verdict.BETTER) if counts[which]]
    )
    gravest = Verdict.WORSE if counts[Verdict.WORSE] else Verdict.BETTER
    most = max((row for row in differing if row.verdict is gravest), key=lambda row: abs(row.change_pct or 0))
    pct = signed_pct(most.change_pct or 0)
    return f"{told.capitalize()} of {len(result.rows)} figures, most in {workload_of(most)}: {pct}."


def _gates(result: Result) -> list[str]:
    texts = []
    for row, gate in result.outcomes(Outcome.MISSED):
        assert row.difference is not None
        texts.append(f"Limit missed, {gate.text}: {workload_of(row)} {change(row.difference)}.")
    for row, gate in result.outcomes(Outcome.UNDECIDED):
        why = f"{change(row.difference)} may be chance" if row.difference and not row.why else row.why
        texts.append(f"Not decided, {gate.text}: {workload_of(row)}, {why}{_needs(row)}.")
    texts += [
        f"Not checked, {gate.text}: no workload has it with an interval on both sides."
        for gate in result.unchecked
    ]
    if not texts and result.gates and not any(pair.missing for pair in result.pairs):
        texts = [f"No change is beyond a limit: {joined([gate.text for gate in result.gates])}."]
    return texts


def _needs(row: Row) -> str:
    return f"; {row.repeats_needed} repeats would decide" if row.repeats_needed else ""


def _named(result: Result, which: Verdict, heading: str) -> list[str]:
    rows = [row for row in result.rows if row.verdict is which]
    if not rows:
        return []
    rows.sort(key=lambda row: -abs(row.difference.change_pct) if row.difference else 0)
    shown = [f"{workload_of(row)} {change(row.difference)}" for row in rows[:MOST_NAMED] if row.difference]
    more = f", and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return [f"{heading}: {'; '.join(shown)}{more}."]


def _unproven(result: Result) -> list[str]:
    """Returns the largest change of figures that have no interval at all; nothing where one has."""
    known = [(pct, row) for row in result.rows if (pct := row.change_pct) is not None]
    if result.compared or not known:
        return []
    largest, row = max(known, key=lambda one: abs(one[0]))
    if not largest:
        return ["No figure differs, but none has an interval."]
    return [
        f"Largest change: {workload_of(row)} {signed_pct(largest)}. It has no interval, so it may be chance."
    ]


def _count(result: Result) -> str:
    counts = {which: sum(row.verdict is which for row in result.rows) for which in Verdict}
    whys = Counter(row.why for row in result.rows if row.why and row.verdict is Verdict.UNKNOWN)
    why = joined([f"{count} {reason}" for reason, count in whys.items()])
    reasons = {Verdict.UNKNOWN: f" ({why})"} if why else {}
    said = joined(
        [f"{count} {which.value}{reasons.get(which, '')}" for which, count in counts.items() if count]
    )
    figures = len(result.rows)
    if not figures and result.base == PUBLISHED:
        return (
            "Nothing could be compared: the catalogue has no published figure of these targets and workloads."
        )
    if not figures:
        return "Nothing could be compared."
    whole = "1 figure" if figures == 1 else f"{figures} figures"
    return f"{whole} compared: {said}."


def meaning(result: Result) -> list[str]:
    """Returns how the intervals and verdicts are to be read."""
    if not result.compared:
        return []
    each = f"{100 * result.confidence:.3g} %"
    hold = (
        f"The {result.compared:,} intervals hold together with 95 % (each with {each})."
        if result.compared > 1
        else "The interval holds with 95 %."
    )
    texts = [
        f"A change is new against base. {hold}",
        f"{Verdict.LEVEL.value.capitalize()}: the whole interval is within {result.level_pct:g} %. "
        f"{Verdict.UNKNOWN.value.capitalize()}: the interval includes 0 %.",
    ]
    if any(_is_of_repeats(row) for row in result.rows):
        texts.append(
            "Over repeats, a change is that of the geometric means of their own figures. Base and new are plain means, "
            "percentiles those of all I/Os together."
        )
    if any(row.order_chance is not None for row in result.rows):
        texts.append("Real drives: how likely they differ the same way, by past misses of twins like these.")
    if needed := [row.repeats_needed for row in result.rows if row.repeats_needed]:
        least, most = min(needed), max(needed)
        many = f"{least}" if least == most else f"{least} to {most}"
        whose = "" if result.base == PUBLISHED else " of each side"
        texts.append(f"{many} repeats{whose} would decide the open figures.")
    return texts


def _is_of_repeats(row: Row) -> bool:
    """Returns whether a change is not just the new figure over the base."""
    return (
        row.difference is not None and row.ratio is not None and not isclose(row.difference.ratio, row.ratio)
    )


def asides(row: Row) -> list[str]:
    """Returns what is said beside a verdict: how likely real drives show it, and the limits that are not kept."""
    order = order_of(row)
    return [*([f"real drives {order}"] if order else []), *limits_of(row)]


def order_of(row: Row) -> str:
    """Returns how likely real drives show the difference, empty where that is not known."""
    return "" if row.order_chance is None else order_words(row.order_chance)


def limits_of(row: Row) -> list[str]:
    """Returns the limits of a row that are not kept."""
    return [f"{gate.text}: {outcome.value}" for gate, outcome in row.gates if outcome is not Outcome.KEPT]
