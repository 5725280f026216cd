"""Fits a job to a trace: its parts, each with operations, sizes, places and flushes, and how they arrive."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from fathom.fitting.arrivals import Arrivals, RateSeries, arrivals
from fathom.fitting.chosen import Choice, Counted, Counts, io_of
from fathom.fitting.places import Heat, PlaceCounts
from fathom.fitting.runs import Followers
from fathom.fitting.split import OfOp
from fathom.traces.profile import Profile

_FEW = 0.05
"""Less than this share of an operation's I/Os is no part of its own."""
_NEXT = 0.9
"""A single run at a time has at least this share of I/Os that follow the one just before, among those that follow."""
_LEAST_JUMPS = 16
_FEW_JUMPS = 2e-3
"""A sequential part jumps for at most this share of its I/Os: at its start, and at the end of each pass."""
_STRAYS = 5e-4
"""A size with a smaller share of an operation's I/Os is that of the first I/Os of runs."""
_SAME_REGION = 0.05
_SAME_THETA = 0.15
_REGULAR = 0.5
"""Flushes come behind a fixed number of writes where that number varies by less than this share."""

Shape = Literal["random", "sequential", "jumping"]
"""`jumping`: each I/O follows the one before, or begins anywhere."""


@dataclass(frozen=True)
class Part:
    """I/O of one shape: a job, or a stream of one. `ios` and `sizes` are by operation."""

    name: str
    shape: Shape
    ios: Mapping[str, int]
    sizes: Mapping[str, Counter[int]]
    low_bytes: int
    high_bytes: int
    heat: Heat = field(default_factory=Heat)
    streams: int = 1
    jumps: Mapping[str, float] = field(default_factory=dict)
    """Share of the I/Os that begin anywhere, by operation."""
    flush_every: int | None = None

    @property
    def total(self) -> int:
        """Returns the number of I/Os, flushes included."""
        return sum(self.ios.values())


@dataclass(frozen=True)
class Fitted:
    """A trace as a job."""

    name: str
    parts: tuple[Part, ...]
    arrivals: Arrivals
    counts: Counts
    profile: Profile
    step_ns: int = 0
    """The step of the trace's clock over which its I/Os are spread; 0 where their times are as recorded."""

    @property
    def length_s(self) -> float:
        """Returns the time that the I/Os take at their mean rate: a mean gap more than from the first to the last."""
        ios = self.counts.ios
        return self.counts.duration_s * ios / max(1, ios - 1)

    @property
    def rate_iops(self) -> float:
        """Returns the mean rate; 0 without times."""
        return self.counts.ios / self.length_s if self.length_s else 0.0


def fit(counted: Counted) -> Fitted:
    """Fits a job to a trace that has been counted, which it reads twice more."""
    choice, counts, profile = counted.choice, counted.counts, counted.profile
    series = RateSeries(counts.first_ns, counts.last_ns)
    found = {op: OfOp(one) for op, one in counts.ops.items() if one.ios}
    for batch in choice.batches():
        series.add(batch.issue_ns)
        for op, one in found.items():
            one.add(*io_of(batch, op))
    parts = [part for op, one in found.items() for part in _parts(op, one)]
    parts = _merged(parts, _with_heat(parts, choice))
    return Fitted(
        counted.trace.name,
        _with_flushes(parts, counts),
        arrivals(profile, series),
        counts,
        profile,
        counted.step_ns,
    )


def _parts(op: str, found: OfOp) -> list[Part]:
    """Returns the parts of an operation: one, or its sequential and its random I/Os apart."""
    runs = found.followers
    jumps = runs.ios - runs.followed
    whole = found.random_sizes + found.sequential_sizes

    def part(shape: Shape, sizes: Counter[int], bounds: tuple[int, int]) -> Part:
        named = op if shape == "jumping" else f"{shape}-{op}"
        share = {op: jumps / runs.ios} if shape == "jumping" else {}
        streams = runs.streams if shape == "sequential" else 1
        return Part(
            f"{named}s", shape, {op: sizes.total()}, {op: sizes}, *bounds, streams=streams, jumps=share
        )

    if runs.share <= _FEW + found.by_chance:
        return [part("random", whole, found.all.rounded())]
    if jumps <= max(_LEAST_JUMPS, 2 * runs.streams, _FEW_JUMPS * runs.ios):
        return [part("sequential", whole, found.all.found())]
    if runs.next_share >= _NEXT:
        return [part("jumping", whole, found.all.rounded())]
    if jumps <= _FEW * runs.ios:
        return [part("sequential", whole, found.all.found())]
    random = Counter({size: ios for size, ios in found.random_sizes.items() if ios > _STRAYS * runs.ios})
    if found.random_sizes.total() - random.total() > _FEW * runs.ios:
        # Rare sizes with a share of their own are those of the random I/O, not of the first I/Os of runs.
        random = found.random_sizes
    return [
        part("sequential", found.sequential_sizes, found.sequential.found()),
        part("random", random, found.random.rounded()),
    ]


