"""Results of fio as JSON and JSON+ (`--output-format=json`, `json+`), from version 2 on.

Format: fio 3.33, `stat.c` (`show_thread_status_json`, `add_ddir_status_json`), and the man page under "JSON OUTPUT". Up
to version 2.x latencies were microseconds under `clat`, and `io_bytes` counted KiB. JSON+ has the bins of the
histogram, each under the value that stands for it (`fio_bins`).
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar, cast

from pydantic import JsonValue

from fathom.errors import UsageError
from fathom.imports.fio_engines import SYNCHRONOUS, USUAL
from fathom.results.fio_bins import edges_of
from fathom.results.marks import KEY, Marks
from fathom.results.reading import Names, number, scaled, size_bytes, time_of, whole
from fathom.results.records import TOTAL, Bin, Caveat, Latency, Load, OpRecord, Reading, Remark, Results
from fathom.statistics.latency_columns import QUANTILES
from fathom.statistics.means import mean_by_count

Object = Mapping[str, JsonValue]
Number = TypeVar("Number", int, float)

HINT = "give the file that fio wrote with --output-format=json or json+"
DIRECTIONS = ("read", "write", "trim")
SAME_BLOCK = 0.01
"""By how much the mean of an operation's I/Os may differ from the block size that its options state."""
DEFAULT_BLOCK = "4k"
TOGETHER = "mixed"
"""What stands in the place of the directions where fio counts them together (`unified_rw_reporting`)."""
ALL_CLIENTS = "All clients"
"""The job that fio's client adds for several servers: the sum of theirs."""
_COUNTS = ("total_ios", "short_ios", "drop_ios")


def looks_like(head: str) -> bool:
    """Returns whether a file begins as fio's JSON does, possibly after warnings."""
    return '"fio version"' in head


def parse(text: str, file: str) -> Results:
    """Returns the results in a file. Raises UsageError if it is no JSON of fio."""
    document = _document(text, file)
    jobs = [one for one in _objects(document, "jobs") or _objects(document, "client_stats") if _is_job(one)]
    if not jobs:
        raise UsageError(f"{file}: no job in it", HINT)
    shared = _object(document.get("global options"))
    marks = Marks.read(document.get(KEY))
    remarks: list[Remark] = []
    # Jobs of an export have the names of its steps, which each of its targets has.
    names: defaultdict[str | None, Names] = defaultdict(Names)
    loads = []
    together: dict[object, list[str]] = {}
    for (group, _), clones in groupby(jobs, lambda job: (job.get("groupid"), job.get("jobname"))):
        own = list(clones)
        load, said = _load(own, shared, names, marks)
        if load.ops:
            loads.append(load)
            remarks += said
            together.setdefault(group, []).append(load.name)
    if not loads:
        raise UsageError(f"{file}: none of its jobs did any I/O", "there is nothing to import")
    remarks += [
        Remark(Caveat.AT_ONCE, values={"steps": ", ".join(several)})
        for several in together.values()
        if len(several) > 1
    ]
    parts = [_object(job.get(direction)) for job in jobs for direction in (*DIRECTIONS, TOGETHER)]
    if any("total_ios" not in part and _n(part) for part in parts):
        remarks.append(Remark(Caveat.ROUNDED))
    version = marks.version if marks else str(document.get("fio version", "")).removeprefix("fio-")
    failed = next((job for job in jobs if whole(job.get("error"))), None)
    return Results(
        marks.program if marks else "fio",
        loads,
        version=version or None,
        measured=time_of(document.get("timestamp")),
        options=_options(shared, jobs),
        environment=_environment(jobs),
        remarks=remarks,
        notes=marks.notes if marks else (),
        error=f"fio's job {failed.get('jobname')} ended with error {whole(failed.get('error'))}"
        if failed
        else None,
    )


def _document(text: str, file: str) -> Object:
    """Returns the last JSON document of the file: fio prints several with --status-interval, each of all so far."""
    decoder = json.JSONDecoder()
    found: JsonValue = None
    at = 0 if text.startswith("{") else text.find("\n{") + 1
    if at == 0 and not text.startswith("{"):
        raise UsageError(f"{file}: no JSON in it", HINT)
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}: broken JSON: {error}", HINT) from error
        after = text.find("\n{", end)
        at = after + 1 if after >= 0 else -1
    if not isinstance(found, dict) or "fio version" not in found:
        raise UsageError(f"{file}: JSON, but not fio's", HINT)
    return found


