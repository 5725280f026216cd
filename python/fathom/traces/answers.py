"""How the devices of a trace answered: rates and latencies of all of it and of its phases, to compare a replay with.

Counted while a trace is prepared, in bounded memory. Kept beside the prepared trace, where the run finds it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from fathom.statistics.latency_bins import BINS, bin_edges_ns, bin_numbers
from fathom.statistics.percentiles import Histogram
from fathom.statistics.segments import phases_of
from fathom.traces.batch import NO_LATENCY, OPS, Findings
from fathom.traces.clock import Doubt

SUFFIX = ".answers.json"
QUANTILES = {"p50_us": 0.5, "p99_us": 0.99, "p999_us": 0.999}
_SECOND_NS = 1_000_000_000
_MOST_SLOTS = 256
_NUMBERS = 4
"""Numbers that operations have at most."""
_STRIDE = BINS + 1
"""Bins of one operation in one slot; the last is for I/Os without a latency."""
_MOST_LOOSE = 1 << 21


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(_Part):
    """I/Os of one operation, and the latencies recorded of them. `quantiles_us` has no percentile of too few."""

    n: int
    mean_us: float | None = None
    quantiles_us: Mapping[str, float] = {}


class Phase(_Part):
    """A stretch of a trace, or all of it, in the times of the replay: recorded ones over its speed."""

    start_s: float
    length_s: float
    ops: Mapping[str, Answer]

    @property
    def ios(self) -> int:
        """I/Os of all operations."""
        return sum(one.n for one in self.ops.values())


class Answers(_Part):
    """All of a trace, and its phases in order. `at_block_layer`: whether latencies are known to be from there."""

    speed: float
    at_block_layer: bool
    whole: Phase
    phases: Sequence[Phase]
    doubt: Doubt | None = None
    """Why the recorded times mislead; None where they do not."""


class Counting:
    """Counts I/Os and latencies by slots of whole seconds of the replay, which grow with its length."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._slot_ns = _SECOND_NS
        self._loose: list[NDArray[np.int64]] = []
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._sums_ns = np.zeros(0)
        self._last_ns = 0

    def add(
        self, ops: NDArray[np.uint8], arrival_ns: NDArray[np.uint64], latency_ns: NDArray[np.uint64]
    ) -> None:
        """Counts I/Os: their operations by number, the times of the replay, ascending, and recorded latencies."""
        if not len(ops):
            return
        self._last_ns = max(self._last_ns, int(arrival_ns[-1]))
        while self._last_ns // self._slot_ns >= 2 * _MOST_SLOTS:
            self._widen()
        known = latency_ns != NO_LATENCY
        bins = np.where(known, bin_numbers(latency_ns), BINS)
        places = (arrival_ns // np.uint64(self._slot_ns)).astype(np.int64) * _NUMBERS + ops
        sums = np.bincount(places, np.where(known, latency_ns, 0).astype(np.float64))
        size = max(len(sums), len(self._sums_ns))
        self._sums_ns = np.pad(self._sums_ns, (0, size - len(self._sums_ns)))
        self._sums_ns[: len(sums)] += sums
        self._loose.append(places * _STRIDE + bins)
        if sum(map(len, self._loose)) > _MOST_LOOSE:
            self._gather()

    def _gather(self) -> None:
        """Counts the keys that have not been counted yet."""
        keys, counts = np.unique(np.concatenate([*self._loose, self._keys[:0]]), return_counts=True)
        self._loose = []
        self._add_up(np.concatenate([self._keys, keys]), np.concatenate([self._counts, counts]))

    def _add_up(self, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self._keys, where = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(where, counts).astype(np.int64)

    def _widen(self) -> None:
        """Makes a slot of every two."""
        self._gather()
        self._slot_ns *= 2
        place, rest = np.divmod(self._keys, _STRIDE)
        self._add_up((place // _NUMBERS // 2 * _NUMBERS + place % _NUMBERS) * _STRIDE + rest, self._counts)
        slots = -(-len(self._sums_ns) // (2 * _NUMBERS))
        pairs = np.pad(self._sums_ns, (0, slots * 2 * _NUMBERS - len(self._sums_ns)))
        self._sums_ns = pairs.reshape(slots, 2, _NUMBERS).sum(axis=1).ravel()

    def answers(self, findings: Findings) -> Answers:
        """Returns what was counted, once an I/O was."""
        self._gather()
        slots = self._last_ns // self._slot_ns + 1
        ends = self._ends(slots)
        phases = [self._phase(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        return Answers(
            speed=self._speed,
            at_block_layer=findings.at_block_layer,
            whole=self._phase(0, slots),
            phases=phases,
            doubt=findings.clock.doubt,
        )

    def _ends(self, slots: int) -> list[int]:
        """Returns the slots at which phases end. The last slot is not whole, so it goes with the one before."""
        places = self._keys // _STRIDE // _NUMBERS
        counts = np.bincount(places, self._counts, minlength=slots)[: max(slots - 1, 1)]
        ends = np.cumsum([one.slots for one in phases_of(counts.tolist())]).tolist()
        return [*ends[:-1], slots]

    def _phase(self, start: int, end: int) -> Phase:
        slot_s = self._slot_ns / _SECOND_NS
        until_s = min(end * slot_s, self._last_ns / _SECOND_NS)
        ops = {name: self._answer(number, start, end) for name, number in OPS.items()}
        used = {name: one for name, one in ops.items() if one.n}
        return Phase(start_s=start * slot_s, length_s=until_s - start * slot_s, ops=used)

    def _answer(self, number: int, start: int, end: int) -> Answer:
        place, bins = np.divmod(self._keys, _STRIDE)
        chosen = (place % _NUMBERS == number) & (place // _NUMBERS >= start) & (place // _NUMBERS < end)
        known = chosen & (bins < BINS)
        n = int(self._counts[chosen].sum())
        with_latency = int(self._counts[known].sum())
        if not with_latency:
            return Answer(n=n)
        sum_ns = float(self._sums_ns[start * _NUMBERS + number : end * _NUMBERS : _NUMBERS].sum())
        histogram = Histogram.of(*bin_edges_ns(bins[known]), self._counts[known])
        found = {name: histogram.quantile(q) for name, q in QUANTILES.items()}
        return Answer(
            n=n,
            mean_us=sum_ns / with_latency / 1000,
            quantiles_us={name: one.us for name, one in found.items() if one},
        )


def answers_beside(prepared: Path) -> Answers | None:
    """Returns what is kept beside a prepared trace; None where there is nothing that can be read."""
    try:
        return Answers.model_validate_json(prepared.with_suffix(SUFFIX).read_bytes())
    except (OSError, ValidationError):
        return None
