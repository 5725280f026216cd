"""The one percentile function: percentiles, tails and shares from latency histograms, never from averages.

Input are bins [low_ns, high_ns) with their counts, as in latency.parquet; seconds, threads and targets are merged by
adding counts. A percentile is the middle of the bin that holds the value of rank ceil(q n), as in crate `recording`. It
is given only if at least 100 I/Os lie beyond it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from fathom.statistics.latency_columns import QUANTILES
from fathom.statistics.uncertainty import (
    LEAST_SAMPLES,
    effective_count,
    effective_latencies,
    means_interval,
    percentile_allowed,
    quantile_interval_us,
)

BUCKET_EDGES_MS = (1, 2, 5, 10, 20, 50)
"""Edges of the latency buckets of the enterprise steady-state method: <1, 1-2, ... 20-50, >50 ms."""

BUCKET_LABELS = ("<1", "1-2", "2-5", "5-10", "10-20", "20-50", ">50")
"""Names of the buckets, ms."""

MANY_BEYOND = 30
"""With this many independent latencies beyond a percentile, those seen there show how independent they are."""

OVERFLOW_NS = 1 << 47
"""From here on values share one bin, whose upper edge says nothing."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A percentile in us. The value sought lies within `error_us` of it: half the bin's width.

    In the overflow bin `us` is a lower bound and `error_us` infinite.
    """

    us: float
    error_us: float


@dataclass(frozen=True)
class Histogram:
    """Counts over ascending bins of [low, high) ns; bins hold whole nanoseconds."""

    low_ns: NDArray[np.int64]
    high_ns: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, low_ns: ArrayLike, high_ns: ArrayLike, count: ArrayLike) -> "Histogram":
        """Returns a histogram from bins in any order, the same bin any number of times."""
        low, first, where = np.unique(
            np.asarray(low_ns, dtype=np.int64), return_index=True, return_inverse=True
        )
        total = np.zeros(len(low), dtype=np.int64)
        np.add.at(total, where, np.asarray(count, dtype=np.int64))
        return cls(low, np.asarray(high_ns).astype(np.int64)[first], total)

    @classmethod
    def merged(cls, parts: Sequence["Histogram"]) -> "Histogram":
        """Returns one or more of them as one, by adding counts."""
        columns = (
            np.concatenate([getattr(one, name) for one in parts]) for name in ("low_ns", "high_ns", "count")
        )
        return cls.of(*columns)

    @property
    def n(self) -> int:
        """I/Os counted."""
        return int(self.count.sum())

    def quantile(self, q: float) -> Quantile | None:
        """Returns the quantile q, or `None` when fewer than 100 I/Os lie beyond it."""
        return quantile_us(self.low_ns, self.high_ns, self.count, q)

    def edge_ns(self, q: float) -> int | None:
        """Returns from where on I/Os lie beyond quantile q, ns; `None` as for `quantile`.

        It is that end of the quantile's bin beyond which their share is nearer to 1 - q, and never the end of them all.
        A burst that shares the last bin is beyond it.
        """
        found = self.quantile(q)
        if found is None:
            return None
        at = int(np.searchsorted(self.low_ns, found.us * 1000, "right")) - 1
        above = int(self.count[at + 1 :].sum())
        from_low, from_high = above + int(self.count[at]), above
        asked = self.n * (1 - q)
        nearer_low = from_low - asked < asked - from_high
        return int(self.low_ns[at] if nearer_low or not from_high else self.high_ns[at])

    def edges_ns(self) -> dict[str, int]:
        """Returns `edge_ns` of each of `QUANTILES` that may be given, by its name. They ascend."""
        edges = {name: self.edge_ns(q) for name, q in QUANTILES.items()}
        return {name: edge for name, edge in edges.items() if edge is not None}

    def independent(self, queued_us: ArrayLike, total: ArrayLike) -> float:
        """Returns how many of the latencies are independent under an open load, from equally long parts: the mean
        latency of each, us, and its I/Os.
        """
        return effective_latencies(queued_us, total, self._variance_us2())

    def interval_us(
        self, q: float, beyond: ArrayLike, total: ArrayLike, independent: float = inf
    ) -> tuple[float, float] | None:
        """Returns 95 % interval of quantile q in us, from the I/Os beyond `edge_ns` and in all of each of equally long
        parts: seconds, or batches.

        Under an open load, few long queues make the tail, and a window that missed them looks as if it had many short
        ones. The memory is then taken from all its latencies: `independent` counts them. `None` as for `quantile`, for
        fewer parts than an interval of a mean takes, and where too few I/Os are independent.
        """
        if np.size(total) < LEAST_SAMPLES:
            return None
        n_effective = effective_count(beyond, total)
        if independent * (1 - q) < MANY_BEYOND:
            n_effective = min(n_effective, independent)
        return quantile_interval_us(self.low_ns, self.high_ns, self.count, q, n_effective=n_effective)

    def mean_us(self) -> float | None:
        """Returns the mean of the bins' middles: within 0.4 % of the exact mean, which the points table has."""
        return float(self._middles_us() @ self.count) / self.n if self.n else None

    def _middles_us(self) -> NDArray[np.float64]:
        return middles_us(self.low_ns, self.high_ns)

    def _variance_us2(self) -> float:
        """Variance of single latencies, from the bins' middles; 0 for one bin, where rounding could leave less."""
        if np.count_nonzero(self.count) < 2:
            return 0.0
        middle, n = self._middles_us(), max(self.n, 1)
        return float(middle**2 @ self.count) / n - (float(middle @ self.count) / n) ** 2

    def ccdf(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns upper bin edges in us, and the share of I/Os that took that long or longer; ends at share 0."""
        beyond = self.n - np.cumsum(self.count)
        return np.minimum(self.high_ns, OVERFLOW_NS) / 1000, beyond / max(self.n, 1)

    def bucket_shares(self, edges_ms: Sequence[float] = BUCKET_EDGES_MS) -> NDArray[np.float64]:
        """Returns the share of I/Os below the first edge, between the edges and from the last on; sums to 1 unless
        empty.

        A bin that an edge cuts is divided in proportion: an error of at most that one bin's count.
        """
        edges = np.asarray(edges_ms, dtype=np.float64) * 1e6
        width = np.maximum(self.high_ns - self.low_ns, 1).astype(np.float64)
        part = np.clip((edges[:, None] - self.low_ns) / width, 0.0, 1.0)
        part[:, self.low_ns >= OVERFLOW_NS] = 0.0
        below = part @ self.count
        return np.diff(np.concatenate([[0.0], below, [self.n]])) / max(self.n, 1)


def middles_us(low_ns: NDArray[np.int64], high_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Middles of bins, us; of the overflow bin its lower edge."""
    return (low_ns + np.minimum(high_ns, OVERFLOW_NS + 1) - 1) / 2000


def bounds_of(column: str) -> tuple[str, str]:
    """Returns the columns of a figure's 95 % interval: `p99_us` -> `p99_low_us`, `p99_high_us`; `waf` -> `waf_low`."""
    stem = column.removesuffix("_us")
    unit = column.removeprefix(stem)
    return f"{stem}_low{unit}", f"{stem}_high{unit}"


OpLatency = tuple[str, str]
"""(operation, `service` or `response`)"""


@dataclass(frozen=True)
class Parts:
    """Bins of one latency in equally long parts of a window, seconds or batches: the part, its edges in ns and its
    count, of each.
    """

    index: NDArray[np.int64]
    low_ns: NDArray[np.int64]
    high_ns: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of_columns(cls, index: bytes, low_ns: bytes, high_ns: bytes, count: bytes) -> "Parts":
        """Returns parts from columns of 64-bit integers."""
        return cls(*(np.frombuffer(column, dtype=np.int64) for column in (index, low_ns, high_ns, count)))

    def beyond(self, edges_ns: Sequence[int]) -> NDArray[np.float64]:
        """Returns rows with a column per part: all its I/Os, then those from each of ascending latencies on."""
        passed = np.searchsorted(edges_ns, self.low_ns, "right")
        rows, columns = len(edges_ns) + 1, int(self.index.max(initial=-1)) + 1
        counts = np.bincount(passed * columns + self.index, self.count, rows * columns)
        return counts.astype(np.float64).reshape(rows, columns)[::-1].cumsum(axis=0)[::-1]

    def sums_us(self) -> NDArray[np.float64]:
        """Returns the sum of the latencies in each part."""
        sums = np.bincount(self.index, self.count * middles_us(self.low_ns, self.high_ns))
        return sums.astype(np.float64)

    @classmethod
    def of_table(cls, table: pa.Table, target: str, keys: Iterable[OpLatency]) -> "dict[OpLatency, Parts]":
        """Returns the seconds of a target in a latency table, by operation and latency."""
        rows = table.filter(pc.field("target") == target)
        each = {
            key: rows.filter((pc.field("op") == key[0]) & (pc.field("latency") == key[1])) for key in keys
        }
        names = ("index", "low_ns", "high_ns", "count")
        return {key: cls(*(own[name].to_numpy() for name in names)) for key, own in each.items()}


def intervals_us(
    parts: Iterable[Mapping[OpLatency, Parts]], whole: Mapping[OpLatency, Histogram]
) -> dict[OpLatency, dict[str, tuple[float, float]]]:
    """Returns 95 % intervals of percentiles in us by operation and latency, then by quantile, from parts of the window
    in any number of portions.

    `whole` are the histograms of the window; where it has a response latency, the load was open. A percentile that may
    not be given, or a window of too few seconds or of too few independent I/Os, has none.
    """
    edges_ns = {key: own.edges_ns() for key, own in whole.items()}
    beyond = {key: np.zeros((1 + len(own), 0)) for key, own in edges_ns.items()}
    sums_us = {key: np.zeros(0) for key in whole}
    for portion in parts:
        for key, own in portion.items():
            beyond[key] = _added(beyond[key], own.beyond([*edges_ns[key].values()]))
            sums_us[key] = _added(sums_us[key], own.sums_us())
    found: dict[OpLatency, dict[str, tuple[float, float]]] = {}
    for (op, kind), own in whole.items():
        total, *tails = beyond[op, kind]
        is_open = (op, "response") in whole
        independent = own.independent(sums_us[op, kind] / np.maximum(total, 1), total) if is_open else inf
        bounds = {
            name: own.interval_us(QUANTILES[name], tail, total, independent)
            for name, tail in zip(edges_ns[op, kind], tails, strict=True)
        }
        found[op, kind] = {name: pair for name, pair in bounds.items() if pair}
    return found


def _added(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the sum of both by part; the one with fewer parts has zeros behind."""
    more, fewer = (a, b) if a.shape[-1] > b.shape[-1] else (b, a)
    total = more.copy()
    total[..., : fewer.shape[-1]] += fewer
    return total


def repeats_interval_us(repeats: Sequence[Histogram], q: float) -> tuple[float, float] | None:
    """Returns 95 % interval in us of quantile q of repeats merged, from how much the quantile differs between them.

    Student's t with R - 1 degrees of freedom on the logarithms, around the merged quantile. `None` for a single repeat
    where one of them has too few I/Os for the quantile, and in the overflow bin. A quantile of 0 has no logarithm, so
    it has none either.
    """
    own = [found.us for one in repeats if (found := one.quantile(q))]
    if not own or min(own) <= 0:
        return None
    whole = Histogram.merged(repeats).quantile(q)
    spread = means_interval(np.log(own)) if len(own) == len(repeats) else None
    if spread is None or whole is None or not np.isfinite(whole.error_us):
        return None
    factor = float(np.exp(spread.high - spread.mean)) * (1 + whole.error_us / whole.us)
    return whole.us / factor, whole.us * factor


def quantile_us(low_ns: ArrayLike, high_ns: ArrayLike, count: ArrayLike, q: float) -> Quantile | None:
    """Returns the quantile q over ascending bins, or `None` when fewer than 100 I/Os lie beyond it
    (`percentile_allowed`).
    """
    counts = np.asarray(count, dtype=np.int64)
    n = int(counts.sum())
    if n == 0 or not percentile_allowed(n, q):
        return None
    rank = min(max(int(np.ceil(q * n)), 1), n)
    at = int(np.searchsorted(np.cumsum(counts), rank))
    low, high = int(np.asarray(low_ns)[at]), int(np.asarray(high_ns)[at])
    if high > OVERFLOW_NS:
        return Quantile(low / 1000, float("inf"))
    return Quantile((low + high - 1) / 2 / 1000, (high - low - 1) / 2 / 1000)
