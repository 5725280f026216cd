"""Counts drives: divides each need by one drive's figure. The largest count decides; the second is the next limit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.catalog.pcie import link_of
from fathom.errors import UsageError
from fathom.output.text import latency_text
from fathom.sizing.drive import Drive, Figure
from fathom.sizing.needs import Need

_ROUNDING = 1e-9
"""What floating point may add to, or take from, a number of drives."""


@dataclass(frozen=True)
class Answer:
    """One need, one drive's figure after derating, and the drives it takes: at least, or (power) at most. `drives` is
    None where no number of drives meets it, or the figure is not stated; `why` gives the reason.
    """

    need: Need
    figure: Figure | None
    each: float | None
    drives: int | None
    why: str = ""

    @property
    def drives_at_low_end(self) -> int:
        """The drives it takes where the drive's rate is as low as its range reaches; those it takes without a range."""
        spread = self.figure.spread if self.figure else None
        if spread is None or not self.each:
            return self.drives or 1
        return _whole(self.need.amount * spread.factor / self.each)

    @property
    def is_ceiling(self) -> bool:
        """Whether it is an upper limit of the count."""
        return self.need.kind == "power"


@dataclass(frozen=True)
class Link:
    """A host's or GPU's link: its raw rate, and the need."""

    label: str
    raw_bytes_per_s: float
    asked_bytes_per_s: float
    need: str

    @property
    def count(self) -> int:
        """How many such links carry it, headers and flow control not counted."""
        return math.ceil(self.asked_bytes_per_s / self.raw_bytes_per_s)

    @property
    def carries(self) -> bool:
        """Whether one link is enough."""
        return self.count == 1


@dataclass(frozen=True)
class Sizing:
    """The outcome. `drives` is None when a need cannot be answered by any number of them."""

    drive: Drive
    derate: float
    answers: Sequence[Answer]
    links: Sequence[Link]

    @property
    def floors(self) -> list[Answer]:
        """Needs that some number of drives meets, the most demanding first."""
        counted = [answer for answer in self.answers if answer.drives is not None and not answer.is_ceiling]
        return sorted(counted, key=lambda answer: -_exact(answer))

    @property
    def following(self) -> Answer | None:
        """The need that would decide if the first did not; None without one. A latency asks for no number of drives."""
        return next((answer for answer in self.floors[1:] if answer.need.kind != "latency"), None)

    @property
    def unmet(self) -> list[Answer]:
        """Needs that the count does not meet: impossible, not stated, or a ceiling below the count."""
        count = self.floors[0].drives if self.floors else 1
        return [
            answer
            for answer in self.answers
            if answer.drives is None or (answer.is_ceiling and answer.drives < (count or 1))
        ]

    @property
    def drives(self) -> int | None:
        """The drives that all needs take; None where one of them is not met."""
        if self.unmet:
            return None
        return self.floors[0].drives if self.floors else 1

    @property
    def drives_at_low_end(self) -> int | None:
        """The drives that all needs take where rates are as low as their ranges reach; None without ranges."""
        if self.drives is None or not any(one.figure and one.figure.spread for one in self.floors):
            return None
        return max(one.drives_at_low_end for one in self.floors)


def size(drive: Drive, needs: Sequence[Need], derate: float = 1.0, link: str = "5x16") -> Sizing:
    """Returns the sizing for the needs. `derate` (0..1] multiplies one drive's bandwidth and IOPS. Raises UsageError
    for an invalid derate or link.
    """
    if not 0 < derate <= 1:
        raise UsageError(f"--derate {derate:g}: out of range", "expected above 0 and up to 1")
    if not needs:
        raise UsageError("nothing to size for", 'add --need, for example --need "64 GB/s read"')
    label, raw = link_of(link)
    links = [Link(label, raw, need.amount, need.text) for need in needs if need.kind == "bandwidth"]
    return Sizing(drive, derate, [_answer(drive, need, derate) for need in needs], links)


def _answer(drive: Drive, need: Need, derate: float) -> Answer:
    figure = drive.figure(need)
    if figure is None:
        return Answer(need, None, None, None, drive.reason(need))
    if need.kind == "latency":
        met = figure.value <= need.amount
        why = f"more {drive.noun}s do not make one I/O faster"
        if figure.is_bound:
            why = f"the best that is known is {latency_text(figure.value)}, {figure.basis}"
        why = "" if met else why
        return Answer(need, figure, figure.value, 1 if met else None, why)
    each = figure.value * (derate if need.kind in ("bandwidth", "iops") else 1.0)
    if need.kind == "power":
        return Answer(need, figure, each, math.floor(need.amount / each + _ROUNDING))
    return Answer(need, figure, each, _whole(need.amount / each))


def _whole(drives: float) -> int:
    """Returns the next whole number, at least 1: rounding of a quotient takes no drive too many."""
    return max(1, math.ceil(drives - _ROUNDING))


def _exact(answer: Answer) -> float:
    """Returns the drives before rounding, so that the tighter of two needs with equal counts decides."""
    if answer.need.kind == "latency" or not answer.each:
        return 0.0
    return answer.need.amount / answer.each
