"""A step's write amplification in a table or a sentence: its figure with half its 95 % interval where there is one."""

from collections.abc import Sequence

from fathom.columns.schema import Point
from fathom.report.blocks import Item
from fathom.report.comparison import margin_of
from fathom.report.style import grouped
from fathom.statistics.uncertainty import Bounds, ratio_interval

WHY_NONE = "no interval: fewer than five whole seconds, or they drift"
NOTE = (
    "± of WAF is half its 95 % interval over the seconds of the window, or over repeats. Where a twin may end a "
    "window early, 16 to 64 equal parts replace the seconds. None is given with fewer than five whole seconds, "
    "or where they drift."
)


def waf_item(point: Point, *, strong: bool = False) -> Item | None:
    """Returns the ratio of two counts over the window, with its interval; None where media writes are not counted."""
    if not point.waf:
        return None
    over = point.interval("waf")
    margin = margin_of(point.waf, *over) if over else ""
    return Item(grouped(point.waf), margin, tone="strong" if strong else "", title="" if over else WHY_NONE)


def waf_interval(samples: Sequence[tuple[float, float, float]]) -> Bounds | None:
    """Returns the 95 % interval of media bytes / host bytes over (start in s, host, media) of a window's seconds. None
    if they are too few or drift. The last second may be incomplete and is left out.
    """
    host, media = ([sample[place] for sample in samples[:-1]] for place in (1, 2))
    over = ratio_interval(media, host)
    return (over.low, over.high) if over else None


def waf_text(waf: float, over: Bounds | None) -> str:
    """Returns `1.52 (± 0.4 %)`, or `1.52 (no interval)`; the tables' note says when a WAF has none."""
    margin = margin_of(waf, *over) if over else ""
    return f"{waf:.2f} ({margin or 'no interval'})"
