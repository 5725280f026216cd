"""Results of Vdbench: `flatfile.html`, and the tables of `summary.html` and `totals.html`.

Formats: `flatfile.html` explains its columns at its head. The first line that is no comment names them. Each line after
it has an interval, or the mean of a run as interval `avg_FROM-TO`. The tables are those of Vdbench 5.04.07,
`Report.java`: a line `Starting RD=`, two lines of headings, then intervals. MB are 1024*1024 bytes, response times ms.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from pydantic import JsonValue

from fathom.errors import UsageError
from fathom.results.reading import MOST_SECONDS, Names, number, scaled, size_bytes, whole
from fathom.results.records import Caveat, Latency, Load, OpRecord, Reading, Remark, Results, Second

MIB = 1 << 20
HINT = "give flatfile.html, summary.html or totals.html of Vdbench's output folder"
FLAT_COLUMNS = ("Run", "Interval", "rate", "read%")
TAG = re.compile(r"<[^>]{0,500}>")
START = re.compile(r"Starting RD=(?P<run>[^;\s]+);(?P<rest>.*)")
DATE = re.compile(r"(?P<date>[A-Z][a-z]{2} \d{2}, \d{4})\s+interval\s+(?P<names>\S.*)")
LINE = re.compile(
    r"\s*(?P<clock>\d\d:\d\d:\d\d)\.\d{1,3}\s+(?P<interval>\d+|avg_\d+-\d+)\s+(?P<values>[\d.].*)"
)
MEAN = re.compile(r"avg_(?P<first>\d+)-(?P<last>\d+)")
SETTING = re.compile(r"\b(?P<name>threads|xfersize|elapsed|warmup)=(?P<value>\w+)")
DAY_S = 86_400
LAYOUT = "SD_format"
"""The run in which Vdbench creates its files."""


@dataclass(frozen=True)
class Interval:
    """One interval, or the mean of a run, in the file's units."""

    rate: float | None
    mib_per_s: float | None
    read_pct: float | None
    resp_ms: Mapping[str, float | None]
    """Mean response time of `total`, `read` and `write`."""
    max_ms: Mapping[str, float | None]
    cpu_pct: float | None
    clock_s: int | None
    """When it ended, seconds of the day."""


@dataclass
class Run:
    """One run definition (RD) with one value of each of its loops."""

    name: str
    threads: int | None = None
    block_bytes: int | None = None
    offered_iops: float | None = None
    asked_s: float | None = None
    """The planned length of the run, with its warm-up."""
    intervals: list[Interval] = field(default_factory=list)
    mean: Interval | None = None
    first: int = 1
    last: int = 0
    """The intervals that the mean covers."""

    @property
    def interval_s(self) -> float | None:
        """The length of an interval, from the clock, else from what was asked for; None where neither says."""
        clocks = [one.clock_s for one in self.intervals if one.clock_s is not None]
        if len(clocks) > 1:
            length_s = sum((after - one) % DAY_S for one, after in pairwise(clocks))
            return float(round(length_s / (len(clocks) - 1))) or None
        return self.asked_s / self.last if self.asked_s and self.last else None

    @property
    def window_s(self) -> float | None:
        """The time that the mean covers."""
        counted = self.last - self.first + 1 if self.last else len(self.intervals)
        return counted * self.interval_s if self.interval_s and counted > 0 else None


@dataclass
class FlatFile:
    """The contents of a file."""

    runs: list[Run] = field(default_factory=list)
    version: str | None = None
    measured: datetime | None = None


def is_flat_file(head: str) -> bool:
    """Returns whether a file begins as `flatfile.html` does."""
    return any(_is_heading(line.split()) for line in head.splitlines())


def is_table(head: str) -> bool:
    """Returns whether a file begins as `summary.html` or `totals.html` does."""
    return "Starting RD=" in head and "interval" in head


def parse_flat(text: str, file: str) -> Results:
    """Returns the results in `flatfile.html`. Raises UsageError if it has no line of a run."""
    found = FlatFile()
    columns: list[str] = []
    for line in text.splitlines():
        cells = TAG.sub(" ", line).split()
        if _is_heading(cells):
            columns = cells
        elif columns and len(cells) == len(columns) and not line.startswith("*"):
            _take_row(dict(zip(columns, cells, strict=True)), found)
    return _results(found, file)


def _is_heading(cells: Sequence[str]) -> bool:
    return all(name in cells for name in FLAT_COLUMNS)


