"""Published rows of systems: which steps of the method each row is about.

A system is measured at several loads, so a row may be one load, the most over loads, a share or a ratio of systems.
Each becomes a case with the trials that it needs and how its figure is read from them. Runs nothing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from fathom.analysis.depths import enough
from fathom.catalog import device_names, load_device, load_published
from fathom.catalog.models import Device, PublishedRow
from fathom.method.method import Method, load_method
from fathom.report import added_loads
from fathom.report.sections import cluster
from fathom.validation.cases import DEPTH, Case, Metric, Trial, cases_of
from fathom.validation.trial import Measured

TB = 1e12
SHARES = {
    "rand-read": ("4k-rand-read", "read"),
    "rand-write": ("4k-rand-write", "write"),
    "70r30w-read": ("4k-rand-70r30w", "read"),
    "70r30w-write": ("4k-rand-70r30w", "write"),
}
"""Names of rows about the controller's share, with the mix and the operation."""
PER_TB: dict[str, tuple[str, Metric, float]] = {
    "normalised-read-iops-per-tb-raw": ("4k-rand-read", "iops", 1.0),
    "normalised-read-bandwidth-per-tb-raw": ("1m-seq-read", "mbps", 1e3),
}
"""Rows per raw TB: their mix, the figure, and what the row's unit is of it."""
QD_SCALING = "qd-scaling-"
"""Rows about the job depth that gives the most begin so; their mix follows."""
SLOWER = "latency-comparison-4k-rand-write-at-high-depth"
"""The row that relates the write latency of a cluster to that of the others."""
Read = Callable[[Sequence[Measured]], float]


@dataclass(frozen=True)
class Reading:
    """A figure of a row: the published value, the runs that it needs, and how to read it from them, in that order."""

    metric: Metric
    published: float
    runs: tuple[tuple[Device, Trial], ...]
    read: Read


@dataclass(frozen=True)
class SystemCase(Case):
    """A row of a system; `readings` begins with the one that counts."""

    readings: tuple[Reading, ...] = ()

    @cached_property
    def figures(self) -> dict[Metric, float]:
        """Returns comparable figures, the one that counts first."""
        return {one.metric: one.published for one in self.readings}

    @property
    def load(self) -> str:
        """Returns the loads of the method that the row is read from."""
        labels = [trial.label for _, trial in self.readings[0].runs] if self.readings else []
        return ", ".join(dict.fromkeys(labels))


def every_case(device: Device) -> list[Case]:
    """Returns the published rows of a device, of whatever kind it is, in the file's order; see `cases_of`.

    Raises:
        CatalogError: a file of the catalogue is wrong.
    """
    if not device.starts_settled:
        return cases_of(device)
    rows = load_published(device.published).rows if device.published else ()
    return [_case(device, row) for row in rows if row.role != "context"]


def _case(device: Device, row: PublishedRow) -> SystemCase:
    readings = _readings(device, row)
    if not readings:
        return SystemCase(device, row, None, f"not simulated: no rule yet for {row.workload}")
    return SystemCase(device, row, readings[0].runs[0][1], None, readings=readings)


def _readings(device: Device, row: PublishedRow) -> tuple[Reading, ...]:
    if device.twin and device.twin.kind == "cluster":
        return _of_cluster(device, row)
    if row.workload.endswith(("-controller-share-mean", "-controller-share-max")):
        return _share(device, row)
    mix = row.workload.removeprefix("fio-")
    loads = added_loads.SYSTEM_LOADS.items()
    load = next((load for load, depth in loads if depth == row.iodepth), None)
    if load is None or mix not in added_loads.MIXES:
        return ()
    return _plain(row, ((device, _trial(device, added_loads.METHOD, f"{mix}-{load}")),))


def _plain(row: PublishedRow, runs: tuple[tuple[Device, Trial], ...]) -> tuple[Reading, ...]:
    """Returns a row's figures at one load, the rate first; the latency that a controller adds is a separate figure."""
    metrics: tuple[tuple[Metric, float | None], ...] = (
        ("added_us", row.latency_us if row.latency_kind == "added" else None),
        ("iops", row.iops),
        ("mbps", row.mbps),
        ("latency_us", row.latency_us if row.latency_kind == "mean" else None),
    )
    return tuple(
        Reading(
            metric, value, runs, lambda found, metric=metric: max(one.value(row, metric) for one in found)
        )
        for metric, value in metrics
        if value is not None
    )


