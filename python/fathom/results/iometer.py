"""Results of Iometer as CSV (`results.csv`): a block of headings and rows per access specification.

Headings: `ManagerList.cpp` (`SaveResults`) of Iometer's sources. The row `ALL` has the sums of all managers. Response
times are ms. Versions since 1.1 count I/Os in 21 bins of latency, reads and writes together.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from fathom.errors import UsageError
from fathom.results.reading import Names, number, rows_of, scaled, whole
from fathom.results.records import TOTAL, Bin, Latency, Load, OpRecord, Results

HINT = "give the results.csv that Iometer wrote"
HEADINGS = "'Target Type"
ALL = "ALL"
MIB = 1 << 20
NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
BIN = re.compile(r"(?P<low>\d{1,9}(\.\d+)?) to (?P<high>\d{1,9}(\.\d+)?) (?P<unit>us|ms|s)", re.IGNORECASE)
LAST_BIN = re.compile(r">= (?P<low>\d{1,9}(\.\d+)?) (?P<unit>us|ms|s)", re.IGNORECASE)
OVERFLOW_NS = 1 << 47
TIMES = ("%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M:%S")

Row = Mapping[str, str]


def looks_like(head: str) -> bool:
    """Returns whether a file has Iometer's headings near its beginning."""
    return HEADINGS in head and "Access Specification Name" in head


def parse(text: str, file: str) -> Results:
    """Returns the results in a file. Raises UsageError if it has no row of all managers."""
    names: list[str] = []
    given = Names()
    loads: list[Load] = []
    version, measured, before = None, None, ""
    for cells in rows_of(text.splitlines(), file):
        first = cells[0] if cells else ""
        if first == HEADINGS:
            names = cells
        elif before == "'Time Stamp" and measured is None:
            measured = _time(first)
        elif before == "'Version":
            version = first or None
        elif names and first == ALL and (load := _load(dict(zip(names, cells, strict=False)), given)):
            loads.append(load)
        before = first
    if not loads:
        raise UsageError(f"{file}: no row of all managers with a rate", HINT)
    return Results("Iometer", loads, version=version, measured=measured)


def _time(text: str) -> datetime | None:
    """Returns a time; the milliseconds that Iometer writes behind a further colon are left out."""
    for form in TIMES:
        try:
            return datetime.strptime(text[:19], form)
        except ValueError:
            continue
    return None


def _load(row: Row, names: Names) -> Load | None:
    ops = [op for op in (_op(row, "Read", "read"), _op(row, "Write", "write")) if op]
    bins = _bins(row)
    if not ops:
        return None
    if len(ops) == 1:
        ops = [_with_bins(ops[0], bins)]
    elif bins:
        ops.append(_total(row, bins))
    title = row.get("Access Specification Name", "")
    reads, writes = (number(row.get(f"{which} IOps")) or 0.0 for which in ("Read", "Write"))
    depth, workers = whole(row.get("Queue Depth")), whole(row.get("# Workers"))
    return Load(
        names.unique(title),
        ops,
        label=title,
        read_pct=100 * reads / (reads + writes) if reads + writes else None,
        threads=workers if workers and workers < 1 << 31 else None,
        iodepth=depth if depth and depth < 1 << 31 else None,
    )


def _op(row: Row, which: str, op: str) -> OpRecord | None:
    """Returns the reads or the writes; None where there were none."""
    iops = number(row.get(f"{which} IOps"))
    if not iops:
        return None
    moved = "Bytes Read" if which == "Read" else "Bytes Written"
    n, carried = whole(row.get(f"{which} I/Os")), whole(row.get(moved))
    exact = n and carried and carried % n == 0
    return OpRecord(
        op,
        n=n,
        iops=iops,
        mbps=_mbps(row, which),
        errors=whole(row.get(f"{which} Errors")),
        window_s=n / iops if n else None,
        block_bytes=carried // n if exact and n and carried else None,
        latency=Latency(
            scaled(row.get(f"Average {which} Response Time"), 1000.0),
            scaled(row.get(f"Maximum {which} Response Time"), 1000.0),
        ),
    )


def _mbps(row: Row, which: str) -> float | None:
    """Returns the bandwidth: decimal MB since 1.1, before that MB of 1024*1024 bytes."""
    decimal = number(row.get(f"{which} MBps (Decimal)"))
    if decimal is not None:
        return decimal
    old = (f"{which} MBps", f"{which} MBps (Binary)", f"{which} MiBps (Binary)")
    return next((value for name in old if (value := scaled(row.get(name), MIB / 1e6)) is not None), None)


def _bins(row: Row) -> Sequence[Bin]:
    found = []
    for name, cell in row.items():
        n = whole(cell)
        if not n:
            continue
        if match := BIN.fullmatch(name):
            unit = NS[match["unit"].lower()]
            found.append(Bin(round(float(match["low"]) * unit), round(float(match["high"]) * unit), n))
        elif match := LAST_BIN.fullmatch(name):
            found.append(Bin(round(float(match["low"]) * NS[match["unit"].lower()]), OVERFLOW_NS, n))
    return found


def _with_bins(op: OpRecord, bins: Sequence[Bin]) -> OpRecord:
    known = op.latency
    return OpRecord(**{**vars(op), "latency": Latency(known.mean_us, known.max_us, bins=bins)})


def _total(row: Row, bins: Sequence[Bin]) -> OpRecord:
    """Returns reads and writes together: Iometer has a histogram only for both."""
    return OpRecord(
        TOTAL,
        n=sum(one.n for one in bins),
        latency=Latency(
            scaled(row.get("Average Response Time"), 1000.0),
            scaled(row.get("Maximum Response Time"), 1000.0),
            bins=bins,
        ),
    )
