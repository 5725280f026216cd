"""A new drive in a terminal: how well each rating is met, and what it has set. Computes nothing."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from fathom.catalog.sheet import missed_text, rated_in
from fathom.new_device.files import CHECKED
from fathom.new_device.fit import Fitted, Met
from fathom.new_device.make import Made
from fathom.output.table import flush_table
from fathom.output.text import four_digits, signed_pct
from fathom.report.style import grouped, plain


def print_made(console: Console, made: Made) -> None:
    """Prints ratings beside what the twin does, values outside their class, and how to go on."""
    fitted = made.fitted
    console.print(Text(fitted.device.identity.label, style="bold"))
    _print_ratings(console, fitted)
    for one in fitted.outside:
        _print_dim(
            console,
            f"{one.parameter} is {four_digits(one.value)}, outside the {four_digits(one.low)} to "
            f"{four_digits(one.high)} of its class: a wrong rating, or a drive unlike its class",
        )
    _print_dim(console, CHECKED)
    for one in fitted.ratings:
        if not one.met:
            console.print(Text(plain(missed_words(one)), style="yellow"), soft_wrap=True)
    for path in made.paths:
        console.print(f"written to {path}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"fathom run four-corners twin:{fitted.device.name}", markup=False, highlight=False)


def missed_words(one: Met) -> str:
    """Returns the warning of a rating that the twin misses: what it does instead, why, and what to do."""
    why = (
        f"It is limited by: {one.limited_by or 'nothing that it names'}."
        if one.parameter
        else "No parameter was fitted to this rating."
    )
    return (
        f"Warning: {missed_text(one.miss)}. {why} Check the rating. If it is right, do not trust the twin with such "
        "I/O."
    )


def _print_ratings(console: Console, fitted: Fitted) -> None:
    assert fitted.device.twin is not None
    table = flush_table()
    for column in ("rating", "rated", "simulated", "error", "has set", ""):
        table.add_column(column, justify="right" if column in ("rated", "simulated", "error") else "left")
    for one in fitted.ratings:
        parameter = fitted.device.twin.parameters.get(one.parameter or "")
        table.add_row(
            one.key,
            Text.assemble(grouped(one.rated), (f" {rated_in(one.key)}", "dim")),
            grouped(one.simulated),
            Text(signed_pct(one.error_pct), style="" if one.met else "yellow"),
            f"{one.parameter} = {four_digits(parameter.value)}"
            if parameter and not isinstance(parameter.value, str)
            else "",
            Text("" if one.parameter else "compared only", style="dim"),
        )
    console.print(table)


def _print_dim(console: Console, text: str) -> None:
    console.print(Padding(Text(plain(text), style="dim"), (0, 0, 0, 2), expand=False))
