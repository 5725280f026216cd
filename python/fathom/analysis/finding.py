"""One finding, and how the figures in its sentence are written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fathom.analysis.run_view import StepFigures
from fathom.output.text import without_document

Kind = Literal[
    "overall",
    "leader",
    "level",
    "no-winner",
    "kept-up",
    "single",
    "stall",
    "unsettled",
    "limit",
    "bound",
    "consistency",
    "surprise",
    "agreement",
    "order",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence or two; `figures` and `interval` (of the ratio or of the rate) are what it rests on."""

    kind: Kind
    text: str
    targets: tuple[str, ...]
    step: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    interval: tuple[float, float] | None = None


def joined(parts: Sequence[str]) -> str:
    """Returns `a`, `a and b`, `a, b and c`; parts with commas of their own as `a, x; b, x and c`."""
    between = "; " if any(", " in part for part in parts) else ", "
    return " and ".join([between.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def cited(source: str) -> str:
    """Returns a source by its name: where to fetch it is for the list of sources, not for a sentence."""
    return re.sub(r",? ?(\()?https?://[^\s)]+(?(1)\))", "", without_document(source))


def rate_text(figures: StepFigures) -> str:
    """Returns a step's headline with its unit."""
    return f"{number(figures.headline)} {figures.unit}"


def number(value: float) -> str:
    """Returns a number in four significant digits, grouped: finer than any of these figures is known."""
    if value >= 1000:
        digits = len(str(int(value))) - 4
        return f"{round(value, -digits):,.0f}"
    return f"{value:.4g}"
