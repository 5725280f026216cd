"""A choice between systems as an offline HTML page: the recommendation first, then cost, alternatives and sources."""

from collections.abc import Callable, Sequence

from fathom.analysis.finding import cited
from fathom.output.text import percent, years_text
from fathom.report.axes import Axis
from fathom.report.blocks import (
    Answer,
    Block,
    Chart,
    Figure,
    Group,
    Item,
    KeyFigure,
    Points,
    Prose,
    Row,
    Section,
    Table,
)
from fathom.report.charts import Bars, Line, bar_chart, line_chart
from fathom.report.html_page import Page
from fathom.report.opening import fitting, opened
from fathom.report.style import grouped, plain, slot
from fathom.sizing.changes import changes
from fathom.sizing.choice_terminal import MEASURES, answer_text, total_cost
from fathom.sizing.choose import Choice, Offer
from fathom.sizing.ownership import Ownership, ownership
from fathom.sizing.reasons import headline, reasons
from fathom.sizing.system import GROUPS

NONE = Item("–", tone="quiet", title="not known")
DRAWN = 4
"""Least number of systems of a kind at which the chart ends. It ends later if the needs take more."""
MOST_MARKS = 64
"""Most marks of a line, beside those of the offers: needs may take millions of systems."""


def render(choice: Choice) -> str:
    """Returns the page."""
    sections = [_recommendation(choice), _needs(choice), _cost(choice), _years(choice), _sources(choice)]
    opening, folded = opened(sections)
    made_from = "the needs and the catalogue"
    return Page("Which system to choose", folded, opening=opening, made_from=made_from).html()


def _sentence(text: str) -> str:
    return plain(text[:1].upper() + text[1:].rstrip(".") + ".")


def _recommendation(choice: Choice) -> Section:
    """Returns the recommendation where no figure opens the page with it, else only what the opening has no room for."""
    sentence = _sentence(headline(choice))
    why, moved = ([_sentence(text) for text in said] for said in (reasons(choice), changes(choice)))
    stack = _stack(choice)
    blocks: list[Block] = [] if stack else [Answer([sentence])]
    if further := why[len(fitting(sentence, why)) :] if stack else why:
        blocks.append(Points(further))
    if moved:
        blocks += [Prose(["What would change it:"])] * bool(blocks) + [Points(moved)]
    title, short = ("What would change it", "Changes") if blocks and stack else ("Recommendation", "")
    key = KeyFigure(sentence, stack, why) if stack else None
    return Section("recommendation", title, blocks, short=short, key_figure=key)


def _stack(choice: Choice) -> Figure | None:
    """Returns what each offer costs, stacked by what it is made of, the best first; None without any price."""
    others = [offer for offer in choice.offers if offer not in choice.ranked]
    offers = [offer for offer in (*choice.ranked, *others) if offer.cost and offer.system.bill]
    if not offers:
        return None
    labels = [f"{offer.count:,} x {plain(offer.system.label)}" for offer in offers]
    bars = [
        Bars(group, place, [_of_group(offer, group) for offer in offers])
        for place, group in enumerate(GROUPS)
        if any(_of_group(offer, group) for offer in offers)
    ]
    currency = plain(choice.prices.currency)
    option = bar_chart(Axis(currency, "count", low=0), labels, bars, stacked=True, width_px=26)
    chart = Chart(
        "stack",
        "What the needs cost",
        sub=f"{currency}, as many systems as the needs take",
        option=option,
        summary="Cost of each offer by what it is made of; the table below has the figures.",
        height_px=70 + 56 * len(offers),
    )
    rows = [
        Row(Item(label), [_amount(_of_group(offer, one.name)) for one in bars])
        for label, offer in zip(labels, offers, strict=True)
    ]
    data = Table("Offer", [Item(one.name, currency) for one in bars], [Group("", rows)])
    legend = [Item(one.name, slot=one.slot) for one in bars]
    return Figure([chart], "The best offer is on top.", data, legend, columns=1)


