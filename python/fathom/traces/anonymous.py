"""A trace without what shows its owner: places on the disks, and names.

The disk is looked at in pieces of 1 MiB. Pieces that the trace touches move together, with one empty piece in each gap
between them. So two I/Os keep their order by address, meet the same bytes if they did before, and follow on each other
if they did before. Names of devices and processes become numbers, those of threads and CPUs are left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fathom._core import TRACE_OPERATIONS
from fathom.traces.batch import NO_NAME, Batch, Findings, Trace

PIECE_BYTES = 1 << 20
_FLUSH = TRACE_OPERATIONS.index("flush")


@dataclass
class AnonymousTrace:
    """A trace without places and names; it reads the trace twice. See `fathom.traces.batch.Trace`."""

    opened: Callable[[], Trace]
    name: str = "anonymous"
    format: str = "anonymous"
    findings: Findings = field(default_factory=Findings)
    _trace: Trace | None = None

    @property
    def devices(self) -> Sequence[str]:
        """Returns a number for each device."""
        return [f"device-{place}" for place, _ in enumerate(self._trace.devices if self._trace else ())]

    @property
    def processes(self) -> Sequence[str]:
        """Returns a number for each process."""
        return [f"process-{place}" for place, _ in enumerate(self._trace.processes if self._trace else ())]

    def share_read(self) -> float | None:
        """Returns how much of the second reading is done, 0 to 1."""
        return self._trace.share_read() if self._trace else 0.0

    def batches(self) -> Iterator[Batch]:
        """Yields the I/Os in the order of issue. Raises UsageError where the trace cannot be read."""
        places = _places(self.opened())
        self._trace = self.opened()
        for batch in self._trace.batches():
            offset = batch.offset_bytes.copy()
            for device, to in places.items():
                own = (batch.device == device) & (batch.operation != _FLUSH)
                piece, within = np.divmod(offset[own], np.uint64(PIECE_BYTES))
                offset[own] = to.moved(piece) * np.uint64(PIECE_BYTES) + within
            nothing = np.full(len(batch), NO_NAME, np.uint32)
            yield Batch(
                issue_ns=batch.issue_ns,
                latency_ns=batch.latency_ns,
                offset_bytes=offset,
                size_bytes=batch.size_bytes,
                operation=batch.operation,
                flags=batch.flags,
                device=batch.device,
                process=batch.process,
                pid=nothing,
                cpu=nothing,
            )
        self.findings = self._trace.findings


@dataclass(frozen=True)
class _Runs:
    """Runs of pieces that a trace touches, ascending and apart: the first and the last piece of each."""

    first: NDArray[np.uint64]
    last: NDArray[np.uint64]

    def moved(self, piece: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Returns the new number of each piece: runs follow on each other, with one empty piece between two."""
        lengths = self.last - self.first + np.uint64(2)
        begins = np.cumsum(lengths) - lengths
        run = np.searchsorted(self.first, piece, side="right") - 1
        return begins[run] + (piece - self.first[run])


def _places(trace: Trace) -> dict[int, _Runs]:
    """Returns for each device the pieces that are touched."""
    touched: dict[int, _Runs] = {}
    for batch in trace.batches():
        for device in np.unique(batch.device).tolist():
            own = (batch.device == device) & (batch.operation != _FLUSH)
            if not own.any():
                continue
            first = batch.offset_bytes[own] // np.uint64(PIECE_BYTES)
            size = np.maximum(batch.size_bytes[own], np.uint64(1))
            last = (batch.offset_bytes[own] + size - np.uint64(1)) // np.uint64(PIECE_BYTES)
            if device in touched:
                first = np.concatenate([touched[device].first, first])
                last = np.concatenate([touched[device].last, last])
            touched[device] = _joined(first, last)
    return touched


def _joined(first: NDArray[np.uint64], last: NDArray[np.uint64]) -> _Runs:
    """Returns runs of pieces, with those that meet or follow on each other as one."""
    order = np.argsort(first)
    first, reached = first[order], np.maximum.accumulate(last[order])
    begins = np.flatnonzero(np.concatenate([[True], first[1:] > reached[:-1] + np.uint64(1)]))
    return _Runs(first[begins], reached[np.append(begins[1:], len(first)) - 1])
