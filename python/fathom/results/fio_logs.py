"""Logs of fio: bandwidth, IOPS, latency and latency histograms over time (`write_bw_log` and the like), from version 3.

Format: fio 3.33, man page under "LOG FILE FORMATS", `iolog.c` (`flush_samples`, `flush_hist_samples`) and `init.c`
(names `PREFIX_TYPE.JOB.log`). A line is time in ms, value, direction, block size and more. Bandwidth is in KiB/s,
latency in ns (us before version 3: `--unit us`). With `log_avg_msec` a line is a mean of a stretch, and its block size
0. Without, it is one I/O. A histogram has a count per bin behind time, direction and block size; the number of bins
shows version 2, whose bins are in us. With `per_job_logs=0` one file has the lines of each job behind those of another,
from the first time on again. With `log_unix_epoch` times count from 1970.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import PurePath
from statistics import median, median_low
from typing import NamedTuple

from fathom.errors import UsageError
from fathom.results.fio_bins import BINS, BINS_OF_US, bin_at, edges_of
from fathom.results.reading import MOST_SECONDS, Unit, name_of, time_of, whole
from fathom.results.records import Bin, Caveat, Latency, Load, OpRecord, Reading, Remark, Results, Second
from fathom.statistics.means import mean_by_count

NAME = re.compile(r"(?P<series>.+)_(?P<kind>bw|iops|slat|clat|lat|clat_hist)(?:\.(?P<job>\d+))?\.log")
LINE = re.compile(r"\s*\d+,\s*\d+,\s*\d+,\s*\d+\s*(?:,|$)")
DIRECTIONS = ("read", "write", "trim", "flush")
HINT = "give logs that fio wrote, such as PREFIX_bw.1.log"
KIB = 1024
SECOND_MS = 1000
LEAST_CELLS = 4
MOST_COARSE = 6
UNIT_OF_BINS = {BINS: 1, BINS_OF_US: 1000}
"""ns of a bin's values, by how many bins fio has."""
GAP = 1.5
"""Times the interval of a log from which fio has left out a line: it writes none without I/O."""
MOST_IOS_A_MS = 100_000
"""More I/Os of one job than this are no count. Public logs of fio hold what else was in its memory."""
LEAST_UNIX_MS = 100_000_000_000
"""A log whose first time is beyond this counts from 1970: in March 1973."""


class Kind(StrEnum):
    """The quantity in a log's second column."""

    BANDWIDTH = "bw"
    IOPS = "iops"
    SUBMISSION = "slat"
    COMPLETION = "clat"
    TOTAL = "lat"
    HISTOGRAM = "clat_hist"


SAMPLED: Mapping[Kind, tuple[str, float, str]] = {
    Kind.BANDWIDTH: ("bandwidth", KIB / 1e6, "MB/s"),
    Kind.SUBMISSION: ("submission latency", 1e-3, "us"),
    Kind.COMPLETION: ("completion latency", 1e-3, "us"),
    Kind.TOTAL: ("latency", 1e-3, "us"),
}
"""Name and unit of a log's values, where they stand by themselves."""


LATENCIES = (Kind.SUBMISSION, Kind.COMPLETION, Kind.TOTAL)


class Sample(NamedTuple):
    """A line. `block` is 0 for a mean of several I/Os; `bins` are those of a histogram."""

    time_ms: int
    value: int
    direction: str
    block: int
    bins: Sequence[Bin] = ()

    @property
    def is_single(self) -> bool:
        """Whether it is one I/O."""
        return self.block > 0 and not self.bins


class Stretch(NamedTuple):
    """A sample, and the time that it covers."""

    start_s: float
    length_s: float
    sample: Sample

    @property
    def end_s(self) -> float:
        """Its end in seconds."""
        return self.start_s + self.length_s


Logs = dict[Kind, dict[str, list[Sample]]]
"""The logs of one job: samples by kind and direction."""