def _with_heat(parts: list[Part], choice: Choice) -> Mapping[str, PlaceCounts]:
    """Finds where the I/Os of the random parts go, in a third reading, and gives it to them.

    Returns the counts of reads and of writes at places that are the same for both.
    """
    random = {op: place for place, part in enumerate(parts) if part.shape == "random" for op in part.ios}
    if not random:
        return {}
    low = min(parts[place].low_bytes for place in random.values())
    high = max(parts[place].high_bytes for place in random.values())
    largest = max(max(parts[place].sizes[op]) for op, place in random.items())
    joint = {op: PlaceCounts(low, high, largest) for op in random}
    own = {
        op: PlaceCounts(parts[place].low_bytes, parts[place].high_bytes, max(parts[place].sizes[op]))
        for op, place in random.items()
    }
    followers = {op: Followers() for op in random}
    for batch in choice.batches():
        for op, place in random.items():
            offset, size = io_of(batch, op)
            follows, _ = followers[op].add(offset, size)
            within = (offset >= parts[place].low_bytes) & (offset + size <= parts[place].high_bytes)
            chosen = offset[within & ~follows]
            joint[op].add(chosen)
            own[op].add(chosen)
    for op, place in random.items():
        parts[place] = replace(parts[place], heat=own[op].heat())
    return joint


def _merged(parts: list[Part], joint: Mapping[str, PlaceCounts]) -> list[Part]:
    """Puts reads and writes together that go to the same places in the same way."""
    for shape in ("random", "jumping"):
        alike = [part for part in parts if part.shape == shape]
        if len(alike) == 2 and _alike(alike[0], alike[1], joint):
            one, two = alike
            heat = one.heat
            if heat.theta or heat.bands:
                heat = joint["read"].plus(joint["write"]).heat()
            merged = Part(
                f"{'random-' if shape == 'random' and len(parts) > 2 else ''}reads-and-writes",
                shape,
                {**one.ios, **two.ios},
                {**one.sizes, **two.sizes},
                min(one.low_bytes, two.low_bytes),
                max(one.high_bytes, two.high_bytes),
                heat=heat,
                jumps={**one.jumps, **two.jumps},
            )
            parts = [merged, *(part for part in parts if part not in alike)]
    return parts


def _alike(one: Part, two: Part, joint: Mapping[str, PlaceCounts]) -> bool:
    span = max(one.high_bytes - one.low_bytes, two.high_bytes - two.low_bytes)
    apart = max(abs(one.low_bytes - two.low_bytes), abs(one.high_bytes - two.high_bytes))
    if apart > _SAME_REGION * span or bool(one.heat.bands) != bool(two.heat.bands):
        return False
    if abs(one.heat.theta - two.heat.theta) > _SAME_THETA:
        return False
    flat = not one.heat.theta and not two.heat.theta and not one.heat.bands
    return flat or joint["read"].shares_places(joint["write"])


def _with_flushes(parts: list[Part], counts: Counts) -> tuple[Part, ...]:
    """Gives the flushes to the part that writes most, or that is largest."""
    if counts.flushes:
        main = max(parts, key=lambda part: (part.ios.get("write", 0), part.total))
        every = _flush_every(counts.writes_between) if "write" in main.ios and len(parts) == 1 else None
        ios = {**main.ios, "flush": counts.flushes}
        place = parts.index(main)
        parts[place] = replace(main, ios=ios, flush_every=every)
    return tuple(parts)


def _flush_every(writes_between: Counter[int]) -> int | None:
    """Returns behind how many writes a flush comes; None where the number varies."""
    total = writes_between.total()
    if not total:
        return None
    mean = sum(writes * times for writes, times in writes_between.items()) / total
    variance = sum(times * (writes - mean) ** 2 for writes, times in writes_between.items()) / total
    return round(mean) if mean >= 1 and variance**0.5 < _REGULAR * mean else None
