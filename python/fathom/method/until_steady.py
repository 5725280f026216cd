"""When a measured step ends before its time: its figures hold still, as fio's `steadystate` has it.

The rule only, over figures that were measured; the session runs the step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from fathom.method.rounds import Metric
from fathom.output.text import percent

NS_PER_S = 1_000_000_000
_WORDS: dict[Metric, str] = {"iops": "IOPS", "mbps": "bandwidth", "latency": "mean latency"}


class UntilSteadyJson(TypedDict):
    """The parser's normal form."""

    metric: Metric
    by: Literal["deviation", "slope"]
    limit: float
    over_ns: int
    after_ns: int
    every_ns: int


@dataclass(frozen=True)
class UntilSteady:
    """A window of the last `over_s` seconds, of a value every `every_s`. The first `after_s` are not looked at."""

    metric: Metric
    by: Literal["deviation", "slope"]
    limit_fraction: float
    over_s: int
    after_s: float
    every_s: int

    @property
    def values(self) -> int:
        """Values in the window."""
        return self.over_s // self.every_s

    def holds(self, values: Sequence[float]) -> bool:
        """Returns whether the last values hold still; False where there are too few, or nothing was done.

        Either none of them is further from their mean than the limit, or a straight line through them moves less from
        each to the next.
        """
        last = np.asarray(values[-self.values :], dtype=float)
        if len(last) < self.values or not (mean := float(last.mean())):
            return False
        if self.by == "deviation":
            found = float(np.abs(last - mean).max())
        else:
            places = np.arange(len(last)) - (len(last) - 1) / 2
            found = abs(float(places @ last / (places @ places)))
        return found < self.limit_fraction * mean

    @property
    def words(self) -> str:
        """What the rule asks for."""
        limit = percent(self.limit_fraction)
        if self.by == "deviation":
            return f"{_WORDS[self.metric]} less than {limit} from the mean over {self.over_s} s"
        every = "a second" if self.every_s == 1 else f"every {self.every_s} s"
        return f"{_WORDS[self.metric]} moving less than {limit} {every} over {self.over_s} s"


def parse_until_steady(rule: UntilSteadyJson) -> UntilSteady:
    """Returns the rule from its normal form."""
    return UntilSteady(
        rule["metric"],
        rule["by"],
        rule["limit"],
        rule["over_ns"] // NS_PER_S,
        rule["after_ns"] / NS_PER_S,
        rule["every_ns"] // NS_PER_S,
    )
