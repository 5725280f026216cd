"""What limits a step, taken apart: recordings say it as `flash dies 97 %, next controller 71 %`.

The words are those of the crate `recording`, which knows no think time; this reads them, for tables and sentences that
need a part, and names what they do not know: think time, and a client that has no more to give.
"""

import re
from dataclasses import dataclass

_FORM = re.compile(
    r"(?P<name>.+?)(?: \((?P<amount>\d[^)]*)\))?(?: (?P<busy_pct>\d+) %(?: \(mean (?P<mean_pct>\d+) %\))?)?"
    r"(?:, (?P<other>(?:next|busiest) .+))?"
)
_IN_FLIGHT = re.compile(r"outstanding I/O \([^)]*\)")
_UNTOLD = "target or "
CLIENT_BUSY_PCT = 85.0
"""Busy share of a machine's processors beyond which it is taken for the limit of what it measures."""


@dataclass(frozen=True)
class Limit:
    """`name` limits; `share` is how busy it is, or how much of it there is; `other` names the next or busiest one."""

    name: str
    share: str
    other: str


def limit_of(text: str) -> Limit:
    """Returns the parts of `limited_by`; what has no such form is all name."""
    match = _FORM.fullmatch(text)
    if match is None:
        return Limit(text, "", "")
    busy_pct, mean_pct, amount = match["busy_pct"], match["mean_pct"], match["amount"]
    busy = f"{busy_pct} %" + (f", mean {mean_pct} %" if mean_pct else "")
    return Limit(match["name"], busy if busy_pct else amount or "", match["other"] or "")


def with_think_time(text: str | None) -> str | None:
    """Returns `limited_by` of a load that pauses for longer than its I/O takes: the pauses limit it, not what is in
    flight.
    """
    return _IN_FLIGHT.sub("think time", text, count=1) if text else text


def with_client(text: str | None, busy_pct: float) -> str | None:
    """Returns `limited_by` of a real target from a client whose processors were so busy: they limit it beyond a share.

    What is known to limit stays: a saturated resource, an offered rate.
    """
    if text is None or not text.startswith(_UNTOLD) or busy_pct <= CLIENT_BUSY_PCT:
        return text
    return f"client CPU {busy_pct:.0f} %"
