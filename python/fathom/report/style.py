"""The one figure style: colours, line marks, and how numbers are written, on pages, in charts and in the terminal."""

import re
from datetime import datetime

from fathom.output.text import digits
from fathom.statistics.uncertainty import LEAST_BEYOND

LIGHT = ("#1466ba", "#e53b00", "#219c6e", "#8a2a7d", "#af8c3d", "#2b96c0", "#892d47", "#73767f")
DARK = ("#03a5ee", "#ea864b", "#7ce49b", "#db76b0", "#f7c149", "#8fdcfb", "#dc788a", "#d5ccca")
"""Contrast to the page is 3:1 or more (WCAG 1.4.11). Any two differ by more than 15 in CIE L*a*b*, for protanopes and
deuteranopes too.
"""

DASHES: tuple[str | list[float], ...] = (
    "solid",
    [7, 3],
    [2, 2.5],
    [9, 3, 2, 3],
    [14, 4],
    "solid",
    [7, 3],
    [2, 2.5],
)
SYMBOLS = ("circle", "rect", "triangle", "diamond", "roundRect", "emptyCircle", "emptyRect", "emptyTriangle")
"""Never colour alone: each series also has its own dash and mark."""


MIN_TAIL = LEAST_BEYOND
"""A percentile is shown only when at least this many I/Os lie beyond it."""


MICRO = re.compile(r"(?:(?<=\d )|(?<=, )|(?<=\()|(?<= in )|^)us(?=$|[\s,;.:)])")
"""The unit where it follows a number, a comma or `in`, or stands alone; a name that holds the word is left as it is."""


def with_micro(text: str) -> str:
    """Returns text whose `us` are `µs`, as pages have it; files and terminals that know ASCII alone have `us`."""
    return MICRO.sub("µs", text)


def slot(index: int) -> int:
    """Returns the place of a series in the palette."""
    return index % len(LIGHT)


def grouped(value: float) -> str:
    """Returns a number for a table, thousands grouped, at most two decimals, a real minus sign and no `−0.00`:
    `2,108,065`, `143.2`, `−78.41`.
    """
    size = abs(value)
    digits = 0 if size >= 1000 else 1 if size >= 100 else 2
    return f"{round(value, digits) or 0.0:,.{digits}f}".replace("-", "−")


def compact(value: float) -> str:
    """Returns a number for a sentence: `2.11M`, `473k`, `98.2`."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * limit:
            return (
                f"{value / limit:.3g}{unit}" if abs(value) < 999.5 * limit else f"{value / limit:.0f}{unit}"
            )
    return digits(value)


def rate_words(value: float, unit: str) -> str:
    """Returns a rate for a sentence: `2.11M IOPS`, `6,750 MB/s`."""
    return f"{grouped(value) if unit == 'MB/s' else compact(value)} {unit}"


def about(value: float) -> str:
    """Returns a number in three significant digits: `5,910`, `1.19M`."""
    return compact(value) if value >= 1e5 else grouped(float(f"{value:.3g}"))


def seconds(value: float) -> str:
    """Returns a length of time: `49.4 us`, `5 s`, `2.5 s`, `10 min`, `6 h`, `1,500 h`."""
    if 0 < value < 0.9995e-3:
        return f"{value * 1e6:.3g} us"
    for unit, size in (("h", 3600), ("min", 60)):
        if value >= 2 * size:
            count = value / size
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:,.0f} {unit}"
    return f"{value:.3g} s"


def when(iso: str) -> str:
    """Returns an ISO time in words, UTC kept: `20 November 2026, 23:15 UTC`."""
    try:
        time = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{time.day} {time:%B %Y, %H:%M}{' UTC' if time.utcoffset() is not None else ''}"


def plain(text: str) -> str:
    """Returns untrusted text with its control characters made visible, so that it can move no cursor."""
    return "".join(char if char.isprintable() else "�" for char in text)
