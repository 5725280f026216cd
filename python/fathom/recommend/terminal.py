"""A recommendation at a terminal, and as the document `fathom-recommend/1`."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fathom.output.table import Name, flush_table
from fathom.output.text import four_digits
from fathom.prediction.interval import COVERAGE, Spread
from fathom.recommend.judge import Judged
from fathom.recommend.ranking import Candidate, Recommendation
from fathom.recommend.words import (
    NONE,
    basis,
    figure_text,
    grounds,
    headline,
    headroom_text,
    latency_cell,
    outcome_text,
    reasons,
    years_text,
)

SCHEMA = "fathom-recommend/1"


def print_recommendation(console: Console, found: Recommendation) -> None:
    """Prints the recommendation, the ranked drives, and what the figures rest on."""
    console.print(Text(headline(found)), style="bold", highlight=False)
    for text in grounds(found):
        console.print(Text(f"{text}."), highlight=False)
    console.print(_table(found))
    for text in reasons(found):
        console.print(Text(text), highlight=False)
    for text in basis(found):
        console.print(Text(text), style="dim", highlight=False)


def columns(found: Recommendation) -> Sequence[str]:
    """Returns the names of the columns behind the drive's."""
    objectives = [f"{one.figure} {one.op}" for one in found.objectives]
    return ["met", *objectives, "headroom", "WAF", "years", "W", f"cost ({found.prices.currency})"]


def cells(one: Candidate, found: Recommendation) -> list[str]:
    """Returns a drive's cells, as `columns` names them."""
    judged = one.judged
    return [
        outcome_text(one),
        *(latency_cell(one, place) for place in range(len(found.objectives))),
        headroom_text(one),
        figure_text(judged.waf if judged else None, "{:.2f}"),
        years_text(one),
        figure_text(judged.watts if judged else None, "{:.1f}"),
        NONE if one.cost is None else four_digits(one.cost),
    ]


def _table(found: Recommendation) -> Table:
    table = flush_table()
    table.add_column("drive", overflow="fold")
    for name in columns(found):
        table.add_column(Text(name), justify="left" if name == "met" else "right", overflow="fold")
    for one in found.candidates:
        table.add_row(Name(one.label), *(Text(cell) for cell in cells(one, found)))
    return table


def _spread_json(spread: Spread | None) -> dict[str, object] | None:
    if spread is None:
        return None
    return {"coverage": COVERAGE, "factor": spread.factor, "rows": spread.rows, "devices": spread.devices}


def _replay_json(judged: Judged) -> dict[str, object]:
    """Returns what a twin made of the trace; what limits it is words."""
    limited_by = judged.limit.words if judged.limit else "not known"
    rest = asdict(replace(judged, limit=None))
    del rest["limit"]
    return {**rest, "limited_by": limited_by}


def recommendation_json(found: Recommendation) -> dict[str, object]:
    """Returns the document: `recommended`, and each candidate with its figures; us, W, years, shares."""
    best = found.best
    return {
        "schema": SCHEMA,
        "trace": found.name,
        "ios": found.portion.ios,
        "whole": found.portion.whole,
        "rate_iops": found.portion.rate_iops,
        "spread_over_s": found.portion.step_ns / 1e9 or None,
        "objectives": [asdict(one) for one in found.objectives],
        "recommended": best.device if best else None,
        "sentence": headline(found),
        "grounds": grounds(found),
        "currency": found.prices.currency,
        "candidates": [
            {
                "device": one.device,
                "meets": one.meets,
                "refused": one.refused or None,
                "headroom": one.headroom,
                "headroom_low": one.bounds[0] if one.bounds else None,
                "headroom_high": one.bounds[1] if one.bounds else None,
                "chance": one.chance,
                "spread": _spread_json(one.spread),
                "years": one.years,
                "cost": one.cost,
                "replay": _replay_json(one.judged) if one.judged else None,
            }
            for one in found.candidates
        ],
    }
