"""The first screen of a page: which section's key figure it opens with, and the reasons that fit beneath it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.report.blocks import Block, Cards, Figure, Prose, Section, Table

MOST_WORDS = 120
"""Words of a page's summary: its sentence and the reasons."""
PREFERRED = (
    "added-latency",
    "cluster",
    "gpu-feed",
    "verdict",
    "replay",
    "placement",
    "amplification",
    "saturation",
    "recovery",
    "rounds",
    "overview",
    "curves",
    "consistency",
    "depths",
    "mixes",
    "summary",
)
"""The key figures that a method may declare. Where it declares none, the first that the run holds opens the page."""


@dataclass(frozen=True)
class Opening:
    """What a page shows first: a sentence, a figure if it has one, and reasons, in `MOST_WORDS` words at most."""

    sentence: str
    block: Figure | Cards | Table | None
    reasons: Sequence[str] = ()


def opened(
    built: Sequence[Section], caveats: Sequence[str] = (), wanted: str | None = None
) -> tuple[Opening | None, list[Section]]:
    """Returns the opening and the sections with what is left to them; no opening where no section has a key figure.

    `caveats` are always among the reasons. `wanted` is the key of the section that the method declares; where that has
    no key figure, a caveat says so.
    """
    able = {section.key: section for section in built if section.key_figure}
    if lacking := missing_figure(built, wanted):
        caveats = [*caveats, lacking]
    chosen = next((able[key] for key in (wanted, *PREFERRED, *able) if key in able), None)
    sections = unopened([section for section in built if section is not chosen])
    if chosen is None or chosen.key_figure is None:
        return None, sections
    place = list(built).index(chosen)
    if chosen.blocks:
        sections.insert(place, replace(chosen, key_figure=None))
    figure = chosen.key_figure
    return Opening(
        figure.sentence, figure.block, [*fitting(figure.sentence, figure.reasons, caveats), *caveats]
    ), sections


def missing_figure(built: Sequence[Section], wanted: str | None) -> str:
    """Returns a caveat where the method declares a key figure that no section has; else an empty text."""
    if not wanted or any(section.key == wanted and section.key_figure for section in built):
        return ""
    return f"The method's key figure, {wanted}, needs steps that are not in this run."


def unopened(built: Sequence[Section]) -> list[Section]:
    """Returns the sections of a page that none of them opens."""
    return [_with_key_figure(section) for section in built]


def _with_key_figure(section: Section) -> Section:
    """Returns a section that does not open the page with its key figure among its blocks."""
    figure = section.key_figure
    if figure is None:
        return section
    first: list[Block] = [Prose([figure.sentence]), *([figure.block] if figure.block else [])]
    return replace(section, blocks=[*first, *section.blocks], key_figure=None)


def fitting(sentence: str, reasons: Sequence[str], caveats: Sequence[str] = ()) -> list[str]:
    """Returns the first reasons that fit into the words allowed beside the sentence and every caveat."""
    left = MOST_WORDS - sum(len(text.split()) for text in (sentence, *caveats))
    kept = []
    for text in reasons:
        left -= len(text.split())
        if left < 0:
            break
        kept.append(text)
    return kept
