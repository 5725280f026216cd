"""What a run has written of a target, place by place, as far as it is certain.

A pass in order covers what it writes. Uniform draws are made with replacement: by the Poisson limit of such draws, x
times a region leave e^-x of it as it was. Hot places take writes from the others, so a skewed pattern leaves more. What
cannot be known covers nothing: a replayed trace, a list of blocks, streams that share a volume between places.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp

import numpy as np

from fathom._core import WRITES, Job
from fathom.statistics.series import Floats

WHOLE = 0.99
"""Share of a region that counts as all of it: a fill writes whole blocks."""
FINE = 1024
"""Groups of blocks, from hot to cold, for which a skewed pattern's draws are counted."""


@dataclass(frozen=True)
class _Stretch:
    """A part of the target whose blocks have one history. `start` and `end` are shares of the target."""

    start: float
    end: float
    in_order: float = 0.0
    """Share that passes in order have covered. Each step's pass may begin at the same place, so the longest counts."""
    left: float = 1.0
    """Share of the rest that random writes have left."""
    random_x: float = 0.0
    """Volume of random writes, in multiples of the stretch."""

    @property
    def covered(self) -> float:
        """Share whose blocks hold data."""
        return 1.0 - (1.0 - self.in_order) * self.left


@dataclass(frozen=True)
class _Effect:
    """What a step does to each stretch of its region."""

    in_order: float = 0.0
    left: float = 1.0
    random_x: float = 0.0
    kept: float = 1.0
    """Share of the blocks with data that deallocation leaves."""

    def on(self, stretch: _Stretch) -> _Stretch:
        """Returns the stretch after the step."""
        after = replace(
            stretch,
            in_order=max(stretch.in_order, self.in_order),
            left=stretch.left * self.left,
            random_x=stretch.random_x + self.random_x,
        )
        if self.kept < 1.0:
            return replace(after, in_order=0.0, left=1.0 - after.covered * self.kept)
        return after


class Coverage:
    """A target's blocks: which hold data, and how often they were written at random."""

    def __init__(self, units: float, unit_bytes: float, begins: float = 0.0, taken: float = 1.0) -> None:
        """A target is `units` drives or copies of `unit_bytes`, whose regions are the same part of each.

        The share `begins`, from the start, holds data and was written at random. Only the share `taken` of every part
        can hold data: gaps lie behind the capacity of zones.
        """
        self._units = units
        self._unit_bytes = unit_bytes
        self._held_bytes = taken * unit_bytes
        self._stretches = [_Stretch(0.0, 1.0)]
        self.written_x = 0.0
        """Volume of all writes since the last purge, in multiples of the target."""
        if begins:
            self._apply(0.0, begins, _Effect(in_order=1.0, random_x=1.0))

    def purge(self) -> None:
        """Forgets all: no block holds data."""
        self._stretches = [_Stretch(0.0, 1.0)]
        self.written_x = 0.0

    def forget_random(self) -> None:
        """Forgets what was written at random: a fill begins afresh."""
        self._stretches = [replace(one, random_x=0.0) for one in self._stretches]

    def fill(self, written_bytes: float) -> None:
        """Counts a pass in order over the whole target."""
        passes = self._add(written_bytes)
        self._apply(0.0, 1.0, _Effect(in_order=min(1.0, passes)))

    def _add(self, written_bytes: float) -> float:
        """Counts a volume of writes; returns it in multiples of the target."""
        volume_x = written_bytes / (self._units * self._held_bytes)
        self.written_x += volume_x
        return volume_x

    def write(self, job: Job, written_bytes: float, freed_bytes: float = 0.0) -> None:
        """Counts what a step wrote and deallocated. Failed I/O must not be among it."""
        self._add(written_bytes)
        one = _as_one(job)
        if one is None:
            return
        start, end = self._place(one)
        size_bytes = (end - start) * self._held_bytes * self._units
        if not size_bytes or not (written_bytes or freed_bytes):
            return
        x, freed_x = written_bytes / size_bytes, freed_bytes / size_bytes
        in_order = one.pattern.kind == "sequential"
        kept = max(0.0, 1.0 - freed_x) if in_order else exp(-freed_x)
        for low, high, volume_x in _bands(one, start, end, x):
            effect = _effect(one, volume_x, (high - low) * self._held_bytes)
            self._apply(low, high, replace(effect, random_x=0.0 if in_order else volume_x, kept=kept))

    def of(self, job: Job) -> tuple[float, float]:
        """Returns the share of a job's region that is covered, and how often it was written at random.

        Streams have that of the least covered region. Their random writes are not asked about.
        """
        if job.streams:
            return min(self.of(stream)[0] for stream in job.streams.values()), 1.0
        start, end = self._place(job)
        if end <= start:
            return 1.0, 1.0
        covered = at_random = 0.0
        for one in self._stretches:
            share = max(0.0, min(end, one.end) - max(start, one.start)) / (end - start)
            covered += share * one.covered
            at_random += share * one.random_x
        return covered, at_random

    def _place(self, job: Job) -> tuple[float, float]:
        """Returns where a job's region lies, in shares of a drive. What is left of the last MiB counts to it."""
        start, size = job.region_on(round(self._unit_bytes))
        end = start + size
        if self._unit_bytes - end < 1 << 20:
            end = self._unit_bytes
        return start / self._unit_bytes, end / self._unit_bytes

    def _apply(self, start: float, end: float, effect: _Effect) -> None:
        found: list[_Stretch] = []
        for one in self._stretches:
            cuts = sorted({one.start, *(cut for cut in (start, end) if one.start < cut < one.end), one.end})
            for low, high in pairwise(cuts):
                part = replace(one, start=low, end=high)
                found.append(effect.on(part) if start <= low and high <= end else part)
        self._stretches = found


