"""A prepared trace at another speed: its first records, with the times divided."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fathom.errors import UsageError
from fathom.traces.batch import OPS
from fathom.traces.prepare import HEADER_BYTES, MAGIC, ROW, Prepared

_NS_PER_S = 1e9


@dataclass(frozen=True)
class Portion:
    """The first I/Os of a prepared trace."""

    path: Path
    ios: int
    extent_bytes: int
    length_s: float
    """Time that they take at their mean rate."""
    ios_of: Mapping[str, int]
    """I/Os of each operation."""
    written_bytes: int
    whole: bool
    step_ns: int = 0
    """The step of the trace's clock over which its I/Os are spread; 0 where their times are as recorded."""

    @property
    def rate_iops(self) -> float:
        """Returns the mean rate."""
        return self.ios / self.length_s


def portion(prepared: Prepared, most: int, step_ns: int = 0) -> Portion:
    """Returns the first I/Os of a prepared trace, which was spread over `step_ns` or not at all.

    Raises UsageError for a trace without times, or of one I/O.
    """
    rows = _rows(prepared.path)[:most]
    span_ns = int(rows["arrival_ns"][-1] - rows["arrival_ns"][0])
    if len(rows) < 2:
        raise UsageError(
            f"{prepared.name} has one I/O, so nothing is known of its rate", "record a longer trace"
        )
    if not span_ns:
        raise UsageError(
            f"{prepared.name} has no times, so nothing is known of its rate", "record a trace with times"
        )
    ios_of = {op: int(np.count_nonzero(rows["op"] == number)) for op, number in OPS.items()}
    written = int(rows["size"][rows["op"] == OPS["write"]].sum(dtype=np.uint64))
    length_s = span_ns / _NS_PER_S * len(rows) / (len(rows) - 1)
    whole = len(rows) == prepared.ios
    return Portion(prepared.path, len(rows), prepared.extent_bytes, length_s, ios_of, written, whole, step_ns)


@contextmanager
def at_speed(one: Portion, factor: float) -> Iterator[Portion]:
    """Yields it with its times divided by a factor, in a file that is removed at the end."""
    rows = _rows(one.path)[: one.ios].copy()
    first = rows["arrival_ns"][0]
    rows["arrival_ns"] = ((rows["arrival_ns"] - first) / factor).astype(np.uint64)
    length_s = one.length_s / factor
    lap_ns = max(int(rows["arrival_ns"][-1]) + 1, round(length_s * _NS_PER_S))
    handle, name = tempfile.mkstemp(suffix=".replay")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + np.array([len(rows), one.extent_bytes, lap_ns], "<u8").tobytes())
            rows.tofile(file)
        yield replace(one, path=Path(name), length_s=length_s)
    finally:
        Path(name).unlink(missing_ok=True)


def _rows(path: Path) -> np.ndarray:
    return np.memmap(path, ROW, mode="r", offset=HEADER_BYTES)
