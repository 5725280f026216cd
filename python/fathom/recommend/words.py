"""A recommendation in words, cell by cell: for the terminal and the page."""

from collections.abc import Sequence
from math import ceil, floor

from fathom.output.text import agreeing, capacity, digits, duration, iops_text, latency_text, many_of, percent
from fathom.prediction.interval import COVERAGE
from fathom.prediction.words import refuted_words, spread_words
from fathom.recommend.judge import MOST_FACTOR, Judged, placed
from fathom.recommend.portion import Portion
from fathom.recommend.ranking import Candidate, Recommendation

NONE = "–"
_MOST_YEARS = 100


def headline(found: Recommendation) -> str:
    """Returns the recommendation in a sentence."""
    best = found.best
    if best is None:
        return _none_of(found)
    able = [one for one in found.candidates if one.meets]
    if len(found.candidates) == 1:
        return f"{best.label} {objective_text(found)}"
    if len(able) == 1:
        keeps = f"is known to keep {_up(found)}" if _unknown(found) else objective_text(found)
        return f"{best.label} is the only one of {len(found.candidates)} that {keeps}"
    return f"{best.label} {objective_text(found)} {_why(best, able)}"


def _unknown(found: Recommendation) -> Sequence[Candidate]:
    """Returns the drives that may keep up: not replayed, or too fast for the one thread of the replay."""
    return [one for one in found.candidates if one.judged is None or (one.is_bound_by_host and not one.meets)]


def _none_of(found: Recommendation) -> str:
    """Returns why no drive is recommended: all are too small, or too slow, or not known, or some of each."""
    count, refused = len(found.candidates), sum(one.judged is None for one in found.candidates)
    if refused == count:
        whether = found.candidates[0].label if count == 1 else f"any of these {count} drives"
        return f"Whether {whether} {objective_text(found)} is not known: its twin does not take the trace"
    lacking = [one.judged.lacks_bytes for one in found.candidates if one.judged and not one.judged.fits]
    if len(lacking) == count:
        reach = (
            f"the trace reaches {capacity(found.portion.extent_bytes)}, {capacity(min(lacking))} more than"
        )
        if count == 1:
            return f"{found.candidates[0].label} is too small: {reach} it has"
        return f"None of these {count} drives is large enough: {reach} the largest has"
    judged = [one for one in found.candidates if one.judged and one.judged.fits]
    if judged and all(one.is_bound_by_host for one in judged):
        whether = found.candidates[0].label if count == 1 else f"any of these {count} drives"
        return f"Whether {whether} {objective_text(found)} is not known: the one thread of the replay falls behind"
    if count == 1:
        return f"{found.candidates[0].label} does not keep {_up(found)}"
    unknown = len(_unknown(found)) - refused
    apart = [
        agreeing(f"{number}", one, several)
        for number, one, several in (
            (len(lacking), "of them is too small", "of them are too small"),
            (refused, "was not replayed", "were not replayed"),
            (
                unknown,
                "has more than the replay's one thread can ask",
                "have more than the replay's one thread can ask",
            ),
        )
        if number
    ]
    keeps = f"is known to keep {_up(found)}" if unknown or refused else objective_text(found)
    return "; ".join([f"None of these {count} drives {keeps}", *apart])


def _why(best: Candidate, able: Sequence[Candidate]) -> str:
    """Returns what puts the best of the able drives first: cost decides only among those that have a price."""
    priced = sum(one.cost is not None for one in able)
    if best.cost is None:
        return _most_headroom(best, able)
    if priced == len(able):
        return "at the least cost"
    return "and alone has a price" if priced == 1 else f"at the least cost of the {priced} that have a price"


def _most_headroom(best: Candidate, able: Sequence[Candidate]) -> str:
    """Returns in words that no other drive has more headroom, and how many have as much as far as that is known."""
    alike = sum(
        (one.headroom or 0.0) >= (best.headroom or 0.0) or (one.is_at_least and best.is_at_least)
        for one in able
        if one is not best
    )
    if not alike:
        return "with the most headroom"
    most = "more headroom than was tried" if best.judged and best.judged.beyond else "the most headroom"
    return f"with {most}, as {agreeing(f'{alike}', 'other does', 'others do')}"


def grounds(found: Recommendation) -> list[str]:
    """Returns how many drives are able, and by how much the load may grow on the best; nothing without a best."""
    best = found.best
    if best is None:
        return []
    able = [one for one in found.candidates if one.meets]
    priced = sum(one.cost is not None for one in able)
    among = f"; {priced} of them {'has' if priced == 1 else 'have'} a price" if 0 < priced < len(able) else ""
    rivals = [f"{len(able)} of {len(found.candidates)} drives keep up{among}"] if len(able) > 1 else []
    return [*rivals, f"The load may grow {growth_text(best)}"]


def objective_text(found: Recommendation) -> str:
    """Returns `keeps up` or `keeps up with p99 read < 500us`."""
    return f"keeps {_up(found)}"


def _up(found: Recommendation) -> str:
    """Returns what is kept, without objectives of operations that the load lacks."""
    limiting = [one.text for one in found.limiting]
    return f"up with {' and '.join(limiting)}" if limiting else "up"


