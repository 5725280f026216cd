"""Phases of a trace that both sides replayed: what the base and the new side did in each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathom.columns.schema import PhaseOfOp
from fathom.output.text import signed_pct
from fathom.report.comparison import Column
from fathom.report.recorded import when
from fathom.report.style import grouped

FIGURES = {"iops": "IOPS", "mean_us": "mean, us", "p99_us": "p99, us"}
NOTE = "Changes in phases are those of mean latency as measured, without intervals."


@dataclass(frozen=True)
class PhasePair:
    """One operation in one phase of the trace, in the base and in the new side."""

    base: PhaseOfOp
    new: PhaseOfOp

    @property
    def when(self) -> str:
        """The phase's place in the trace."""
        return when(self.new)

    @property
    def change_pct(self) -> float | None:
        """How far the new mean latency is above (+) or below (-) the base's, in percent; None where one is missing."""
        before, now = self.base.mean_us, self.new.mean_us
        return None if not before or now is None else 100 * (now / before - 1)

    @property
    def cells(self) -> list[str]:
        """Each figure as base and new, then the change."""
        pairs = [
            f"{_figure(getattr(self.base, name))} → {_figure(getattr(self.new, name))}" for name in FIGURES
        ]
        return [*pairs, "–" if self.change_pct is None else signed_pct(self.change_pct)]

    def to_json(self) -> dict[str, object]:
        """Returns the pair as JSON values."""
        return {
            "stream": self.new.stream,
            "phase": self.new.phase,
            "op": self.new.op,
            "recorded_start_s": self.new.recorded_start_s,
            "recorded_length_s": self.new.recorded_length_s,
            **{
                side: {name: getattr(row, name) for name in FIGURES}
                for side, row in (("base", self.base), ("new", self.new))
            },
        }


def phases_beside(base: Column, new: Column) -> list[PhasePair]:
    """Returns the phases that both sides replayed; none where their traces differ, or have one phase."""
    theirs = {_key(row): row for row in _rows(base)}
    own = {_key(row): row for row in _rows(new)}
    if theirs.keys() != own.keys() or len({row.phase for row in own.values()}) < 2:
        return []
    pairs = [PhasePair(theirs[key], row) for key, row in own.items()]
    return sorted(pairs, key=lambda pair: (pair.new.stream or "", pair.new.phase or 0))


def _rows(column: Column) -> Iterator[PhaseOfOp]:
    rows: Sequence[PhaseOfOp] = column.run.phases
    return (row for row in rows if row.phase is not None and row.target == column.target.name)


def _key(row: PhaseOfOp) -> tuple[object, ...]:
    trace = (row.recorded_start_s, row.recorded_length_s, row.recorded_n)
    return (row.workload, row.stream, row.phase, row.op, *trace)


def _figure(value: float | None) -> str:
    return "–" if value is None else grouped(value)