def series_of(name: str) -> str | None:
    """Returns the common beginning of the names of a run's logs; None for a name that is not a log's."""
    match = NAME.fullmatch(name)
    return match["series"] if match else None


def looks_like(head: str) -> bool:
    """Returns whether the first lines of a file are those of a log."""
    lines = [line for line in head.split("\n", 2)[:2] if line]
    return bool(lines) and all(LINE.match(line) for line in lines)


def parse(files: Sequence[tuple[str, str]], unit: Unit) -> Results:
    """Returns the results in all logs of one run, given as (name, text). Raises UsageError for an invalid line, and for
    a name that does not show the log's kind.
    """
    logs: dict[int, Logs] = {}
    series = ""
    merged: set[int] = set()
    for name, text in files:
        match = NAME.fullmatch(PurePath(name).name)
        if match is None:
            raise UsageError(f"{name}: its name does not say what the log has", HINT)
        series, kind = match["series"], Kind(match["kind"])
        job = int(match["job"] or 1)
        by_direction = logs.setdefault(job, {}).setdefault(kind, {})
        for sample in _samples(text, name, kind, unit):
            own = by_direction.setdefault(sample.direction, [])
            if own and sample.time_ms < own[-1].time_ms:
                _check_several_jobs(sample, name)
                merged.add(job)
            own.append(sample)
    begins_ms = [_begin_ms(own) for own in logs.values()]
    logs = {job: _from(own, begin_ms) for (job, own), begin_ms in zip(logs.items(), begins_ms, strict=True)}
    found = {job: _load(series, job, own, several=len(logs) > 1) for job, own in sorted(logs.items())}
    loads = [load for load in found.values() if load.ops or load.readings]
    if not loads:
        raise UsageError(f"{files[0][0]}: the log has no line", HINT)
    remarks = [Remark(Caveat.UNIT, values={"unit": unit.words})]
    remarks += [Remark(Caveat.ONE_LOG, found[job].name) for job in sorted(merged)]
    if any(Kind.IOPS in own and Kind.HISTOGRAM not in own for own in logs.values()):
        remarks.append(Remark(Caveat.ROUNDED))
    return Results("fio", loads, measured=time_of(min(begins_ms) / SECOND_MS), remarks=remarks)


def _begin_ms(logs: Logs) -> int:
    """Returns when a job began, ms since 1970, where its logs count from then; else 0.

    The first mean is taken to cover as much as most do: on a busy machine single lines are late.
    """
    each = [samples for by_direction in logs.values() for samples in by_direction.values()]
    if not each or min(samples[0].time_ms for samples in each) < LEAST_UNIX_MS:
        return 0
    return min(map(_first_ms, each))


def _first_ms(samples: Sequence[Sample]) -> int:
    first_ms = samples[0].time_ms
    if samples[0].is_single:
        return first_ms
    times_ms = sorted({one.time_ms for one in samples})
    gaps_ms = [later - one for one, later in pairwise(times_ms)] or [SECOND_MS]
    return first_ms - median_low(gaps_ms)


def _from(logs: Logs, begin_ms: int) -> Logs:
    """Returns the logs with times from that moment on."""
    if not begin_ms:
        return logs
    return {
        kind: {
            direction: [one._replace(time_ms=one.time_ms - begin_ms) for one in samples]
            for direction, samples in by_direction.items()
        }
        for kind, by_direction in logs.items()
    }


def _check_several_jobs(sample: Sample, file: str) -> None:
    """Raises UsageError for means of several jobs in one log: nothing says which of them ran at once."""
    if not sample.is_single:
        raise UsageError(
            f"{file}: its times begin again, as where several jobs write one log",
            "give logs of each job (per_job_logs=1), or fio's JSON",
        )


