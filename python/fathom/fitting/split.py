"""An operation's I/Os, those that follow on from each other apart from the others."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from fathom.fitting.bounds import Bounds
from fathom.fitting.chosen import Totals
from fathom.fitting.runs import MEMORY, Followers


class OfOp:
    """What the second reading finds of an operation. `random` includes the first I/Os of runs."""

    def __init__(self, totals: Totals) -> None:
        low, high = totals.low_bytes, totals.high_bytes
        self.followers = Followers()
        self.all, self.random, self.sequential = (Bounds(low, high) for _ in range(3))
        self.random_sizes: Counter[int] = Counter()
        self.sequential_sizes: Counter[int] = Counter()
        self._places = max(1, (high - low) // max(totals.sizes))

    def add(self, offset: NDArray[np.uint64], size: NDArray[np.uint64]) -> None:
        """Takes I/Os in their order."""
        if not len(offset):
            return
        _, deep = self.followers.add(offset, size)
        self.all.add(offset, size)
        self.random.add(offset[~deep], size[~deep])
        self.sequential.add(offset[deep], size[deep])
        for sizes, which in ((self.random_sizes, ~deep), (self.sequential_sizes, deep)):
            values, times = np.unique(size[which], return_counts=True)
            sizes.update(dict(zip(values.tolist(), times.tolist(), strict=True)))

    @property
    def by_chance(self) -> float:
        """Returns the share of random I/Os that seem to follow another."""
        return min(1.0, MEMORY / self._places)
