"""Turns published rows into trials for a twin, or the reason why there is none. Runs nothing.

A row that states its I/O is its own definition. The I/O of one that does not (SQL, Oracle, desktops) is that of the
method step with its name in `published`. That mix is assumed, and reported so. The region is that of the row's bench.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from fathom._core import Job
from fathom.catalog import (
    CatalogError,
    device_names,
    entries,
    load_device,
    load_published,
    load_system,
)
from fathom.catalog.load import CAPACITY_TOLERANCE, is_about
from fathom.catalog.models import Device, PublishedRow, System
from fathom.catalog.models.base import values_of
from fathom.method.job import NS_PER_S, SentJob, read_job
from fathom.method.method import parse_method
from fathom.method.template import is_template

Metric = Literal[
    "iops",
    "mbps",
    "mibps",
    "latency_us",
    "floor_iops",
    "max_us",
    "above_pct",
    "iops_ratio",
    "iops_per_w_ratio",
    "depth",
    "added_us",
    "share_pct",
    "per_tb",
    "latency_ratio",
]
DEPTH = "iodepth of the maximum"
"""The unit of a row about depth scaling."""
PATTERNS = {"seq": "sequential", "rand": "uniform"}
HAS_PUBLISHED = re.compile(r"\bpublished\b")
"""What a method has that names a published workload."""
LIMIT = ("threshold", "at-most")
"""Kind and bound of a latency that no I/O exceeds."""
RATIO = re.compile(r"ratio of (?P<figure>IOPS|IOPS/W) to (?P<other>.+)")
"""The unit of a row that relates two drives: the figure to divide, and the model whose figure divides it."""
RATIOS: dict[str, Metric] = {"IOPS": "iops_ratio", "IOPS/W": "iops_per_w_ratio"}


@dataclass(frozen=True)
class Trial:
    """What a twin does: a job, whose time the trial sets, driven from a bench, through the bench's file system.

    After `prior`, the bench's own order of work, it is measured for `window_s` of the whole drive's time. Without, it
    is filled, and measured until it is steady. Where the bench goes on at other iodepths, so does the trial, for
    `depth_s` at each.

    `overwrites` is whether a place costs the same to write again, as on a disk: then only its cache has to be full.

    A system is loaded from its `hosts`. `settled` is given where it is at rest from the start. It is half the 95 %
    interval of a figure, over its mean, at which the trial may end early. `covered` is the same for a drive that is
    filled and then covers its region once with its writes. No criterion judges it steady.
    """

    bench: str | None
    """None: the device's own."""
    job: SentJob
    file_system: str | None = None
    prior: tuple[SentJob, ...] = ()
    window_s: float | None = None
    iodepths: tuple[int, ...] = ()
    depth_s: float = 0.0
    hosts: int = 1
    settled: float | None = None
    covered: float | None = None
    overwrites: bool = False
    label: str = ""


