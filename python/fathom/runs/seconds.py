"""Rows of intervals and telemetry from one second of a backend."""

from collections.abc import Collection, Sequence

from fathom._core import Interval, OpResult
from fathom.runs.spool import Row

COUNTER_UNITS = {
    "media_read_bytes": "B",
    "media_write_bytes": "B",
    "media_erase_bytes": "B",
    "joules": "J",
    "throttled_ns": "ns",
    "temperature_c": "C",
    "wear_pct": "%",
    "unmapped_reads": "I/O",
    "cpu_user_ns": "ns",
    "cpu_sys_ns": "ns",
}
"""Unit of each counter that a backend may report."""

VALUE_COLUMNS = ("name", "value", "unit")
"""Columns that differ between the values of one second."""


def interval_row(common: Row, kind: str, interval: Interval, op: OpResult) -> Row:
    """Returns one operation's row of intervals."""
    seconds = interval.length_s
    return common | {
        "kind": kind,
        "op": op.op,
        "index": interval.index,
        "start_s": interval.start_s,
        "length_s": seconds,
        "n": op.n,
        "bytes": op.bytes,
        "errors": op.errors,
        "iops": op.n / seconds,
        "mbps": op.bytes / 1e6 / seconds,
        "mean_us": op.mean_us,
        "p50_us": op.p50_us,
        "p99_us": op.p99_us,
        "max_us": op.max_us,
        "offered": interval.offered,
        "backlog": interval.backlog,
    }


def interval_rows(common: Row, kind: str, interval: Interval, asked: Collection[str]) -> list[Row]:
    """Returns a second's rows of intervals: one per operation of the job, even if none completed. Otherwise a stalled
    second would be missing from the worst second and the deviation.
    """
    rows = [interval_row(common, kind, interval, op) for op in interval.ops]
    nothing: Row = {
        "kind": kind,
        "index": interval.index,
        "start_s": interval.start_s,
        "length_s": interval.length_s,
        **dict.fromkeys(("n", "bytes", "errors"), 0),
        **dict.fromkeys(("iops", "mbps"), 0.0),
        **dict.fromkeys(("mean_us", "p50_us", "p99_us", "max_us")),
        "offered": interval.offered,
        "backlog": interval.backlog,
    }
    return rows + [common | nothing | {"op": op} for op in absent(asked, interval.ops)]


def absent(asked: Collection[str], ops: Sequence[OpResult]) -> list[str]:
    """Returns the operations of a job that completed nothing."""
    return [name for name in asked if all(op.op != name for op in ops)]


def readings(target: str, step: str, interval: Interval) -> tuple[Row, list[tuple[str, float, str]]]:
    """Returns the columns that a second's telemetry values share, and the `VALUE_COLUMNS` of each."""
    common: Row = {
        "target": target,
        "step": step,
        "start_s": interval.start_s,
        "length_s": interval.length_s,
    }
    values = [(name, value, COUNTER_UNITS[name]) for name, value in interval.counters.items()]
    if interval.outstanding is not None:
        values.append(("outstanding", interval.outstanding, "I/O"))
    for use in interval.utilisation:
        values.append((f"utilisation: {use.resource}", use.mean, "1"))
        if use.waiting:
            values.append((f"waiting for: {use.resource}", use.waiting, "I/O"))
    values += [(f"time in: {part}", mean_us, "us") for part, mean_us in interval.residence_us.items()]
    for group, member, n, mean_us, written in interval.shares:
        values.append((f"iops of: {group} {member}", n / interval.length_s, "IOPS"))
        if mean_us is not None:
            values.append((f"mean of: {group} {member}", mean_us, "us"))
        if written is not None:
            host, media = written
            values.append((f"host writes of: {group} {member}", host, "B"))
            values.append((f"media writes of: {group} {member}", media, "B"))
    return common, values
