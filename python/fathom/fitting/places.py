"""How often the places of a region are accessed, from a sample of them; which skew, or which bands, explain it.

Places are sampled by a hash, so all accesses of one are counted or none. How many places were met 0, 1, 2 ... times
shows the skew without knowing which place is the how-hottest. So sampling does not bias it.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from fathom.fitting.poisson import Floats, edges, log_shares_of_bins, surprise
from fathom.statistics.segments import Segment, segments

MOST = 1 << 17
"""Most places whose accesses are counted."""
_SLOTS = 200
"""Equal parts of the region in which bands are looked for."""
_MOST_BANDS = 6
_RANKS = 2000
"""Groups of ranks by which a skew is computed."""
MOST_THETA = 3.0
LEAST_THETA = 0.05
"""A smaller skew is taken for none."""
_GAIN = 10.0
"""Log-likelihood that a skew or bands must gain over none."""
_BOUNDARY_GAIN = 15.0
"""Log-likelihood that a boundary between bands must gain: there are 199 places for it."""
_LEAST_RATIO = 1.25
"""Least ratio of the densest band to the sparsest."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Band:
    """A part of the region and of the accesses to it, 0 to 1 each."""

    area: float
    access: float


@dataclass(frozen=True)
class Heat:
    """Where random I/O goes: `theta` is the skew of zipf, 0 for none; `bands` stand instead where there are any."""

    theta: float = 0.0
    bands: Sequence[Band] = ()