def _take_row(row: Mapping[str, str], found: FlatFile) -> None:
    """Adds a line. A new run begins if the name changes, or if intervals start again."""
    last = found.runs[-1] if found.runs else None
    if last is None or last.name != row["Run"] or last.mean is not None:
        found.runs.append(
            Run(
                row["Run"],
                threads=_small(row.get("threads")),
                block_bytes=whole(row.get("xfersize")) or None,
                offered_iops=_offered(row.get("reqrate")),
            )
        )
    found.version = found.version or row.get("version")
    time = _flat_time(row)
    found.measured = found.measured or time
    interval = Interval(
        number(row["rate"]),
        number(row.get("MB/sec")),
        number(row["read%"]),
        {
            "total": number(row.get("resp")),
            "read": number(row.get("read_resp")),
            "write": number(row.get("write_resp")),
        },
        {
            "total": number(row.get("resp_max")),
            "read": number(row.get("read_max")),
            "write": number(row.get("write_max")),
        },
        number(row.get("cpu_used")),
        _clock_s(row.get("tod", "")),
    )
    _put(found.runs[-1], row["Interval"], interval)


def _put(run: Run, name: str, interval: Interval) -> None:
    if match := MEAN.fullmatch(name):
        run.mean = interval
        run.first, run.last = int(match["first"][:9]), int(match["last"][:9])
    elif len(run.intervals) < MOST_SECONDS:
        run.intervals.append(interval)


def _clock_s(text: str) -> int | None:
    """Returns a time of day, `15:41:38.042`, in whole seconds."""
    match = re.match(r"(\d\d):(\d\d):(\d\d)", text)
    return int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3]) if match else None


def _flat_time(row: Mapping[str, str]) -> datetime | None:
    """Returns `timestamp`, such as `11/08/2025-15:41:39-CET`. Zones by letters are not unique and are left out."""
    try:
        return datetime.strptime(row.get("timestamp", "")[:19], "%m/%d/%Y-%H:%M:%S")
    except ValueError:
        return None


def _offered(text: str | None) -> float | None:
    """Returns a requested rate; Vdbench writes those that are no rate, such as `max`, as 999,988 and more."""
    found = number(text)
    return found if found and found < LEAST_KEYWORD else None


LEAST_KEYWORD = 999_977
"""From this value on a requested rate stands for a keyword (`RD_entry.java`: MAX_RATE is 999988, CURVE_RATE 999977)."""


def parse_table(text: str, file: str) -> Results:
    """Returns the results in `summary.html` or `totals.html`. Raises UsageError if it has no line of a run."""
    found = FlatFile()
    names: Sequence[str] = ()
    upper: list[str] = []
    day, clock = "", ""
    for raw in text.splitlines():
        line = TAG.sub("", raw)
        if start := START.search(line):
            found.runs.append(_started(start["run"], start["rest"]))
        elif match := DATE.search(line):
            day, upper = match["date"], match["names"].split()
        elif upper and (lower := line.split()) and len(lower) == len(upper):
            names, upper = [f"{one} {two}" for one, two in zip(upper, lower, strict=True)], []
        elif found.runs and names and (match := LINE.match(line)):
            clock = clock or match["clock"]
            values = dict(zip(names, map(number, match["values"].split()), strict=False))
            _put(found.runs[-1], match["interval"], _of_table(values, match["clock"]))
    found.measured = _table_time(day, clock)
    return _results(found, file)


def _started(name: str, rest: str) -> Run:
    settings = {match["name"]: match["value"] for match in SETTING.finditer(rest)}
    rate = re.search(r"I/O rate: (\d[\d.,]*)", rest)
    return Run(
        name,
        threads=_small(settings.get("threads")),
        block_bytes=size_bytes(settings["xfersize"]) if "xfersize" in settings else None,
        offered_iops=_offered(rate[1].rstrip(".,").replace(",", "")) if rate else None,
        asked_s=_asked_s(settings),
    )


def _asked_s(settings: Mapping[str, str]) -> float | None:
    elapsed = number(settings.get("elapsed"))
    return None if elapsed is None else elapsed + (number(settings.get("warmup")) or 0.0)


def _of_table(values: Mapping[str, float | None], clock: str) -> Interval:
    """Returns an interval from its values by heading. Version 5.04.06 has one largest response time for both."""
    return Interval(
        values.get("i/o rate"),
        values.get("MB/sec 1024**2"),
        values.get("read pct"),
        {
            "total": values.get("resp time"),
            "read": values.get("read resp"),
            "write": values.get("write resp"),
        },
        {"total": values.get("resp max"), "read": values.get("read max"), "write": values.get("write max")},
        values.get("cpu% sys+u"),
        _clock_s(clock),
    )


def _table_time(day: str, clock: str) -> datetime | None:
    try:
        return datetime.strptime(f"{day} {clock}", "%b %d, %Y %H:%M:%S")
    except ValueError:
        return None


def _small(text: object) -> int | None:
    found = whole(text)
    return found if found is not None and found < 1 << 31 else None


