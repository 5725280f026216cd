"""The data of an export: the points of a run, each with the histograms of its window and of its seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import cast

import pyarrow.compute as pc

from fathom.columns.schema import Point
from fathom.report.rows import as_shown, have_figures
from fathom.results.records import Bin
from fathom.runs.reader import Run
from fathom.statistics.failed import failed_share

SERVICE = "service"


@dataclass(frozen=True)
class Measured:
    """A point, its histogram, and those of its seconds by (start, length) in s; empty where none was recorded."""

    point: Point
    bins: Sequence[Bin]
    seconds: Mapping[tuple[float, float], Sequence[Bin]]


Key = tuple[str, str, str]


def measured_of(run: Run) -> list[Measured]:
    """Returns the points of a run with their service latencies, without the parts of arrays and fleets."""
    parts = {target.name for target in run.targets if target.part_of is not None}
    names = [field.name for field in fields(Point)]
    rows = [row for row in run.points.select(names).to_pylist() if row["target"] not in parts]
    # Earlier versions kept the counts alone.
    points = [Point.of({**row, "failed_share": failed_share(row["n"], row["errors"])}) for row in rows]
    bins = _bins(run)
    lengths = _lengths(run)
    found = []
    for point in points:
        key = (point.target, point.step, point.op)
        each = bins.get(key, {})
        seconds = {
            lengths[*key, index]: own
            for index, own in each.items()
            if index is not None and (*key, index) in lengths
        }
        found.append(Measured(point, _merged(list(each.values())), seconds))
    return found


def as_reported(found: Sequence[Measured]) -> list[Measured]:
    """Returns the points as reports show them: without figures and histograms where too much of the I/O failed."""
    return [one if have_figures([one.point]) else Measured(as_shown(one.point), (), {}) for one in found]


def _bins(run: Run) -> dict[Key, dict[int | None, list[Bin]]]:
    """Returns bins by point and second; None for those of a whole step. I/O in flight at the end is left out."""
    table = run.latency.filter(pc.field("latency") == SERVICE)
    found: dict[Key, dict[int | None, list[Bin]]] = {}
    names = ("target", "step", "op", "index", "low_ns", "high_ns", "count", "censored")
    for target, step, op, index, low, high, n, censored in zip(
        *(table[name].to_pylist() for name in names), strict=True
    ):
        if not censored:
            found.setdefault((target, step, op), {}).setdefault(index, []).append(Bin(low, high, n))
    return found


def _lengths(run: Run) -> dict[tuple[str, str, str, int], tuple[float, float]]:
    table = run.intervals.select(["target", "step", "op", "index", "start_s", "length_s"])
    return {
        (row["target"], row["step"], row["op"], row["index"]): (row["start_s"], row["length_s"])
        for row in table.to_pylist()
    }


def _merged(parts: Sequence[Sequence[Bin]]) -> list[Bin]:
    counts: dict[tuple[int, int], int] = {}
    for part in parts:
        for low, high, n in part:
            counts[low, high] = counts.get((low, high), 0) + n
    return [Bin(*cast("tuple[int, int]", edges), counts[edges]) for edges in sorted(counts)]