def _as_one(job: Job) -> Job | None:
    """Returns the job itself, or a stream that stands for all: uniform writes to one region. None: not known."""
    if not job.streams:
        return job
    writers = [one for one in job.streams.values() if one.destructive]
    places = {(str(one.region_start), str(one.region_size)) for one in writers}
    alike = len(places) == 1 and all(one.pattern.kind == "uniform" for one in writers)
    return writers[0] if alike and not job.stream_targets else None


def _bands(job: Job, start: float, end: float, x: float) -> Iterator[tuple[float, float, float]]:
    """Yields the places that a job writes to alike: start, end, and the volume in multiples of the place."""
    bands = job.pattern.bands
    areas, accesses = (sum(band[which] for band in bands) for which in (0, 1))
    low = start
    for area, access in bands:
        high = low + (end - start) * area / areas
        yield low, high, x * (access / accesses) / (area / areas)
        low = high
    if not bands:
        yield start, end, x


def _effect(job: Job, x: float, place_bytes: float) -> _Effect:
    """Returns what writes of `x` times a place cover of it."""
    pattern = job.pattern
    reach = _reach(job)
    if _passes(job):
        # Threads that begin at one place go the same way.
        laps = x / (job.threads if job.thread_positions == "start" else 1)
        return _Effect(in_order=min(reach, laps))
    left = exp(-x)
    match pattern.kind:
        case "random-once":
            left = max(0.0, 1.0 - x)
        case "one-pass":
            # What is written twice comes first, so a part of the pass covers less than its share.
            left = 0.0 if x >= WHOLE * (1.0 + (pattern.spare or 0.0)) else 1.0
        case "zipf" | "pareto":
            left = _left_by_skew(job, x, place_bytes)
        case "replay" | "blocks":
            left = 1.0
    # Blocks that alignment leaves out are the same in each step.
    return _Effect(left=left) if reach >= 1.0 else _Effect(in_order=reach * (1.0 - left))


def _passes(job: Job) -> bool:
    """Returns whether a job's writes go through its region in order, each block as often as another."""
    pattern = job.pattern
    if not {*job.weights} <= {*WRITES, "flush"} and job.operation_positions != "apart":
        return False
    match pattern.kind:
        case "sequential" | "sequential-streams" | "backwards" | "strided" | "strips":
            return True
        case "zones":
            return pattern.in_order
        case "mixed":
            return not pattern.write
    return False


def _reach(job: Job) -> float:
    """Returns the share of the region that a job's writes can reach."""
    if job.pattern.strip_bytes and job.pattern.gap_bytes:
        return job.pattern.strip_bytes / (job.pattern.strip_bytes + job.pattern.gap_bytes)
    shares = [1.0]
    for op in job.ops:
        align_bytes = op.align_bytes or job.align_bytes
        if op.op in WRITES and align_bytes:
            weight = sum(each for _, each in op.sizes)
            shares.append(sum(size * each for size, each in op.sizes) / weight / align_bytes)
    return min(shares)


def _left_by_skew(job: Job, x: float, place_bytes: float) -> float:
    """Returns the share of blocks that skewed draws leave, each block by its own rate of draws."""
    blocks = max(1.0, place_bytes / max(1, job.largest_block_bytes))
    edges = np.geomspace(1.0, blocks, FINE) / blocks
    edges[0] = 0.0
    areas = np.diff(edges)
    accesses = np.diff(_drawn(job, edges, blocks))
    return float(np.sum(areas * np.exp(-x * accesses / accesses.sum() / areas)))


def _drawn(job: Job, hottest: Floats, blocks: float) -> Floats:
    """Returns the draws that fall to shares of the hottest blocks, in a unit of its own."""
    pattern = job.pattern
    if pattern.kind == "pareto":
        share = pattern.share or 0.5
        return hottest ** (np.log(1.0 - share) / np.log(share))
    # The sum over ranks as the integral through their middles.
    theta, ranks = pattern.theta or 0.0, hottest * blocks + 0.5
    return np.log(ranks) if theta == 1.0 else (ranks ** (1.0 - theta) - 0.5 ** (1.0 - theta)) / (1.0 - theta)
