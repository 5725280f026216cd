"""Published rows of systems, found by what a table needs: workload, depth, operation, figure."""

from collections.abc import Iterable, Mapping
from functools import cache
from statistics import median
from typing import Literal

from fathom.analysis.beside_published import left_out
from fathom.catalog.models import Device, PublishedRow
from fathom.output.text import signed_pct
from fathom.report.blocks import Item
from fathom.report.style import grouped

Figure = Literal["iops", "mbps", "latency_us"]
Pair = tuple[float | None, PublishedRow | None, Figure]
"""A measured figure and the published row that it stands beside."""


@cache
def rows_of(device: str) -> tuple[PublishedRow, ...]:
    """Returns all measured rows published of a catalogue device; none where nothing is."""
    from fathom.catalog import CatalogError, load_device, load_published

    try:
        name = load_device(device).published
        return tuple(load_published(name).rows) if name else ()
    except CatalogError:
        return ()


def find(
    device: str | None,
    workload: str,
    figure: Figure,
    *,
    threads: int | None = None,
    iodepth: int | None = None,
    op: str | None = None,
    added: bool = False,
) -> PublishedRow | None:
    """Returns the first row of the workload that has the figure; `added`: latency that a controller adds. A row of
    another number of `threads` is no match.
    """
    for row in rows_of(device) if device else ():
        fits = row.workload == workload and (iodepth is None or row.iodepth == iodepth)
        fits = fits and (threads is None or row.threads in (None, threads))
        kind = "added" if added else "mean"
        right_latency = figure != "latency_us" or row.latency_kind == kind
        if fits and right_latency and row.op in (None, op) and getattr(row, figure) is not None:
            return row
    return None


def beside(value: float | None, row: PublishedRow | None, figure: Figure, digits: int = 0) -> Item:
    """Returns a figure with the published one, its difference and its role in the second line."""
    if value is None:
        return Item("–", tone="quiet", title="not measured")
    text = grouped(value) if digits == 0 else f"{value:.{digits}f}"
    published = getattr(row, figure) if row else None
    if row is None or not published:
        return Item(text, tone="strong")
    shown = grouped(published) if digits == 0 or published >= 100 else f"{published:g}"
    mark = {"calibration": " fitted", "validation": ""}.get(row.role, "")
    difference = signed_pct(100 * (value / published - 1), digits=0)
    return Item(text, f"{shown} {difference}{mark}", tone="strong")


def reasons(devices: Iterable[str | None], labels: Mapping[str, str]) -> list[str]:
    """Returns why twins miss published figures of these workloads by far, as their catalogue files say."""
    found = []
    for name in dict.fromkeys(device for device in devices if device):
        device = _device(name)
        if device is not None and device.twin is not None:
            label = device.identity.label or name
            found += [
                f"{label}, {labels[workload]}: {told}."
                for workload, told in device.twin.reasons.items()
                if workload in labels
            ]
    return found


def reason(device: str | None, workload: str) -> str | None:
    """Returns why a twin misses a published workload by far, as its catalogue file says."""
    found = _device(device) if device else None
    return found.twin.reasons.get(workload) if found is not None and found.twin is not None else None


def hosts_of(device: str | None) -> int:
    """Returns how many hosts have the threads of each job: those of a simulated system, 1 of anything else."""
    found = _device(device) if device else None
    return found.hosts if found else 1


def _device(name: str) -> Device | None:
    """Returns a device of this version's catalogue."""
    from fathom.catalog import CatalogError, load_device

    try:
        return load_device(name)
    except CatalogError:
        return None


def agreement(pairs: Iterable[Pair]) -> list[str]:
    """Returns how near figures are to the published ones, a sentence per role; uncertain rows are named apart."""
    errors: dict[str, list[float]] = {}
    doubtful: list[float] = []
    for value, row, figure in pairs:
        published = getattr(row, figure) if row else None
        if value is not None and row is not None and published:
            off_pct = 100 * (value / published - 1)
            if row.uncertain:
                doubtful.append(off_pct)
            else:
                errors.setdefault(row.role, []).append(abs(off_pct))
    found = [
        f"{len(errors[role])} {meaning} figures ({role} rows): the median difference is {median(errors[role]):.1f} %, "
        f"the largest {max(errors[role]):.1f} %."
        for role, meaning in (("calibration", "fitted"), ("validation", "predicted"))
        if role in errors
    ]
    return [*found, left_out(doubtful)] if doubtful else found


@cache
def rows_naming(device: str) -> tuple[PublishedRow, ...]:
    """Returns rows of servers of disks whose subject names the device's model, such as `HC560`, alone or among
    others.
    """
    from fathom.catalog import CatalogError, entries, load_device, load_published

    try:
        model = set(load_device(device).identity.model.split())
    except CatalogError:
        return ()
    servers = [load_published(entry.name) for entry in entries("published")]
    return tuple(
        row
        for server in servers
        if server.identity.kind == "hdd-server"
        for row in server.rows
        if model & set(row.subject.split())
    )