@dataclass(frozen=True)
class Case:
    """A published row about a device and the trial that imitates it; without one, `remark` says why.

    A row that relates the device to `other` divides the figures of two trials: the same one, on either.
    """

    device: Device
    row: PublishedRow
    trial: Trial | None
    remark: str | None
    other: Device | None = None

    @property
    def name(self) -> str:
        """The workload, with the operation of a mix that the row is about."""
        return f"{self.row.workload}, {self.row.op}s" if self.row.op else self.row.workload

    @property
    def load(self) -> str:
        """Outstanding I/O as published, `8T/32Q`; where the source is silent that of the trial, `~36T/1Q`."""
        if self.row.unit == DEPTH and self.trial:
            return f"{min(self.trial.iodepths)}-{max(self.trial.iodepths)}Q"
        counts = ((self.row.jobs, "J"), (self.row.threads, "T"), (self.row.iodepth, "Q"))
        published = "/".join(f"{count}{letter}" for count, letter in counts if count)
        if published or self.trial is None:
            return published
        return f"~{self.trial.job.threads}T/{self.trial.job.iodepth}Q"

    @cached_property
    def figures(self) -> dict[Metric, float]:
        """Comparable figures, the one that counts first.

        The others are the same measurement in other words. Under a closed load the mean latency is outstanding I/O over
        IOPS (Little), so counting it too would count one error twice.
        """
        row = self.row
        if (ratio := _ratio(row)) and row.value is not None:
            return {ratio[0]: row.value}
        if row.unit == DEPTH and row.value is not None:
            return {"depth": row.value}
        if row.latency_kind == "threshold" and row.latency_us is not None:
            return {"max_us": row.latency_us} if row.value is None else {"above_pct": row.value}
        if row.statistic == "floor" and row.iops is not None:
            return {"floor_iops": row.iops}
        latency_us = row.latency_us if row.latency_kind == "mean" else None
        every: dict[Metric, float | None] = {
            "iops": row.iops,
            "mbps": row.mbps,
            "mibps": row.mibps,
            "latency_us": latency_us,
        }
        return {metric: value for metric, value in every.items() if value is not None}

    @property
    def excluded(self) -> str | None:
        """Why the row is shown and not counted; None if it counts."""
        if self.row.role == "context":
            return "context, not counted"
        if self.row.uncertain:
            return f"uncertain, not counted: {self.row.note}"
        if self.row.calibrates == "workload":
            return "shapes the workload's mix, not the device: not counted"
        return None

    @property
    def may_be_fitted(self) -> bool:
        """Whether a device's parameters may be fitted to the row: calibration, about the device alone, and certain."""
        return self.row.role == "calibration" and self.excluded is None and self.other is None


class _NoTrialError(Exception):
    """Why there is no trial for a row."""


def cases_of(device: Device) -> list[Case]:
    """Returns the published rows about a device, in the file's order; empty where it has no published results.

    Left out are context rows that cannot be imitated: they are statements, not results.

    Raises:
        CatalogError: a file of the catalogue is wrong.
    """
    if device.published is None:
        return []
    rows = [row for row in load_published(device.published).rows if is_about(row, device)]
    jobs = published_jobs() if rows else {}
    cases = [_case(device, row, jobs) for row in rows]
    return [case for case in cases if case.trial or case.row.role != "context"]


def published_jobs() -> dict[str, tuple[Job, str]]:
    """Returns each published workload's job in a method, and the method's name. A curve counts by its maximum's job.

    Methods through a file system are left out: their rows are of another path. So are those that take their workload
    from a trace. Raises UsageError where a method file is wrong.
    """
    found: dict[str, tuple[Job, str]] = {}
    for entry in entries("methods"):
        for workload, job in _jobs_in(entry.text(), str(entry.file)):
            found.setdefault(workload, (job, entry.name))
    return found


@lru_cache(maxsize=256)
def _jobs_in(toml: str, file: str) -> tuple[tuple[str, Job], ...]:
    """Returns each published workload of a method with its job. Most methods name none, and are long to read."""
    if not HAS_PUBLISHED.search(toml) or is_template(toml):
        return ()
    method = parse_method(toml, file)
    if method.file_system is not None:
        return ()
    return tuple((step.published, step.job) for step in method.steps if step.published)


def stated_case(device: Device, row: PublishedRow) -> Case:
    """Returns the case of a row that states its I/O."""
    return _case(device, row, {})


def _case(device: Device, row: PublishedRow, jobs: Mapping[str, tuple[Job, str]]) -> Case:
    try:
        trial, remark = _trial(row, jobs)
        other = _other(device, row)
    except _NoTrialError as reason:
        return Case(device, row, None, f"not simulated: {reason}")
    return Case(device, row, replace(trial, overwrites=_overwrites(device)), remark, other)


def _overwrites(device: Device) -> bool:
    """Returns whether the device is a disk of conventional tracks, which a write in place costs nothing more."""
    values = values_of(device.twin.parameters) if device.twin and device.twin.kind == "disk" else {}
    return values.get("tracks") == "conventional"


def _ratio(row: PublishedRow) -> tuple[Metric, str] | None:
    """Returns what a row that relates two drives divides, and the model that it is divided by."""
    found = RATIO.fullmatch(row.unit or "")
    return (RATIOS[found["figure"]], found["other"]) if found else None