def _share(device: Device, row: PublishedRow) -> tuple[Reading, ...]:
    """Reads the controller's share of an operation's latency: the mean or the most over published loads."""
    name, _, statistic = row.workload.rpartition("-controller-share-")
    if name not in SHARES or row.value is None:
        return ()
    mix, op = SHARES[name]
    runs = tuple(
        (device, _trial(device, added_loads.METHOD, f"{mix}-{load}")) for load in added_loads.SYSTEM_LOADS
    )

    def read(found: Sequence[Measured]) -> float:
        shares = [100 * one.added_us / one.ops[op].mean_us for one in found]
        return max(shares) if statistic == "max" else sum(shares) / len(shares)

    return (Reading("share_pct", row.value, runs, read),)


def _of_cluster(device: Device, row: PublishedRow) -> tuple[Reading, ...]:
    """Reads a cluster's row: at its depth, the most over depths, per raw TB, or beside the others."""
    if row.workload in PER_TB and row.value is not None:
        mix, metric, unit = PER_TB[row.workload]
        raw_tb = _raw_bytes(device) / TB
        most = [
            Reading(
                "per_tb",
                row.value,
                _at_depths(device, mix),
                lambda found: max(one.value(row, metric) for one in found) / unit / raw_tb,
            )
        ]
        return tuple(most)
    if row.unit == DEPTH and row.value is not None:
        mix = row.workload.removeprefix(QD_SCALING)
        share = 1 - _printed_step(device, mix) / 2

        def depth(found: Sequence[Measured]) -> float:
            return float(cluster.DEPTHS[enough([one.ops[None].iops for one in found], share)])

        return (Reading("depth", row.value, _at_depths(device, mix), depth),)
    if row.workload == SLOWER and row.value is not None:
        step = f"4k-rand-write-q{max(cluster.DEPTHS)}"
        others = [other for other in _clusters() if other.name != device.name]
        runs = tuple((one, _trial(one, cluster.METHOD, step)) for one in (device, *others))

        def read(found: Sequence[Measured]) -> float:
            return max(found[0].ops[None].mean_us / other.ops[None].mean_us for other in found[1:])

        return (Reading("latency_ratio", row.value, runs, read),)
    mix = row.workload.removeprefix("fio-")
    if mix not in cluster.SMALL | cluster.LARGE:
        return ()
    return _plain(row, _at_depths(device, mix, row.iodepth))


def _printed_step(device: Device, mix: str) -> float:
    """Returns the last of the two digits in which a mix's maximum is printed, as a share of it: 0.1 of 2.4 million.

    Depths whose rates differ by less than half of it have the same printed rate.
    """
    rows = load_published(device.published).rows if device.published else ()
    most = max(row.iops for row in rows if row.workload == f"fio-{mix}" and row.iops is not None)
    return 10.0 ** (math.floor(math.log10(most)) - 1) / most


def _at_depths(device: Device, mix: str, depth: int | None = None) -> tuple[tuple[Device, Trial], ...]:
    names = {step.name for step in _method(cluster.METHOD).steps}
    steps = [f"{mix}-q{one}" for one in cluster.DEPTHS if depth in (None, one)]
    return tuple((device, _trial(device, cluster.METHOD, step)) for step in steps if step in names)


@cache
def _method(name: str) -> Method:
    return load_method(name)


def _trial(device: Device, method: str, name: str) -> Trial:
    """Returns the trial of a step of a system's method; systems need no preparation."""
    step = next(step for step in _method(method).steps if step.name == name)
    return Trial(None, step.job, hosts=device.hosts, settled=step.precision, label=step.label)


def _clusters() -> list[Device]:
    devices = [load_device(name) for name in device_names()]
    return [device for device in devices if device.twin and device.twin.kind == "cluster"]


def _raw_bytes(device: Device) -> float:
    members = device.twin.members if device.twin else {}
    return sum(count * load_device(name).capacity_bytes for name, count in members.items())
