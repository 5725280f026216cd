"""What there is to say about an entry of the catalogue: facts, columns of figures, notes. Others print it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fathom.catalog.data_sheet import STATED_KEYS, data_sheet, reliability
from fathom.catalog.load import is_about
from fathom.catalog.models import (
    Device,
    DeviceIdentity,
    MissedRating,
    Parameter,
    ProductIdentity,
    Published,
    PublishedRow,
    SpecRow,
)
from fathom.output.text import four_digits, signed_pct, without_document

_Row = TypeVar("_Row", SpecRow, PublishedRow)
NOT_LISTED = ("label", "vendor", "model", "uncertain", *STATED_KEYS)
"""Keys that a table of an identity leaves to its heading, or to the data sheet below it."""


@dataclass(frozen=True)
class Column(Generic[_Row]):
    """A column: what it counts, in which unit, and its value in a row. Texts are aligned left, numbers right."""

    name: str
    unit: str
    value_of: Callable[[_Row], float | str | None]
    numeric: bool = True

    def present(self, rows: Iterable[_Row]) -> bool:
        """Returns whether any row has a value."""
        return any(self.value_of(row) not in (None, "") for row in rows)


RATINGS: tuple[Column[SpecRow], ...] = (
    Column("", "TB", lambda row: _thousandth(row.capacity_gb)),
    Column("form", "factor", lambda row: row.form_factor, numeric=False),
    Column("", "DWPD", lambda row: row.endurance_dwpd),
    Column("read", "MB/s", lambda row: row.seq_read_mbps),
    Column("write", "MB/s", lambda row: row.seq_write_mbps),
    Column("read", "kIOPS", lambda row: _thousandth(row.rand_read_iops)),
    Column("write", "kIOPS", lambda row: _thousandth(row.rand_write_iops)),
    Column("mixed", "kIOPS", lambda row: _thousandth(row.mixed_iops)),
    Column("read", "us", lambda row: row.read_latency_us),
    Column("write", "us", lambda row: row.write_latency_us),
    Column("active", "W", lambda row: row.power_active_w),
    Column("read", "W", lambda row: row.power_read_w),
    Column("write", "W", lambda row: row.power_write_w),
    Column("idle", "W", lambda row: row.power_idle_w),
    Column("", "TBW", lambda row: row.tbw_tb),
)
"""A data sheet's columns."""
RESULTS: tuple[Column[PublishedRow], ...] = (
    Column("load", "", lambda row: _load(row), numeric=False),
    Column("", "IOPS", lambda row: _figure(row, row.iops)),
    Column("", "MB/s", lambda row: _figure(row, row.mbps)),
    Column("", "MiB/s", lambda row: _figure(row, row.mibps)),
    Column("latency", "us", lambda row: _latency(row)),
    Column("value", "", lambda row: _figure(row, row.value)),
)
"""The columns of published results, between workload and role."""


def columns_of(columns: Sequence[Column[_Row]], rows: Sequence[_Row]) -> list[Column[_Row]]:
    """Returns the columns in which a row has a value."""
    return [column for column in columns if column.present(rows)]


def number_text(value: object) -> str:
    """Returns a number as people read it: thousands apart, no trailing zeros; text as it is; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:,.6g}"
    return str(value)


_UNITS = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9))


def capacity_text(size_bytes: int) -> str:
    """Returns a capacity to four digits: `7.682 TB`."""
    unit, unit_bytes = next(one for one in _UNITS if size_bytes >= one[1] or one is _UNITS[-1])
    return f"{four_digits(size_bytes / unit_bytes)} {unit}"


def identity_facts(identity: DeviceIdentity | ProductIdentity) -> dict[str, str]:
    """Returns what an identity states, by name; what no good source confirms with `(?)` behind it."""
    doubtful = getattr(identity, "uncertain", ())
    found: dict[str, str] = {}
    for key in type(identity).model_fields:
        value = getattr(identity, key)
        if value in (None, ()) or key in NOT_LISTED:
            continue
        text = ", ".join(map(number_text, value)) if isinstance(value, tuple) else number_text(value)
        text = without_document(text) if key == "source" else text
        found[key.replace("_", " ")] = text + (" (?)" if key in doubtful else "")
    return found


def stated_facts(identity: ProductIdentity, rows: Sequence[SpecRow]) -> dict[str, str]:
    """Returns what the data sheet says of the product beside its speed, by name."""
    return reliability(rows) | data_sheet(identity)


CHECKED = "checked"
"""The head of what has checked a twin."""
RANGES = "ranges"
"""The head of how often the ranges of a twin hold what has checked it."""
MISSES = "misses"
"""The head of the ratings that a twin missed when it was fitted."""
WHOLE = ("fabric", "cluster")
"""Kinds of systems whose results are about all of it."""


def checked_by(device: Device, published: Published | None) -> int:
    """Returns how many certain measured results, which nothing was fitted to, are there to check the device's twin."""
    if device.twin is None or published is None:
        return 0
    return sum(
        row.role == "validation"
        and not row.uncertain
        and (device.twin.kind in WHOLE or is_about(row, device))
        for row in published.rows
    )