def _is_job(job: Object) -> bool:
    return isinstance(job.get("jobname"), str) and job.get("jobname") != ALL_CLIENTS


def _load(
    jobs: Sequence[Object], shared: Object, names: Mapping[str | None, Names], marks: Marks | None
) -> tuple[Load, list[Remark]]:
    """Returns the load of one or more jobs of one name that ran at once, as numjobs makes them."""
    first = jobs[0]
    stated = {**shared, **_object(first.get("job options"))}
    is_grouped = marks is None and _is_grouped(jobs, stated)
    options = {} if is_grouped else stated
    title = str(first["jobname"])
    target = _target(options)
    name = names[target if marks else None].unique(title)
    remarks = list(_remarks(jobs, name))
    if is_grouped:
        remarks.append(Remark(Caveat.GROUPED, name))
    # An export has no `direct`: it does not know it.
    if options and marks is None and str(options.get("direct", 0)) == "0":
        remarks.append(Remark(Caveat.BUFFERED, name))
    ops = [
        op
        for direction, called in _directions(jobs, options).items()
        if (op := _op(direction, called, jobs, options, name, remarks))
    ]
    if sync := _sync(jobs):
        ops.append(sync)
    threads = _count(options, "numjobs") if len(jobs) == 1 else len(jobs)
    known = bool(options)
    load = Load(
        name,
        ops,
        label=title,
        target=target,
        read_pct=_read_pct(options),
        threads=threads if known or len(jobs) > 1 else None,
        iodepth=_depth(options, is_own=marks is not None) if known else None,
        readings=_readings(jobs),
        kind=marks.targets.get(target) if marks and target else None,
        workload=marks.workloads.get(title) if marks else None,
    )
    return load, remarks


def _remarks(jobs: Sequence[Object], step: str) -> Iterator[Remark]:
    if len(jobs) > 1:
        yield Remark(Caveat.MERGED, step, {"many": len(jobs)})
    for code in sorted({code for job in jobs if (code := whole(job.get("error")))}):
        yield Remark(Caveat.FAILED, step, {"code": code})
    if errors := sum(whole(job.get("total_err")) or 0 for job in jobs):
        yield Remark(Caveat.SOME_FAILED, step, {"errors": errors})
    short = sum(
        whole(_object(job.get(direction)).get(name)) or 0
        for job in jobs
        for direction in _directions(jobs, {})
        for name in _COUNTS[1:]
    )
    if short:
        yield Remark(Caveat.SHORT, step, {"many": short})


def _directions(jobs: Sequence[Object], options: Object) -> Mapping[str, str]:
    """Returns what fio counts by itself, with the operation that it is here: both together only without either."""
    apart = any(_did(_object(job.get(one))) for job in jobs for one in DIRECTIONS)
    return {one: one for one in DIRECTIONS} if apart else {TOGETHER: _only_direction(options)}


def _op(
    direction: str, op: str, jobs: Sequence[Object], options: Object, step: str, remarks: list[Remark]
) -> OpRecord | None:
    """Returns the figures of all the jobs in one direction, as those of an operation; None if they did nothing."""
    parts = [part for job in jobs if (part := _object(job.get(direction))) and _did(part)]
    if not parts:
        return None
    latencies = [_latency(part) for part in parts]
    if any(is_from_submission for _, is_from_submission in latencies):
        remarks.append(Remark(Caveat.FROM_SUBMISSION, step))
    counts = [_n(part) for part in parts]
    latency = _merged([found for found, _ in latencies], counts)
    if len(parts) > 1 and not latency.bins:
        remarks.append(Remark(Caveat.NO_MERGED_PERCENTILES, step))
    clean = all(whole(job.get("error")) == 0 and not whole(job.get("total_err")) for job in jobs)
    iops, mbps = _sum([number(part.get("iops")) for part in parts]), _sum([_mbps(part) for part in parts])
    return OpRecord(
        op,
        n=_sum(counts),
        iops=iops,
        mbps=mbps,
        errors=0 if clean else None,
        window_s=max((scaled(part.get("runtime"), 1e-3) or 0.0 for part in parts), default=0.0) or None,
        block_bytes=_block_bytes(options, direction, 1e6 * mbps / iops if iops and mbps else None),
        latency=latency,
    )


