"""A run as fio's JSON or JSON+, for programs that read those.

Format: as in `fathom.results.fio_json`. A step on a target is a job. Bins become those of fio, two of Fathom's to one
of fio's, so counts stay exact. Percentiles are fio's: the value of the bin in which the share is reached. What the run
does not know is left out.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import sqrt

from fathom.columns.schema import Point
from fathom.results.export.measured import Measured
from fathom.results.fio_bins import value_of
from fathom.results.fio_json import TOGETHER
from fathom.results.marks import KEY, about
from fathom.results.records import TOTAL, Bin
from fathom.runs.document import Made
from fathom.runs.reader import Run

VERSION = "fio-3.33"
"""The version of the format, for programs that look at it; `fathom` beside it says who measured."""
DIRECTIONS = ("read", "write", "trim")
PERCENTS = (1, 5, *range(10, 100, 10), 95, 99, 99.5, 99.9, 99.95, 99.99)
"""The percentiles that fio states by default (`options.c`, `percentile_list`)."""
COLUMNS = {50: "p50_us", 95: "p95_us", 99: "p99_us", 99.9: "p999_us", 99.99: "p9999_us"}
ENDS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
LATENCIES = (("ns", 1, ENDS), ("us", 1_000, ENDS), ("ms", 1_000_000, (*ENDS, 2000)))
NOTHING = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
KIB = 1024

Object = dict[str, object]


def text_of(run: Run, found: Sequence[Measured], *, plus: bool) -> str:
    """Returns the document; with `plus` each latency has its bins."""
    document = run.document
    time = datetime.fromisoformat(document.created)
    jobs: dict[tuple[str, str], list[Measured]] = {}
    for one in found:
        jobs.setdefault((one.point.target, one.point.step), []).append(one)
    words = {
        one.name: f"{Made.SIMULATED} by {document.program}, not {Made.MEASURED}"
        for one in document.targets
        if one.kind == "twin"
    }
    whole = {
        "fio version": VERSION,
        "timestamp": int(time.timestamp()),
        "timestamp_ms": int(time.timestamp() * 1000),
        "time": f"{time:%a %b %d %H:%M:%S %Y}",
        KEY: about(document),
        "global options": {},
        "jobs": [
            _job(place, own, words.get(target), plus=plus)
            for place, ((target, _), own) in enumerate(jobs.items())
        ],
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def _job(place: int, found: Sequence[Measured], description: str | None, *, plus: bool) -> Object:
    by_op = {one.point.op: one for one in found}
    first = found[0].point
    failed = sum(one.point.errors or 0 for one in found)
    job: Object = {
        "jobname": first.step,
        "groupid": place,
        "error": 0,
        **({"total_err": failed, "first_error": 0} if failed else {}),
        "job options": _options(
            first, {op: by_op[op].point for op in DIRECTIONS if op in by_op}, description
        ),
    }
    for op in DIRECTIONS:
        job[op] = _direction(by_op[op], plus=plus) if op in by_op else _idle()
    if both := by_op.get(TOTAL):
        job[TOGETHER] = _direction(both, plus=plus)
    if flush := by_op.get("flush"):
        latency = _latency(flush, plus=plus)
        job["sync"] = {"total_ios": flush.point.n or 0, "lat_ns": latency}
    window_s = max((one.point.window_s or 0.0 for one in found), default=0.0)
    return (
        job | {"job_runtime": round(window_s * 1000), "usr_cpu": 0.0, "sys_cpu": 0.0} | _distribution(found)
    )


def _options(point: Point, by_op: Mapping[str, Point], description: str | None) -> dict[str, str]:
    """Returns options of fio as far as points know them. The pattern is in the method, so `rw` is at random.

    fio has no mix of reads and trims, and streams have no share of reads: their operations have no `rw`.
    """
    ops = list(by_op)
    mixed = ops == ["read", "write"] and point.read_pct is not None
    rw = "randrw" if mixed else f"rand{ops[0]}" if len(ops) == 1 else None
    known = {
        "name": point.step,
        "description": description,
        "filename": point.target.removeprefix("file:"),
        "rw": rw,
        "rwmixread": round(point.read_pct) if mixed and point.read_pct is not None else None,
        "bs": _block_sizes(by_op) if by_op else point.block_bytes,
        "iodepth": point.iodepth,
        "numjobs": point.threads,
    }
    return {name: str(value) for name, value in known.items() if value is not None}


def _block_sizes(by_op: Mapping[str, Point]) -> str | None:
    """Returns `bs`: one size, or those of reads, writes and trims. None where an operation has several."""
    sizes = {op: point.block_bytes for op, point in by_op.items()}
    known = [size for size in sizes.values() if size is not None]
    if len(known) < len(sizes):
        return None
    if len(set(known)) == 1:
        return str(known[0])
    # fio lists sizes by their place, so an operation that the job lacks has one too.
    return ",".join(str(sizes.get(op, known[0])) for op in DIRECTIONS)


def _idle() -> Object:
    zero = (
        "io_bytes",
        "io_kbytes",
        "bw_bytes",
        "bw",
        "iops",
        "runtime",
        "total_ios",
        "short_ios",
        "drop_ios",
    )
    return {
        **dict.fromkeys(zero, 0),
        "slat_ns": NOTHING,
        "clat_ns": NOTHING,
        "lat_ns": NOTHING,
        **_samples(0.0, 0.0),
    }


def _direction(one: Measured, *, plus: bool) -> Object:
    point = one.point
    mbps, window_s = point.mbps, point.window_s
    moved = None if mbps is None or window_s is None else round(mbps * 1e6 * window_s)
    known: Object = {
        "io_bytes": moved,
        "io_kbytes": None if moved is None else moved // KIB,
        "bw_bytes": None if mbps is None else round(mbps * 1e6),
        "bw": None if mbps is None else round(mbps * 1e6 / KIB),
        "iops": point.iops,
        "runtime": None if window_s is None else round(window_s * 1000),
        "total_ios": point.n,
    }
    clat = _latency(one, plus=plus)
    return {
        **{name: value for name, value in known.items() if value is not None},
        "slat_ns": NOTHING,
        "clat_ns": clat,
        "lat_ns": {name: value for name, value in clat.items() if name not in ("bins", "percentile")},
        **_samples((mbps or 0.0) * 1e6 / KIB, point.iops or 0.0),
    }


def _samples(bandwidth_kib: float, iops: float) -> Object:
    return {
        "bw_mean": bandwidth_kib,
        "bw_samples": 0,
        "iops_mean": iops,
        "iops_stddev": 0.0,
        "iops_samples": 0,
    }


def _latency(one: Measured, *, plus: bool) -> Object:
    """Returns latency from issue to completion, ns, percentiles from the bins, or those of the point without bins."""
    point, bins = one.point, fio_bins(one.bins)
    found: Object = {}
    if bins:
        found["min"] = one.bins[0].low_ns
    if point.max_us is not None:
        found["max"] = round(point.max_us * 1000)
    if point.mean_us is not None:
        found["mean"] = point.mean_us * 1000
    if bins:
        found["stddev"] = _deviation(bins)
    found["N"] = sum(bins.values()) or point.n or 0
    found["percentile"] = _percentiles(bins) if bins else _stated(point)
    if plus and bins:
        found["bins"] = {str(value): n for value, n in bins.items()}
    return found


def fio_bins(bins: Sequence[Bin]) -> Mapping[int, int]:
    """Returns counts by the value that stands for each of fio's bins, ascending."""
    counts: dict[int, int] = {}
    for low, high, n in bins:
        value = value_of(low + (high - 1 - low) // 2)
        counts[value] = counts.get(value, 0) + n
    return dict(sorted(counts.items()))


def _percentiles(bins: Mapping[int, int]) -> dict[str, int]:
    """Returns the first bin at which the share is reached (`stat.c`, `calc_clat_percentiles`)."""
    n = sum(bins.values())
    found: dict[str, int] = {}
    total = 0
    wanted = list(PERCENTS)
    for value, count in bins.items():
        total += count
        while wanted and total >= wanted[0] / 100 * n:
            found[f"{wanted.pop(0):.6f}"] = value
    return found


def _stated(point: Point) -> dict[str, int]:
    """Returns percentiles of a point that has no histogram."""
    values = {pct: getattr(point, column) for pct, column in COLUMNS.items()}
    return {f"{pct:.6f}": round(us * 1000) for pct, us in values.items() if us is not None}


def _deviation(bins: Mapping[int, int]) -> float:
    n = sum(bins.values())
    mean = sum(value * count for value, count in bins.items()) / n
    return sqrt(sum((value - mean) ** 2 * count for value, count in bins.items()) / max(1, n - 1))


def _distribution(found: Sequence[Measured]) -> Object:
    """Returns the percentages of all I/Os up to each of fio's round latencies (`stat.c`, `show_lat_*`)."""
    bins = fio_bins([bin for one in found for bin in one.bins])
    n = sum(bins.values())
    shares: dict[str, dict[str, float]] = {}
    below_ns = 0
    for name, per, ends in LATENCIES:
        shares[f"latency_{name}"] = own = {}
        for end in ends:
            many = sum(count for value, count in bins.items() if below_ns < value <= end * per)
            own[str(end)] = 100 * many / n if n else 0.0
            below_ns = end * per
    longer = sum(count for value, count in bins.items() if value > below_ns)
    shares["latency_ms"][f">={LATENCIES[-1][2][-1]}"] = 100 * longer / n if n else 0.0
    return dict(shares)
