"""The range around a twin's rate that most measurements of its device lie in: as a cell, and as whiskers of a line."""

from collections.abc import Sequence
from dataclasses import replace

from fathom.prediction.interval import COVERAGE, Spread
from fathom.prediction.words import spread_words
from fathom.report.axes import Axis, from_zero, rounded
from fathom.report.blocks import Item
from fathom.report.charts import Cross, Line, Whisker
from fathom.report.comparison import Column
from fathom.report.findings import Gate
from fathom.report.style import about

PREDICTED = f"Measured, {100 * COVERAGE:.0f} % expected"
WHISKERS = f" Whiskers: {100 * COVERAGE:.0f} % of measurements of a twin's device lie within."
"""What a caption adds where whiskers are drawn."""


ACROSS = f"Whisker: where {100 * COVERAGE:.0f} % of measurements of a twin's device have their greatest sustained rate."
"""What a caption adds where a curve of latency over its rate has one."""


def range_item(spread: Spread, value: float) -> Item:
    """Returns the range around a rate, with what it is learnt from."""
    low, high = spread.around(value)
    return Item(f"{about(low)} to {about(high)}", title=spread_words(spread))


def range_text(spread: Spread | None, rate: float) -> str:
    """Returns the range as a line beneath a rate; empty without a spread."""
    return range_item(spread, rate).text if spread else ""


def ranges_note(*, any_range: bool) -> list[str]:
    """Returns the footnote of a table with such lines; none where no rate has one."""
    text = (
        f"Beneath a twin's rate: the range that {100 * COVERAGE:.0f} % of measurements of its device lie in."
    )
    return [text] if any_range else []


def whisker(place: float, spread: Spread, value: float) -> Whisker:
    """Returns the range around a rate at a place of the other axis."""
    low, high = spread.around(value)
    return place, rounded(low), rounded(high)


def settled_spread(column: Column, step: str, block_bytes: int | None, out: Gate) -> Spread | None:
    """Returns the spread of a twin's rate in a step; None where it had not settled, and of what was measured."""
    return None if (column.short, step) in out else column.spread(step, block_bytes)


def bar_range(spread: Spread | None, rate: float | None) -> tuple[float, float] | None:
    """Returns the range around the rate of a bar; None without a rate or a spread."""
    if spread is None or rate is None:
        return None
    low, high = spread.around(rate)
    return rounded(low), rounded(high)


def rate_axis(name: str, lines: Sequence[Line], crosses: Sequence[Cross] = ()) -> Axis:
    """Returns the x axis of curves over their rate, long enough for whiskers along it."""
    if not any(line.across for line in lines):
        return Axis(name, "count", low=0)
    most = max([line.furthest for line in lines] + [cross.x for cross in crosses])
    return replace(from_zero(most, "count"), name=name)
