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
from fathom.errors import UsageError
from fathom.traces.batch import NO_NAME, Batch, Findings, Trace

PIECE_BYTES = 1 << 20
_FLUSH = TRACE_OPERATIONS.index("flush")
_MOST_PIECES = 1 << 28
"""256 TiB: a bit for each takes 32 MiB."""


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
                offset[own] = to[piece] * np.uint64(PIECE_BYTES) + within
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


def _places(trace: Trace) -> dict[int, NDArray[np.uint64]]:
    """Returns for each device where each piece goes."""
    touched: dict[int, NDArray[np.bool_]] = {}
    for batch in trace.batches():
        for device in np.unique(batch.device).tolist():
            own = (batch.device == device) & (batch.operation != _FLUSH)
            if not own.any():
                continue
            first = batch.offset_bytes[own] // np.uint64(PIECE_BYTES)
            size = np.maximum(batch.size_bytes[own], np.uint64(1))
            last = (batch.offset_bytes[own] + size - np.uint64(1)) // np.uint64(PIECE_BYTES)
            touched[device] = _with(touched.get(device, np.zeros(0, bool)), first, last, trace.name)
    return {device: _moved(bits) for device, bits in touched.items()}


def _with(
    bits: NDArray[np.bool_], first: NDArray[np.uint64], last: NDArray[np.uint64], name: str
) -> NDArray[np.bool_]:
    count = int(last.max()) + 1
    if count > _MOST_PIECES:
        raise UsageError(f"{name}: addresses beyond 256 TiB cannot be anonymised", "leave out --anonymise")
    if count > len(bits):
        bits = np.concatenate([bits, np.zeros(max(count, 2 * len(bits)) - len(bits), bool)])
    # Most I/Os lie in one piece; the few that span more are filled in one by one.
    bits[first.astype(np.int64)] = True
    bits[last.astype(np.int64)] = True
    for begin, end in zip(first[last > first + 1].tolist(), last[last > first + 1].tolist(), strict=True):
        bits[begin : end + 1] = True
    return bits


def _moved(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Returns the new number of each piece; a gap before a touched piece keeps one."""
    after_gap = bits & ~np.concatenate([[False], bits[:-1]])
    steps = bits.astype(np.int64) + after_gap
    # The first of all stands behind a gap, which is left out.
    return (np.cumsum(steps) - 2).clip(0).astype(np.uint64)
