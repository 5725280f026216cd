"""The words of a twin's sensitivities, for the terminal and for pages."""

from math import expm1

from fathom.catalog.sensitivity import Effect, Sensitivity
from fathom.output.text import agreeing

LEAST = 0.02
"""Least mean effect, in logarithms, of a parameter that is shown: less is the noise of a window known to 1 %."""
MOST_MOVERS = 6
"""Parameters that a page names for each figure."""


def shown(found: Sensitivity) -> list[Effect]:
    """Returns the parameters that move some figure, the strongest first."""
    return [one for one in found.ranked() if max(one.means) >= LEAST]


def percent_text(mean: float) -> str:
    """Returns an effect on a logarithm as a change in percent: `88 %`; a dash for none."""
    return "–" if mean < LEAST else f"{100 * expm1(mean):.0f} %"


def movers(found: Sensitivity, place: int) -> str:
    """Returns what moves the figure at that place, the strongest first: `over_provisioning 55 %, program_us 7 %`.

    What chance may have made, an effect below half its 95 % interval, is left out.
    """
    moving = [one for one in found.effects if one.means[place] >= max(LEAST, one.halves[place])]
    moving.sort(key=lambda one: -one.means[place])
    return (
        ", ".join(f"{one.parameter} {percent_text(one.means[place])}" for one in moving[:MOST_MOVERS]) or "–"
    )


def footnotes(found: Sensitivity) -> list[str]:
    """Returns how many parameters are not shown, what the percentages are, and how they were found."""
    hidden = len(found.effects) - len(shown(found))
    quick = ", quick" if found.quick else ""
    more = agreeing(f"{hidden}", "more moves", "more move")
    left_out = f"{more} no figure by {100 * LEAST:.0f} %." if hidden else ""
    meaning = (
        "Mean change of a figure from one end of a parameter's range to the other, with the others anywhere in theirs. "
        "Each step goes over two thirds of a range; its change is scaled to all of it. "
        "Ranges hold 80 % of a parameter's prior. What moves a figure most is worth measuring, or publishing, next. "
        f"Method of Morris, {found.trajectories} trajectories of {found.method}{quick}."
    )
    return [text for text in (left_out, meaning) if text]
