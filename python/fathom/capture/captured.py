"""The trace that a capture is: I/Os of the chosen disks, partitions and processes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fathom._core import TRACE_OPERATIONS
from fathom.capture.disks import Disk
from fathom.traces.batch import Batch, Findings, Names, Trace

_FLUSH = TRACE_OPERATIONS.index("flush")
_KEPT_BYTES = 15
"""Bytes of a process's name that the kernel keeps (`TASK_COMM_LEN`)."""


@dataclass
class CapturedTrace:
    """A trace of the kernel's, narrowed; see `fathom.traces.batch.Trace`. `wanted` are names or numbers of processes.

    A partition's offsets count from its start. A flush has no place: the first part of its disk gets it.
    """

    recorded: Trace
    disks: Sequence[Disk]
    wanted: Sequence[str] = ()
    name: str = "capture"
    format: str = "blktrace"
    left_out: int = 0
    """I/Os of other processes, or beyond the partitions."""
    findings: Findings = field(default_factory=Findings)
    _names: Names = field(default_factory=Names)
    _base_ns: int | None = None

    @property
    def devices(self) -> Sequence[str]:
        """Names of the disks and partitions."""
        return self._names.texts

    @property
    def processes(self) -> Sequence[str]:
        """Names of the processes so far."""
        return self.recorded.processes

    def share_read(self) -> float | None:
        """Returns how much of the records has been read, 0 to 1."""
        return self.recorded.share_read()

    def batches(self) -> Iterator[Batch]:
        """Yields the I/Os in the order of issue."""
        for batch in self.recorded.batches():
            found = self._narrowed(batch)
            if len(found):
                yield found
        self.findings = self.recorded.findings

    def _narrowed(self, batch: Batch) -> Batch:
        device = np.zeros(len(batch), np.uint32)
        offset = batch.offset_bytes.copy()
        kept = np.zeros(len(batch), bool)
        by_dev = {dev: number for number, dev in enumerate(self.recorded.devices)}
        for disk in self.disks:
            of_disk = batch.device == by_dev.get(disk.dev, len(by_dev))
            for place, part in enumerate(disk.parts):
                inside = of_disk & (batch.operation != _FLUSH)
                if part.end_bytes is not None:
                    start, end = np.uint64(part.start_bytes), np.uint64(part.end_bytes)
                    inside &= (batch.offset_bytes >= start) & (batch.offset_bytes + batch.size_bytes <= end)
                    offset[inside] -= start
                if place == 0:
                    inside |= of_disk & (batch.operation == _FLUSH)
                device[inside] = self._names.number(part.name)
                kept |= inside
        kept &= self._of_processes(batch)
        self.left_out += len(batch) - int(np.count_nonzero(kept))
        return Batch(
            issue_ns=self._since_first(batch.issue_ns[kept]),
            latency_ns=batch.latency_ns[kept],
            offset_bytes=offset[kept],
            size_bytes=batch.size_bytes[kept],
            operation=batch.operation[kept],
            flags=batch.flags[kept],
            device=device[kept],
            process=batch.process[kept],
            pid=batch.pid[kept],
            cpu=batch.cpu[kept],
        )

    def _of_processes(self, batch: Batch) -> NDArray[np.bool_]:
        if not self.wanted:
            return np.ones(len(batch), bool)
        wanted = {one.encode()[:_KEPT_BYTES].decode(errors="replace") for one in self.wanted}
        named = [number for number, name in enumerate(self.processes) if name in wanted]
        numbers = [int(one) for one in self.wanted if one.isdecimal()]
        return np.isin(batch.process, named) | np.isin(batch.pid, numbers)

    def _since_first(self, issue_ns: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Returns times since the first I/O that is kept; a late one has that of the first."""
        if self._base_ns is None and len(issue_ns):
            self._base_ns = int(issue_ns[0])
        base_ns = np.uint64(self._base_ns or 0)
        return np.maximum(issue_ns, base_ns) - base_ns
