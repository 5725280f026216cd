"""The 95 % intervals of a window, from its seconds or from the load generator's own half-widths."""

from array import array
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from fathom._core import OpHalfWidths, OpResult, PartBins
from fathom.columns.schema import TABLES
from fathom.runs.bins import add_censored, add_latency, censored_bins_of, columns_of
from fathom.runs.seconds import absent
from fathom.runs.spool import Row, Spool
from fathom.statistics.censored import edge_of, is_lower_bound
from fathom.statistics.latency_columns import PREFIXES
from fathom.statistics.percentiles import Histogram, OpLatency, Parts, bounds_of, intervals_us
from fathom.statistics.uncertainty import (
    LEAST_SAMPLES,
    Interval,
    latency_interval,
    mean_interval,
    ratio_interval,
)


class Window:
    """The seconds of a load (a target's, or one of its streams'), kept to compute the intervals of the window's
    figures.
    """

    def __init__(self, target: str, *, each_second: bool, scratch: Path | None) -> None:
        self.latency = Spool(TABLES["latency"], scratch)
        self._parts: dict[OpLatency, Parts] = {}
        self._target = target
        self._each_second = each_second
        self._seconds: dict[str, Seconds] = {}
        self._whole: dict[OpLatency, Histogram] = {}

    def add(
        self, common: Row, index: int, ops: Sequence[OpResult], asked: Collection[str], *, whole_second: bool
    ) -> None:
        """Adds one second of the operations that the job asks for."""
        if self._each_second:
            self.add_latency(common, index, ops)
        if whole_second:
            for op in ops:
                self._seconds.setdefault(op.op, Seconds()).add(op)
            for name in absent(asked, ops):
                self._seconds.setdefault(name, Seconds()).add(None)

    def add_latency(self, common: Row, index: int | None, ops: Sequence[OpResult]) -> None:
        """Adds the histograms of a second, or those of the whole step (`index` None)."""
        add_latency(self.latency, common, index, ops)

    def add_censored(self, common: Row, index: int | None, ops: Sequence[OpResult]) -> None:
        """Adds the ages of I/O in flight at the end, to the last second or the whole step."""
        add_censored(self.latency, common, index, ops)

    def keep(self, ops: Sequence[OpResult], parts: int, bins: Sequence[PartBins]) -> None:
        """Keeps the histograms of a window if enough equally long parts have their own to bound its percentiles. The
        parts are the load generator's, with their `bins`; where it has none, they are whole seconds.
        """
        for op in ops:
            known = parts or (len(self._seconds_of(op)) if self._each_second else 0)
            if op.n and known >= LEAST_SAMPLES:
                late = dict(censored_bins_of(op))
                for kind, own in columns_of(op):
                    beside = np.array(late.get(kind, ()), dtype=np.int64).reshape(-1, len(own))
                    self._whole[op.op, kind] = Histogram.of(*np.hstack([own, beside.T]))
        columns = {(one.op, one.latency): (one.part, one.low_ns, one.high_ns, one.count) for one in bins}
        self._parts = {key: Parts.of_columns(*columns[key]) for key in self._whole if key in columns}

    def bounds(self, op: OpResult, window_s: float, known: OpHalfWidths | None) -> Row:
        """Returns 95 % intervals of an operation's rate and mean latencies.

        They are the load generator's own where it has some, else from whole seconds. None where there are too few
        seconds, or they drift.
        """
        seconds = self._seconds_of(op)
        iops = op.n / window_s if window_s else 0.0
        service, response = (known.mean_latency, known.mean_response) if known else (None, None)
        rate = (
            (_from_zero(iops * (1 - known.rate)), iops * (1 + known.rate))
            if known and window_s
            else _ends(mean_interval(seconds.n))
        )
        found = {
            "iops": rate,
            "mean_us": _mean_interval(op.mean_us, service, seconds.mean_us, seconds.n),
            "response_mean_us": _mean_interval(op.response_mean_us, response, seconds.response_us, seconds.n),
        }
        # An interval around a lower bound would say that its upper end is known.
        unknown = [name for name in found if name != "iops" and op.censored]
        return {
            column: bound
            for name, pair in found.items()
            for column, bound in bounds_in(name, (None, None) if name in unknown else pair).items()
        }

    def bound(self, rows: Sequence[Row]) -> None:
        """Writes the intervals of percentiles into the window's rows."""
        if not self._whole:
            return
        seconds = (Parts.of_table(table, self._target, self._whole) for table in self.latency.tables())
        found = intervals_us([self._parts] if self._parts else seconds, self._whole)
        for row in rows:
            for kind, prefix in PREFIXES.items():
                for name, pair in found.get((str(row["op"]), kind), {}).items():
                    column = prefix + name
                    _, high = pair
                    edge = cast("float | None", row.get(edge_of(column)))
                    if not is_lower_bound(column, high, edge):
                        row.update(bounds_in(column, pair))

    def _seconds_of(self, op: OpResult) -> "Seconds":
        return self._seconds.get(op.op, Seconds())


class Seconds:
    """I/Os of one operation in each whole second, and their mean latencies in us; response only of an open load."""

    def __init__(self) -> None:
        self.n = array("d")
        self.mean_us = array("d")
        self.response_us = array("d")

    def __len__(self) -> int:
        """Returns the number of whole seconds."""
        return len(self.n)

    def add(self, op: OpResult | None) -> None:
        """Adds a second; None for one in which nothing was completed."""
        self.n.append(op.n if op else 0.0)
        self.mean_us.append((op and op.mean_us) or 0.0)
        self.response_us.append((op and op.response_mean_us) or 0.0)


def waf_bounds(host: Sequence[float], media: Sequence[float]) -> Row:
    """Returns the bounds of the WAF from the bytes of equally long parts; no bounds where there are too few, or they
    drift.
    """
    over = ratio_interval(media, host)
    return bounds_in("waf", (over.low, over.high)) if over else {}


def around(name: str, value: float | None, half_width: float | None) -> Row:
    """Returns the bounds of a figure from the load generator's half-width, a fraction of the figure."""
    if value is None or half_width is None:
        return {}
    return bounds_in(name, (_from_zero(value * (1 - half_width)), value * (1 + half_width)))


def bounds_in(name: str, pair: tuple[float | None, float | None]) -> Row:
    """Returns the ends of a figure's interval by their columns."""
    return dict(zip(bounds_of(name), pair, strict=True))


def _mean_interval(
    mean_us: float | None, half_width: float | None, means_us: Sequence[float], counts: Sequence[float]
) -> tuple[float | None, float | None]:
    """Returns the interval from the load generator's half-width, a fraction, else from each whole second's mean and
    I/Os.

    None where there are too few, or they drift.
    """
    if mean_us is None:
        return None, None
    if half_width is not None:
        return _from_zero(mean_us * (1 - half_width)), mean_us * (1 + half_width)
    return _ends(latency_interval(means_us, counts))


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (_from_zero(interval.low), interval.high)


def _from_zero(bound: float) -> float:
    """Returns the interval cut at 0: no rate or latency is negative, so this loses no coverage."""
    return max(0.0, bound)
