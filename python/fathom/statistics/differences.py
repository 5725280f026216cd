"""Whether two measurements differ: the ratio of two positive figures with its interval, and what it allows to say.

Figures are compared as logarithms, so that twice and half are equally far. Welch's t with Satterthwaite's degrees of
freedom; the interval of one of N comparisons is widened so that all N hold together (Bonferroni). One window's variance
is known about as well as that of the root of its seconds in batches (Flegal & Jones, Annals of Statistics 38, 2010).
Definitions and the measured rate of false alarms: docs/explanation/statistics.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log, sqrt
from statistics import NormalDist, fmean, variance
from sys import float_info

from fathom.statistics.student import critical, half_width
from fathom.statistics.uncertainty import Bounds

_HALF_OF_95_PCT = NormalDist().inv_cdf(0.975)
_LARGEST_LOG = log(float_info.max)
MOST_REPEATS = 100
"""The most repeats that are worth advising."""


class Verdict(StrEnum):
    """What the interval of a ratio allows to say."""

    BETTER = "better"
    WORSE = "worse"
    LEVEL = "level"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The logarithm of a positive figure: its value, the variance of that, its degrees of freedom, and over how many
    repeats it is a mean.
    """

    log: float
    variance: float
    freedom: float
    repeats: int


@dataclass(frozen=True, slots=True)
class Difference:
    """`ratio` is new / base; with the stated confidence the true one lies within `low` and `high`.

    `high` is infinite where repeats scatter so much that no number bounds it.
    """

    ratio: float
    low: float
    high: float
    confidence: float

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes that the two are equal."""
        return self.low > 1 or self.high < 1

    @property
    def change_pct(self) -> float:
        """How far the new figure is above (+) or below (-) the base, in percent of the base."""
        return 100 * (self.ratio - 1)


def estimate(
    values: Sequence[float | None],
    bounds: Sequence[Bounds | None],
    resolution: float = 0.0,
    seconds: float | None = None,
) -> Estimate | None:
    """Returns the estimate of a figure from each repeat's value and its 95 % interval.

    The variance is what differs between repeats, and at least what their own intervals allow. Repeats that are all the
    same say no more than one of them. None where a value is missing or not positive, and for a single value without an
    interval.

    Args:
        values: one of each repeat.
        bounds: their intervals.
        resolution: the relative width of the bins in which the figure was counted; a value is anywhere in its bin.
        seconds: length of a single window, from whose seconds its interval was found; None where it is known better.
    """
    known = [value for value in values if value is not None and value > 0]
    if not known or len(known) < len(values):
        return None
    logs = [log(value) for value in known]
    count = len(logs)
    own = [_variance_within(bound) for bound in bounds]
    within = None if None in own or not own else sum(one for one in own if one is not None) / count**2
    if within is not None and len({*zip(known, bounds, strict=True)}) == 1:
        within = own[0]
    between = variance(logs) / count if count > 1 else None
    if within is None and between is None:
        return None
    binned = resolution**2 / 12
    if between is None or (within is not None and within > between):
        batches = sqrt(seconds) if seconds is not None and count == 1 else inf
        return Estimate(fmean(logs), (within or 0.0) + binned, max(batches - 1, 1.0), count)
    return Estimate(fmean(logs), between + binned, count - 1, count)


def exactly(value: float) -> Estimate:
    """Returns the estimate of a figure that is taken as it stands, as a published one is."""
    return Estimate(log(value), 0.0, inf, 1)


def difference(new: Estimate, base: Estimate, confidence: float = 0.95) -> Difference:
    """Returns the ratio new / base with its interval."""
    middle = new.log - base.log
    whole = new.variance + base.variance
    half = half_width(whole, _freedom(new, base), confidence)
    return Difference(exp(middle), exp(middle - half), _exp(middle + half), confidence)


def confidence_of_each(comparisons: int) -> float:
    """Returns the confidence of each of some comparisons with which all hold at once with 95 % (Bonferroni)."""
    return 1 - 0.05 / max(comparisons, 1)


def verdict(found: Difference, level_pct: float, *, higher_is_better: bool) -> Verdict:
    """Returns what may be said: `LEVEL` where the whole interval is closer to 1 than `level_pct`."""
    margin = 1 + level_pct / 100
    if found.low > 1 / margin and found.high < margin:
        return Verdict.LEVEL
    if not found.is_shown:
        return Verdict.UNKNOWN
    return Verdict.BETTER if (found.ratio > 1) == higher_is_better else Verdict.WORSE


def repeats_to_detect(new: Estimate, base: Estimate, confidence: float, level_pct: float) -> int | None:
    """Returns how many repeats of each would show the observed difference, or that there is none.

    It assumes that further repeats scatter as those made. A base without variance, as a published figure, stays as it
    is. None for more than `MOST_REPEATS`.
    """
    one = new.variance * new.repeats + base.variance * base.repeats
    margin, change = log(1 + level_pct / 100), abs(new.log - base.log)
    margin_left = max(change, margin - change)
    made = max(new.repeats, base.repeats)
    sides = 2 if base.variance else 1
    for count in range(max(made + 1, 2), MOST_REPEATS + 1):
        if critical(confidence, sides * (count - 1)) * (one / count) ** 0.5 < margin_left:
            return count
    return None


def _variance_within(bounds: Bounds | None) -> float | None:
    """Returns the variance of a logarithm from the 95 % interval of its figure; None without one, or from zero."""
    if bounds is None or bounds[0] <= 0:
        return None
    return (log(bounds[1] / bounds[0]) / 2 / _HALF_OF_95_PCT) ** 2


def _exp(power: float) -> float:
    """Returns e to a power; infinite beyond the largest number."""
    return exp(power) if power <= _LARGEST_LOG else inf


def _freedom(new: Estimate, base: Estimate) -> float:
    """Returns Satterthwaite's degrees of freedom of the difference."""
    whole = new.variance + base.variance
    spent = sum(one.variance**2 / one.freedom for one in (new, base))
    return whole**2 / spent if spent else inf
