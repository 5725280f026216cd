"""Rows of the latency table: occupied histogram bins of a second, or of a whole step."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fathom._core import OpResult
from fathom.runs.spool import Row, Spool

BIN_COLUMNS = ("low_ns", "high_ns", "count")
"""Columns that differ between the bins of one second."""
CENSORED_COLUMNS = (*BIN_COLUMNS, "censored")


def add_censored(spool: Spool, common: Row, index: int | None, ops: Sequence[OpResult]) -> None:
    """Adds the ages of I/O in flight at the end, to the last second or the whole step."""
    for op in ops:
        for kind, bins in censored_bins_of(op):
            rows = [(*one, one[-1]) for one in bins]
            of_bins = common | {"op": op.op, "latency": kind, "index": index}
            spool.add_rows(of_bins, rows, CENSORED_COLUMNS)


def add_latency(spool: Spool, common: Row, index: int | None, ops: Iterable[OpResult]) -> None:
    """Adds the histograms of a second, or those of the whole step (`index` None)."""
    for op in ops:
        for kind, bins in columns_of(op):
            of_bins = common | {"op": op.op, "latency": kind, "index": index}
            spool.add_arrays(of_bins, dict(zip(BIN_COLUMNS, bins, strict=True)))


def latency_of(
    common: Row, index: int | None, op: OpResult
) -> Iterable[tuple[Row, list[tuple[int, int, int]]]]:
    """Yields for each recorded latency the columns that its bins share, and the bins."""
    for kind, bins in bins_of(op):
        yield common | {"op": op.op, "latency": kind, "index": index}, bins


def bins_of(op: OpResult) -> Iterable[tuple[str, list[tuple[int, int, int]]]]:
    """Returns the occupied bins of each recorded latency."""
    found = (("service", op.service_bins), ("response", op.response_bins))
    return [(kind, bins) for kind, bins in found if bins]


def columns_of(op: OpResult) -> Iterable[tuple[str, list[NDArray[np.int64]]]]:
    """Returns the occupied bins of each recorded latency as arrays, one for each of `BIN_COLUMNS`."""
    found = (("service", op.service_columns()), ("response", op.response_columns()))
    return [
        (kind, [np.frombuffer(column, dtype=np.int64) for column in columns])
        for kind, columns in found
        if columns[0]
    ]


def censored_bins_of(op: OpResult) -> Iterable[tuple[str, list[tuple[int, int, int]]]]:
    """Returns the bins of I/O that was in flight at the end for longer than any that returned."""
    found = (("service", op.censored_service_bins), ("response", op.censored_response_bins))
    return [(kind, bins) for kind, bins in found if bins]
