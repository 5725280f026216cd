"""Tables for terminals: the one way in which they are set, so that a narrow terminal cuts nothing off."""

from rich import box
from rich.box import Box
from rich.table import Table


def flush_table(
    style: Box | None = box.SIMPLE_HEAD,
    *,
    gap: int = 1,
    header_style: str = "bold",
    edge: bool = True,
    lines: bool = False,
) -> Table:
    """A table without padding at its sides, `gap` blanks before every other column beside those of the style.

    Before, not behind: of a table that has to be narrowed, rich 15.0 cuts the last character off every line of a last
    column whose padding at the right was taken away.
    """
    return Table(
        box=style,
        pad_edge=False,
        padding=(0, 0, 0, gap),
        header_style=header_style,
        show_edge=edge,
        show_lines=lines,
    )