def _n(part: Object) -> int | None:
    """Returns the I/Os. fio before 2.1.14 does not state them, and they follow from its rate."""
    if "total_ios" in part:
        return whole(part["total_ios"])
    iops, length_s = number(part.get("iops")), scaled(part.get("runtime"), 1e-3)
    return round(iops * length_s) if iops and length_s else None


def _did(part: Object) -> bool:
    return bool(number(part.get("total_ios")) or number(part.get("io_bytes")))


def _mbps(part: Object) -> float | None:
    """Returns the bandwidth: bytes since version 3, before that KiB."""
    exact = scaled(part.get("bw_bytes"), 1e-6)
    return scaled(part.get("bw"), 1024e-6) if exact is None else exact


def _latency(part: Object) -> tuple[Latency, bool]:
    """Returns the latency from issue to completion, and whether percentiles count from submission."""
    (clat, per_us), (lat, _) = _stat(part, "clat"), _stat(part, "lat")
    is_from_submission = not _object(clat.get("percentile")) and bool(_object(lat.get("percentile")))
    chosen = lat if is_from_submission else clat
    if not (number(chosen.get("N")) or number(chosen.get("mean"))):
        return Latency(), False
    return (
        Latency(
            scaled(chosen.get("mean"), per_us),
            scaled(chosen.get("max"), per_us),
            _percentiles(_object(chosen.get("percentile")), per_us),
            _bins(chosen) if per_us < 1 else (),
        ),
        is_from_submission,
    )


def _stat(part: Object, name: str) -> tuple[Object, float]:
    """Returns a latency of a direction, and its unit in us."""
    found = _object(part.get(f"{name}_ns"))
    return (found, 1e-3) if found else (_object(part.get(name)), 1.0)


def _percentiles(stated: Object, per_us: float) -> dict[str, float]:
    """Returns the percentiles of the points table that fio states; its keys are percents such as `99.900000`."""
    by_pct = {round(pct, 6): value for text, value in stated.items() if (pct := number(text)) is not None}
    found = {name: scaled(by_pct.get(round(100 * q, 6)), per_us) for name, q in QUANTILES.items()}
    return {name: value for name, value in found.items() if value}


def _bins(stat: Object) -> Sequence[Bin]:
    counts: Counter[tuple[int, int]] = Counter()
    for text, count in _object(stat.get("bins")).items():
        value, many = whole(text), whole(count)
        if value is not None and many:
            counts[edges_of(value)] += many
    return tuple(Bin(*edges, count) for edges, count in sorted(counts.items()))


def _merged(parts: Sequence[Latency], counts: Sequence[int | None]) -> Latency:
    """Returns the latency of several jobs: percentiles only from bins, because they have no mean."""
    if len(parts) == 1:
        return parts[0]
    mean_us = (
        None
        if None in counts
        else mean_by_count((count, part.mean_us) for count, part in zip(counts, parts, strict=True))
    )
    largest = [part.max_us for part in parts if part.max_us is not None]
    binned = all(part.bins for part in parts)
    bins: Counter[tuple[int, int]] = Counter()
    for part in parts if binned else ():
        for low, high, count in part.bins:
            bins[low, high] += count
    return Latency(
        mean_us,
        max(largest) if len(largest) == len(parts) else None,
        bins=tuple(Bin(*edges, count) for edges, count in sorted(bins.items())),
    )


def _sync(jobs: Sequence[Object]) -> OpRecord | None:
    """Returns the flushes (fsync, fdatasync): fio counts them and their latency, and no rate."""
    parts = [part for job in jobs if whole((part := _object(job.get("sync"))).get("total_ios"))]
    if not parts:
        return None
    counts = [whole(part.get("total_ios")) for part in parts]
    latencies = []
    for part in parts:
        stat, per_us = _stat(part, "lat")
        percentiles = _percentiles(_object(stat.get("percentile")), per_us)
        latencies.append(
            Latency(
                scaled(stat.get("mean"), per_us), scaled(stat.get("max"), per_us), percentiles, _bins(stat)
            )
        )
    return OpRecord("flush", n=_sum(counts), latency=_merged(latencies, counts))


def _readings(jobs: Sequence[Object]) -> Sequence[Reading]:
    """Returns the processor time of fio itself, percent of one core, where there is one job."""
    length_s, window_s = scaled(jobs[0].get("job_runtime"), 1e-3), _window_s(jobs)
    if len(jobs) > 1 or not length_s or not window_s:
        return ()
    # `job_runtime` sums over clones, and the percentages are of that sum.
    return tuple(
        Reading(f"fio {name}", value * length_s / window_s, "% of a core", 0.0, window_s)
        for name in ("usr_cpu", "sys_cpu")
        if (value := number(jobs[0].get(name))) is not None
    )


