"""A choice at a terminal, and as JSON: the recommendation with its reasons, then the figures behind it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fathom.analysis.finding import cited
from fathom.catalog.models import PartGroup
from fathom.output.table import Name, flush_table
from fathom.output.text import four_digits, percent
from fathom.sizing.choose import Choice, Offer
from fathom.sizing.needs import Kind, Op
from fathom.sizing.reasons import headline, reasons
from fathom.sizing.size import Answer
from fathom.sizing.system import GROUPS, StorageSystem
from fathom.sizing.terminal import amount, unmet_text

SCHEMA = "fathom-choose/1"


@dataclass(frozen=True)
class Measure:
    """One line of the comparison: of one system, as tested."""

    key: str
    label: str
    value: Callable[[StorageSystem], float | None]
    text: Callable[[float], str] = four_digits
    is_best_high: bool = False


def _cost_per(kind: Kind, op: Op | None, scale: float) -> Callable[[StorageSystem], float | None]:
    return lambda system: _ratio(total_cost(system), system.figure(kind, op), scale)


def _capacity(number_of_bytes: float) -> str:
    return amount("capacity", number_of_bytes)


def total_cost(system: StorageSystem) -> float | None:
    """Returns what one system costs; None where the catalogue does not say what it is made of."""
    return system.bill.total if system.bill else None


def _ratio(above: float | None, below: float | None, scale: float) -> float | None:
    return above / below * scale if above is not None and below else None


MEASURES: Sequence[Measure] = (
    Measure("raw_bytes", "raw capacity", lambda s: s.raw_bytes, _capacity, is_best_high=True),
    Measure("usable_bytes", "usable capacity", lambda s: s.usable_bytes, _capacity, is_best_high=True),
    Measure("cost_per_raw_tb", "cost per raw TB", lambda s: _ratio(total_cost(s), s.raw_bytes, 1e12)),
    Measure(
        "cost_per_usable_tb", "cost per usable TB", lambda s: _ratio(total_cost(s), s.usable_bytes, 1e12)
    ),
    Measure("cost_per_gbps_read", "cost per GB/s read", _cost_per("bandwidth", "read", 1e9)),
    Measure("cost_per_gbps_write", "cost per GB/s write", _cost_per("bandwidth", "write", 1e9)),
    Measure("cost_per_kiops_read", "cost per 1,000 IOPS read", _cost_per("iops", "read", 1e3)),
    Measure("cost_per_kiops_write", "cost per 1,000 IOPS write", _cost_per("iops", "write", 1e3)),
    Measure("cost_per_kiops_70_30", "cost per 1,000 IOPS 70/30", _cost_per("iops", "70/30", 1e3)),
    Measure(
        "read_iops_per_raw_tb",
        "IOPS read per raw TB",
        lambda s: _ratio(s.figure("iops", "read"), s.raw_bytes, 1e12),
        "{:,.0f}".format,
        is_best_high=True,
    ),
    Measure(
        "read_gbps_per_raw_tb",
        "GB/s read per raw TB",
        lambda s: _ratio(s.figure("bandwidth", "read"), s.raw_bytes, 1e3),
        "{:.3f}".format,
        is_best_high=True,
    ),
    Measure("watts", "power", lambda s: s.figure("power"), "{:,.0f} W".format),
    Measure(
        "watts_per_usable_tb",
        "power per usable TB",
        lambda s: _ratio(s.figure("power"), s.usable_bytes, 1e12),
        "{:.2f} W".format,
    ),
)


def print_choice(console: Console, choice: Choice) -> None:
    """Prints the recommendation and its reasons, the needs, then the systems side by side."""
    console.print(Text(headline(choice)), style="bold", highlight=False)
    for sentence in reasons(choice):
        console.print(Text(sentence), highlight=False)
    console.print(_needs_table(choice))
    console.print(Text("One system as tested; * marks the best of a row."), style="dim")
    console.print(_systems_table(choice))
    figures = [answer.figure for offer in choice.offers for answer in offer.sizing.answers if answer.figure]
    for source in dict.fromkeys(figure.source for figure in figures):
        console.print(Text(f"Figures from {cited(source)}."), style="dim", highlight=False)
    if choice.prices.note:
        console.print(Text(f"Prices: {choice.prices.note}."), style="dim", highlight=False)


def choice_json(choice: Choice) -> dict[str, object]:
    """Returns `{"schema": "fathom-choose/1", "recommended", "count", "reasons", "systems": [...]}`; B, B/s, IOPS, W."""
    best = choice.best
    return {
        "schema": SCHEMA,
        "recommended": best.system.name if best else None,
        "count": best.count if best else None,
        "prefer": choice.needs.prefer.text,
        "budget": choice.needs.budget,
        "currency": choice.prices.currency,
        "prices_note": choice.prices.note,
        "reasons": reasons(choice),
        "systems": [_offer_json(offer, choice) for offer in choice.offers],
    }


def _offer_json(offer: Offer, choice: Choice) -> dict[str, object]:
    system = offer.system
    floors = offer.sizing.floors
    return {
        "system": system.name,
        "label": system.drive.label,
        "answers": offer in choice.ranked,
        "count": offer.count or None,
        "count_at_low_end": offer.sizing.drives_at_low_end,
        "cost": offer.cost,
        "binds": floors[0].need.text if floors else None,
        "costs": dict(system.bill.costs) if system.bill else None,
        "measures": {measure.key: measure.value(system) for measure in MEASURES},
        "needs": [
            {
                "need": answer.need.text,
                "each": answer.each,
                "count": answer.drives,
                "basis": answer.figure.basis if answer.figure else None,
                "source": answer.figure.source if answer.figure else None,
                "unmet": unmet_text(answer, offer.sizing) if answer in offer.sizing.unmet else None,
            }
            for answer in offer.sizing.answers
        ],
    }


def _needs_table(choice: Choice) -> Table:
    """Returns how many of each system each need takes."""
    table = _table("need", choice)
    for index, need in enumerate(choice.needs.needs):
        table.add_row(
            Text(need.text),
            *(Text(answer_text(offer, offer.sizing.answers[index])) for offer in choice.offers),
        )
    table.add_row(
        "systems", *(f"{offer.count:,}" if offer.count else "–" for offer in choice.offers), style="bold"
    )
    table.add_row(
        Text(f"cost ({choice.prices.currency})"),
        *("–" if offer.cost is None else four_digits(offer.cost) for offer in choice.offers),
        style="bold",
    )
    return table


def answer_text(offer: Offer, answer: Answer) -> str:
    """Returns `1 (304 TB each)`; at most that many where the need is a ceiling."""
    if answer.each is None:
        return "not known"
    each = amount(answer.need.kind, answer.each)
    if answer.need.kind == "latency":
        return f"{'<= ' if answer.figure and answer.figure.is_bound else ''}{each}"
    raw = " raw" if answer.need.kind == "capacity" and offer.system.usable_bytes is None else ""
    return f"{'<= ' if answer.is_ceiling else ''}{answer.drives:,} ({each}{raw} each)"


def _systems_table(choice: Choice) -> Table:
    """Returns the cost of one of each system: in total, and per unit of capacity and rate."""
    table = _table(f"prices: {choice.prices.currency}", choice)
    systems = [offer.system for offer in choice.offers]
    for group in GROUPS:
        table.add_row(group, *(_share(system, group) for system in systems))
    totals = Measure("cost", "cost", total_cost)
    for measure in (totals, *MEASURES):
        values = [measure.value(system) for system in systems]
        if all(value is None for value in values):
            continue
        table.add_row(measure.label, *_marked(values, measure))
    return table


def _share(system: StorageSystem, group: PartGroup) -> str:
    if system.bill is None:
        return "–  "
    cost = system.bill.costs[group]
    return f"{four_digits(cost)} ({percent(cost / system.bill.total)})  "


def _marked(values: Sequence[float | None], measure: Measure) -> list[str]:
    known = [value for value in values if value is not None]
    best = max(known) if measure.is_best_high else min(known)
    return [
        "–  " if value is None else measure.text(value) + (" *" if value == best and len(known) > 1 else "  ")
        for value in values
    ]


def _table(first: str, choice: Choice) -> Table:
    table = flush_table()
    table.add_column(Text(first), no_wrap=True)
    for offer in choice.offers:
        table.add_column(Name(offer.system.label), justify="right", overflow="fold")
    return table
