"""Limits that a user sets on changes: `p99 > +5%` fails a comparison in which p99 rose by more than 5 %."""

import re
from dataclasses import dataclass
from enum import StrEnum

from fathom.compare.metrics import check_name
from fathom.errors import UsageError
from fathom.statistics.differences import Difference

_FORM = re.compile(r"\s*(?P<metric>\S+?)\s*(?P<side>[<>])\s*(?P<limit>[+−-]?\d+(?:\.\d+)?)\s*%\s*")
_EXAMPLE = 'write it as "p99 > +5%" or "iops < -3%"'


class Outcome(StrEnum):
    """Whether a figure keeps a limit. `UNDECIDED`: the change is beyond it, and may be chance."""

    KEPT = "kept"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Gate:
    """A limit on the change of one metric, in percent of the base."""

    metric: str
    above: bool
    limit_pct: float
    text: str

    def outcome(self, found: Difference | None, *, may_be_claimed: bool) -> Outcome:
        """Returns whether a difference keeps the limit.

        A limit is missed if the change exceeds it and its interval excludes zero.
        """
        if found is None:
            return Outcome.UNDECIDED
        if not (found.change_pct > self.limit_pct if self.above else found.change_pct < self.limit_pct):
            return Outcome.KEPT
        return Outcome.MISSED if found.is_shown and may_be_claimed else Outcome.UNDECIDED


def parse_gate(text: str) -> Gate:
    """Returns the limit of `METRIC > +N%` or `METRIC < -N%`.

    Raises UsageError, also for a limit that equal figures miss: its sign or its side is wrong.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"--fail-if {text!r}: not a limit on a change", _EXAMPLE)
    check_name(match["metric"])
    above, limit_pct = match["side"] == ">", float(match["limit"].replace("−", "-"))
    if (limit_pct < 0) if above else (limit_pct > 0):
        raise UsageError(f"--fail-if {text!r}: equal figures would miss this limit", _EXAMPLE)
    return Gate(match["metric"], above, limit_pct, " ".join(text.split()))