def checked_text(device: Device, published: Published | None) -> str:
    """Returns in a word or two what has checked a device's twin; empty for one without."""
    if device.twin is None:
        return ""
    count = checked_by(device, published)
    return f"{count} row{'s' * (count > 1)}" if count else "none"


def checked_fact(device: Device, published: Published | None) -> str:
    """Returns the same as a sentence's end, for `checked`."""
    count = checked_by(device, published)
    if count:
        return f"against {count} measured result{'s' * (count > 1)}: `fathom validate {device.name}`"
    alone = "; calibrated on its data sheet alone" if device.is_of_data_sheet else ""
    return "by no outside measurement" + alone


_RATED_IN = {"iops": "IOPS", "mbps": "MB/s", "us": "us"}


def rated_in(rating: str) -> str:
    """Returns the unit of a rating, by its key in a data sheet."""
    return _RATED_IN[rating.rpartition("_")[2]]


def missed_text(one: MissedRating) -> str:
    """Returns a rating that a twin misses, and what the twin does instead."""
    return (
        f"{one.rating} is rated {number_text(one.rated)} {rated_in(one.rating)}, but the twin gives "
        f"{four_digits(one.simulated)} ({signed_pct(one.error_pct)})"
    )


def missed_fact(device: Device) -> str | None:
    """Returns the ratings that a device's twin missed when it was fitted, with what bounded it; None without any."""
    missed = device.twin.missed if device.twin else ()
    return "; ".join(missed_text(one) + _bounded(one) for one in missed) or None


def _bounded(one: MissedRating) -> str:
    return f", limited by: {one.limited_by}" if one.limited_by else ""


def parameter_source(parameter: Parameter) -> str:
    """Returns where a parameter is from, with its note."""
    return without_document(parameter.source) + (f"; {parameter.note}" if parameter.note else "")


def role_text(row: PublishedRow) -> str:
    """Returns what a result is used for."""
    return "calibrates mix" if row.calibrates == "workload" else row.role


def workload_text(row: PublishedRow) -> str:
    """Returns the workload of a result, with the half of a mixed run that it is about."""
    return row.workload + (f", {row.op}s" if row.op else "")


@dataclass
class Notes:
    """Numbered notes and sources below tables, each text once."""

    texts: list[str] = field(default_factory=list)
    _sources: dict[str, None] = field(default_factory=dict)

    def number(self, row: SpecRow | PublishedRow) -> int | None:
        """Returns the number of a row's note, from 1; None where it has none. Its source is kept too."""
        if row.source:
            self._sources[row.source] = None
        if not row.note:
            return None
        if row.note not in self.texts:
            self.texts.append(row.note)
        return self.texts.index(row.note) + 1

    @property
    def sources(self) -> list[str]:
        """The sources of all rows."""
        return [without_document(source) for source in self._sources]


def _thousandth(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _load(row: PublishedRow) -> str:
    counts = ((row.hosts, "H"), (row.jobs, "J"), (row.threads, "T"), (row.iodepth, "Q"))
    return "/".join(f"{count}{letter}" for count, letter in counts if count is not None)


def _figure(row: PublishedRow, value: float | None) -> str:
    sign = {"at-least": "≥ ", "at-most": "≤ "}.get(row.bound or "", "")
    return "" if value is None else sign + number_text(value)


def _latency(row: PublishedRow) -> str:
    if row.latency_kind == "added":
        return f"+{number_text(row.latency_us)}"
    return _figure(row, row.latency_us) + (" limit" if row.latency_kind == "threshold" else "")