class PlaceCounts:
    """Counts accesses to places of equal size."""

    def __init__(self, low_bytes: int, high_bytes: int, place_bytes: int) -> None:
        self.places = max(1, (high_bytes - low_bytes) // place_bytes)
        self.accesses = 0
        self._low, self._place = np.uint64(low_bytes), np.uint64(place_bytes)
        self._keys, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._shift = max(0, (self.places - 1).bit_length() - MOST.bit_length() + 1)
        self._slots = np.zeros(_SLOTS, np.int64)

    @property
    def sampled(self) -> float:
        """Returns the share of the places whose accesses are counted."""
        return 2.0**-self._shift

    def add(self, offset: NDArray[np.uint64]) -> None:
        """Counts I/Os by their first bytes."""
        places = np.minimum((offset - self._low) // self._place, np.uint64(self.places - 1))
        self.accesses += len(places)
        self._slots += self._in_slots(places)
        if self._shift:
            places = places[(places * _MULTIPLIER) >> np.uint64(64 - self._shift) == 0]
        keys, inverse = np.unique(np.concatenate([self._keys, places]), return_inverse=True)
        weights = np.concatenate([self._counts, np.ones(len(places), np.int64)])
        self._counts = np.bincount(inverse, weights, len(keys)).astype(np.int64)
        self._keys = keys

    def _in_slots(
        self, places: NDArray[np.uint64], counts: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        slots = (places * np.uint64(_SLOTS) // np.uint64(self.places)).astype(np.int64)
        return np.bincount(slots, counts, _SLOTS).astype(np.int64)

    def plus(self, other: "PlaceCounts") -> "PlaceCounts":
        """Returns both together; they must count the same places."""
        sum_of = copy(self)
        sum_of.accesses = self.accesses + other.accesses
        sum_of._slots = self._slots + other._slots
        keys = np.concatenate([self._keys, other._keys])
        sum_of._keys, inverse = np.unique(keys, return_inverse=True)
        weights = np.concatenate([self._counts, other._counts])
        sum_of._counts = np.bincount(inverse, weights, len(sum_of._keys)).astype(np.int64)
        return sum_of

    def shares_places(self, other: "PlaceCounts") -> bool:
        """Returns whether the hot places of both are rather the same than independent of each other.

        Where they are the same, the sum of products of the counts is as that of pairs within one of them.
        """
        _, own, others = np.intersect1d(self._keys, other._keys, assume_unique=True, return_indices=True)
        products = float((self._counts[own] * other._counts[others]).sum())
        total = self._counts.sum() * other._counts.sum()
        if not total:
            return True
        pairs = [
            (one._counts * (one._counts - 1)).sum() / max(1, one._counts.sum() ** 2) for one in (self, other)
        ]
        same, apart = max(pairs), 1 / max(1.0, self.places * self.sampled)
        return products / total > (max(same, apart) * apart) ** 0.5

    def heat(self) -> Heat:
        """Returns the simplest of no skew, zipf and bands that explains the accesses."""
        if self.places < 2 or not self.accesses:
            return Heat()
        met = self._met()
        flat = self._likelihood(met, np.ones(1), np.ones(1))
        theta, of_zipf = self._zipf(met)
        bands = self._bands()
        means, weights, gain = self._of_bands(bands)
        of_bands = self._likelihood(met, means, weights) + gain
        if len(bands) > 1 and of_bands > max(of_zipf, flat + _GAIN):
            return Heat(bands=tuple(self._laid_out(bands)))
        return Heat(theta) if theta >= LEAST_THETA and of_zipf > flat + _GAIN else Heat()

    def _met(self) -> Floats:
        """Returns how many sampled places were met as often as each bin of `edges` says."""
        bins = np.searchsorted(edges(), self._counts, side="right") - 1
        met = np.bincount(bins, minlength=2).astype(np.float64)
        met[0] = max(0.0, self.places * self.sampled - len(self._counts))
        return met

    def _likelihood(self, met: Floats, relative: Floats, weights: Floats) -> float:
        """Returns the log-likelihood of the sample, where groups of places have these relative rates."""
        mean_rate = (relative * weights).sum() / weights.sum()
        means = relative / mean_rate * self.accesses / self.places
        return float((met * log_shares_of_bins(means, weights, len(met))).sum())

    def _zipf(self, met: Floats) -> tuple[float, float]:
        """Returns the most likely skew with its log-likelihood, by golden section."""
        ranks, weights = _rank_groups(self.places)
        log_ranks = np.log(ranks)

        def likelihood(theta: float) -> float:
            return self._likelihood(met, np.exp(-theta * log_ranks), weights)

        ratio, low, high = (5**0.5 - 1) / 2, 0.0, MOST_THETA
        grid = [MOST_THETA * step / 30 for step in range(31)]
        best = max(grid, key=likelihood)
        low, high = max(0.0, best - 0.1), best + 0.1
        while high - low > 1e-3:
            one, two = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (one, high) if likelihood(one) < likelihood(two) else (low, two)
        theta = (low + high) / 2
        return theta, likelihood(theta)

    def _bands(self) -> list[Segment]:
        if self.places < 4 * _SLOTS:
            return [Segment(_SLOTS, self.accesses)]
        # From the sample alone: the likelihood of zipf does not see hot places outside it either.
        found = segments(self._in_slots(self._keys, self._counts).tolist(), _MOST_BANDS, _BOUNDARY_GAIN)
        least, most = min(one.density for one in found), max(one.density for one in found)
        return found if most > _LEAST_RATIO * least else [Segment(_SLOTS, self.accesses)]

    def _laid_out(self, bands: Sequence[Segment]) -> Iterator[Band]:
        """Yields the bands with what all accesses say of them, those outside the sample too."""
        start = 0
        for band in bands:
            count = int(self._slots[start : start + band.slots].sum())
            yield Band(band.slots / _SLOTS, count / self.accesses)
            start += band.slots

    def _of_bands(self, bands: Sequence[Segment]) -> tuple[Floats, Floats, float]:
        """Returns the rates and the places of bands, and the likelihood that knowing their place gains."""
        means = np.array([max(band.density, 1e-9) for band in bands])
        weights = np.array([float(band.slots) for band in bands])
        counts = np.array([band.count for band in bands])
        flat = weights * counts.sum() / _SLOTS
        return means, weights, float((surprise(counts, counts) - surprise(counts, flat)).sum())


def _rank_groups(places: int) -> tuple[Floats, Floats]:
    """Returns ranks, from 1, that stand for groups: the first for themselves, later ones by their logarithm."""
    single = min(places, _RANKS // 2)
    first = np.arange(1, single + 1, dtype=np.float64)
    if places == single:
        return first, np.ones(single)
    bounds = np.unique(np.round(np.exp(np.linspace(log(single), log(places), _RANKS // 2 + 1))))
    weights = np.diff(bounds)
    middle = np.exp((np.log(bounds[:-1] + 1) + np.log(bounds[1:])) / 2)
    ranks: Floats = np.concatenate([first, middle]).astype(np.float64)
    return ranks, np.concatenate([np.ones(single), weights]).astype(np.float64)
