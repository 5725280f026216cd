"""A step's write amplification in a table or a sentence: its figure with half its 95 % interval where there is one."""

from collections.abc import Sequence

from fathom.analysis.uncertainty import Interval, ratio_interval
from fathom.report.blocks import Item
from fathom.report.comparison import Column, margin_of
from fathom.report.repeats import interval_over, of_each
from fathom.report.rows import Point
from fathom.report.style import grouped

WHY_NONE = "no interval: fewer than five whole seconds, or they drift"
NOTE = (
    "± of WAF is half its 95 % interval over the seconds of the window, or over repeats. None is given where fewer "
    "than five whole seconds were measured (a twin may end a window early) or where they drift."
)


def waf_item(point: Point, over: Interval | None, *, strong: bool = False) -> Item | None:
    """The ratio of two counts over the window, with its interval; None where media writes are not counted."""
    if not point.waf:
        return None
    margin = margin_of(point.waf, over.low, over.high) if over else ""
    tone = "strong" if strong else ""
    return Item(grouped(point.waf), margin, tone=tone, title="" if over else WHY_NONE)


def waf_over(column: Column, point: Point) -> Interval | None:
    """95 % interval of a point's WAF: over repeats, of a single run over the seconds of its window."""
    run = column.run
    over = interval_over(of_each(run, point), "waf")
    return over or waf_interval(run.measured_writes(point.target, point.step))


def waf_interval(samples: Sequence[tuple[float, float, float]]) -> Interval | None:
    """95 % interval of media bytes / host bytes over (start in s, host, media) of the seconds of a window.

    None for too few, or where they drift. The last second may be a part of one, and is left out.
    """
    host, media = ([sample[place] for sample in samples[:-1]] for place in (1, 2))
    return ratio_interval(media, host)


def waf_text(waf: float, over: Interval | None) -> str:
    """`1.52 (± 0.4 %)`; the figure alone without an interval."""
    margin = margin_of(waf, over.low, over.high) if over else ""
    return f"{waf:.2f} ({margin})" if margin else f"{waf:.2f}"
