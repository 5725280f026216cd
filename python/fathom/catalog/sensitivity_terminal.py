"""A twin's sensitivities in a terminal: a row per parameter, a column per figure."""

from rich.console import Console
from rich.text import Text

from fathom.catalog.sensitivity import Sensitivity
from fathom.catalog.sensitivity_words import footnotes, percent_text, shown
from fathom.output.table import flush_table


def print_sensitivity(console: Console, found: Sensitivity) -> None:
    """Prints what moves the figures, the strongest first; figures have letters, since their names are long."""
    console.print(Text("What moves its figures", style="bold"))
    letters = [chr(ord("A") + place) for place in range(len(found.figures))]
    table = flush_table(header_style="dim")
    table.add_column("parameter", no_wrap=True)
    for letter in letters:
        table.add_column(letter, justify="right", no_wrap=True)
    for one in shown(found):
        pairs = zip(one.means, one.halves, strict=True)
        cells = (Text(percent_text(mean), style="dim" if half >= mean else "") for mean, half in pairs)
        table.add_row(Text(one.parameter), *cells)
    console.print(table)
    for letter, figure in zip(letters, found.figures, strict=True):
        console.print(Text(f"{letter}  {figure.words}"))
    for text in footnotes(found):
        console.print(Text(text, style="dim"))
