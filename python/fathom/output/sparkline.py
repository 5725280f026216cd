"""Draws a few values as a line of block characters."""

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Returns one character for each value, as high as its share of the greatest; empty without a value above 0."""
    most = max(values, default=0.0)
    if most <= 0:
        return ""
    return "".join(
        BLOCKS[min(int(max(value, 0.0) / most * len(BLOCKS)), len(BLOCKS) - 1)] for value in values
    )
