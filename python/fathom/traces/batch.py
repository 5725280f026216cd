"""A portion of a trace as numpy columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fathom.errors import UsageError
from fathom.traces.clock import Clock

NO_LATENCY = np.iinfo(np.uint64).max
"""A latency that is not recorded."""
NO_NAME = np.iinfo(np.uint32).max
"""A process, thread or CPU that is not recorded."""


@dataclass(frozen=True)
class Batch:
    """Columns of equal length, in the order of issue.

    `issue_ns` counts from the trace's first I/O. `operation` is a place in `_core.TRACE_OPERATIONS`. `flags` are bits,
    see `FLAG_LETTERS`. `device` and `process` are places in the names of the trace. `pid` is the number of the thread
    that asked, `cpu` that of the processor that issued.
    """

    issue_ns: NDArray[np.uint64]
    latency_ns: NDArray[np.uint64]
    offset_bytes: NDArray[np.uint64]
    size_bytes: NDArray[np.uint64]
    operation: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    device: NDArray[np.uint32]
    process: NDArray[np.uint32]
    pid: NDArray[np.uint32]
    cpu: NDArray[np.uint32]

    def __len__(self) -> int:
        """Returns the number of I/Os."""
        return len(self.issue_ns)


FLAG_LETTERS = "SFMAP"
"""The letter of each bit of `Batch.flags`: sync, forced unit access, metadata, read-ahead, flush before."""
OPS = {"read": 0, "write": 1, "flush": 3}
"""Number of each operation in the core's jobs. Discards are left out of replays: their size has no bound."""
BLOCK_LAYER = frozenset({"blktrace", "blkparse", "perf", "biosnoop"})
"""Formats whose latencies were taken in the kernel's block layer."""


@dataclass
class Findings:
    """Findings besides the I/Os of a trace. They are complete once all batches have been read."""

    wrong: int = 0
    """Lines or records that are not an I/O."""
    first_wrong: Sequence[tuple[int, str]] = ()
    """The first few of them: number from 1, and the fault."""
    fields_left_out: Sequence[str] = ()
    """Fields of a CSV by their names, which mean nothing to Fathom."""
    late: int = 0
    """I/Os too late in the trace to be sorted."""
    unfinished: int = 0
    """I/Os without a completion."""
    lost: int = 0
    """Records of events that the kernel had no room for."""
    unknown: int = 0
    """Completions without an I/O: requests that were in flight when the trace began."""
    start_unix_ns: int | None = None
    """When the trace began, where it says so."""
    at_block_layer: bool = False
    """Whether latencies were taken in the kernel's block layer, from issue to completion; False: not known."""
    clock: Clock = field(default_factory=Clock)
    """What the times of the I/Os are worth."""


class Trace(Protocol):
    """A trace that can be read once. Names and findings grow while its batches are read."""

    name: str
    format: str
    findings: Findings

    @property
    def devices(self) -> Sequence[str]:
        """Names of the devices by number, as far as they have been read."""
        ...

    @property
    def processes(self) -> Sequence[str]:
        """Names of the processes by number, as far as they have been read."""
        ...

    def batches(self) -> Iterator[Batch]:
        """Yields the I/Os in the order of issue. Raises UsageError where the trace cannot be read."""
        ...

    def share_read(self) -> float | None:
        """Returns how much of the files has been read, 0 to 1; None where that is not known."""
        ...


def no_io(trace: Trace, hint: str = "check --format and --columns") -> UsageError:
    """Returns the error of a trace, read to its end, that holds no I/O."""
    return UsageError(f"{trace.name}: no I/O in it{first_wrong(trace)}", hint)


def first_wrong(trace: Trace) -> str:
    """Returns the first wrong line of a trace, to go behind its name; empty without one."""
    if not trace.findings.first_wrong:
        return ""
    number, text = trace.findings.first_wrong[0]
    return f", line {number}: {text}"


@dataclass
class Names:
    """Names by number. A name keeps its number."""

    texts: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Returns the number of a name. A new name gets the next one."""
        found = self._numbers.setdefault(name, len(self.texts))
        if found == len(self.texts):
            self.texts.append(name)
        return found
