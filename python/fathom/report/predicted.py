"""The range around a twin's rate that most measurements of its device lie in: as a cell, and as whiskers of a line."""

from fathom.prediction.interval import COVERAGE, Spread
from fathom.prediction.words import spread_words
from fathom.report.axes import rounded
from fathom.report.blocks import Item
from fathom.report.charts import Whisker
from fathom.report.style import compact, grouped

PREDICTED = f"Measured, {100 * COVERAGE:.0f} % expected"
WHISKERS = f" Whiskers: {100 * COVERAGE:.0f} % of measurements of a twin's device lie within."
"""What a caption adds where whiskers are drawn."""


def range_item(spread: Spread, value: float) -> Item:
    """Returns the range around a rate, with what it is learnt from."""
    low, high = spread.around(value)
    return Item(f"{_about(low)} to {_about(high)}", title=spread_words(spread))


def whisker(x: float, spread: Spread, value: float) -> Whisker:
    """Returns the range around a rate at a place of the x axis."""
    low, high = spread.around(value)
    return x, rounded(low), rounded(high)


def _about(value: float) -> str:
    """Returns a bound in three significant digits: `5,910`, `1.19M`."""
    return compact(value) if value >= 1e5 else grouped(float(f"{value:.3g}"))
