"""What rules and findings need of a run's intervals: sums of each step, and its rate second by second."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fathom._core import MOVES_DATA, WRITES
from fathom.analysis.stretches import coded, joined, stretches
from fathom.statistics.failed import failed_share

Key = tuple[str, str]
"""(target, step)"""
Floats = NDArray[np.float64]
NUMBERS = ("start_s", "length_s", "n", "bytes", "errors", "iops", "mbps")
COLUMNS = ("target", "step", "kind", "op", "index", *NUMBERS)
"""Columns of intervals that the sums need."""


@dataclass(frozen=True)
class OpCounts:
    """I/Os, bytes and failed I/Os of one operation of a step."""

    n: int
    bytes: int
    errors: int

    def __add__(self, other: "OpCounts") -> "OpCounts":
        """Returns both together."""
        return OpCounts(self.n + other.n, self.bytes + other.bytes, self.errors + other.errors)


@dataclass(frozen=True)
class StepFailures:
    """I/Os of a step that failed, the greatest share of an operation that did, and the operation.

    `of_several`: whether I/Os of other operations failed too.
    """

    ios: int
    share: float
    op: str
    of_several: bool = False


@dataclass(frozen=True)
class SecondRates:
    """IOPS and MB/s in each whole second of a measured step, all operations together."""

    iops: Floats
    mbps: Floats


@dataclass(frozen=True)
class IntervalSums:
    """The intervals of a run or of some of its targets, reduced."""

    counts: Mapping[tuple[str, str, str], OpCounts]
    """By target, step and operation, every kind of step."""
    rates: Mapping[Key, SecondRates]
    """Measured steps only."""
    written: Mapping[Key, tuple[Floats, Floats]]
    """Start (s) and bytes of each interval of an operation that writes, every kind of step."""

    @classmethod
    def of(cls, parts: Iterable[pa.Table]) -> "IntervalSums":
        """Returns the sums of a table that comes in parts."""
        reduced = _Reduced()
        for part in parts:
            reduced.add(part)
        return cls(
            reduced.counts,
            {key: _whole_seconds(pieces) for key, pieces in reduced.measured.items()},
            {key: joined(pieces) for key, pieces in reduced.written.items()},
        )

    @classmethod
    def together(cls, all_: Sequence["IntervalSums"]) -> "IntervalSums":
        """Returns several of different targets as one."""
        return cls(
            {key: value for one in all_ for key, value in one.counts.items()},
            {key: value for one in all_ for key, value in one.rates.items()},
            {key: value for one in all_ for key, value in one.written.items()},
        )

    def of_target(self, target: str, name: str) -> "IntervalSums":
        """Returns those of one target, under another name."""
        return IntervalSums(
            {(name, step, op): value for (own, step, op), value in self.counts.items() if own == target},
            {(name, step): value for (own, step), value in self.rates.items() if own == target},
            {(name, step): value for (own, step), value in self.written.items() if own == target},
        )

    def bytes_of(self, ops: Iterable[str]) -> dict[Key, int]:
        """Returns the bytes of operations by step; only steps that have any of them."""
        wanted, found = set(ops), dict[Key, int]()
        for (target, step, op), counts in self.counts.items():
            if op in wanted:
                found[target, step] = found.get((target, step), 0) + counts.bytes
        return found

    def moved_bytes(self) -> dict[Key, int]:
        """Returns bytes that each step moved; what is trimmed or zeroed moves none."""
        return self.bytes_of(MOVES_DATA)

    def written_bytes(self) -> dict[Key, int]:
        """Returns bytes that each step wrote."""
        return self.bytes_of(WRITES)

    def failed(self) -> dict[Key, StepFailures]:
        """Returns the failed I/O of each step that has any."""
        found: dict[Key, StepFailures] = {}
        for (target, step, op), counts in self.counts.items():
            if counts.errors > 0:
                before = found.get((target, step), StepFailures(0, 0.0, op))
                share = failed_share(counts.n, counts.errors) or 0.0
                worst = (share, op) if share > before.share else (before.share, before.op)
                found[target, step] = StepFailures(before.ios + counts.errors, *worst, before.ios > 0)
        return found

    def ops_of(self, key: Key) -> set[str]:
        """Returns the operations that ended any I/O in a step."""
        return self._ops.get(key, set())

    @cached_property
    def _ops(self) -> Mapping[Key, set[str]]:
        found: dict[Key, set[str]] = {}
        for (target, step, op), counts in self.counts.items():
            if counts.n + counts.errors:
                found.setdefault((target, step), set()).add(op)
        return found


class _Reduced:
    """Sums while parts come in. A second may begin in one part and end in the next."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str, str], OpCounts] = {}
        self.measured: dict[Key, list[tuple[Floats, ...]]] = {}
        self.written: dict[Key, list[tuple[Floats, Floats]]] = {}

    def add(self, part: pa.Table) -> None:
        ops, op_names = coded(part["op"])
        kinds, kind_names = coded(part["kind"])
        index = part["index"].to_numpy()
        numbers = {name: _numbers(part[name]) for name in NUMBERS}
        writes = np.isin(ops, [place for place, op in enumerate(op_names) if op in WRITES])
        for target, step, rows in stretches(part):
            assert target is not None, "every interval has a target"
            self._count(target, step, ops[rows], op_names, {name: numbers[name][rows] for name in NUMBERS})
            if kind_names[kinds[rows.start]] == "measure":
                columns = (
                    index[rows],
                    *(numbers[name][rows].copy() for name in ("iops", "mbps", "length_s")),
                )
                self.measured.setdefault((target, step), []).append(columns)
            if writes[rows].any():
                own = writes[rows]
                pair = numbers["start_s"][rows][own], np.nan_to_num(numbers["bytes"][rows][own])
                self.written.setdefault((target, step), []).append(pair)

    def _count(
        self,
        target: str,
        step: str,
        ops: NDArray[np.int64],
        names: Sequence[str | None],
        numbers: Mapping[str, Floats],
    ) -> None:
        sums = [
            np.bincount(ops, np.nan_to_num(numbers[name]), len(names)) for name in ("n", "bytes", "errors")
        ]
        for place in np.unique(ops).tolist():
            key = target, step, str(names[place])
            own = OpCounts(*(round(float(each[place])) for each in sums))
            self.counts[key] = self.counts[key] + own if key in self.counts else own


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Returns a column as floats, NaN where it has no value. Sums of whole numbers stay exact up to 2^53."""
    return pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _whole_seconds(pieces: Sequence[tuple[Floats, ...]]) -> SecondRates:
    """Returns rates of seconds as long as the first, the operations of each added up.

    A mean of seconds needs equal ones, and the last of a step may be shorter.
    """
    index, iops, mbps, length_s = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.argsort(index, kind="stable")
    firsts = np.flatnonzero(np.diff(index[order], prepend=index[order[0]] - 1))
    iops, mbps = (np.add.reduceat(column[order], firsts) for column in (iops, mbps))
    length_s = np.maximum.reduceat(length_s[order], firsts)
    whole = length_s >= length_s[0] * (1 - 1e-6)
    return SecondRates(iops[whole], mbps[whole])
