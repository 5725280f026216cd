"""Which I/O of a trace waited for which: found from when each was issued and when each completed.

An I/O waited for the last one that had completed when it was issued: of its own thread, else of any. It follows that
one after the same time, its think time. One before which none had completed waited for none.
"""

import numpy as np
from numpy.typing import NDArray

from fathom.errors import UsageError
from fathom.traces.batch import NO_LATENCY, NO_NAME, Batch

MOST_BEHIND = (1 << 24) - 1
"""An I/O waits for none that stands farther before it: records have 3 bytes for the distance."""
_NEVER = np.iinfo(np.int64).max


class Recorded:
    """When the I/Os of a replay were issued and completed, and by which thread."""

    def __init__(self) -> None:
        self._issued: list[NDArray[np.int64]] = []
        self._done: list[NDArray[np.int64]] = []
        self._threads: list[NDArray[np.uint32]] = []

    def add(self, batch: Batch, kept: NDArray[np.bool_], issued_ns: NDArray[np.uint64], speed: float) -> None:
        """Takes the kept I/Os of a batch, issued at these times of the replay: the recorded ones over `speed`."""
        issued = issued_ns.astype(np.int64)
        recorded = batch.issue_ns[kept].astype(np.float64)
        known = batch.latency_ns[kept] != NO_LATENCY
        done = (recorded + np.where(known, batch.latency_ns[kept], 0)) / speed
        # An I/O that took no time would have completed before itself.
        done = np.maximum(done.astype(np.int64), issued + 1)
        self._issued.append(issued)
        self._done.append(np.where(known, done, _NEVER))
        self._threads.append(batch.pid[kept])

    def waits(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns how far before each I/O that is which it waited for, 0 for none, and its think time.

        Raises UsageError where no I/O has a latency.
        """
        issued, done = np.concatenate(self._issued), np.concatenate(self._done)
        threads = np.concatenate(self._threads)
        if not np.any(done != _NEVER):
            raise UsageError(
                f"{name}: it has no latencies, so nothing shows which I/O waited for which",
                "use --timing as-recorded, or a trace with latencies",
            )
        last = _last_completed(np.arange(len(issued)), issued, done)
        order = np.argsort(threads, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(threads[order])) + 1):
            if threads[own[0]] != NO_NAME:
                of_own = _last_completed(own, issued, done)
                last[own] = np.where(of_own >= 0, of_own, last[own])
        behind = np.arange(len(issued)) - last
        waits = (last >= 0) & (behind <= MOST_BEHIND)
        return np.where(waits, behind, 0), np.where(waits, issued - done[last], 0)


def _last_completed(
    own: NDArray[np.int64], issued: NDArray[np.int64], done: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns for each I/O of `own` the one among them that completed last before it was issued; -1: none had.

    Where several completed at the same time it is the one that was issued last.
    """
    order = own[np.argsort(done[own], kind="stable")]
    place = np.searchsorted(done[order], issued[own], side="right") - 1
    return np.where(place >= 0, order[np.maximum(place, 0)], -1)
