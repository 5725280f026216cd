"""`published/NAME.toml`, schema `fathom-published/1`: a product's data sheet, and what others measured of it."""

from __future__ import annotations

from itertools import chain
from typing import Literal, Self, TypeVar

from pydantic import Field, model_validator

from fathom.catalog.models.base import Count, Key, Many, Name, Percent, Positive, Strict, Text

_Group = TypeVar("_Group", "SpecGroup", "ResultGroup")

FIGURES = ("iops", "mbps", "mibps", "latency_us", "value")
UNEXPLAINED_PCT = 25.0
"""From this error on a published row needs a written reason in the device's file (`[twin.reasons]`)."""


class ProductIdentity(Strict):
    """The product or system that the figures are about."""

    vendor: Text
    model: Text
    kind: Literal["ssd", "hdd", "nvme-of-array", "cluster", "hdd-server", "gpu"]
    form_factor: Text | None = None
    interface: Text | None = None
    capacities_gb: Many[Positive] = ()
    nand: Text | None = None
    controller: Text | None = None
    endurance_dwpd: Many[Positive] = ()
    """One value per endurance class."""
    warranty_years: Positive | None = None
    operating_min_c: float | None = None
    operating_max_c: float | None = None
    """Ambient, as rated."""
    storage_min_c: float | None = None
    storage_max_c: float | None = None
    size_mm: Many[Positive] = ()
    """Width, length and height."""
    features: Many[Text] = ()
    """What the data sheet lists of protection, security and placement."""
    source: Text
    note: Text | None = None
    caveat: Text | None = None
    """What a reader must know of the unit that was measured; reports print it with the figures."""
    uncertain: Many[Key] = ()
    """Keys of this table that no good source confirms."""

    @model_validator(mode="after")
    def _uncertain_names_keys(self) -> Self:
        if unknown := [key for key in self.uncertain if key not in type(self).model_fields]:
            raise ValueError(f"uncertain names {', '.join(unknown)}, which is no key of [identity]")
        return self


class SpecRow(Strict):
    """One line of a data sheet: a rating, not a measurement. Its role is always calibration."""

    capacity_gb: Positive | None = None
    """Absent: series maxima."""
    form_factor: Text | None = None
    endurance_dwpd: Positive | None = None
    seq_read_mbps: Positive | None = None
    seq_read_block_kib: Positive | None = None
    seq_write_mbps: Positive | None = None
    seq_write_block_kib: Positive | None = None
    rand_read_iops: Positive | None = None
    rand_read_block_kib: Positive | None = None
    rand_write_iops: Positive | None = None
    rand_write_block_kib: Positive | None = None
    mixed_iops: Positive | None = None
    mixed_block_kib: Positive | None = None
    mixed_read_pct: Percent | None = None
    read_latency_us: Positive | None = None
    """A random read, one at a time."""
    seq_read_latency_us: Positive | None = None
    """A 4 KiB read in order, one at a time."""
    write_latency_us: Positive | None = None
    power_active_w: Positive | None = None
    power_read_w: Positive | None = None
    power_write_w: Positive | None = None
    power_idle_w: Positive | None = None
    tbw_tb: Positive | None = None
    mttf_h: Positive | None = None
    uber_per_bit: Positive | None = None
    afr_pct: Percent | None = None
    source: Text = ""
    """Required, here or in the group."""
    uncertain: bool = False
    note: Text | None = None
    """Required where uncertain: why."""


class SpecGroup(SpecRow):
    """`[[spec]]`: data-sheet rows; a key beside `rows` holds for every row that does not give its own."""

    rows: Many[SpecRow]

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, group: object) -> object:
        return _rows_with_group_keys(group)

    @model_validator(mode="after")
    def _rows_are_whole(self) -> Self:
        return _whole(self, "source")


class Conditions(Strict):
    """The conditions of a measurement and its source. A group may state them for all its rows."""

    bench: Name | None = None
    """The test bench; required for a row that is calibration or validation."""
    subject: Text = ""
    """What was measured, in the source's words. Required, here or in the group."""
    capacity_gb: Positive | None = None
    """Per device."""
    form_factor: Text | None = None
    """Where the product has several that differ."""
    units: Count | None = None
    """Devices in the subject."""
    hosts: Count | None = None
    """Load generators."""
    state: Text = ""
    """Preconditioning and averaging window."""
    source: Text = ""
    """Required, here or in the group."""
    page: Text = ""
    """Section of the source."""


