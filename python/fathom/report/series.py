"""What a report needs of the tables that have rows each second: each is read once, a part at a time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fathom.analysis.stretches import coded, stretches
from fathom.report.rows import OpOfStep, Seconds, StepOfTarget
from fathom.statistics.latency_columns import PREFIXES
from fathom.statistics.percentiles import Histogram
from fathom.statistics.series import Floats

INTERVALS = ("target", "step", "kind", "op", "start_s", "length_s", "n", "iops")
"""Columns of intervals that are read."""
READINGS = ("target", "step", "start_s", "length_s", "name", "value")
"""Columns of telemetry that are read."""
BINS = ("target", "step", "op", "latency", "low_ns", "high_ns", "count")
"""Columns of latency that are read."""
ENERGY = "joules"
WHOLE_S = 0.999
"""A second that is longer is whole."""


@dataclass(frozen=True)
class Rates:
    """The intervals of a run."""

    seconds: Mapping[str, Mapping[str, Seconds]]
    """By target and step, all operations together, steps in order of execution."""
    iops: Mapping[OpOfStep, Floats]
    """By operation of measured steps, of each whole second."""


class Mean(NamedTuple):
    """The mean over time of a value that telemetry names."""

    step: StepOfTarget
    name: str
    value: float


@dataclass(frozen=True)
class Readings:
    """The telemetry of a run's targets; readings of the whole machine are left out."""

    means: Sequence[Mean]
    """In the order of the first rows."""
    energies: Mapping[StepOfTarget, Floats]
    """Start in s, length in s, and J of each stretch whose energy is known, in order."""


def rates_of(parts: Iterable[pa.Table]) -> Rates:
    """Returns the intervals of a table that comes in parts. A second may begin in one part and end in the next."""
    pieces: dict[StepOfTarget, list[Seconds]] = {}
    single: dict[OpOfStep, list[Floats]] = {}
    for part in parts:
        ops, op_names = coded(part["op"])
        kinds, kind_names = coded(part["kind"])
        start_s, length_s, n, iops = (part[name].to_numpy() for name in ("start_s", "length_s", "n", "iops"))
        whole = length_s > WHOLE_S
        for target, step, rows in stretches(part):
            assert target is not None, "every interval has a target"
            own = Seconds(start_s[rows], length_s[rows], n[rows])
            pieces.setdefault(StepOfTarget(target, step), []).append(_by_second(own))
            if kind_names[kinds[rows.start]] != "measure":
                continue
            for place, op in enumerate(op_names):
                at = (ops[rows] == place) & whole[rows]
                if at.any():
                    columns = np.column_stack([start_s[rows][at], iops[rows][at]])
                    single.setdefault(OpOfStep(target, step, str(op)), []).append(columns)
    seconds: dict[str, dict[str, Seconds]] = {}
    for (target, step), own in pieces.items():
        seconds.setdefault(target, {})[step] = _joined(own)
    return Rates(seconds, {key: _in_order(own)[:, 1] for key, own in single.items()})


def readings_of(parts: Iterable[pa.Table]) -> Readings:
    """Returns the telemetry of a table that comes in parts."""
    sums: dict[StepOfTarget, dict[str, tuple[float, float]]] = {}
    energies: dict[StepOfTarget, list[Floats]] = {}
    for part in parts:
        names, texts = coded(part["name"])
        start_s, length_s, value = (part[name].to_numpy() for name in ("start_s", "length_s", "value"))
        weighted = value * length_s
        for target, step, rows in stretches(part):
            if target is None:
                continue
            key = StepOfTarget(target, step)
            own, known = names[rows], sums.setdefault(key, {})
            length_sums, weighted_sums = (
                np.bincount(own, column[rows], len(texts)) for column in (length_s, weighted)
            )
            found = np.flatnonzero(length_sums > 0).tolist()
            new = [place for place in found if texts[place] not in known]
            for place in sorted(new, key=lambda place: int(np.argmax(own == place))):
                known[str(texts[place])] = 0.0, 0.0
            for place in found:
                name = str(texts[place])
                before_s, before = known[name]
                known[name] = before_s + float(length_sums[place]), before + float(weighted_sums[place])
                if name == ENERGY:
                    at = (own == place) & (length_s[rows] > 0)
                    columns = [column[rows][at] for column in (start_s, length_s, value)]
                    energies.setdefault(key, []).append(np.column_stack(columns))
    means = [
        Mean(step, name, weighted / length_s)
        for step, own in sums.items()
        for name, (length_s, weighted) in own.items()
    ]
    return Readings(means, {key: _in_order(own) for key, own in energies.items()})


def histograms_of(parts: Iterable[pa.Table], steps: Collection[str]) -> dict[str, dict[OpOfStep, Histogram]]:
    """Returns the histograms of some steps from a table that comes in parts: per latency, then per operation, in the
    order of their names.
    """
    pieces: dict[tuple[str, OpOfStep], list[Histogram]] = {}
    for part in parts:
        ops, op_names = coded(part["op"])
        latencies, latency_names = coded(part["latency"])
        both = latencies * len(op_names) + ops
        columns = [part[name].to_numpy() for name in ("low_ns", "high_ns", "count")]
        for target, step, rows in stretches(part):
            if step not in steps:
                continue
            for code in np.unique(both[rows]).tolist():
                latency, op = divmod(code, len(op_names))
                key = str(latency_names[latency]), OpOfStep(str(target), step, str(op_names[op]))
                own = both[rows] == code
                pieces.setdefault(key, []).append(Histogram.of(*(column[rows][own] for column in columns)))
    found: dict[str, dict[OpOfStep, Histogram]] = {latency: {} for latency in PREFIXES}
    for (latency, key), own in sorted(pieces.items(), key=lambda item: item[0]):
        found[latency][key] = own[0] if len(own) == 1 else Histogram.merged(own)
    return found


def _joined(pieces: Sequence[Seconds]) -> Seconds:
    if len(pieces) == 1:
        return pieces[0]
    columns = zip(*((one.start_s, one.length_s, one.n) for one in pieces), strict=True)
    return _by_second(Seconds(*map(np.concatenate, columns)))


def _by_second(rows: Seconds) -> Seconds:
    """Returns what begins together as one, in the order of the first rows."""
    order = np.argsort(rows.start_s, kind="stable")
    firsts = np.flatnonzero(np.diff(rows.start_s[order], prepend=-np.inf))
    by_row = np.argsort(order[firsts])
    return Seconds(
        rows.start_s[order[firsts]][by_row],
        np.maximum.reduceat(rows.length_s[order], firsts)[by_row],
        np.add.reduceat(rows.n[order], firsts)[by_row],
    )


def _in_order(pieces: Sequence[Floats]) -> Floats:
    """Returns rows by the time in their first column."""
    rows = np.concatenate(pieces)
    return rows[np.argsort(rows[:, 0], kind="stable")]
