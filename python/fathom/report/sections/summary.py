"""The outcome at a glance: who leads, one card per corner with every target's bar; and the findings in words."""

from collections import Counter
from collections.abc import Sequence

from fathom.analysis.finding import joined
from fathom.analysis.settled import no_target, verbs
from fathom.output.text import many_of, size
from fathom.prediction.words import order_words
from fathom.report.blocks import Bar, Block, Card, Cards, Item, KeyFigure, NoBar, Points, Prose, Section
from fathom.report.comparison import Cell, Column, Comparison, Corner
from fathom.report.findings import FindingTexts, Gate, finding_texts, gate, ranked_of, unclaimed_words
from fathom.report.published import NEAR_PCT, error_item, fitted_words
from fathom.report.published_count import published_rows
from fathom.report.rounds import rounds_of, verdicts
from fathom.report.style import grouped, plain, rate_words, slot
from fathom.report.workloads import workloads

ORDER = 10
MANY = {"read": "reads", "write": "writes"}
SHOWN = 6
"""Sentences and cards that are shown before the rest is folded away."""


def build(comparison: Comparison) -> Section | None:
    """Returns the findings. Their key figure has the cards; without a claim, it says why there are none."""
    out = gate(comparison)
    whole = {corner.key: corner for corner in workloads(comparison)}
    ranked = _ranked([*whole.values()], comparison, out)
    if not any(corner.ranking for corner in comparison.corners):
        failed = [
            f"{cell.column.label}, {corner.label}: {cell.failed}, so there is no result to rank."
            for corner in comparison.corners
            for cell in corner.cells
            if cell.failed
        ]
        if of_rounds := verdicts(rounds_of(comparison), out):
            return Section("summary", "Findings", [Prose(of_rounds)])
        said = failed or ["No measured step has finished, so there is no result to show."]
        further: list[Block] = [Prose(said[1:])] if said[1:] else []
        return Section("summary", "Findings", further, key_figure=KeyFigure(said[0], None, said[1:]))
    texts = finding_texts(comparison)
    cards = Cards([_card(one, _unranked(whole[one.key], out)) for one in ranked], shown=SHOWN)
    if not ranked:
        key = _nothing_claimed(comparison, out)
    else:
        sentence = _contest(ranked) or _alone(_ranked(comparison.corners, comparison, out))
        key = KeyFigure(sentence, cards, [*unclaimed_words(comparison), *_reasons(texts, ranked)])
    return Section(
        "summary",
        "Findings",
        _prose(texts),
        answer=[texts.overall] if texts.overall else [],
        key_figure=key,
    )


def _nothing_claimed(comparison: Comparison, out: Gate) -> KeyFigure | None:
    """Returns why no target has a figure that is claimed; None where the only figures are those of no rival."""
    cells = [cell for corner in comparison.corners for cell in corner.cells]
    reasons = [why for cell in cells if (why := out.get((cell.column.short, cell.step.name)))]
    if not reasons:
        return None
    alone = len(comparison.columns) == 1
    why = f"{comparison.columns[0].short} {verbs(reasons)}" if alone else no_target(reasons).capitalize()
    return KeyFigure(f"{why}, so no figure is claimed.", None, unclaimed_words(comparison))


def _ranked(corners: Sequence[Corner], comparison: Comparison, out: Gate) -> list[Corner]:
    """Returns what may be ranked of the corners; a corner without any is left out."""
    return [one for corner in corners if (one := ranked_of(corner, comparison, out)).ranking]


def _contest(ranked: Sequence[Corner]) -> str:
    """Returns the leader and its number of workloads, as the cards show them; for a single workload the lead.

    Empty for a single target, which has nothing to contest.
    """
    contested = [corner for corner in ranked if len(corner.ranking) > 1]
    if not contested and len({corner.ranking[0].column.index for corner in ranked}) > 1:
        return "No target is ahead: no workload has rates of two targets to compare."
    if not contested:
        return ""
    if len(contested) == 1:
        best = contested[0].ranking[0]
        rate = rate_words(best.value or 0, contested[0].unit)
        return f"{_verdict(contested[0])} in {contested[0].label}: {rate}."
    wins = Counter(one.ranking[0].column.short for one in contested if not one.unbeaten)
    if not wins:
        return f"No target is ahead: {_nobody(contested)}."
    most = max(wins.values())
    leaders = [name for name, count in wins.items() if count == most]
    if len(leaders) > 1:
        return f"{joined(leaders)} are each ahead in {most} of {len(contested)} workloads."
    where = f"all {most}" if most == len(contested) else f"{most} of {len(contested)}"
    return f"{leaders[0]} is ahead in {where} workloads."


