"""What the times of a trace are worth: whether it has any, how fine their clock is, whether a unit is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from fathom.errors import UsageError
from fathom.output.text import duration, iops_text

NS_PER_S = 1e9
COARSE_NS = 1_000_000
"""A clock that steps by less makes no bursts that a job or a report looks at."""
COARSE_IOS = 2.0
"""I/Os at one time, on average, from which such a clock makes bursts."""
MOST_LENGTH_S = 366 * 86400
"""No recording of block I/O goes on as long: a longer trace means that its times jump, or have another unit."""
MOST_IOPS = 1e8
"""No machine issues as many: a mean rate above it means that times have another unit."""


class TimesFault(StrEnum):
    """What is wrong with the times of a trace."""

    NONE = "none"
    """They are all the same."""
    UNIT = "unit"
    """They have another unit than was read."""
    LENGTH = "length"
    """They reach further than any recording."""
    COARSE = "coarse"
    """Their clock makes bursts of I/Os that came one after the other."""


class Doubt(BaseModel):
    """Why the times of a trace mislead, with its figures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: TimesFault
    step_ns: int = 0
    ios_at_once: float = 0.0
    iops: float = 0.0
    length_s: float = 0.0

    @property
    def text(self) -> str:
        """Returns a sentence without the trace's name."""
        match self.fault:
            case TimesFault.NONE:
                return "its I/Os have no times, so no rates, gaps or bursts"
            case TimesFault.UNIT:
                rate = iops_text(self.iops)
                return f"{rate} on average is more than any machine issues; its times may have another unit (--columns)"
            case TimesFault.LENGTH:
                return (
                    f"{self.length_s / 86400:,.0f} days are more than any recording takes; its times may jump, "
                    "or have another unit (--columns)"
                )
            case TimesFault.COARSE:
                return (
                    f"its times are multiples of {duration(self.step_ns / NS_PER_S)}, "
                    f"with {self.ios_at_once:,.0f} I/Os at once on average; bursts within them are the clock's"
                )


@dataclass
class Clock:
    """The times of a trace, as far as its batches have been read."""

    ios: int = 0
    last_ns: int = 0
    """Time of the last I/O since the first."""
    step_ns: int = 0
    """The longest time that divides all others, while it is `COARSE_NS` or longer; else a shorter one that does."""
    longest_gap_ns: int = 0
    """The longest time without the issue of an I/O."""

    def add(self, issue_ns: NDArray[np.uint64]) -> None:
        """Counts a batch of at least one I/O."""
        self.ios += len(issue_ns)
        begin = np.uint64(self.last_ns if self.ios > len(issue_ns) else issue_ns[0])
        gaps_ns = np.diff(np.maximum.accumulate(issue_ns), prepend=begin).astype(np.int64)
        self.longest_gap_ns = max(self.longest_gap_ns, int(gaps_ns.max()))
        self.last_ns = max(self.last_ns, int(issue_ns.max()))
        if not self.step_ns or self.step_ns >= COARSE_NS:
            self.step_ns = int(np.gcd(np.uint64(self.step_ns), np.gcd.reduce(issue_ns)))

    @property
    def has_times(self) -> bool:
        """Returns whether times differ; one I/O alone needs none."""
        return self.last_ns > 0 or self.ios < 2

    @property
    def ios_at_once(self) -> float:
        """Returns how many I/Os have each time of the clock, on average."""
        return self.ios / (self.last_ns // max(self.step_ns, 1) + 1)

    @property
    def coarse(self) -> bool:
        """Returns whether the clock is so slow that it makes bursts of I/Os that came one after the other."""
        return self.last_ns > 0 and self.step_ns >= COARSE_NS and self.ios_at_once >= COARSE_IOS

    @property
    def doubt(self) -> Doubt | None:
        """Returns what is wrong with the times; None where they may be used."""
        if not self.has_times:
            return Doubt(fault=TimesFault.NONE)
        if self.last_ns and self.ios * NS_PER_S > MOST_IOPS * self.last_ns:
            return Doubt(fault=TimesFault.UNIT, iops=self.ios * NS_PER_S / self.last_ns)
        if self.last_ns > MOST_LENGTH_S * NS_PER_S:
            return Doubt(fault=TimesFault.LENGTH, length_s=self.last_ns / NS_PER_S)
        if self.coarse:
            return Doubt(fault=TimesFault.COARSE, step_ns=self.step_ns, ios_at_once=self.ios_at_once)
        return None

    def doubts(self) -> Sequence[str]:
        """Returns what is wrong with the times, a sentence each without the trace's name."""
        return [self.doubt.text] if self.doubt else []


def refuse_length(name: str, clock: Clock) -> None:
    """Raises UsageError where the times of the trace of that name reach further than any recording."""
    doubt = clock.doubt
    if doubt and doubt.fault is TimesFault.LENGTH:
        raise UsageError(
            f"{name}: {doubt.text}", "cut the trace before the jump, or name the unit of its times"
        )
