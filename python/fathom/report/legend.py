"""What captions and legends of several sections share: the targets with their colours, the window and n of points."""

from collections.abc import Callable, Sequence

from fathom.report.blocks import Item
from fathom.report.comparison import Cell, Column
from fathom.report.style import compact, seconds, slot


def legend_of(columns: Sequence[Column]) -> list[Item]:
    """Returns one entry per target."""
    return [Item(c.short, c.tag, slot=slot(c.index)) for c in columns]


def window_of(cells: Sequence[Cell]) -> str:
    """Returns `window 5 s, n 12k to 10.5M I/Os per curve` over the cells' points."""
    windows = [cell.point.window_s for cell in cells if cell.point.window_s is not None]
    counts = [cell.point.n for cell in cells if cell.point.n is not None]
    if not windows or not counts:
        return "window and n not recorded"
    window, n = _range(windows, seconds), _range(counts, compact)
    return f"window {window}, n = {n} I/Os per target and workload"


def _range(values: Sequence[float], write: Callable[[float], str]) -> str:
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low} to {high}"
