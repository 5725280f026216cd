"""95 % intervals of the latencies of all operations of a step together. Points lack them: each has one operation.

The same statistics as those of a single operation, on the seconds of latency.parquet added over operations.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import pyarrow as pa

from fathom.columns.schema import Point
from fathom.report.rows import OpOfStep, StepOfTarget
from fathom.statistics.latency_columns import PREFIXES, QUANTILES
from fathom.statistics.percentiles import OVERFLOW_NS, Histogram
from fathom.statistics.uncertainty import LEAST_SAMPLES, latency_interval

Bounds = tuple[float, float]
Edge = Mapping[str, object]
MEAN = "mean_us"
MOST_SECONDS = 1 << 20
"""One query takes the edges of at most this many seconds: some 200 MB."""

SECONDS = f"""
    with seconds as (
        select e.target, e.step, e.latency, e.name, r.index as second, sum(r.count)::double as n,
            coalesce(sum(r.count) filter (where r.low_ns >= e.edge_ns), 0)::double as beyond,
            sum(r.count * (r.low_ns + least(r.high_ns, {OVERFLOW_NS + 1}) - 1) / 2000.0) / sum(r.count) as mean_us
        from rows r join edges e on r.target = e.target and r.step = e.step and r.latency = e.latency
        where r.index < e.seconds group by all)
    select target, step, latency, name, list(second) as second, list(n) as n, list(beyond) as beyond,
        list(mean_us) as mean_us from seconds group by all
"""
"""For each edge, per whole second: all I/Os, those beyond it, and their mean latency from the middles of their bins."""

EDGES = pa.schema(
    [
        ("target", pa.string()),
        ("step", pa.string()),
        ("latency", pa.string()),
        ("name", pa.string()),
        ("edge_ns", pa.int64()),
        ("seconds", pa.int32()),
    ]
)


class LatencyOfStep(NamedTuple):
    """Names the service or the response latency of a step."""

    of: StepOfTarget
    latency: str
    """`service` or `response`."""


class Query(Protocol):
    """Runs SQL over a table of the run and the small tables `beside` it."""

    def __call__(self, table: str, sql: str, *, beside: Mapping[str, pa.Table]) -> pa.Table:
        """Returns the rows that the SQL selects."""
        ...


def together_us(
    points: Sequence[Point], histograms: Mapping[str, Mapping[OpOfStep, Histogram]], query: Query
) -> dict[StepOfTarget, dict[str, Bounds]]:
    """Returns intervals in us by column of the points, for steps of several operations. Windows with too few whole
    seconds, and percentiles of too few I/Os, have none.

    `histograms` has those of the points by latency, `service` or `response`, then by operation.
    """
    seconds = _whole_seconds(points)
    whole = {
        LatencyOfStep(step, latency): Histogram.merged(parts)
        for latency, kept in histograms.items()
        for step in seconds
        if (parts := [one for key, one in kept.items() if key.of == step])
    }
    edges = [
        dict(zip(EDGES.names, (*key.of, key.latency, name, edge_ns, seconds[key.of]), strict=True))
        for key, histogram in whole.items()
        for name, edge_ns in ({MEAN: 0} | histogram.edges_ns()).items()
    ]
    queued = {key.of for key in whole if key.latency == "response"}
    found: dict[StepOfTarget, dict[str, Bounds]] = {}
    for row in (row for portion in _portions(edges) for row in _of_edges(query, portion)):
        step = StepOfTarget(row["target"], row["step"])
        key = LatencyOfStep(step, row["latency"])
        length = seconds[step]
        n, beyond, mean_us = (
            _by_second(row["second"], row[name], length) for name in ("n", "beyond", "mean_us")
        )
        bounds = (
            _mean_bounds(mean_us, n)
            if row["name"] == MEAN
            else whole[key].interval_us(
                QUANTILES[row["name"]],
                beyond,
                n,
                whole[key].independent(mean_us, n) if step in queued else inf,
            )
        )
        if bounds:
            found.setdefault(step, {})[PREFIXES[key.latency] + row["name"]] = bounds
    return found


def _portions(edges: Sequence[Edge]) -> Iterator[list[Edge]]:
    """Yields the edges in portions whose seconds fit in memory: a day of many targets has tens of millions."""
    portion: list[Edge] = []
    seconds = 0
    for edge in edges:
        length = cast("int", edge["seconds"])
        if portion and seconds + length > MOST_SECONDS:
            yield portion
            portion, seconds = [], 0
        portion.append(edge)
        seconds += length
    if portion:
        yield portion


def _of_edges(query: Query, edges: Sequence[Edge]) -> list[dict[str, Any]]:
    rows = query(
        "latency",
        SECONDS,
        beside={"edges": pa.Table.from_pylist([dict(edge) for edge in edges], schema=EDGES)},
    )
    return rows.to_pylist()


def _whole_seconds(points: Sequence[Point]) -> dict[StepOfTarget, int]:
    """Returns whole seconds of each step of several operations that has enough of them."""
    windows_s: dict[StepOfTarget, list[float]] = {}
    for point in points:
        windows_s.setdefault(StepOfTarget(point.target, point.step), []).append(point.window_s or 0.0)
    lengths = {step: int(min(own) + 1e-3) for step, own in windows_s.items() if len(own) > 1}
    return {step: length for step, length in lengths.items() if length >= LEAST_SAMPLES}


def _by_second(places: Sequence[int], values: Sequence[float], length: int) -> np.ndarray:
    """Returns one value a second, 0 where nothing completed."""
    out = np.zeros(length)
    out[places] = values
    return out


def _mean_bounds(means_us: np.ndarray, counts: np.ndarray) -> Bounds | None:
    interval = latency_interval(means_us, counts)
    return (interval.low, interval.high) if interval else None
