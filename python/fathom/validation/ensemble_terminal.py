"""An ensemble in a terminal: what the rows taught about each parameter, and the spread of the members' rates."""

from rich.console import Console
from rich.text import Text

from fathom.output.table import Name, flush_table
from fathom.output.text import signed_pct
from fathom.report.style import plain
from fathom.validation.ensemble import Sampled

LEARNT_LEAST = 0.2
"""Least share of a parameter's variance that must go for the rows to count as having said something about it."""


def print_ensemble(console: Console, sampled: Sampled) -> None:
    """Prints rows with the members' errors, parameters with their ranges, and what the rows leave open."""
    ensemble = sampled.ensemble
    console.print(Text(f"{len(ensemble.members)} parameter sets of {ensemble.name}", style="bold"))
    rows = flush_table()
    for name, right in (("row", False), ("80 % of members, before", True), ("after", True)):
        rows.add_column(name, justify="right" if right else "left", overflow="fold")
    for case, before, after in zip(
        sampled.cases, sampled.errors_pct(before=True), sampled.errors_pct(), strict=True
    ):
        rows.add_row(
            Name(plain(case.name)),
            *(f"{signed_pct(low)} to {signed_pct(high)}" for low, high in (before, after)),
        )
    console.print(rows)
    table = flush_table()
    for name in ("parameter", "80 % range, before", "after", "learnt"):
        table.add_column(name, justify="left" if name == "parameter" else "right", overflow="fold")
    for one in sorted(sampled.narrowed, key=lambda one: -one.learnt):
        style = "" if one.learnt >= LEARNT_LEAST else "dim"
        ranges = (f"{low:,.4g} to {high:,.4g}" for low, high in (one.prior, one.posterior))
        table.add_row(Name(one.name, style), *ranges, Text(f"{100 * one.learnt:.0f} %", style=style))
    console.print(table)
    console.print(
        Text(
            f"Root mean square error over the rows: {ensemble.misfit_before_pct:.1f} % before, "
            f"{ensemble.misfit_pct:.1f} % after. Learnt: the share of the prior's variance that the rows remove. "
            f"`twin:{ensemble.name}?member=1` runs a member once the ensemble is written.",
            style="dim",
        )
    )