def _of_group(offer: Offer, group: str) -> float | None:
    """Returns what a group of parts costs in all systems of an offer."""
    bill = offer.system.bill
    cost = next((cost for name, cost in bill.costs.items() if name == group), None) if bill else None
    return None if cost is None else offer.count * cost


def _heads(choice: Choice) -> list[Item]:
    return [
        Item(plain(offer.system.label), plain(offer.system.name), slot=slot(place))
        for place, offer in enumerate(choice.offers)
    ]


def _needs(choice: Choice) -> Section:
    """Returns how many of each system each need takes."""
    rows = [
        Row(
            Item(plain(need.text)),
            [Item(plain(answer_text(offer, offer.sizing.answers[place]))) for offer in choice.offers],
        )
        for place, need in enumerate(choice.needs.needs)
    ]
    counts = [Item(str(offer.count), tone="strong") if offer.count else NONE for offer in choice.offers]
    costs = [_amount(offer.cost) for offer in choice.offers]
    rows += [
        Row(Item("Systems", tone="strong"), counts),
        Row(Item(f"Cost, {plain(choice.prices.currency)}"), costs),
    ]
    return Section(
        "needs", "What each need takes", [Table("Need", _heads(choice), [Group("", rows)])], short="Needs"
    )


def _amount(value: float | None) -> Item:
    return NONE if value is None else Item(grouped(value))


def _cost(choice: Choice) -> Section:
    """Returns cost over capacity, and what one of each system costs per unit of what it gives."""
    blocks: list[Block] = []
    if drawn := _figure(choice):
        blocks.append(drawn)
    table = _per_unit(choice)
    blocks.append(table)
    return Section("cost", "Cost against capacity", blocks, short="Cost")


