"""Sizes and durations of other tools, in bytes and seconds."""

import re

from fathom.errors import UsageError

POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
SECONDS = {
    "us": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}


def bytes_of(text: str, place: str) -> int:
    """Returns a size of fio or Vdbench: `k` and `kb` are 1024; `KiB` of fio is 1000 (its `kb_base=1024`, the
    default).
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtp]?)(ib|i|b)?", text.strip().lower())
    if not found:
        raise UsageError(f"{place}: {text} is not a size", 'expected one like "4k" or "10g"')
    number, prefix, ending = float(found[1]), found[2], found[3]
    base = 1000 if ending == "ib" else 1024
    return round(number * base ** POWERS[prefix])


def number_of(text: str, place: str) -> float:
    """Returns a number, with or without a percent sign."""
    try:
        return float(text.strip().rstrip("%"))
    except ValueError:
        raise UsageError(f"{place}: {text or 'nothing'} is not a number", "write one") from None
