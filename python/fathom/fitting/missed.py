"""What a fitted job misses of its trace, as facts: properties of both as the same twin was issued them."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from fathom._core import TraceProfile
from fathom.fitting.chosen import OPS, add_to
from fathom.fitting.fit import Fitted
from fathom.fitting.on_twin import IssuedTrace
from fathom.traces.profile import Profile

_RATIO = 1.5
_SHARE = 0.05
_FOOTPRINT = 1.2
_PHASES = 64
_VARIATION = 0.1
_ERRORS = 4.0


class Property(StrEnum):
    """What a job may miss. Some are those of a trace that no job has."""

    DISPERSION = "dispersion"
    """Index of dispersion of the arrivals in windows of `at` ns."""
    GAPS = "gaps"
    """Standard deviation of the gaps between issues over their mean."""
    PHASES = "phases"
    """Standard deviation of the rate over 64 windows, over its mean."""
    MIX = "mix"
    """Standard deviation of the share of reads over 64 windows."""
    FOLLOWED = "followed"
    """Share of the I/Os that go on with a run."""
    REUSE = "reuse"
    """Share of the accesses that an LRU cache of `at` bytes would serve."""
    FOOTPRINT = "footprint"
    """Bytes touched."""
    OVERWRITTEN = "overwritten"
    """Share of the written data that is overwritten."""
    LIFE = "life"
    """Median time until written data is overwritten, ns."""
    FORCED = "forced"
    """Number of I/Os with forced unit access, which jobs do not have."""
    LEFT_OUT = "left-out"
    """Number of discards, and of I/Os without data or beyond 64 MiB, which are not fitted."""


@dataclass(frozen=True)
class Miss:
    """A property of the trace, the fitted job's, and at which window or size where it has one."""

    property: Property
    trace: float
    fitted: float
    at: float | None = None


def missed(fitted: Fitted, trace: IssuedTrace, own: IssuedTrace) -> list[Miss]:
    """Returns the properties in which the I/Os of a trace and of its job differ by more than chance allows."""
    one, two = _profile(trace), _profile(own)
    found = [*_of_arrivals(fitted, one, two, trace, own), *_of_space(one, two)]
    counts = fitted.counts
    for what, number in ((Property.FORCED, counts.fua), (Property.LEFT_OUT, counts.left_out)):
        if number:
            found.append(Miss(what, number, 0))
    return found


def _profile(trace: IssuedTrace) -> Profile:
    profile = TraceProfile()
    for batch in trace.batches():
        add_to(profile, batch)
    return Profile.model_validate_json(profile.json())


def _of_arrivals(
    fitted: Fitted, one: Profile, two: Profile, trace: IssuedTrace, own: IssuedTrace
) -> Iterator[Miss]:
    yield from _apart_by(_SHARE, Property.MIX, _read_share(trace), _read_share(own))
    if fitted.arrivals.depth is not None:
        return
    others = dict(two.bursts.dispersion)
    for width_ns, index in one.bursts.dispersion:
        other = others.get(width_ns)
        if other is None:
            continue
        windows = max(1.0, one.duration_ns / width_ns)
        chance = max(log(_RATIO), _ERRORS * sqrt(2 / windows))
        if abs(log(max(index, 0.1) / max(other, 0.1))) > chance:
            yield Miss(Property.DISPERSION, index, other, width_ns)
    gaps = one.bursts.gap_variation or 0.0, two.bursts.gap_variation or 0.0
    if _apart(gaps[0], gaps[1], _RATIO):
        yield Miss(Property.GAPS, gaps[0], gaps[1])
    yield from _apart_by(_VARIATION, Property.PHASES, _rate(trace), _rate(own))


def _of_space(one: Profile, two: Profile) -> Iterator[Miss]:
    followed = [profile.runs.followed / max(1, profile.runs.ios) for profile in (one, two)]
    yield from _apart_by(_SHARE, Property.FOLLOWED, followed[0], followed[1])
    hits = {units: share for units, share, _ in two.reuse.hits}
    both = [(units, share, hits[units]) for units, share, _ in one.reuse.hits if units in hits]
    units, share, other = max(both, key=lambda hit: abs(hit[1] - hit[2]), default=(0.0, 0.0, 0.0))
    if abs(share - other) > _SHARE:
        yield Miss(Property.REUSE, share, other, units * 4096)
    touched = [4096 * max(profile.timeline.footprint_units, default=0.0) for profile in (one, two)]
    if _apart(touched[0], touched[1], _FOOTPRINT):
        yield Miss(Property.FOOTPRINT, touched[0], touched[1])
    over = one.reuse.overwritten, two.reuse.overwritten
    yield from _apart_by(_SHARE, Property.OVERWRITTEN, *over)
    lives = [profile.reuse.life_quantiles_ns for profile in (one, two)]
    if lives[0] and lives[1] and min(over) > _SHARE and _apart(lives[0][1], lives[1][1], _RATIO):
        yield Miss(Property.LIFE, lives[0][1], lives[1][1])


def _apart(one: float, two: float, ratio: float) -> bool:
    return max(one, two) > ratio * min(one, two) and max(one, two) > 0.1


def _apart_by(least: float, what: Property, one: float, two: float) -> Iterator[Miss]:
    if abs(one - two) > least:
        yield Miss(what, one, two)


def _counts(trace: IssuedTrace, chosen: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Returns the I/Os in windows of equal length."""
    issue_ns = trace.columns["issue_ns"].astype(np.float64)
    bounds = (0.0, float(issue_ns.max()) + 1)
    own = issue_ns if chosen is None else issue_ns[chosen]
    return np.histogram(own, _PHASES, bounds)[0].astype(np.float64)


def _rate(trace: IssuedTrace) -> float:
    counts = _counts(trace)
    return float(sqrt(max(0.0, counts.var() - counts.mean())) / counts.mean())


def _read_share(trace: IssuedTrace) -> float:
    """Returns the spread of the share of reads, less that of drawing each by chance."""
    all_of = _counts(trace)
    reads = _counts(trace, trace.columns["operation"] == OPS["read"])
    used = all_of > 0
    shares = reads[used] / all_of[used]
    mean = float(reads.sum() / all_of.sum())
    by_chance = float((mean * (1 - mean) / all_of[used]).mean())
    return sqrt(max(0.0, float(shares.var()) - by_chance))
