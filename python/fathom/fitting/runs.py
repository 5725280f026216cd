"""Which I/Os of an operation follow on behind an earlier one, and from how far back."""

import numpy as np
from numpy.typing import NDArray

MEMORY = 64
"""I/Os of the same operation that a run is remembered for: of more runs at once, I/Os look random."""

Places = NDArray[np.uint64]


class Followers:
    """Finds them portion by portion. One follows where it begins at the end of one of the last `MEMORY` I/Os."""

    def __init__(self) -> None:
        self.ios = 0
        self.followed = 0
        self.next = 0
        """Those that follow the I/O just before them."""
        self._ends = np.zeros(0, np.uint64)
        self._were_followed = np.zeros(0, bool)
        self._steps = np.zeros(2 * MEMORY + 2, np.int64)

    def add(self, offset: Places, size: Places) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Takes I/Os in their order and returns which of them follow, and which follow one that follows itself.

        Hardly any random I/O is among the latter.
        """
        kept = len(self._ends)
        ends = np.concatenate([self._ends, offset + size])
        behind = _latest_ends(ends, offset, kept)
        back = np.arange(kept, len(ends)) - behind
        follows = (behind >= 0) & (back <= MEMORY)
        flags = np.concatenate([self._were_followed, follows])
        self.ios += len(offset)
        self.followed += int(follows.sum())
        self.next += int((follows & (back == 1)).sum())
        self._count_steps(flags, behind, follows, kept)
        self._ends, self._were_followed = ends[-MEMORY:], flags[-MEMORY:]
        return follows, follows & flags[np.maximum(behind, 0)]

    def _count_steps(
        self, flags: NDArray[np.bool_], behind: NDArray[np.int64], follows: NDArray[np.bool_], kept: int
    ) -> None:
        """Counts how many I/Os that follow stand between one and its predecessor, where that follows too."""
        places = np.cumsum(flags)
        own = np.flatnonzero(follows)
        before = behind[own]
        within = flags[before]
        steps = places[own + kept][within] - places[before][within]
        self._steps += np.bincount(np.minimum(steps, len(self._steps) - 1), minlength=len(self._steps))

    @property
    def share(self) -> float:
        """Returns the share of I/Os that follow."""
        return self.followed / self.ios if self.ios else 0.0

    @property
    def next_share(self) -> float:
        """Returns the share of those that follow the I/O just before them."""
        return self.next / self.followed if self.followed else 0.0

    @property
    def streams(self) -> int:
        """Returns how many runs are gone on with in turn: the median distance between two I/Os of one."""
        total = int(self._steps.sum())
        if not total:
            return 1
        return max(1, int(np.searchsorted(np.cumsum(self._steps), (total + 1) // 2)))


def _latest_ends(ends: Places, offset: Places, kept: int) -> NDArray[np.int64]:
    """Returns for each I/O the latest place before its own at which one ends where it begins; -1 where there is none.

    `ends` are those of `kept` earlier I/Os, then their own.
    """
    _, codes = np.unique(np.concatenate([ends, offset]), return_inverse=True)
    of_ends, of_offsets = codes[: len(ends)].astype(np.int64), codes[len(ends) :].astype(np.int64)
    width = np.int64(len(ends) + 1)
    keys = np.sort(of_ends * width + np.arange(len(ends)))
    asked = of_offsets * width + np.arange(kept, len(ends))
    found = keys[np.maximum(np.searchsorted(keys, asked) - 1, 0)]
    return np.where((found < asked) & (found // width == of_offsets), found % width, -1)
