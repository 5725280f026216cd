"""A choice in words: the recommendation, the need that decides its number, and why each other system ranks lower or
fails.
"""

from fathom.output.text import agreeing, four_digits, percent, years_text
from fathom.prediction.interval import COVERAGE
from fathom.sizing.choose import Choice, Offer, is_affordable, merit
from fathom.sizing.ownership import ownership
from fathom.sizing.system import GROUPS
from fathom.sizing.terminal import amount, unmet_text

#: Costs nearer than this are the price list's word, not a reason.
LEVEL = 0.10


def headline(choice: Choice) -> str:
    """Returns `1 x WEKA 6-node Mainstream: least cost of the 3 that meet the needs`."""
    best = choice.best
    if best is None:
        return _none_of(choice)
    rivals = len(choice.ranked)
    meeting = f"meet{'s' * (rivals == 1)} the needs{_beyond_needs(choice)}"
    among = f"{choice.needs.prefer.text} of the {rivals}" if rivals > 1 else "the only one"
    return f"{_counted(best)}: {among} that {meeting}"


def _none_of(choice: Choice) -> str:
    """Returns why nothing is recommended: no system meets the needs, or none of those that do has what is asked too."""
    meeting = [offer for offer in choice.offers if offer.count]
    if any(is_affordable(offer, choice.needs.budget) for offer in meeting):
        return f"No {_preferred(choice)} is known of a system that meets the needs"
    return "None of these systems is known to meet the needs" + (" within the budget" if meeting else "")


def _beyond_needs(choice: Choice) -> str:
    """Returns in words what systems lack that meet the needs and are not ranked; empty where there are none."""
    others = [offer for offer in choice.offers if offer.count and offer not in choice.ranked]
    if not others:
        return ""
    if all(is_affordable(offer, choice.needs.budget) for offer in others):
        return f" and whose {_preferred(choice)} is known"
    return " within the budget"


def _preferred(choice: Choice) -> str:
    """Returns the noun of what the preference compares."""
    kind = choice.needs.prefer.kind
    return "rate" if kind == "iops" else kind


def reasons(choice: Choice) -> list[str]:
    """Returns a sentence for every system, the recommended one first, those that do not answer last.

    Behind the first is what the figures of all leave out: a reserve that the needs ask for. Behind all is what rates
    of runs are worth, and what their ranges leave open.
    """
    out = [f"{_counted(choice.best)}: {_binding(choice.best, choice)}."] if choice.best else []
    if choice.needs.derate < 1:
        out.append(
            f"Bandwidth and IOPS of every system count at {choice.needs.derate:g} of what it does (derate)."
        )
    out += [said] if choice.best and (said := _worn(choice.best, choice)) else []
    out += [f"{_counted(offer)}: {_behind(offer, choice)}." for offer in choice.ranked[1:]]
    others = [offer for offer in choice.offers if offer not in choice.ranked]
    out += [f"{_counted(offer)}: {_out(offer, choice)}." for offer in others]
    systems = [offer.system for offer in choice.offers]
    out += [f"{system.label}: {note}" for system in systems for note in system.drive.notes]
    return out + [said for offer in choice.offers if (said := _at_low_end(offer, choice))]


def _at_low_end(offer: Offer, choice: Choice) -> str:
    """Returns how many it takes where a twin's rates are as low as their ranges reach; empty for no other number."""
    most = offer.sizing.drives_at_low_end
    if most is None or most == offer.count:
        return ""
    bill = offer.system.bill
    cost = f", at a cost of {four_digits(most * bill.total)} ({choice.prices.currency})" if bill else ""
    return f"At the low end of the {100 * COVERAGE:.0f} % ranges {most:,} x {offer.system.label} are needed{cost}."


def _worn(best: Offer, choice: Choice) -> str:
    """Returns what the stated writes add to the cost of the first over the years; empty where they add nothing."""
    owned = ownership(best, choice.needs, choice.prices)
    span = f"Over {years_text(choice.needs.years)} of these writes"
    if owned.wear_unknown:
        return (
            f"{span}, the cost of {_counted(best)} is not known: its drives have no rated life or no price."
        )
    if not owned.replaced or owned.total is None:
        return ""
    worn = agreeing(f"{owned.replaced:,}", "drive more", "drives more")
    return f"{span}, {_counted(best)} costs {four_digits(owned.total)}: it wears out {worn}."


def _counted(offer: Offer) -> str:
    return f"{offer.count:,} x {offer.system.label}" if offer.count else offer.system.label


def _binding(offer: Offer, choice: Choice) -> str:
    floors = offer.sizing.floors
    binding = f"{floors[0].need.text} binds" if floors else "no need binds"
    second = offer.sizing.following
    following = f", next limit {second.need.text}" if second else ""
    return f"{_merit(offer, choice)}; {binding}{following}"


def _merit(offer: Offer, choice: Choice) -> str:
    """Returns the preferred figure of the offer, then its cost."""
    cost = "no price" if offer.cost is None else f"cost {four_digits(offer.cost)} ({choice.prices.currency})"
    wanted = choice.needs.prefer
    value = merit(offer, choice.needs)
    if wanted.kind == "cost" or value is None:
        return cost
    return f"{amount(wanted.kind, abs(value))}{f' {wanted.op}' if wanted.op else ''}, {cost}"


def _behind(offer: Offer, choice: Choice) -> str:
    best = choice.ranked[0]
    if choice.needs.prefer.kind != "cost" or offer.cost is None or best.cost is None:
        return f"meets the needs too: {_merit(offer, choice)}"
    more = offer.cost / best.cost - 1
    if more < 0.005:
        return "meets the needs too, at the same cost"
    level = "; only quotes can decide" if more < LEVEL else ""
    return f"meets the needs too, for {percent(more)} more: {_differences(offer, best)}{level}"


def _differences(offer: Offer, best: Offer) -> str:
    """Returns the differences in cost by part, the largest first: `servers +660, storage +92.16, network +66`."""
    ours, theirs = offer.system.bill, best.system.bill
    if ours is None or theirs is None:
        return ""
    apart = {group: ours.costs[group] * offer.count - theirs.costs[group] * best.count for group in GROUPS}
    ordered = sorted((group for group in GROUPS if apart[group]), key=lambda group: -abs(apart[group]))
    return ", ".join(f"{group} {four_digits(apart[group], '+')}" for group in ordered).replace(" -", " −")


def _out(offer: Offer, choice: Choice) -> str:
    wanted, sizing = choice.needs, offer.sizing
    if not offer.count:
        return "does not answer " + "; ".join(
            f"{answer.need.text}: {unmet_text(answer, sizing)}" for answer in sizing.unmet
        )
    if offer.cost is None and (wanted.budget is not None or wanted.prefer.kind == "cost"):
        return "would meet them but has no price: the catalogue does not list its parts"
    if wanted.budget is not None and offer.cost is not None and offer.cost > wanted.budget:
        return (
            f"would meet them, at {four_digits(offer.cost)}: over the budget of {four_digits(wanted.budget)}"
        )
    return f"would meet them, but its {_preferred(choice)} is not known"
