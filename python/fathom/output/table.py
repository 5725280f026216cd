"""Tables for terminals: the one way in which they are set, so that a narrow terminal cuts nothing off."""

import re

from rich import box
from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text


def flush_table(
    style: Box | None = box.SIMPLE_HEAD,
    *,
    gap: int = 1,
    header_style: str = "bold",
    edge: bool = True,
    lines: bool = False,
) -> Table:
    """Returns a table without padding at its sides, `gap` blanks before every other column beside those of the style.

    Before, not behind. A last column without padding at the right loses the last character of every line in rich 15.0,
    when its table has to be narrowed.
    """
    return Table(
        box=style,
        pad_edge=False,
        padding=(0, 0, 0, gap),
        header_style=header_style,
        show_edge=edge,
        show_lines=lines,
    )


class Name:
    """A name, or a list of some, that a narrow column divides at spaces and behind hyphens and underscores.

    Within a word only where that is wider still.
    """

    def __init__(self, name: str) -> None:
        """Nothing of it is markup."""
        self._parts: list[str] = re.findall(r"[^-_ ]*[-_ ]+|[^-_ ]+", name)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From the longest part to the whole name."""
        lengths = [len(part) for part in self._parts]
        return Measurement(max(lengths, default=0), sum(lengths))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many parts on a line as there is width for."""
        lines = [""]
        for part in self._parts:
            if lines[-1] and len(lines[-1] + part.rstrip()) > options.max_width:
                lines.append("")
            lines[-1] += part
        yield Text("\n".join(line.rstrip() for line in lines))
