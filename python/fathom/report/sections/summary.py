"""The outcome at a glance: who leads, one card per corner with every target's bar, then the findings in words."""

from fathom.analysis.findings import joined
from fathom.report.blocks import Bar, Block, Card, Cards, Points, Prose, Section
from fathom.report.comparison import Cell, Comparison, Corner
from fathom.report.findings import Told, gate, ranked_of, tell
from fathom.report.rounds import rounds_of, verdicts
from fathom.report.style import grouped

ORDER = 10
SHOWN = 6
"""Sentences and cards that are shown before the rest is folded away."""


def build(comparison: Comparison) -> Section | None:
    """Cards and findings."""
    out = gate(comparison)
    ranked = [one for corner in comparison.corners if (one := ranked_of(corner, comparison, out)).ranking]
    if not any(corner.ranking for corner in comparison.corners):
        failed = [
            f"{cell.column.label}, {corner.label}: {cell.failed}, so there is no result to rank."
            for corner in comparison.corners
            for cell in corner.cells
            if cell.failed
        ]
        said = (
            verdicts(rounds_of(comparison))
            or failed
            or ["No measured step has finished, so there is no result to show."]
        )
        return Section("summary", "Summary", [Prose(said)])
    told = tell(comparison)
    overall = [told.overall] if told.overall else []
    cards = Cards([_card(corner) for corner in ranked], shown=SHOWN)
    return Section("summary", "Summary", [*([cards] if ranked else []), *_prose(told)], answer=overall)


def _prose(told: Told) -> list[Block]:
    """Returns the summary's blocks; a single workload or target needs no list."""
    several = len(told.outcomes) > 1
    blocks: list[Block] = [Points(told.outcomes, shown=SHOWN) if several else Prose(told.outcomes)]
    if told.agreement:
        blocks.append(Prose([told.agreement]))
    if told.surprises:
        blocks.append(Points(told.surprises, shown=SHOWN))
    return [*blocks, Prose(told.remarks)] if told.remarks else blocks


def _card(corner: Corner) -> Card:
    best = corner.ranking[0]
    scale = max((cell.interval or (0, cell.value or 0))[1] for cell in corner.ranking)
    return Card(
        title=corner.label,
        value=grouped(best.value or 0),
        unit=corner.unit,
        verdict=_verdict(corner),
        detail=f"Limited by {best.point.limited_by}" if best.point.limited_by else "",
        bars=[_bar(cell, scale) for cell in corner.ranking],
    )


def _verdict(corner: Corner) -> str:
    best, level = corner.ranking[0], corner.level_with_best
    if len(corner.ranking) == 1:
        return best.column.short
    if level:
        said = "level with" if corner.told_apart else "with too few seconds to separate it from"
        return f"{best.column.short}, {said} {joined([cell.column.short for cell in level])}"
    return f"{best.column.short}, {_ahead(corner.lead_pct)} {corner.ranking[1].column.short}"


def _ahead(lead_pct: float) -> str:
    """Returns how far, up to the name of the second."""
    return f"{lead_pct:.1f}\u00a0% ahead of" if lead_pct < 100 else f"{1 + lead_pct / 100:.1f} times"


def _bar(cell: Cell, scale: float) -> Bar:
    low, high = cell.interval or (None, None)
    return Bar(
        label=cell.column.short,
        tag="twin" if cell.column.is_twin else cell.column.target.kind,
        value=grouped(cell.value or 0),
        slot=cell.column.index,
        share=(cell.value or 0) / scale,
        low=None if low is None else low / scale,
        high=None if high is None else high / scale,
    )