def _window_s(jobs: Sequence[Object]) -> float | None:
    """Returns how long the longest of the jobs moved data."""
    lengths_s = (
        scaled(_object(job.get(one)).get("runtime"), 1e-3) for job in jobs for one in (*DIRECTIONS, TOGETHER)
    )
    return max((one for one in lengths_s if one), default=None)


def _is_grouped(jobs: Sequence[Object], options: Object) -> bool:
    """Returns whether one record stands for jobs of several names. More jobs ran for it than its options state."""
    ran_s, window_s, stated = (
        scaled(jobs[0].get("job_runtime"), 1e-3),
        _window_s(jobs),
        _count(options, "numjobs"),
    )
    if len(jobs) > 1 or not options or not ran_s or not window_s or not stated:
        return False
    return ran_s > (stated + 0.5) * window_s


def _only_direction(options: Object) -> str:
    """Returns the operation that figures of all directions are of: `TOTAL` where a job mixes them, or may do so."""
    read_pct = None if "trim" in str(options.get("rw") or options.get("readwrite")) else _read_pct(options)
    return "read" if read_pct == 100 else "write" if read_pct == 0 else TOTAL


def _target(options: Object) -> str | None:
    found = options.get("filename") or options.get("directory")
    return found if isinstance(found, str) else None


def _block_bytes(options: Object, direction: str, mean_bytes: float | None) -> int | None:
    """Returns the one size of a direction; None for several, for other I/Os, and where the file has no options."""
    if not options or "bsrange" in options or "bssplit" in options:
        return None
    given = options.get("bs") or options.get("blocksize") or DEFAULT_BLOCK
    sizes = str(given).split(",")
    if direction == TOGETHER and len(set(sizes)) > 1:
        return None
    place = 0 if direction == TOGETHER else min(DIRECTIONS.index(direction), len(sizes) - 1)
    size = size_bytes(sizes[place])
    if size and mean_bytes and abs(mean_bytes - size) > SAME_BLOCK * size:
        return None
    return size


def _read_pct(options: Object) -> float | None:
    rw = str(options.get("rw") or options.get("readwrite") or "")
    if rw.partition(":")[0] in ("rw", "readwrite", "randrw"):
        writes = number(options.get("rwmixwrite"))
        return 100 - writes if writes is not None and writes <= 100 else number(options.get("rwmixread", 50))
    return 100.0 if "read" in rw else 0.0 if "write" in rw else None


def _count(options: Object, name: str) -> int | None:
    """Returns a count that fio takes for 1 where it is not given; None for a value beyond a 32-bit number."""
    found = whole(options.get(name, 1))
    return found if found is not None and found < 1 << 31 else None


def _depth(options: Object, *, is_own: bool) -> int | None:
    """Returns the I/Os that a thread keeps in flight; one by an engine that waits for each. Fathom's has no such.

    An export of Fathom's leaves out the depth of streams, which have one each.
    """
    if is_own and "iodepth" not in options:
        return None
    waits = not is_own and options.get("ioengine", USUAL) in SYNCHRONOUS
    return 1 if waits else _count(options, "iodepth")


def _options(shared: Object, jobs: Sequence[Object]) -> dict[str, JsonValue]:
    sections = {"global": dict(shared)} if shared else {}
    own = {str(job["jobname"]): dict(_object(job.get("job options"))) for job in jobs}
    return cast(
        "dict[str, JsonValue]", sections | {name: options for name, options in own.items() if options}
    )


def _environment(jobs: Sequence[Object]) -> dict[str, JsonValue]:
    hosts = list(dict.fromkeys(host for job in jobs if isinstance(host := job.get("hostname"), str) and host))
    return {"hosts": cast("list[JsonValue]", hosts)} if hosts else {}


def _sum(values: Sequence[Number | None]) -> Number | None:
    """Returns the sum; None as soon as one is unknown."""
    known = [value for value in values if value is not None]
    return cast("Number", sum(known)) if known and len(known) == len(values) else None


def _object(value: JsonValue | None) -> Object:
    return value if isinstance(value, dict) else {}


def _objects(document: Object, name: str) -> list[Object]:
    found = document.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
