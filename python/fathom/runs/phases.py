"""The phases of a replayed trace: what was recorded there, and what the target did.

A phase of a replay at recorded times is those of its seconds that the trace has it in. Else it is the seconds in which
its I/Os were done: a second goes to the phase of its middle I/O.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from fathom._core import Job, OpResult
from fathom.runs.bins import bins_of
from fathom.runs.spool import Row
from fathom.statistics.latency_columns import PREFIXES
from fathom.statistics.percentiles import Histogram
from fathom.traces.answers import QUANTILES, Answer, Answers, Phase, answers_beside
from fathom.traces.clock import Doubt

_SERVICE = next(iter(PREFIXES))
_OTHERS = 0.1
"""Share of a phase's I/Os by which the seconds of a closed replay may differ from it."""


@dataclass
class _Done:
    """I/Os of one operation that were done in a phase."""

    n: int = 0
    sum_us: float = 0.0
    bins: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, op: OpResult) -> None:
        self.n += op.n
        self.sum_us += op.n * (op.mean_us or 0.0)
        for kind, bins in bins_of(op):
            if kind == _SERVICE:
                self.bins += bins
        if len(self.bins) > 1 << 16:
            found = self.histogram()
            self.bins = list(
                zip(found.low_ns.tolist(), found.high_ns.tolist(), found.count.tolist(), strict=True)
            )

    def histogram(self) -> Histogram:
        return Histogram.of(*zip(*self.bins, strict=True))

    def columns(self, length_s: float) -> Row:
        found = self.histogram() if self.bins else None
        quantiles = {name: found.quantile(q) if found else None for name, q in QUANTILES.items()}
        columns: Row = {name: one.us if one else None for name, one in quantiles.items()}
        return columns | {
            "n": self.n,
            "iops": self.n / length_s,
            "mean_us": self.sum_us / self.n if self.n else None,
        }


@dataclass
class _Replayed:
    """The seconds of a replay that are one phase."""

    start_s: float | None = None
    length_s: float = 0.0
    ops: dict[str, _Done] = field(default_factory=dict)


_NOTHING: Row = {name: None for name in ("n", "iops", "mean_us", *QUANTILES)}


class Phases:
    """What a replay does in each phase of its trace, taken second by second."""

    def __init__(self, answers: Answers, *, by_time: bool) -> None:
        self._answers = answers
        self._by_time = by_time
        # Where each phase but the first begins: in time, or in I/Os done.
        counts = accumulate(phase.ios for phase in answers.phases[:-1])
        self._starts = [phase.start_s for phase in answers.phases[1:]] if by_time else list(counts)
        self._replayed = [_Replayed() for _ in answers.phases]
        self._done = 0

    def add(self, start_s: float, length_s: float, ops: Sequence[OpResult]) -> None:
        """Adds a second."""
        n = sum(op.n for op in ops)
        middle = start_s + length_s / 2 if self._by_time else self._done + n / 2
        self._done += n
        found = self._replayed[bisect_right(self._starts, middle)]
        found.start_s = start_s if found.start_s is None else found.start_s
        found.length_s += length_s
        for op in ops:
            found.ops.setdefault(op.op, _Done()).add(op)

    def rows(self, common: Row, ops: Sequence[OpResult], window_s: float) -> list[Row]:
        """Returns the rows of the whole replay, from the operations of its window, and of its phases."""
        whole = _Replayed(0.0, window_s)
        for op in ops:
            whole.ops.setdefault(op.op, _Done()).add(op)
        # A step's own percentiles lie within its shortest and longest I/O; the middle of a bin need not.
        own_us: dict[str, Row] = {
            op.op: {name: getattr(op, name) for name in QUANTILES} for op in ops if op.n
        }
        rows = self._rows_of(common, None, self._answers.whole, whole)
        found = [row | own_us.get(str(row["op"]), {}) for row in rows]
        for number, (phase, replayed) in enumerate(zip(self._answers.phases, self._replayed, strict=True)):
            own = replayed if self._is_of(phase, replayed) else _Replayed()
            found += self._rows_of(common, number, phase, own)
        return found

    def _is_of(self, phase: Phase, replayed: _Replayed) -> bool:
        """Returns whether the seconds hold the phase's I/Os. Those of a closed replay may hold several short phases."""
        n = sum(op.n for op in replayed.ops.values())
        return self._by_time or abs(n - phase.ios) <= _OTHERS * phase.ios

    def _rows_of(self, common: Row, number: int | None, phase: Phase, replayed: _Replayed) -> list[Row]:
        speed = self._answers.speed
        recorded_s = phase.length_s * speed
        times: Row = {
            "phase": number,
            "recorded_start_s": phase.start_s * speed,
            "recorded_length_s": recorded_s,
            "start_s": replayed.start_s,
            "length_s": replayed.length_s if replayed.start_s is not None else None,
        }
        return [
            common
            | times
            | {"op": op}
            | self._recorded(answer, recorded_s)
            | (replayed.ops.get(op, _Done()).columns(replayed.length_s) if replayed.length_s else _NOTHING)
            for op, answer in phase.ops.items()
        ]

    def _recorded(self, answer: Answer, length_s: float) -> Row:
        known = answer.mean_us is not None and self._answers.at_block_layer
        return {
            "recorded_n": answer.n,
            "recorded_iops": answer.n / length_s if length_s else None,
            "recorded_mean_us": answer.mean_us,
            **{f"recorded_{name}": answer.quantiles_us.get(name) for name in QUANTILES},
            "at_block_layer": True if known else None,
        }


def phases_of(job: Job) -> Phases | None:
    """Returns the phases of the trace that a job replays once; None where it replays none, or another part of one."""
    if job.pattern.kind != "replay" or job.pattern.file is None:
        return None
    answers = answers_beside(Path(job.pattern.file))
    if answers is None or job.count != answers.whole.ios:
        return None
    return Phases(answers, by_time=job.rate_iops is not None)


def doubts_of(job: Job) -> list[Doubt]:
    """Returns why times that a job replays mislead; none where it keeps no times."""
    found = [
        answers.doubt
        for own in job.streams.values() or [job]
        if own.pattern.file is not None and (own.rate_iops is not None or own.pattern.waits)
        if (answers := answers_beside(Path(own.pattern.file))) and answers.doubt
    ]
    return list(dict.fromkeys(found))