def _results(found: FlatFile, file: str) -> Results:
    names = Names()
    loads, remarks = [], []
    for run in found.runs:
        if run.name != LAYOUT and (run.mean or run.intervals):
            load = _load(run, names)
            loads.append(load)
            if len(load.ops) > 1:
                remarks.append(Remark(Caveat.SPLIT, load.name))
    remarks.append(Remark(Caveat.ROUNDED))
    if not any(load.ops for load in loads):
        raise UsageError(f"{file}: no run with a rate and a share of reads in it", HINT)
    return Results(
        "Vdbench",
        [load for load in loads if load.ops],
        version=_version(found.version),
        measured=found.measured,
        environment=_environment(found),
        remarks=remarks,
    )


def _version(text: str | None) -> str | None:
    return text.removeprefix("vdbench") or None if text and text != "n/a" else None


def _environment(found: FlatFile) -> dict[str, JsonValue]:
    return {"time zone": "not recorded; times are local"} if found.measured else {}


def _load(run: Run, names: Names) -> Load:
    mean = run.mean or _mean_of(run.intervals)
    settings = [
        f"{run.threads} threads" if run.threads else "",
        f"{run.block_bytes} B" if run.block_bytes else "",
        f"{run.offered_iops:g} IOPS offered" if run.offered_iops else "",
    ]
    ops = [op for share in ("read", "write") if (op := _op(share, run, mean))]
    return Load(
        names.unique(run.name),
        ops,
        label=", ".join([run.name, *filter(None, settings)]),
        read_pct=mean.read_pct if mean.read_pct is not None and mean.read_pct <= 100 else None,
        threads=run.threads,
        offered_iops=run.offered_iops,
        readings=list(_readings(run)),
    )


def _share(interval: Interval, op: str) -> float | None:
    if interval.read_pct is None or interval.read_pct > 100:
        return None
    return (interval.read_pct if op == "read" else 100 - interval.read_pct) / 100


def _op(op: str, run: Run, mean: Interval) -> OpRecord | None:
    """Returns the figures of the reads, or of the writes; None if there were none."""
    share = _share(mean, op)
    if not share or mean.rate is None:
        return None
    alone = share == 1
    return OpRecord(
        op,
        n=round(mean.rate * share * run.window_s) if run.window_s else None,
        iops=mean.rate * share,
        mbps=_mbps(mean, share, run.block_bytes),
        window_s=run.window_s,
        block_bytes=run.block_bytes,
        latency=_latency(mean, op, alone=alone),
        seconds=[
            second for index, one in enumerate(run.intervals) if (second := _second(index, one, op, run))
        ],
    )


def _latency(interval: Interval, op: str, *, alone: bool) -> Latency:
    """Returns the response times of an operation. If it is the only one, those of all I/O are its own."""
    mean, most = (
        (one.get(op) or (one.get("total") if alone else None)) for one in (interval.resp_ms, interval.max_ms)
    )
    return Latency(scaled(mean or None, 1000.0), scaled(most or None, 1000.0))


def _mbps(interval: Interval, share: float, block_bytes: int | None) -> float | None:
    """Returns the bandwidth of one operation: the total if it is the only one, else from the block size."""
    if share == 1:
        return scaled(interval.mib_per_s, MIB / 1e6)
    return None if block_bytes is None or interval.rate is None else interval.rate * share * block_bytes / 1e6


def _second(index: int, interval: Interval, op: str, run: Run) -> Second | None:
    share, length_s = _share(interval, op), run.interval_s
    if share is None or interval.rate is None or length_s is None:
        return None
    mbps = _mbps(interval, share, run.block_bytes)
    return Second(
        index * length_s,
        length_s,
        round(interval.rate * share * length_s),
        None if mbps is None else round(mbps * 1e6 * length_s),
        _latency(interval, op, alone=share == 1),
        counts=run.mean is None or run.first <= index + 1 <= run.last,
    )


def _mean_of(intervals: Sequence[Interval]) -> Interval:
    """Returns the mean of intervals, for a run cut short before its own mean: rates only, no latencies."""
    rates = [one.rate for one in intervals if one.rate is not None]
    moved = [one.mib_per_s for one in intervals if one.mib_per_s is not None]
    reads = [(one.rate or 0.0) * one.read_pct / 100 for one in intervals if one.read_pct is not None]
    whole_rate = sum(rates)
    known = len(rates) == len(reads) == len(intervals) and whole_rate
    return Interval(
        whole_rate / len(rates) if rates else None,
        sum(moved) / len(moved) if moved and len(moved) == len(intervals) else None,
        100 * sum(reads) / whole_rate if known else None,
        {},
        {},
        None,
        None,
    )


def _readings(run: Run) -> Iterator[Reading]:
    length_s = run.interval_s
    for index, one in enumerate(run.intervals):
        if one.cpu_pct is not None and length_s is not None:
            yield Reading("host cpu", one.cpu_pct, "% of all cores", index * length_s, length_s)
