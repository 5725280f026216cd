"""A trace whose clock is coarse, with the I/Os of one time spread at random over the clock's step.

The clock shows how many I/Os each step has, and their order, but not when in the step they came. Places drawn evenly
take nothing else for known: the bursts of the clock are gone, and changes from step to step are kept.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fathom.traces.batch import Batch, Trace


def spread(opened: Callable[[], Trace], step_ns: int) -> Callable[[], Trace]:
    """Returns what opens the trace spread; counts the I/Os of each step first, in a reading of its own."""
    ios: Counter[int] = Counter()
    for batch in opened().batches():
        times, counts = np.unique(batch.issue_ns, return_counts=True)
        ios.update(dict(zip(times.tolist(), counts.tolist(), strict=True)))
    return lambda: _Spread(opened(), ios, step_ns)


class _Spread:
    def __init__(self, trace: Trace, ios: Mapping[int, int], step_ns: int) -> None:
        self._trace, self._ios, self._step_ns = trace, ios, step_ns
        self.name, self.format, self.findings = trace.name, trace.format, trace.findings

    @property
    def devices(self) -> Sequence[str]:
        return self._trace.devices

    @property
    def processes(self) -> Sequence[str]:
        return self._trace.processes

    def batches(self) -> Iterator[Batch]:
        """Yields the I/Os in their order, each at its own time. Every reading draws the same times."""
        done: Counter[int] = Counter()
        for batch in self._trace.batches():
            issue_ns = batch.issue_ns.copy()
            order = np.argsort(issue_ns, kind="stable")
            times, starts, counts = np.unique(issue_ns[order], return_index=True, return_counts=True)
            for time, start, count in zip(times.tolist(), starts.tolist(), counts.tolist(), strict=True):
                drawn = np.sort(np.random.default_rng(time).random(self._ios[time]))
                own = drawn[done[time] : done[time] + count]
                issue_ns[order[start : start + count]] += (own * self._step_ns).astype(np.uint64)
                done[time] += count
            yield replace(batch, issue_ns=issue_ns)

    def share_read(self) -> float | None:
        return self._trace.share_read()
