"""The I/Os of a trace that a fit looks at, on whole blocks, portion by portion."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fathom._core import TRACE_OPERATIONS, TraceProfile
from fathom.errors import UsageError
from fathom.output.text import some_of
from fathom.traces.batch import FLAG_LETTERS, NO_LATENCY, Batch, Trace
from fathom.traces.clock import refuse_length
from fathom.traces.prepare import MOST_BYTES, nothing_moved, of_device
from fathom.traces.profile import Profile
from fathom.traces.spread import spread

READ, WRITE, FLUSH = (TRACE_OPERATIONS.index(name) for name in ("read", "write", "flush"))
OPS = {"read": READ, "write": WRITE}
"""Operations that move data, with their numbers in a trace."""
_FUA = 1 << FLAG_LETTERS.index("F")

Opened = Callable[[], Trace]
"""Opens the trace anew: a fit reads it three times, and twice more where its clock is coarse."""


@dataclass(frozen=True)
class Choice:
    """Which I/Os of a trace are looked at, and to which blocks they grow."""

    opened: Opened
    device: str | None = None
    align_bytes: int = 4096

    def batches(self, counts: "Counts | None" = None) -> Iterator[Batch]:
        """Yields them; `counts` takes what is left out. Raises UsageError where there are several devices."""
        trace = self.opened()
        for batch in trace.batches():
            kept = self._kept(trace, batch, counts)
            if len(kept):
                yield kept
        if self.device is not None and self.device not in trace.devices:
            raise UsageError(
                f"{trace.name} has no device {self.device!r}",
                f"it has {some_of(trace.devices)}",
            )

    def _kept(self, trace: Trace, batch: Batch, counts: "Counts | None") -> Batch:
        chosen = of_device(trace, batch, self.device)
        align = np.uint64(self.align_bytes)
        offset = batch.offset_bytes // align * align
        end = (batch.offset_bytes + batch.size_bytes + align - np.uint64(1)) // align * align
        size = end - offset
        moves = (batch.operation < FLUSH) & (batch.size_bytes > 0) & (size <= MOST_BYTES)
        kept = chosen & (moves | (batch.operation == FLUSH))
        if counts is not None:
            counts.left_out += int(np.count_nonzero(chosen & ~kept))
            counts.fua += int(np.count_nonzero(kept & (batch.flags & _FUA != 0)))
        return Batch(
            issue_ns=batch.issue_ns[kept],
            latency_ns=batch.latency_ns[kept],
            offset_bytes=np.where(moves, offset, np.uint64(0))[kept],
            size_bytes=np.where(moves, size, np.uint64(0))[kept],
            operation=batch.operation[kept],
            flags=batch.flags[kept],
            device=batch.device[kept],
            process=batch.process[kept],
            pid=batch.pid[kept],
            cpu=batch.cpu[kept],
        )


@dataclass
class Totals:
    """Reads, or writes."""

    ios: int = 0
    low_bytes: int = 1 << 63
    """First byte of all."""
    high_bytes: int = 0
    """End of the last byte."""
    sizes: Counter[int] = field(default_factory=Counter)
    latency_ns: float = 0.0
    """Sum over the I/Os with a latency."""


@dataclass
class Counts:
    """What the first reading of a trace finds."""

    ops: dict[str, Totals] = field(default_factory=lambda: {op: Totals() for op in OPS})
    flushes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    left_out: int = 0
    """Discards, and I/Os of no byte or beyond 64 MiB."""
    fua: int = 0
    has_latencies: bool = False
    writes_between: Counter[int] = field(default_factory=Counter)
    """How many writes stand between two flushes, by how often."""
    _since: int = 0

    @property
    def ios(self) -> int:
        """Returns the number of I/Os."""
        return self.flushes + sum(one.ios for one in self.ops.values())

    @property
    def duration_s(self) -> float:
        """Returns the time from the first issue to the last."""
        return (self.last_ns - self.first_ns) / 1e9

    @property
    def extent_bytes(self) -> int:
        """Returns the end of the last byte that is read or written."""
        return max(one.high_bytes for one in self.ops.values())

    def add(self, batch: Batch) -> None:
        """Counts a portion."""
        if not self.ios:
            self.first_ns = int(batch.issue_ns[0])
        self.last_ns = max(self.last_ns, int(batch.issue_ns.max()))
        timed = batch.latency_ns != NO_LATENCY
        self.has_latencies |= bool(timed.any())
        for name, number in OPS.items():
            own = batch.operation == number
            offset, size = io_of(batch, name)
            of_op = self.ops[name]
            if not len(size):
                continue
            of_op.ios += len(size)
            of_op.low_bytes = min(of_op.low_bytes, int(offset.min()))
            of_op.high_bytes = max(of_op.high_bytes, int((offset + size).max()))
            values, times = np.unique(size, return_counts=True)
            of_op.sizes.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
            of_op.latency_ns += float(batch.latency_ns[own & timed].sum(dtype=np.float64))
        self._add_flushes(batch.operation)

    def _add_flushes(self, operation: NDArray[np.uint8]) -> None:
        places = np.flatnonzero(operation == FLUSH)
        writes = np.cumsum(operation == WRITE)
        if len(places):
            before = np.diff(np.concatenate([[-self._since], writes[places]]))
            # Nothing is known of how many writes stood before the first flush of all.
            counted = before if self.flushes else before[1:]
            values, times = np.unique(counted, return_counts=True)
            self.writes_between.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
            self.flushes += len(places)
            self._since = int(writes[-1] - writes[places[-1]])
        else:
            self._since += int(writes[-1])


def io_of(batch: Batch, op: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Returns the offsets and the sizes of an operation's I/Os."""
    own = batch.operation == OPS[op]
    return batch.offset_bytes[own], batch.size_bytes[own]


@dataclass(frozen=True)
class Counted:
    """What a trace holds and what it is like. `choice` reads it on: spread, where the clock of `trace` is coarse."""

    choice: Choice
    trace: Trace
    counts: Counts
    profile: Profile

    @property
    def step_ns(self) -> int:
        """Returns the step of the clock over which I/Os are spread; 0 where their times are as recorded."""
        clock = self.trace.findings.clock
        return clock.step_ns if clock.coarse else 0


def count(choice: Choice) -> Counted:
    """Reads a trace. Raises UsageError where it has nothing to fit, or where its times jump."""
    found = _count(choice)
    if not found.step_ns:
        return found
    even = replace(choice, opened=spread(choice.opened, found.step_ns))
    return replace(_count(even), trace=found.trace)


def _count(choice: Choice) -> Counted:
    counts, profile, trace = Counts(), TraceProfile(), choice.opened()
    for batch in replace(choice, opened=lambda: trace).batches(counts):
        counts.add(batch)
        add_to(profile, batch)
    if not any(one.ios for one in counts.ops.values()):
        raise nothing_moved(trace, counts.ios + counts.left_out)
    refuse_length(trace.name, trace.findings.clock)
    return Counted(choice, trace, counts, Profile.model_validate_json(profile.json()))


def add_to(profile: TraceProfile, batch: Batch) -> None:
    """Adds a portion to a profile."""
    profile.add(
        np.ascontiguousarray(batch.issue_ns),
        np.ascontiguousarray(batch.latency_ns),
        np.ascontiguousarray(batch.offset_bytes),
        np.ascontiguousarray(batch.size_bytes),
        np.ascontiguousarray(batch.operation),
        np.ascontiguousarray(batch.flags),
        np.ascontiguousarray(batch.device),
        np.ascontiguousarray(batch.process),
    )
