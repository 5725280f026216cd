"""Results of elbencho as CSV (`--csvfile`): a row per phase, under the headings of `docs/csv-docs.md` in its sources.

Columns that end in `[last]` cover the whole phase and are taken. Those in `[first]` end with the fastest thread. With
`--rwmixpct`, the plain columns belong to the writes, and `rwmix read` to the reads.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from pydantic import JsonValue

from fathom.errors import UsageError
from fathom.results.reading import Names, number, rows_of, scaled, whole
from fathom.results.records import Caveat, Latency, Load, OpRecord, Remark, Results

MIB = 1 << 20
MOST_ROWS = 100_000
LEAST_MIB = 1000
"""From this number on, whole MiB are known to 0.1 % or better."""
HINT = "give the file of elbencho's --csvfile, with its line of headings"
MARKS = ("ISO date", "operation", "IOPS [last]")
OPS = {"READ": "read", "WRITE": "write", "RWMIX": "write"}
"""The operation of a phase's plain columns."""
RWMIX = "rwmix read "

Row = Mapping[str, str]


def looks_like(head: str) -> bool:
    """Returns whether a file begins with elbencho's headings."""
    return head.startswith(MARKS[0]) and all(mark in head for mark in MARKS)


def parse(text: str, file: str) -> Results:
    """Returns the results in a file. Raises UsageError if no phase has I/O."""
    rows = rows_of(text.splitlines(), file)
    names = [name.strip('"') for name in next(rows, [])]
    if not all(mark in names for mark in MARKS):
        raise UsageError(f"{file}: its first line has no headings of elbencho", HINT)
    given = Names()
    loads: list[Load] = []
    found: list[Row] = []
    for number_, cells in enumerate(rows, 2):
        if number_ > MOST_ROWS:
            raise UsageError(f"{file}: more than {MOST_ROWS:,} phases", "divide the file")
        # Older versions leave trailing cells out.
        row = dict(zip(names, cells, strict=False))
        if load := _load(row, given):
            loads.append(load)
            found.append(row)
    if not loads:
        raise UsageError(f"{file}: no phase that read or wrote", HINT)
    return Results(
        "elbencho",
        loads,
        version=next((row["version"] for row in found if row.get("version")), None),
        measured=_time(found[-1].get(MARKS[0], "")),
        options={load.name: _options(row) for load, row in zip(loads, found, strict=True)},
        remarks=[Remark(Caveat.WHOLE_PHASE)],
    )


def _load(row: Row, names: Names) -> Load | None:
    ops = list(_ops(row))
    if not ops:
        return None
    threads, hosts = whole(row.get("threads")), whole(row.get("hosts"))
    depth, all_threads = whole(row.get("IO depth")), (threads or 0) * max(1, hosts or 1)
    label = " ".join(filter(None, [row.get("label"), row.get("operation", "").lower()]))
    reads = next((op.iops for op in ops if op.op == "read"), None)
    total = sum(op.iops or 0.0 for op in ops)
    return Load(
        names.unique(label),
        ops,
        label=label,
        read_pct=100 * (reads or 0.0) / total if len(ops) > 1 and total else 100.0 if reads else 0.0,
        threads=all_threads if threads and all_threads < 1 << 31 else None,
        iodepth=depth if depth is not None and depth < 1 << 31 else None,
    )


def _ops(row: Row) -> Iterator[OpRecord]:
    """Yields the operations of a phase that have a rate; phases of directories and of metadata have none."""
    for prefix, op in (("", OPS.get(row.get("operation", "").upper())), (RWMIX, "read")):
        iops = number(row.get(f"{prefix}IOPS [last]"))
        if op is None or not iops:
            continue
        window_s = scaled(row.get("time ms [last]"), 1e-3)
        yield OpRecord(
            op,
            n=_count(row, prefix),
            iops=iops,
            mbps=scaled(row.get(f"{prefix}MiB/s [last]"), MIB / 1e6),
            window_s=window_s or None,
            block_bytes=whole(row.get("block size")) or None,
            latency=Latency(
                number(row.get(f"{prefix}IO lat us [avg]")) or None,
                number(row.get(f"{prefix}IO lat us [max]")) or None,
            ),
        )


def _count(row: Row, prefix: str) -> int | None:
    """Returns the I/Os of a phase: its MiB over its block size. None if it has so few MiB that rounding matters."""
    moved, block = whole(row.get(f"{prefix}MiB [last]")), whole(row.get("block size"))
    if moved is None or moved < LEAST_MIB or not block or moved * MIB % block:
        return None
    return moved * MIB // block


def _options(row: Row) -> dict[str, JsonValue]:
    """Returns the options of the phase: the columns without results."""
    kept = [name for name in row if "[" not in name and name not in (*MARKS[:2], "version") and row[name]]
    return {name: row[name] for name in kept}


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