def _nobody(contested: Sequence[Corner]) -> str:
    """Returns in how many workloads the best are level, only have the rate that was offered, or cannot be separated."""
    found = Counter(_tie(corner) for corner in contested)
    if len(found) == 1:
        return f"the best {next(iter(found))} in all {len(contested)} workloads"
    return f"the best {joined([f'{words} in {count}' for words, count in found.items()])} of {len(contested)} workloads"


def _tie(corner: Corner) -> str:
    """Returns why nobody leads a workload, behind "the best"."""
    if corner.kept_up:
        return "keep up with the rate offered"
    if corner.is_level:
        return "are level"
    return f"{'have too few seconds' if corner.has_few_seconds else 'vary too much'} to separate them"


def _alone(ranked: Sequence[Corner]) -> str:
    """Returns the greatest rate of reads and of writes; IOPS are those of the smallest blocks."""
    unit = "IOPS" if any(corner.unit == "IOPS" for corner in ranked) else "MB/s"
    cells = [corner.ranking[0] for corner in ranked if corner.unit == unit]
    sizes = [cell.point.block_bytes for cell in cells if cell.point.block_bytes]
    smallest = min(sizes, default=None) if unit == "IOPS" else None
    best: dict[str, Cell] = {}
    for cell in cells:
        like = smallest is None or cell.point.block_bytes == smallest
        op = cell.point.op
        if like and (op not in best or (cell.value or 0) > (best[op].value or 0)):
            best[op] = cell
    parts = [_does(cell, rate_words(cell.value or 0, unit)) for cell in best.values()]
    blocks = f" in blocks of {size(smallest)}" if smallest else ""
    return f"{ranked[0].ranking[0].column.short} {joined(parts[:2])}{blocks}."


def _does(cell: Cell, rate: str) -> str:
    """Returns what a target does at a rate. A part of a mix names the others, because alone it may go faster."""
    own = (cell.point.target, cell.point.step)
    ops = [point.op for point in cell.column.run.points if (point.target, point.step) == own]
    if cell.point.op not in MANY:
        return f"does {rate} of {joined([many_of(op) for op in ops])}"
    others = [many_of(op) for op in dict.fromkeys(ops) if op != cell.point.op]
    return f"{MANY[cell.point.op]} {rate}" + (f" beside {joined(others)}" if others else "")


def _reasons(texts: FindingTexts, ranked: Sequence[Corner]) -> list[str]:
    """Returns where nobody leads, what limits the leaders, and how far published figures are."""
    tied = [one for one in ranked if len(one.ranking) > 1 and one.unbeaten]
    kept_up = [one.label for one in tied if one.kept_up]
    level = [one.label for one in tied if one.is_level and not one.kept_up]
    unknown = [one for one in tied if not (one.is_level or one.kept_up)]
    few = [one.label for one in unknown if one.has_few_seconds]
    varying = [one.label for one in unknown if not one.has_few_seconds]
    limits = dict.fromkeys(one.ranking[0].point.limit.name for one in ranked if one.ranking[0].point.limit)
    cells = [cell for one in ranked for cell in one.cells]
    reasons = [f"The best are level in {joined(level)}."] if level else []
    if kept_up:
        reasons.append(
            f"The best keep up with the rate offered in {joined(kept_up)}, so it ranks none of them."
        )
    if few:
        reasons.append(f"Too few seconds to separate the best in {joined(few)}.")
    if varying:
        reasons.append(f"The best vary too much to separate them in {joined(varying)}.")
    if limits:
        reasons.append(f"The best figures are limited by {joined([plain(name) for name in limits])}.")
    leading = (one.ranking[0].column for one in ranked if len(one.ranking) > 1 and not one.unbeaten)
    reasons += dict.fromkeys(map(_of_ratings, filter(_is_of_data_sheet, leading)))
    reasons += beside_published(cells)
    return reasons


def _is_of_data_sheet(column: Column) -> bool:
    return column.twin_device is not None and column.twin_device.is_of_data_sheet


def _of_ratings(column: Column) -> str:
    """Returns what a lead is worth that comes from a twin of a data sheet."""
    return f"{column.short} leads by the ratings of its data sheet: its twin was fitted to nothing else."


