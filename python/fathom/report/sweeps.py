"""Measured steps of a run that differ in one thing only: their share of reads, or how many I/Os they keep in flight.

Sections draw figures over either. Steps of rounds are taken as their means over the last rounds of the window; points
of curves are left out, they have a section of their own.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from fathom.report.comparison import Column, Comparison
from fathom.report.data import RunData
from fathom.report.rows import Point
from fathom.report.style import compact, seconds
from fathom.text import size

PATTERNS = {"uniform": "random", "sequential": "sequential"}


@dataclass(frozen=True)
class Shape:
    """What a step's I/O looks like, whatever its load and its share of reads."""

    sizes: str
    pattern: str
    key: str

    @property
    def label(self) -> str:
        """`4 KiB random`."""
        return f"{self.sizes} {self.pattern}"


@dataclass(frozen=True)
class Swept:
    """One step on one target; `halves` are its operations."""

    column: Column
    shape: Shape
    halves: Sequence[Point]

    @property
    def read_pct(self) -> float:
        """Share of reads asked for, percent."""
        return self.halves[0].read_pct or 0.0

    @property
    def load(self) -> tuple[int, int]:
        """Threads and iodepth."""
        return self.halves[0].threads or 1, self.halves[0].iodepth or 1

    @property
    def depth(self) -> int:
        """I/Os asked to be in flight."""
        threads, iodepth = self.load
        return threads * iodepth

    @property
    def outstanding(self) -> float:
        """I/Os in flight on average as counted, else as asked."""
        return self.halves[0].outstanding or float(self.depth)

    @property
    def iops(self) -> float:
        """All operations together."""
        return sum(half.iops or 0.0 for half in self.halves)

    @property
    def mean_us(self) -> float | None:
        """Mean service latency of all operations together."""
        known = [(half.n or 0, half.mean_us) for half in self.halves if half.mean_us is not None]
        n = sum(count for count, _ in known)
        return sum(count * mean for count, mean in known) / n if n else None

    @property
    def implied(self) -> float | None:
        """I/Os in flight by Little's law: IOPS x mean latency."""
        return None if self.mean_us is None else self.iops * self.mean_us / 1e6

    @property
    def limited_by(self) -> str | None:
        """What limits the step."""
        return self.halves[0].limited_by

    def half(self, op: str) -> Point | None:
        """The step's reads or writes."""
        return next((half for half in self.halves if half.op == op), None)


def swept(comparison: Comparison) -> list[Swept]:
    """Every closed-loop step of all columns that was measured; a mean over rounds counts as one."""
    return [one for column in comparison.columns for one in _of_column(column)]


def series(
    steps: Sequence[Swept], same: Callable[[Swept], Hashable], over: Callable[[Swept], float], least: int
) -> list[list[list[Swept]]]:
    """Steps that are the `same` but for `over`: by kind and target, ascending.

    Only of targets with `least` values or more. Of steps that agree in both, the last that was measured counts.
    """
    found: dict[Hashable, dict[int, dict[float, Swept]]] = {}
    for one in steps:
        found.setdefault(same(one), {}).setdefault(one.column.index, {})[over(one)] = one
    kinds = [
        [
            [by_value[value] for value in sorted(by_value)]
            for by_value in of.values()
            if len(by_value) >= least
        ]
        for of in found.values()
    ]
    return [kind for kind in kinds if kind]


def window_of(steps: Sequence[Swept]) -> str:
    """`3 s per step, n = 12k to 3.2M I/Os`."""
    windows = sorted(one.halves[0].window_s or 0.0 for one in steps)
    counts = sorted(sum(half.n or 0 for half in one.halves) for one in steps)
    lengths = dict.fromkeys((seconds(windows[0]), seconds(windows[-1])))
    ns = dict.fromkeys((compact(counts[0]), compact(counts[-1])))
    return f"window {' to '.join(lengths)} per step, n = {' to '.join(ns)} I/Os"


def _of_column(column: Column) -> list[Swept]:
    run = column.run
    found: dict[str, list[Point]] = {}
    rounds: dict[str, dict[int, list[Point]]] = {}
    windows: dict[str, int] = {}
    for point in run.points:
        if point.target != column.target.name or not _closed(run, point):
            continue
        place = run.round_of(point.step)
        if place is None:
            found.setdefault(point.step, []).append(point)
        elif place.judged:
            name = f"{place.of}.{place.step}"
            windows[name] = place.window
            rounds.setdefault(name, {}).setdefault(place.number, []).append(point)
    for name, by_number in rounds.items():
        last = [by_number[number] for number in sorted(by_number)[-windows[name] :]]
        found[name] = [
            _mean([point for halves in last for point in halves if point.op == op])
            for op in dict.fromkeys(point.op for halves in last for point in halves)
        ]
    return [
        Swept(column, shape, halves) for halves in found.values() if (shape := _shape(run, halves[0].step))
    ]


def _closed(run: RunData, point: Point) -> bool:
    kind = run.steps[point.step].kind if point.step in run.steps else ""
    return (
        kind == "measure" and run.curve(point.step) is None and point.offered_iops is None and bool(point.n)
    )


def _mean(points: Sequence[Point]) -> Point:
    """One operation over several rounds: means of rates, the latency mean over all I/Os, no percentiles."""
    counts = np.array([point.n or 0 for point in points], dtype=np.float64)
    means = np.array([point.mean_us or 0.0 for point in points])
    return replace(
        points[-1],
        iops=float(np.mean([point.iops or 0.0 for point in points])),
        mbps=float(np.mean([point.mbps or 0.0 for point in points])),
        mean_us=float(counts @ means / counts.sum()),
        n=int(counts.sum()),
        window_s=sum(point.window_s or 0.0 for point in points),
        p50_us=None,
        p99_us=None,
        p999_us=None,
        p9999_us=None,
        steady=None,
    )


def _shape(run: RunData, step: str) -> Shape | None:
    """Sizes and pattern of a step's job; None where the method does not tell. Reads and writes of equal sizes are the
    same I/O as either of them alone."""
    entry = run.raw_steps.get(step)
    job = entry.get("job") if isinstance(entry, dict) else None
    if not isinstance(job, dict):
        return None
    mix, pattern = (cast("dict[str, object]", job[name]) for name in ("mix", "pattern"))
    ops = cast("list[dict[str, list[dict[str, int]]]]", mix["ops"])
    sizes = [one["size_bytes"] for op in ops for one in op["sizes"]]
    ends = dict.fromkeys(size(bytes_) for bytes_ in (min(sizes), max(sizes)))
    kind = str(pattern["kind"])
    of_ops = sorted({json.dumps(op["sizes"]) for op in ops})
    key = json.dumps([of_ops, pattern, job.get("region")], sort_keys=True)
    return Shape(" to ".join(ends), PATTERNS.get(kind, kind.replace("-", " ")), key)