def _samples(text: str, file: str, kind: Kind, unit: Unit) -> Iterator[Sample]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        cells = [whole(cell) for cell in line.split(",")]
        if len(cells) < LEAST_CELLS or None in cells[:LEAST_CELLS]:
            raise UsageError(f"{file}:{number}: no line of a log", HINT)
        time_ms, value, direction, block = (cell or 0 for cell in cells[:LEAST_CELLS])
        if kind is Kind.HISTOGRAM:
            direction, block = value, direction
        if direction >= len(DIRECTIONS):
            raise UsageError(f"{file}:{number}: no direction {direction}", HINT)
        bins = _bins(cells[3:], f"{file}:{number}") if kind is Kind.HISTOGRAM else ()
        _check_count(sum(one.n for one in bins), time_ms, f"{file}:{number}")
        if kind in LATENCIES:
            value *= unit.ns
        yield Sample(time_ms, value, DIRECTIONS[direction], block, bins)


def _check_count(n: int, time_ms: int, place: str) -> None:
    """Raises UsageError for a line with more I/Os than a job does in all the time until then."""
    if n > MOST_IOS_A_MS * max(time_ms, SECOND_MS):
        raise UsageError(f"{place}: {n:.3g} I/Os by {time_ms} ms: damaged counts", "leave this log out")


def _bins(counts: Sequence[int | None], place: str) -> Sequence[Bin]:
    """Returns the bins that have I/Os. Bins that fio has merged (log_hist_coarseness) stay merged."""
    shapes = ((many, ns, coarse) for many, ns in UNIT_OF_BINS.items() for coarse in range(MOST_COARSE + 1))
    shape = next(((ns, coarse) for many, ns, coarse in shapes if many >> coarse == len(counts)), None)
    if shape is None:
        raise UsageError(f"{place}: {len(counts)} bins, and fio has {BINS}, or {BINS_OF_US} before 3", HINT)
    ns, coarse = shape
    return tuple(
        Bin(ns * bin_at(index << coarse, 0).low_ns, ns * bin_at((index + 1 << coarse) - 1, 0).high_ns, count)
        for index, count in enumerate(counts)
        if count
    )


def _load(series: str, job: int, logs: Logs, *, several: bool) -> Load:
    directions = [one for one in DIRECTIONS if any(one in by_direction for by_direction in logs.values())]
    ops = [op for one in directions if (op := _op(one, logs))]
    readings = [reading for one in directions for reading in _readings(one, logs)]
    name = name_of(f"{series}-{job}" if several else series)
    return Load(name, ops, label=f"{series}, job {job}" if several else series, readings=readings)


def _op(direction: str, logs: Logs) -> OpRecord | None:
    """Returns the figures of a direction; None where no log counts its I/Os or bytes."""
    seconds = _seconds(direction, logs)
    bandwidth = _means(Kind.BANDWIDTH, direction, logs)
    if not seconds:
        if not bandwidth or bandwidth[0].sample.block:
            return None
        length_s = bandwidth[-1].end_s
        moved = sum(one.sample.value * KIB * one.length_s for one in bandwidth)
        return OpRecord(direction, mbps=moved / 1e6 / length_s, window_s=length_s)
    window_s = seconds[-1].start_s + seconds[-1].length_s
    n = sum(second.n for second in seconds)
    moved = [second.bytes for second in seconds if second.bytes is not None]
    means = [(second.n, second.latency.mean_us) for second in seconds]
    known = [pair for pair in means if pair[1] is not None]
    return OpRecord(
        direction,
        n=n,
        iops=n / window_s,
        mbps=sum(moved) / 1e6 / window_s if len(moved) == len(seconds) else None,
        window_s=window_s,
        latency=Latency(mean_by_count(known) if len(known) == len(seconds) else None),
        seconds=seconds,
    )