class PublishedRow(Conditions):
    """One published result."""

    workload: Name
    """The key that a method's step names in `published`."""
    op: Literal["read", "write"] | None = None
    """Which half of a mixed run; absent: all of it."""
    role: Literal["calibration", "validation", "context"]
    """May be fitted; must be predicted, never fitted; or not a measurement, or no number to compare."""
    calibrates: Literal["device", "workload"] = "device"
    """What a calibration row may shape: the device's parameters, or only the mix of the workload."""
    block_kib: Positive | None = None
    read_pct: Percent | None = None
    pattern: Literal["seq", "rand", "mixed", "trace", "synthetic-db", "app", "zoned"] | None = None
    threads: Count | None = None
    jobs: Count | None = None
    """Per host, or per drive where the source counts so."""
    iodepth: Count | None = None
    """As the source uses the word: per thread, per job or per drive; the note says which where it matters."""
    iops: Positive | None = None
    mbps: Positive | None = None
    """10^6 B/s."""
    mibps: Positive | None = None
    """2^20 B/s."""
    latency_us: Positive | None = None
    latency_kind: Literal["mean", "added", "threshold"] | None = None
    """Mean over the row's operation; added by a controller to its drives; or a limit the note explains."""
    value: Positive | None = None
    """Any other metric, in `unit`."""
    statistic: Literal["floor"] | None = None
    """Which statistic of the one-second rates `iops` is: `floor`, the level below which they never fall; absent: their
    mean.
    """
    unit: Text | None = None
    bound: Literal["at-least", "at-most"] | None = None
    """The figure is a bound of the true value; a range is two rows."""
    uncertain: bool = False
    """Shown, not counted."""
    note: Text | None = None
    """Required where uncertain: why."""

    @model_validator(mode="after")
    def _figures_are_whole(self) -> Self:
        if (self.value is None) != (self.unit is None):
            raise ValueError("value and unit go together")
        if (self.latency_us is None) != (self.latency_kind is None):
            raise ValueError("latency_us and latency_kind go together")
        if self.role != "context":
            if self.bench is None:
                raise ValueError(f"a {self.role} row needs its bench, here or in the group")
            if all(getattr(self, figure) is None for figure in FIGURES):
                raise ValueError(f"a {self.role} row needs a figure: one of {', '.join(FIGURES)}")
        if self.calibrates == "workload" and self.role != "calibration":
            raise ValueError(f'calibrates = "workload" is for calibration rows, this one is {self.role}')
        return self


class ResultGroup(Conditions):
    """`[[published]]`: results of one test; a key beside `rows` holds for rows that do not give their own."""

    rows: Many[PublishedRow]

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, group: object) -> object:
        return _rows_with_group_keys(group)

    @model_validator(mode="after")
    def _rows_are_whole(self) -> Self:
        return _whole(self, "subject", "source")


PartGroup = Literal["servers", "network", "storage"]


class Part(Strict):
    """`[[parts]]`: a part of a system, as a price list names it."""

    group: PartGroup
    item: Name
    """The name of the piece in a price list."""
    count: Count
    label: Text
    source: Text


class Published(Strict):
    """`published/NAME.toml`: what data sheets rate and what others measured, of one product or system."""

    schema_: Literal["fathom-published/1"] = Field(alias="schema")
    name: Name
    identity: ProductIdentity
    parts: Many[Part] = ()
    """A system's servers, network adapters and drives."""
    spec: Many[SpecGroup] = ()
    published: Many[ResultGroup] = ()
    results_in: Many[Name] = ()
    """Files whose measured rows are about this product too, because their source does not separate products."""

    @property
    def ratings(self) -> tuple[SpecRow, ...]:
        """All data-sheet rows, each complete."""
        return tuple(chain.from_iterable(group.rows for group in self.spec))

    @property
    def rows(self) -> tuple[PublishedRow, ...]:
        """All published results, each complete, in the file's order."""
        return tuple(chain.from_iterable(group.rows for group in self.published))


def _rows_with_group_keys(group: object) -> object:
    if not isinstance(group, dict) or not isinstance(group.get("rows"), list | tuple):
        return group
    shared = {key: value for key, value in group.items() if key != "rows"}
    rows = [{**shared, **row} if isinstance(row, dict) else row for row in group["rows"]]
    return {**group, "rows": rows}


def _whole(group: _Group, *required: str) -> _Group:
    if not group.rows:
        raise ValueError("rows is empty")
    for number, row in enumerate(group.rows, 1):
        for key in required:
            if not getattr(row, key):
                raise ValueError(f"row {number} has no {key}, here or in the group")
        if row.uncertain and row.note is None:
            raise ValueError(f"row {number} is uncertain but has no note that says why")
    return group