def _figure(choice: Choice) -> Figure | None:
    """Returns lines of cost over usable capacity, with marks at whole numbers of systems."""
    most = max(DRAWN, *(offer.count for offer in choice.offers))
    apart = -(-most // MOST_MARKS)
    counts = sorted(
        {*range(apart, most + 1, apart), 1, *(offer.count for offer in choice.offers if offer.count)}
    )
    lines: list[Line] = []
    rows: list[Row] = []
    for place, offer in enumerate(choice.offers):
        each, price = offer.system.figure("capacity"), total_cost(offer.system)
        if not each or not price:
            continue
        name = plain(offer.system.label)
        points = [[count * each / 1e12, count * price] for count in counts]
        needed = [count != offer.count for count in counts]
        lines.append(Line(name, slot(place), points, marks=True, hollow=needed))
        rows += [
            Row(Item(f"{count} x {name}"), [Item(grouped(x)), Item(grouped(y))])
            for count, (x, y) in zip(counts, points, strict=True)
        ]
    if not lines:
        return None
    currency = plain(choice.prices.currency)
    chart = Chart(
        "cost",
        "Cost",
        sub=f"{currency}, over usable capacity in TB",
        option=line_chart(Axis("usable capacity, TB", "count", low=0), Axis("", "count", low=0), lines),
        summary="Cost over usable capacity; the table below has the figures.",
        height_px=320,
    )
    marks = "A mark for each whole number" if apart == 1 else "Marks at some whole numbers"
    caption = (
        f"{marks} of systems; the filled one is the number that the needs take. Servers, network and drives are "
        "counted as the price list has them."
    )
    data = Table("", [Item("Usable capacity", "TB"), Item("Cost", currency)], [Group("", rows)])
    legend = [Item(line.name, slot=line.slot) for line in lines]
    return Figure([chart], caption, data, legend, columns=1)


def _per_unit(choice: Choice) -> Table:
    systems = [offer.system for offer in choice.offers]
    parts = [
        Row(Item(group), [_share(offer, group) for offer in choice.offers])
        for group in GROUPS
        if any(system.bill for system in systems)
    ]
    measures = [
        Row(
            Item(measure.label),
            _best_marked([measure.value(one) for one in systems], measure.text, high=measure.is_best_high),
        )
        for measure in MEASURES
        if any(measure.value(one) is not None for one in systems)
    ]
    groups = [Group("What it is made of", parts)] if parts else []
    footnote = (
        f"One system as it was tested. Prices: {plain(choice.prices.currency)}. The best of a row is in bold."
    )
    return Table(
        "One system", _heads(choice), [*groups, Group("What it gives for that", measures)], [footnote]
    )


def _share(offer: Offer, group: str) -> Item:
    bill = offer.system.bill
    cost = next((cost for name, cost in bill.costs.items() if name == group), None) if bill else None
    return NONE if bill is None or cost is None else Item(grouped(cost), percent(cost / bill.total))


def _best_marked(values: Sequence[float | None], text: Callable[[float], str], *, high: bool) -> list[Item]:
    known = [value for value in values if value is not None]
    best = (max if high else min)(known)
    return [
        NONE
        if value is None
        else Item(text(value), tone="strong" if value == best and len(known) > 1 else "")
        for value in values
    ]


def _years(choice: Choice) -> Section:
    """Returns what each offer costs over the years."""
    needs, prices = choice.needs, choice.prices
    owned = [ownership(offer, needs, prices) for offer in choice.offers]
    rows = [
        Row(Item("Purchase"), [_amount(one.purchase) for one in owned]),
        Row(Item("Energy, MWh"), [_amount(one.energy_kwh and one.energy_kwh / 1000) for one in owned]),
        Row(Item("Energy"), [_amount(one.energy) for one in owned]),
        Row(Item("Rated lives used by each drive"), [_lives(one) for one in owned]),
        Row(
            Item("Drives bought again"),
            [NONE if one.replaced is None else Item(f"{one.replaced:,}") for one in owned],
        ),
        Row(Item("Their price"), [_amount(one.replacements) for one in owned]),
        Row(Item("Together", tone="strong"), [_amount(one.total) for one in owned]),
        Row(
            Item("Together per usable TB"),
            [_per_tb(one, offer) for one, offer in zip(owned, choice.offers, strict=True)],
        ),
    ]
    table = Table(plain(prices.currency), _heads(choice), [Group("", rows)], _year_notes(choice))
    return Section("years", f"Cost over {years_text(needs.years)}", [table], short="Years")


def _lives(one: Ownership) -> Item:
    return NONE if one.lives_used is None else Item(f"{one.lives_used:.2f}")


def _per_tb(one: Ownership, offer: Offer) -> Item:
    each = offer.system.usable_bytes
    return _amount(one.total / (each * offer.count / 1e12) if one.total and each and offer.count else None)


def _year_notes(choice: Choice) -> list[str]:
    needs, prices = choice.needs, choice.prices
    notes = []
    if prices.energy_per_kwh is None:
        notes.append("Energy is not counted: the price list has no energy_per_kwh.")
    if needs.writes_tb_per_day is None:
        notes.append("Wear is not counted: the needs state no writes_tb_per_day.")
    else:
        notes.append(
            f"Drives wear by {needs.writes_tb_per_day:g} TB a day, times raw over usable capacity for redundancy, "
            f"times waf_ratio {needs.waf_ratio:g}: write amplification over that of the rating. "
            "A drive is bought again for each further rated life (TBW, or DWPD over its warranty). "
            "Where its life or its price is not known, the sum is not known either."
        )
    notes.append(
        "Power is that of full load, all the time. Failures, interest, space and staff are left out."
    )
    return notes


def _sources(choice: Choice) -> Section:
    figures = [answer.figure for offer in choice.offers for answer in offer.sizing.answers if answer.figure]
    texts = [f"Figures from {cited(source)}." for source in dict.fromkeys(one.source for one in figures)]
    if choice.prices.note:
        texts.append(f"Prices: {choice.prices.note}.")
    return Section(
        "sources", "Where the figures are from", [Points([plain(text) for text in texts])], short="Sources"
    )