def beside_published(cells: Sequence[Cell]) -> list[str]:
    """Returns the number of published figures that predictions meet; fitted ones are counted apart.

    A drive in several runs counts once.
    """
    known = published_rows(cells)
    fitted = [row for row in known if row.fitted]
    others = [error_pct for row, error_pct in known.items() if not row.fitted]
    found = []
    if others:
        near = sum(abs(error) <= NEAR_PCT for error in others)
        apart = ", fitted ones apart" if fitted else ""
        found.append(
            f"{near} of {len(others)} published figures are met within ten percent{apart}: the ticks in the bars."
        )
    if fitted:
        found.append(fitted_words(len(fitted)))
    return found


def _prose(texts: FindingTexts) -> list[Block]:
    """Returns the findings; a single workload or target needs no list."""
    several = len(texts.outcomes) > 1
    blocks: list[Block] = []
    if texts.outcomes:
        blocks.append(Points(texts.outcomes, shown=SHOWN) if several else Prose(texts.outcomes))
    if texts.agreement:
        blocks.append(Prose([texts.agreement]))
    if texts.surprises:
        blocks.append(Points(texts.surprises, shown=SHOWN))
    return [*blocks, Prose(texts.remarks)] if texts.remarks else blocks


def _unranked(corner: Corner, out: Gate) -> list[NoBar]:
    """Returns the targets that a corner does not rank because they failed or had not settled."""
    found = []
    for cell in corner.cells:
        why = out.get((cell.column.short, cell.step.name))
        if why or cell.failed:
            found.append(NoBar(cell.column.short, f"not ranked: {why.value if why else cell.failed}"))
    return found


def _card(corner: Corner, unranked: Sequence[NoBar]) -> Card:
    best = corner.ranking[0]
    tops = [(_expected(cell) or cell.interval or (0, cell.value or 0))[1] for cell in corner.ranking]
    scale = max([*tops, *(cell.published.value for cell in corner.ranking if cell.published)])
    return Card(
        title=corner.label,
        value=grouped(best.value or 0),
        unit=corner.unit,
        verdict=_verdict(corner),
        detail=" · ".join(part for part in (_limit(best), _order(corner)) if part),
        bars=[_bar(cell, scale) for cell in corner.ranking],
        unranked=unranked,
    )


def _limit(cell: Cell) -> str:
    return f"Limited by {plain(cell.point.limit.name)}" if cell.point.limit else ""


def _order(corner: Corner) -> str:
    """Returns how likely real drives have the order of the first two, if a twin is among them and one is ahead."""
    if len(corner.ranking) < 2 or corner.unbeaten:
        return ""
    first, second = corner.ranking[:2]
    chance = first.order_chance(second)
    return f"{order_words(chance)} likely that real drives keep this order" if chance is not None else ""


def _error(cell: Cell) -> Item | None:
    """Returns the difference from the published figure."""
    if cell.error_pct is None:
        return None
    return error_item(cell.error_pct, fitted=cell.fitted)


def _expected(cell: Cell) -> tuple[float, float] | None:
    """Returns where measurements are expected, in the unit of the figure; None of what was measured."""
    return cell.spread.around(cell.value) if cell.spread and cell.value else None


def _verdict(corner: Corner) -> str:
    best, unbeaten = corner.ranking[0], corner.unbeaten
    if len(corner.ranking) == 1:
        return best.column.short
    if corner.kept_up:
        return f"{joined([cell.column.short for cell in corner.kept_up])} keep up with the rate offered"
    if unbeaten:
        names = joined([cell.column.short for cell in unbeaten])
        if corner.is_level:
            return f"{best.column.short}, level with {names}"
        why = "with too few seconds" if corner.has_few_seconds else "whose seconds vary too much"
        return f"{best.column.short}, {why} to separate it from {names}"
    return f"{best.column.short}, {_ahead(corner.lead_pct)} {corner.ranking[1].column.short}"


def _ahead(lead_pct: float) -> str:
    """Returns the lead, up to the name of the second target."""
    return f"{lead_pct:.1f}\u00a0% ahead of" if lead_pct < 100 else f"{1 + lead_pct / 100:.1f} times"


def _bar(cell: Cell, scale: float) -> Bar:
    low, high = cell.interval or (None, None)
    expected = _expected(cell)
    return Bar(
        label=cell.column.short,
        tag=cell.column.tag,
        value=grouped(cell.value or 0),
        slot=slot(cell.column.index),
        share=(cell.value or 0) / scale,
        low=None if low is None else low / scale,
        high=None if high is None else high / scale,
        published=cell.published.value / scale if cell.published else None,
        error=_error(cell),
        expected=(expected[0] / scale, expected[1] / scale) if expected else None,
    )