def growth_text(one: Candidate) -> str:
    """Returns `2.7 times (2.5 to 2.9 on 80 % of real drives; 97 % of them keep up)`."""
    factor = f"{headroom_text(one)} times"
    if one.is_bound_by_host:
        factor += ", where the one thread of the replay is the limit and not the drive"
    if one.refuted:
        return f"{factor}; {refuted_words(one.refuted)}"
    if one.chance is None:
        return f"{factor}; how far such a twin is from its drive is not known"
    if one.bounds is None:
        return f"{factor}; {chance_text(one)} of real drives keep up"
    low, high = one.bounds
    held = f"{digits(low, 2)} to {digits(high, 2)} on {percent(COVERAGE, '.0f')} of real drives"
    return f"{factor} ({held}; {chance_text(one)} of them keep up)"


def chance_text(one: Candidate) -> str:
    """Returns the chance that a real drive keeps up, such as `74 %`; a dash where it is not known.

    It is a bound, such as `> 93 %` or `< 4 %`, where no past miss is as large as what the drive has or lacks.
    """
    if one.chance is None or one.spread is None:
        return NONE
    if not one.chance:
        return f"< {ceil(100 / (one.spread.rows + 1))} %"
    above_all = one.chance * (one.spread.rows + 1) > one.spread.rows - 0.5
    return f"> {floor(100 * one.chance)} %" if above_all else percent(one.chance)


def headroom_text(one: Candidate) -> str:
    """Returns the factor, or the bound that is known of it; a dash where it was not replayed, or is too small."""
    judged = one.judged
    if judged is None or judged.headroom is None:
        return NONE
    if judged.below:
        return f"< 1/{MOST_FACTOR:.0f}"
    return f"> {judged.headroom:.0f}" if judged.beyond else digits(judged.headroom, 2)


def outcome_text(one: Candidate) -> str:
    """Returns whether it meets the objective; a dash where it was not replayed, which `reasons` explains."""
    judged = one.judged
    if judged is None:
        return NONE
    if not judged.fits:
        return "too small"
    return "yes" if judged.meets else "no"


def years_text(one: Candidate) -> str:
    """Returns how long the rated endurance lasts."""
    if one.years is None:
        return NONE
    return f"> {_MOST_YEARS}" if one.years > _MOST_YEARS else digits(one.years, 2)


def figure_text(value: float | None, form: str) -> str:
    """Returns a figure, or a dash."""
    return NONE if value is None else form.format(value)


def latency_cell(one: Candidate, place: int) -> str:
    """Returns the latency that an objective limits."""
    judged = one.judged
    value = judged.values_us[place] if judged else None
    return NONE if value is None else latency_text(value)


def reasons(found: Recommendation) -> list[str]:
    """Returns a sentence for each of the first candidates, and what holds for all."""
    said = [f"{one.label}: {_behind(one, found)}" for one in found.candidates if one.judged][:5]
    wraps = {
        f"{one.label}: {placed(one.judged)}" for one in found.candidates if one.judged and placed(one.judged)
    }
    refused = [f"{one.label}: not replayed: {one.refused}" for one in found.candidates if one.refused]
    return [*said, *sorted(wraps), *refused]


def _behind(one: Candidate, found: Recommendation) -> str:
    judged = one.judged
    assert judged is not None
    if not judged.fits:
        return f"too small by {capacity(judged.lacks_bytes)}, so its headroom is not known"
    means = ", ".join(f"{op} {latency_text(mean)}" for op, mean in judged.means_us.items())
    latency = f"; mean latency {means}" if means else ""
    return f"headroom {headroom_text(one)}; {_limit_text(judged, found)}{latency}"


def _limit_text(judged: Judged, found: Recommendation) -> str:
    """Returns what limits where the headroom ends. A late drive with nothing saturated misses an objective."""
    at = "at that" if judged.beyond or judged.below else "beyond that"
    limit = judged.limit
    if limit is None:
        return f"{at} the limit is not known"
    if limit.is_offered_rate and not judged.beyond:
        busiest = f" ({limit.other})" if limit.other else ""
        what = "an objective is missed" if found.limiting else "it falls behind"
        return f"{at} {what} with nothing saturated{busiest}"
    return f"{at} the limit is {limit.words}"


def _times(part: Portion) -> str:
    if not part.step_ns:
        return "at the recorded times"
    step = duration(part.step_ns / 1e9)
    return f"spread at random over each {step} of the trace's clock: rates are claimed, latencies are not"


def basis(found: Recommendation) -> list[str]:
    """Returns what the figures rest on, a sentence each."""
    part, best = found.portion, found.best
    said = [
        *([f"The twin of {best.label} is `twin:{best.device}`."] if best else []),
        f"Replayed: {found.scope} at {iops_text(part.rate_iops)}, by one thread, {_times(part)}.",
        *(["Latency counts from the recorded arrival."] if not part.step_ns else []),
        (
            "Each SSD was written once before, so WAF is that of the trace on a full drive. "
            "It needs a trace that writes as much as it reaches, and ten of the drive's write buffers."
        ),
        "Years: the rated endurance over the bytes that the trace writes, day and night.",
        "Headroom: times are divided by a growing factor until the drive "
        f"{'misses the objective' if found.limiting else 'falls behind'}, known to 5 %.",
        *(
            f"What was replayed has no {many_of(one.op)}, so {one.text} limits nothing."
            for one in found.objectives
            if one not in found.limiting
        ),
    ]
    if known := next(((one.label, one.spread) for one in found.candidates if one.spread), None):
        label, spread = known
        said += ["Headroom is taken to be as uncertain as a rate.", f"{label}, {spread_words(spread)}."]
    if found.prices.note:
        said.append(f"Prices: {found.prices.note}.")
    return said
