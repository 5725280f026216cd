"""Tables for terminals: the one way in which they are set, so that a narrow terminal cuts nothing off."""

import re
from collections.abc import Sequence

from rich import box
from rich.box import Box
from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fathom.output.printed import printable


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


LEAST_LAST = 12
"""Columns that the last column of `row_lines` has, however wide the others are."""


class Name:
    """A name, or a list of some, that a narrow column divides at spaces and behind hyphens, underscores and slashes.

    Within a word only where that is wider still.
    """

    def __init__(self, name: str, style: str = "", indent: int = 0) -> None:
        """Nothing of it is markup. Each line begins with `indent` blanks."""
        self._parts: list[str] = re.findall(r"[^-_ /]*[-_ /]+|[^-_ /]+", name)
        self._style = style
        self._indent = indent

    @property
    def narrowest(self) -> int:
        """The width below which a part is divided."""
        return max((len(part) for part in self._parts), default=0)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From the longest part to the whole name."""
        whole = sum(len(part) for part in self._parts)
        return Measurement(self._indent + self.narrowest, self._indent + whole)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many parts on a line as there is width for."""
        lines = self.folded(max(options.max_width - self._indent, 1))
        yield Text("\n".join(" " * self._indent + line for line in lines), style=self._style)

    def folded(self, width: int) -> list[str]:
        """Returns the name in lines of at most `width` columns."""
        lines = [""]
        for part in (piece for whole in self._parts for piece in chop_cells(whole, width)):
            if lines[-1] and cell_len(lines[-1] + part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
        return [line.rstrip() for line in lines]


def row_lines(rows: Sequence[Sequence[str]], width: int, *, gap: int, right: int) -> list[str]:
    """Returns rows as lines: column `right` to the right, the last column folded as a `Name` at `width`.

    For tables of thousands of rows, which take rich seconds. All lines of a row are one text with line breaks.
    """
    clean = [[printable(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*(row[:-1] for row in clean), strict=True)]
    begin = sum(widths) + gap * len(widths)
    rest = max(width - begin, LEAST_LAST)
    out: list[str] = []
    for *cells, last in clean:
        fills = [" " * (wide - cell_len(cell)) for cell, wide in zip(cells, widths, strict=True)]
        padded = [
            fill + cell if at == right else cell + fill
            for at, (cell, fill) in enumerate(zip(cells, fills, strict=True))
        ]
        first, *others = [last] if cell_len(last) <= rest else Name(last).folded(rest)
        line = (" " * gap).join([*padded, first]).rstrip()
        out.append("\n".join([line, *(" " * begin + other for other in others)]))
    return out
