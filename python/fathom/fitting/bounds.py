"""Where I/Os lie, without the few that lie far from all others."""

import numpy as np
from numpy.typing import NDArray

_SLOTS = 256
_STRAYS = 5e-4
"""Share of the I/Os that may lie outside."""
_SPARSE = 0.01
"""An end is left out where it has less than this share of the mean density."""
_MIB = 1 << 20
_LEAST_SPAN = 100 * _MIB
"""From this span on, rounding to MiB moves an end by less than 1 %."""


class Bounds:
    """Counts I/Os in equal slots of a span, with the first and the last byte of each slot."""

    def __init__(self, low_bytes: int, high_bytes: int) -> None:
        self._low = np.uint64(low_bytes)
        self._width = np.uint64(max(1, -(-(high_bytes - low_bytes) // _SLOTS)))
        self._counts = np.zeros(_SLOTS, np.int64)
        self._first = np.full(_SLOTS, np.iinfo(np.uint64).max, np.uint64)
        self._last = np.zeros(_SLOTS, np.uint64)

    def add(self, offset: NDArray[np.uint64], size: NDArray[np.uint64]) -> None:
        """Counts I/Os."""
        slots = ((offset - self._low) // self._width).astype(np.int64)
        self._counts += np.bincount(slots, minlength=_SLOTS)
        np.minimum.at(self._first, slots, offset)
        np.maximum.at(self._last, slots, offset + size)

    def found(self) -> tuple[int, int]:
        """Returns the first byte and the end of the last, without sparse ends."""
        used = np.flatnonzero(self._counts)
        total = int(self._counts.sum())
        if not total:
            return int(self._low), int(self._low)
        first, last = int(used[0]), int(used[-1])
        strays, sparse = int(_STRAYS * total), max(2.0, _SPARSE * total / _SLOTS)
        while first < last and self._counts[first] <= min(strays, sparse):
            strays -= int(self._counts[first])
            first += 1
        while last > first and self._counts[last] <= min(strays, sparse):
            strays -= int(self._counts[last])
            last -= 1
        kept = slice(first, last + 1)
        return int(self._first[kept].min()), int(self._last[kept].max())

    def rounded(self) -> tuple[int, int]:
        """Returns them at whole MiB outside, where that is little of the span: random I/O seldom meets the very end."""
        low, high = self.found()
        if high - low < _LEAST_SPAN:
            return low, high
        return low // _MIB * _MIB, -(-high // _MIB) * _MIB