def _seconds(direction: str, logs: Logs) -> list[Second]:
    """Returns the samples from the log that counts I/Os best: histograms, single I/Os, rates."""
    own = {kind: found for kind, by in logs.items() if (found := by.get(direction))}
    means, bandwidth = _latencies(own), own.get(Kind.BANDWIDTH, [])
    if histograms := own.get(Kind.HISTOGRAM):
        counted = [(one, sum(b.n for b in one.sample.bins)) for one in _stretches(histograms)]
    elif single := next((samples for samples in own.values() if samples[0].block), None):
        return _of_single(own.get(Kind.COMPLETION) or own.get(Kind.TOTAL) or [], single)
    else:
        rates = _means(Kind.IOPS, direction, logs)
        counted = [(one, round(one.sample.value * one.length_s)) for one in rates]
    found = []
    for index, (one, n) in enumerate(counted):
        moved = bandwidth[index].value * KIB * one.length_s if len(bandwidth) == len(counted) else None
        mean = means[index].value / 1000 if len(means) == len(counted) else None
        latency = Latency(mean, bins=one.sample.bins)
        found.append(Second(one.start_s, one.length_s, n, None if moved is None else round(moved), latency))
    return found


def _latencies(own: Mapping[Kind, list[Sample]]) -> list[Sample]:
    return own.get(Kind.COMPLETION) or own.get(Kind.TOTAL) or []


def _of_single(latencies: Sequence[Sample], counted: Sequence[Sample]) -> list[Second]:
    """Returns seconds from logs with a line per I/O; `counted` is any of them, `latencies` may be empty.

    The last second ends with the last I/O.
    """
    n, moved = Counter[int](), Counter[int]()
    sums, largest = Counter[int](), Counter[int]()
    bins: dict[int, Counter[tuple[int, int]]] = {}
    for one in counted:
        n[one.time_ms // SECOND_MS] += 1
        moved[one.time_ms // SECOND_MS] += one.block
    for one in latencies:
        at = one.time_ms // SECOND_MS
        sums[at] += one.value
        largest[at] = max(largest[at], one.value)
        bins.setdefault(at, Counter())[edges_of(one.value)] += 1
    found = []
    last_ms = max(one.time_ms for one in counted)
    for at in sorted(n):
        length_s = min(1.0, (last_ms + 1) / SECOND_MS - at)
        own = tuple(Bin(*edges, count) for edges, count in sorted(bins.get(at, Counter()).items()))
        many = sum(one.n for one in own)
        latency = Latency(sums[at] / 1000 / many, largest[at] / 1000, bins=own) if many else Latency()
        found.append(Second(float(at), length_s, n[at], moved[at], latency))
    return found


def _stretches(samples: Sequence[Sample]) -> list[Stretch]:
    """Returns samples with the time since the one before. A sample that is not later is dropped."""
    found: list[Stretch] = []
    before_ms = 0
    for sample in samples[:MOST_SECONDS]:
        if sample.time_ms > before_ms:
            found.append(Stretch(before_ms / 1000, (sample.time_ms - before_ms) / 1000, sample))
            before_ms = sample.time_ms
    return found


def _means(kind: Kind, direction: str, logs: Logs) -> list[Stretch]:
    """Returns the means of rates, each with at most the log's own interval: behind a gap it covers no more."""
    by_direction = logs.get(kind, {})
    found = _stretches(by_direction.get(direction, []))
    # The last line of a log may be of a shorter time.
    each = [one.length_s for samples in by_direction.values() for one in _stretches(samples)[:-1]]
    if not each:
        return found
    usual_s = median(length_s for length_s in each if length_s <= GAP * min(each))
    return [
        one if one.length_s <= GAP * usual_s else one._replace(start_s=one.end_s - usual_s, length_s=usual_s)
        for one in found
    ]


def _readings(direction: str, logs: Logs) -> Iterator[Reading]:
    """Yields the samples of bandwidth and mean latency, for runs in which no log counts I/Os."""
    if _seconds(direction, logs):
        return
    for kind, (name, factor, unit) in SAMPLED.items():
        for one in _means(kind, direction, logs):
            value = one.sample.value * factor
            yield Reading(f"{name} of: {direction}", value, unit, one.start_s, one.length_s)
