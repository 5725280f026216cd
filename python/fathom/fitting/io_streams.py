"""The I/O streams of a trace as SNIA's RWSW specification has them: an operation of one size, in order or at random."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from fathom.fitting.chosen import FLUSH, OPS, Choice, Counts, io_of
from fathom.fitting.runs import Followers
from fathom.method.template import Workload
from fathom.method.toml_text import size_text
from fathom.output.text import size
from fathom.traces.batch import Trace
from fathom.traces.prepare import nothing_moved

if TYPE_CHECKING:
    from pydantic import JsonValue

MOST = 9
"""Most streams of a cumulative workload."""
LEAST = 0.01
"""A stream with a smaller share of the I/Os is left out, unless it is the largest of its operation."""


@dataclass(frozen=True)
class IoStream:
    """I/Os of one operation and size that go on behind each other (`in_order`), or anywhere."""

    op: str
    size_bytes: int
    in_order: bool
    ios: int

    @property
    def workload(self) -> Workload:
        """Returns the stream alone, as a job."""
        pattern = "sequential" if self.in_order else "uniform"
        job = {"mix": self.op, "block": size_text(self.size_bytes), "pattern": pattern}
        words = f"{size(self.size_bytes)} {'sequential' if self.in_order else 'random'} {self.op}"
        slug = f"{size_text(self.size_bytes).lower()}-{'seq' if self.in_order else 'rand'}-{self.op}"
        return Workload(slug, words, job, written=float(self.op == "write"))


@dataclass(frozen=True)
class Cumulative:
    """The main streams of a trace, the most frequent first. `ios` counts reads and writes of it all, by operation."""

    streams: tuple[IoStream, ...]
    ios: Counter[str]
    flushes: int
    left_out: int
    """Discards, and I/Os of no byte or beyond 64 MiB."""

    @property
    def share(self) -> float:
        """Returns the share of the reads and writes that the streams have."""
        return sum(one.ios for one in self.streams) / self.ios.total()

    @property
    def workload(self) -> Workload:
        """Returns the streams at once: operations as in the trace, sizes and order of each by those of its streams."""
        by_op = {op: [one for one in self.streams if one.op == op] for op in self.ios}
        sizes = {op: _sizes(own) for op, own in by_op.items()}
        jumps = {
            op: sum(one.ios for one in own if not one.in_order) / sum(one.ios for one in own)
            for op, own in by_op.items()
        }
        ops = list(by_op)
        pattern: object = {"random": {op: f"{100 * share:.4g}%" for op, share in jumps.items()}}
        if all(share == 1 for share in jumps.values()):
            pattern = "uniform"
        elif len(ops) == 1:
            pattern = {"random": f"{100 * jumps[ops[0]]:.4g}%"} if jumps[ops[0]] else "sequential"
        job = {
            "mix": ops[0] if len(ops) == 1 else {op: _pct(self.ios[op] / self.ios.total()) for op in ops},
            "block": sizes[ops[0]] if len(ops) == 1 else sizes,
            "pattern": pattern,
        }
        moved = {op: self.ios[op] * _mean_bytes(own) for op, own in by_op.items()}
        written = moved.get("write", 0.0) / sum(moved.values())
        return Workload("cumulative", "cumulative workload", cast("Mapping[str, JsonValue]", job), written)


def _mean_bytes(streams: list[IoStream]) -> float:
    return sum(one.size_bytes * one.ios for one in streams) / sum(one.ios for one in streams)


def _sizes(streams: list[IoStream]) -> object:
    total = sum(one.ios for one in streams)
    found: Counter[int] = Counter()
    for one in streams:
        found[one.size_bytes] += one.ios
    if len(found) == 1:
        return size_text(next(iter(found)))
    return [{"size": size_text(bytes_), "share": _pct(ios / total)} for bytes_, ios in sorted(found.items())]


def _pct(share: float) -> float:
    return float(f"{100 * share:.4g}")


def cumulative(choice: Choice, trace: Trace) -> Cumulative:
    """Reads the trace of a choice and returns its main streams. Raises UsageError where nothing of it can be issued."""
    found: Counter[tuple[str, int, bool]] = Counter()
    followers = {op: Followers() for op in OPS}
    counts = Counts()
    for batch in choice.batches(counts):
        for op in OPS:
            offset, sizes = io_of(batch, op)
            if not len(offset):
                continue
            _, in_order = followers[op].add(offset, sizes)
            for ordered in (False, True):
                values, times = np.unique(sizes[in_order == ordered], return_counts=True)
                for value, count in zip(values.tolist(), times.tolist(), strict=True):
                    found[op, value, ordered] += count
        counts.flushes += int((batch.operation == FLUSH).sum())
    ios: Counter[str] = Counter()
    for (op, _, _), count in found.items():
        ios[op] += count
    if not ios:
        raise nothing_moved(trace, counts.flushes + counts.left_out)
    return Cumulative(_main(found, ios), ios, counts.flushes, counts.left_out)


def _main(found: Counter[tuple[str, int, bool]], ios: Counter[str]) -> tuple[IoStream, ...]:
    """Returns the largest stream of each operation; the next is always of the operation that still lacks most."""
    ordered = {
        op: [IoStream(*key, count) for key, count in found.most_common() if key[0] == op] for op in ios
    }
    kept = [streams.pop(0) for streams in ordered.values()]
    left = ios - Counter({one.op: one.ios for one in kept})
    while len(kept) < MOST and (open_ops := [op for op in left if ordered[op]]):
        op = max(open_ops, key=lambda one: left[one])
        largest = ordered[op].pop(0)
        if largest.ios < LEAST * ios.total():
            ordered[op].clear()
            continue
        kept.append(largest)
        left[op] -= largest.ios
    return tuple(sorted(kept, key=lambda one: -one.ios))
