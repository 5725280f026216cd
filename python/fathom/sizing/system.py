"""One whole system of the catalogue, as tested: its figures, parts and cost.

A system is sized like a drive, by its published maxima; nothing is interpolated between the sizes that were tested.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from fathom._core import LARGE_BLOCK_BYTES
from fathom.catalog import load_published
from fathom.catalog.models import Part, PartGroup, Published, PublishedRow
from fathom.catalog.store import entries
from fathom.errors import UsageError
from fathom.output.text import iops_text
from fathom.prediction.interval import known_device
from fathom.sizing.drive import SYSTEM_KINDS, Drive, Figure
from fathom.sizing.files import Prices
from fathom.sizing.needs import OPS, SMALL_BYTES, Kind, Op

GROUPS: tuple[PartGroup, ...] = get_args(PartGroup)
_Figures = dict[tuple[Kind, Op | None], Figure]


@dataclass(frozen=True)
class Bill:
    """What one system costs, in the currency of the prices."""

    costs: dict[PartGroup, float]

    @property
    def total(self) -> float:
        """Servers, network and storage together."""
        return sum(self.costs.values())


@dataclass(frozen=True)
class StorageSystem:
    """One system. `bill` is None where the catalogue lists no parts."""

    drive: Drive
    raw_bytes: float | None
    usable_bytes: float | None
    parts: Sequence[Part]
    bill: Bill | None

    @property
    def name(self) -> str:
        """Its name in the catalogue."""
        return self.drive.name

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.drive.label

    def figure(self, kind: Kind, op: Op | None = None) -> float | None:
        """Returns one of its figures, in the units of `Need.amount`; None where nothing is published."""
        found = self.drive.figures.get((kind, op))
        return found.value if found else None


def rated_system(name: str, prices: Prices, measured: Drive | None = None) -> StorageSystem:
    """Returns a system of the catalogue with its published figures, or with the rates of a run of it.

    Raises:
        UsageError: no such system, a single drive, or a price is missing.
    """
    published = load_published(_results_of(name))
    identity = published.identity
    if identity.kind not in SYSTEM_KINDS:
        raise UsageError(
            f"{name}: is not a system but a kind of {identity.kind}", f"use `fathom size --device {name}`"
        )
    figures = _published(published.rows)
    if measured is not None:
        figures = {key: figure for key, figure in measured.figures.items() if key[0] != "capacity"}
    raw = _raw_bytes(published)
    usable = next((row for row in published.rows if row.workload == "cluster-usable-capacity"), None)
    usable_bytes = usable.value * 1e12 if usable and usable.value else None
    if usable and usable_bytes:
        figures["capacity", None] = Figure(usable_bytes, "usable", usable.source)
    elif raw:
        figures["capacity", None] = Figure(raw, "raw: no usable capacity is published", identity.source)
    bill = _bill(name, published.parts, prices) if published.parts else None
    if (watts := _watts(published.parts, prices)) is not None:
        figures["power", None] = Figure(watts, "sum of its pieces in the price list", "the price list")
    model, _, _ = identity.model.partition(", ")  # The rest says what it is made of.
    label = model if " / " in identity.vendor else f"{identity.vendor} {model}"
    none = "no figure for this system is published"
    absent, notes = (measured.absent, measured.notes) if measured else (none, ())
    drive = Drive(name, label, figures, "system", absent, none, notes)
    return StorageSystem(drive, raw, usable_bytes, published.parts, bill)


def _results_of(name: str) -> str:
    """Returns a name of published results. Raises UsageError for the name of a twin, with that of its results."""
    if name not in {entry.name for entry in entries("published")} and (device := known_device(name)):
        raise UsageError(
            f"{name}: is a twin; systems go by their published results", f"write {device.published or 'one'}"
        )
    return name


def _published(rows: Sequence[PublishedRow]) -> _Figures:
    """Returns figures from the best certain rows: large sequential blocks, small random ones, and their latency."""
    figures: _Figures = {}
    for key, figure in _candidates(rows):
        if key not in figures or figures[key].value < figure.value:
            figures[key] = figure
    for op in ("read", "write"):
        best = figures.get(("iops", op))
        row = next((row for row in rows if best and row.iops == best.value and _op(row) == op), None)
        if row and (latency := _latency_at_maximum(row)):
            figures["latency", op] = latency
    return figures


def _latency_at_maximum(row: PublishedRow) -> Figure | None:
    """Returns the mean at the row's load, as published or by Little's law; at less load it is shorter."""
    if row.latency_us and row.latency_kind == "mean":
        return Figure(row.latency_us, "the mean at its maximum", row.source, is_bound=True)
    if not (row.iops and row.hosts and row.jobs and row.iodepth):
        return None
    load = f"{row.hosts} hosts x {row.jobs} jobs x depth {row.iodepth} / {iops_text(row.iops)}"
    latency_us = row.hosts * row.jobs * row.iodepth / row.iops * 1e6
    return Figure(latency_us, f"the mean at its maximum by Little's law, {load}", row.source, is_bound=True)


def _candidates(rows: Sequence[PublishedRow]) -> Iterator[tuple[tuple[Kind, Op | None], Figure]]:
    for row in rows:
        op = _op(row)
        if row.uncertain or op is None or not row.block_kib:
            continue
        basis = f"measured, {row.workload}"
        if (
            row.mbps
            and row.pattern == "seq"
            and row.block_kib * 1024 >= LARGE_BLOCK_BYTES
            and op in ("read", "write")
        ):
            yield ("bandwidth", op), Figure(row.mbps * 1e6, basis, row.source)
        elif row.iops and row.pattern == "rand" and row.block_kib * 1024 == SMALL_BYTES:
            yield ("iops", op), Figure(row.iops, basis, row.source)


def _op(row: PublishedRow) -> Op | None:
    """Returns the operation of a row, as needs have it; None for other mixes, and for one half of a mix."""
    return None if row.op or row.read_pct is None else OPS.get(row.read_pct)


def _raw_bytes(published: Published) -> float | None:
    for row in published.rows:
        if row.units and row.capacity_gb:
            return row.units * row.capacity_gb * 1e9
    return max(published.identity.capacities_gb, default=0) * 1e9 or None


def _bill(name: str, parts: Sequence[Part], prices: Prices) -> Bill:
    missing = [part.item for part in parts if part.item not in prices.items]
    if missing:
        raise UsageError(f"{name}: the price list has no {', '.join(missing)}", f'add [items."{missing[0]}"]')
    costs: dict[PartGroup, float] = {
        group: sum(part.count * prices.items[part.item].price for part in parts if part.group == group)
        for group in GROUPS
    }
    return Bill(costs)


def _watts(parts: Sequence[Part], prices: Prices) -> float | None:
    """Returns the watts of all parts; None where one is not stated."""
    each = [(part.count, prices.items[part.item].watts) for part in parts]
    if not each or any(watts is None for _, watts in each):
        return None
    return sum(count * (watts or 0) for count, watts in each)
