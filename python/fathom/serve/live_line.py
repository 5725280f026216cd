"""The last minutes of a figure as a line: SVG path and highest value. The scale begins at zero."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.runs.live import LiveSeries

MOST_SPAN_S, LEAST_SPAN_S = 180.0, 30.0
"""Time that lines show: as long as the run, within these bounds."""
WIDTH, HEIGHT = 300.0, 60.0
"""Box that a line is drawn in, in the path's own units; pages stretch it."""
MARGIN = 2.0
"""Room for half the width of the pen, above and below."""
GAP_S = 3.5
"""A longer pause between two values breaks the line."""


@dataclass(frozen=True)
class Line:
    """A line: `path` as SVG draws it, and its highest value in words. Both are empty where there is no value."""

    path: str = ""
    highest: str = ""


NO_LINE = Line()


def span_s(now_s: float) -> float:
    """Returns how much time lines show, `now_s` after the run began."""
    return min(MOST_SPAN_S, max(LEAST_SPAN_S, now_s))


def line_of(
    recent: LiveSeries, values: Sequence[float | None], now_s: float, words: Callable[[float], str]
) -> Line:
    """Returns the line of a target's values that lie in the span before `now_s`, in a piece for each step."""
    span = span_s(now_s)
    shown = [
        (at, step, value)
        for at, step, value in zip(recent.at_s, recent.step, values, strict=True)
        if value is not None and now_s - at <= span
    ]
    if not shown:
        return NO_LINE
    highest = max(value for _, _, value in shown)
    path: list[str] = []
    before: tuple[float, int] | None = None
    for at, step, value in shown:
        # Times are rounded, the last one perhaps beyond now.
        x = min(WIDTH, WIDTH * (1 - (now_s - at) / span))
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value / highest if highest else 0)
        starts = before is None or before[1] != step or at - before[0] > GAP_S
        # A value without neighbours is a dot: a line of no length with round ends.
        path.append(f"M{x:.1f} {y:.1f}h0" if starts else f"L{x:.1f} {y:.1f}")
        before = at, step
    return Line("".join(path), words(highest))