def _other(device: Device, row: PublishedRow) -> Device | None:
    """Returns the twin of the model that a row relates the device to, in the device's own capacity."""
    ratio = _ratio(row)
    if ratio is None:
        return None
    for name in device_names():
        other = load_device(name)
        model = other.identity.model
        named = model == ratio[1] or model.startswith(f"{ratio[1]} ")
        if (
            named
            and other.twin
            and abs(other.capacity_bytes / device.capacity_bytes - 1) <= CAPACITY_TOLERANCE
        ):
            return other
    raise _NoTrialError(f"the catalogue has no twin of {ratio[1]} with the same capacity")


def _trial(row: PublishedRow, jobs: Mapping[str, tuple[Job, str]]) -> tuple[Trial, str | None]:
    if row.hosts not in (None, 1):
        raise _NoTrialError(f"measured from {row.hosts} hosts")
    shares = row.value is not None and row.latency_kind == "threshold" and "I/O above" in (row.unit or "")
    if (row.latency_kind, row.bound, row.value) == ("threshold", None, None):
        raise _NoTrialError("the source does not say whether any I/O exceeded its latency, or how many")
    depth = row.unit == DEPTH and row.value is not None
    figure = shares or _ratio(row) is not None or depth
    if not figure and (not any((row.iops, row.mbps, row.mibps, row.latency_us)) or row.value is not None):
        raise _NoTrialError(f"no rule yet for {row.unit or 'a row without a figure'}")
    if row.latency_kind not in (None, "mean") and not (shares or (row.latency_kind, row.bound) == LIMIT):
        raise _NoTrialError(f"no rule yet for a latency of kind {row.latency_kind}")
    if row.bench is None:
        raise _NoTrialError("the source names no bench")
    try:
        bench = load_system(row.bench)
    except CatalogError as error:
        raise _NoTrialError(f"the bench {row.bench} is not in the catalogue") from error
    stated = _before_depths(row, bench) if depth else row
    if row.block_kib and row.read_pct is not None and row.pattern in PATTERNS:
        trial_job = _job_of_row(stated, PATTERNS[row.pattern], bench)
        remark = f"{bench.threads} thread(s) per device: {bench.note}" if bench.threads else None
    elif row.workload in jobs:
        job, method = jobs[row.workload]
        trial_job, remark = _endless(job), f"assumed mix: {method}"
    else:
        raise _NoTrialError("the source does not publish the mix, and no method defines it")
    prior = tuple(read_job(json.dumps(part.job), f"{bench.name}.json") for part in bench.prior)
    depths = (bench.depths.iodepths, bench.depths.time_s) if bench.depths else ((), 0.0)
    return Trial(row.bench, trial_job, bench.file_system, prior, bench.window_s, *depths), remark


def _before_depths(row: PublishedRow, bench: System) -> PublishedRow:
    """Returns the row at the iodepth that comes before the bench goes through others: that of its last prior work."""
    if bench.depths is None:
        raise _NoTrialError(f"the bench {bench.name} does not list its depths")
    last = read_job(json.dumps(bench.prior[-1].job), f"{bench.name}.json")
    return row.model_copy(update={"iodepth": last.iodepth})


def _job_of_row(row: PublishedRow, pattern: str, bench: System) -> Job:
    """Returns the row's own I/O. Threads and iodepth multiply, whichever of them is given; the bench may know
    better.
    """
    if not (row.threads or row.jobs or row.iodepth):
        raise _NoTrialError("the source does not state the I/Os in flight")
    read_pct = row.read_pct or 0.0
    pure = {0.0: "write", 100.0: "read"}.get(read_pct)
    job = {
        "mix": pure or {"read": read_pct, "write": 100 - read_pct},
        "block": round((row.block_kib or 0) * 1024),
        "pattern": pattern,
        "region": bench.region_bytes or f"{bench.region_pct or 100:g}%",
        "load": {"threads": bench.threads or row.threads or row.jobs or 1, "iodepth": row.iodepth or 1},
        "until": {"time": "1s"},
    }
    if pattern == "sequential" and bench.position:
        job["position"] = bench.position
    return _endless(read_job(json.dumps(job), f"{row.workload}.json"))


def _endless(job: Job) -> Job:
    """Returns the same job with an end that says nothing: a trial sets its own time."""
    return job.with_until(time_ns=NS_PER_S)
