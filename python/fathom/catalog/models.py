"""What a catalogue file may say: schemas `fathom-device/1`, `fathom-system/1` and `fathom-published/1`.

Strict: an unknown key, a number written as text or a value outside its set is refused. Units are the last
part of a key; an absent key means that the source does not say. Methods have theirs in crate `workload`.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]
Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
Positive = Annotated[float, Field(gt=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
Count = Annotated[int, Field(gt=0)]

_T = TypeVar("_T")
_Group = TypeVar("_Group", "SpecGroup", "ResultGroup")
Many = Annotated[tuple[_T, ...], Field(strict=False)]

FIGURES = ("iops", "mbps", "mibps", "latency_us", "value")


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def to_dict(self) -> dict[str, object]:
        """What the file says, with rows complete and absent keys left out; valid input of the same model."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


class Parameter(_Strict):
    """One parameter of a model: its value, how it was come by, and from where."""

    value: bool | int | float | Text
    """In the unit that ends the parameter's name."""
    basis: Literal["published", "derived", "calibrated", "assumed"]
    """Printed in the source; computed from published figures; fitted to calibration rows; or assumed here."""
    source: Text
    """Where from: a document, a formula, or the rows it was fitted to."""
    note: Text | None = None


class DeviceIdentity(_Strict):
    """What the device calls itself."""

    vendor: Text
    model: Text
    label: Text
    """The name in tables and reports."""
    form_factor: Text | None = None
    interface: Text | None = None
    nand: Text | None = None
    controller: Text | None = None


SYSTEM_KINDS = ("drive", "fabric", "cluster")
"""Kinds of twins that are systems of crate `twin`: a drive by its ratings, drives behind something."""
SYSTEM_BLOCK_BYTES = 512
UNEXPLAINED_PCT = 25.0
"""From this error on a published row needs a written reason in the device's file (`[twin.reasons]`)."""


class TwinModel(_Strict):
    """The virtual device: which model of crate `twin`, on which bench, with which parameters."""

    kind: Name
    """The model: `ssd`, or a system (`SYSTEM_KINDS`)."""
    bench: Name
    """The system it is driven from, where nothing else is asked for."""
    parameters: dict[Key, Parameter]
    members: dict[Name, Count] = Field(default_factory=dict)
    """Of a system: its drives by name of their device, and how many."""
    baseline: Name | None = None
    """Of a system: the device that stands for its drives attached directly."""
    reasons: dict[Name, Text] = Field(default_factory=dict)
    """Published workload to why the twin misses it by far: physics that the model leaves out, or the source's."""


class Device(_Strict):
    """`devices/NAME.toml`: one capacity of one product."""

    schema_: Literal["fathom-device/1"] = Field(alias="schema")
    name: Name
    """vendor-family-model-capacity, the file's name."""
    published: Name | None = None
    """The file of published results this device belongs to."""
    capacity_bytes: Count
    identity: DeviceIdentity
    twin: TwinModel | None = None

    @property
    def starts_settled(self) -> bool:
        """Whether its twin has no state to bring to rest."""
        return self.twin is not None and self.twin.kind in SYSTEM_KINDS

    @property
    def hosts(self) -> int:
        """Hosts that a simulated system is loaded from; 1 of anything else."""
        if self.twin is None or self.twin.kind not in SYSTEM_KINDS:
            return 1
        values = _values(self.twin.parameters)
        return int(values.get("hosts", values.get("clients", 1)))

    @property
    def placement_handles(self) -> int:
        """Placement handles of each namespace of its twin, over all reclaim groups; 1 is none to choose from."""
        values = _values(self.twin.parameters) if self.twin else {}
        handles = int(values.get("placement_handles", 1)) * int(values.get("reclaim_groups", 1))
        namespaces = self.namespaces
        return handles // namespaces if handles >= namespaces else handles

    @property
    def namespaces(self) -> int:
        """How many namespaces its twin has."""
        values = _values(self.twin.parameters) if self.twin else {}
        stated = str(values.get("namespaces", "1"))
        return max(1, int(stated)) if stated.isdigit() else stated.count("+") + 1

    @property
    def addressed_bytes(self) -> int:
        """What jobs on its twin address: the drive, or the one namespace that was asked for."""
        values = _values(self.twin.parameters) if self.twin else {}
        number, stated = int(values.get("namespace", 0)), str(values.get("namespaces", "1"))
        if not 1 <= number <= self.namespaces:
            return self.capacity_bytes
        percent = "" if stated.isdigit() else stated.split("+")[number - 1]
        if not percent.replace(".", "", 1).isdigit():
            return self.capacity_bytes // self.namespaces
        return int(self.capacity_bytes * float(percent) / 100)

    def twin_params_json(self, bench: str | None = None, sharing: int = 1) -> str:
        """The twin's parameters as crate `twin` takes them: name to value, the bench under `host`.

        Args:
            bench: name of the system to drive it from; the device's own bench if absent.
            sharing: devices that share the bench, this one included.

        Raises:
            CatalogError: the device has no twin, or the bench is unknown.
        """
        from fathom.catalog.load import load_system
        from fathom.catalog.store import CatalogError

        if self.twin is None:
            raise CatalogError(f"{self.name} has no [twin]: it can be looked up, not simulated")
        host = load_system(bench or self.twin.bench).share(sharing)
        if self.twin.kind in SYSTEM_KINDS:
            return json.dumps({"kind": "system", **self._system_params(self.twin), "host": host})
        return json.dumps(
            {
                "kind": self.twin.kind,
                "capacity_bytes": self.capacity_bytes,
                **_values(self.twin.parameters),
                "host": host,
            }
        )

    def _system_params(self, twin: TwinModel) -> dict[str, object]:
        from fathom.catalog.load import load_device

        members = [(load_device(name), count) for name, count in twin.members.items()] or [(self, 1)]
        drives = [
            {"capacity_bytes": device.capacity_bytes, "count": count, **_values(device.twin.parameters)}
            for device, count in members
            if device.twin is not None
        ]
        between = "nothing" if twin.kind == "drive" else {twin.kind: _values(twin.parameters)}
        return {
            "capacity_bytes": self.capacity_bytes,
            "block_bytes": SYSTEM_BLOCK_BYTES,
            "drives": drives,
            "between": between,
        }


class Prior(_Strict):
    """`[[prior]]`: work that a device has done on a bench when a test of its begins, in the bench's order."""

    job: dict[str, JsonValue]
    """As in a method's step; times are those of a whole drive, a slice takes its share of them."""
    source: Text


class System(_Strict):
    """`systems/NAME.toml`: what devices are measured in."""

    schema_: Literal["fathom-system/1"] = Field(alias="schema")
    name: Name
    kind: Literal["bench"]
    label: Text
    source: Text
    note: Text | None = None
    region_pct: Percent | None = None
    """Share of a device's capacity, from its start, that the tests on this bench address; absent: all of it."""
    region_bytes: Count | None = None
    """The same in bytes."""
    file_system: Name | None = None
    """Between the tests and each device; absent: devices are raw."""
    threads: Count | None = None
    """Threads that load one device, where the results show another number than their source names: see `note`."""
    prior: Many[Prior] = ()
    """What went before every test; absent: the device was filled twice, and each test runs until it is steady."""
    window_s: Positive | None = None
    """How long a test takes after `prior`, of a whole drive; required with it."""
    parameters: dict[Key, Parameter]

    @model_validator(mode="after")
    def _window_follows_prior(self) -> Self:
        if bool(self.prior) != (self.window_s is not None):
            raise ValueError("prior and window_s go together")
        return self

    def share(self, devices: int) -> dict[str, bool | int | float | str]:
        """The parameters of what one of so many equally loaded devices gets of the bench.

        Cores are dealt out; devices that share a core each have it for their part of the time, so that CPU work takes
        as many times as long. The adapter's rate is divided.
        """
        values = _values(self.parameters)
        if devices == 1:
            return values
        cores = int(values.get("cores", 1))
        own_cores = max(1, cores // devices)
        stretch = max(1.0, devices / cores)
        shared = {key: float(values[key]) * stretch for key in ("submit_us", "complete_us") if key in values}
        if "adapter_mbps" in values:
            shared["adapter_mbps"] = float(values["adapter_mbps"]) / devices
        return values | shared | {"cores": own_cores}


class ProductIdentity(_Strict):
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
    source: Text
    note: Text | None = None
    uncertain: Many[Key] = ()
    """Keys of this table that no good source confirms."""

    @model_validator(mode="after")
    def _uncertain_names_keys(self) -> Self:
        if unknown := [key for key in self.uncertain if key not in type(self).model_fields]:
            raise ValueError(f"uncertain names {', '.join(unknown)}, which is no key of [identity]")
        return self


class SpecRow(_Strict):
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


class Conditions(_Strict):
    """Under what a figure was measured, and who says so: may stand in the group for all its rows."""

    bench: Name | None = None
    """The test bench; required for a row that is calibration or validation."""
    subject: Text = ""
    """What was measured, in the source's words. Required, here or in the group."""
    capacity_gb: Positive | None = None
    """Per device."""
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
    """What of the one-second rates `iops` is: the `floor` that they leave upwards; absent: their mean."""
    unit: Text | None = None
    bound: Literal["at-least", "at-most"] | None = None
    """The figure is a limit of the true one; a range is two rows."""
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


class Part(_Strict):
    """`[[parts]]`: what a system is made of and a price list can name."""

    group: PartGroup
    item: Name
    """The name of the piece in a price list."""
    count: Count
    label: Text
    source: Text


class Published(_Strict):
    """`published/NAME.toml`: what data sheets rate and what others measured, of one product or system."""

    schema_: Literal["fathom-published/1"] = Field(alias="schema")
    name: Name
    identity: ProductIdentity
    parts: Many[Part] = ()
    """Of a system: its servers, network adapters and drives."""
    spec: Many[SpecGroup] = ()
    published: Many[ResultGroup] = ()
    results_in: Many[Name] = ()
    """Files whose measured rows are about this product too, because their source does not tell products apart."""

    @property
    def ratings(self) -> tuple[SpecRow, ...]:
        """All data-sheet rows, each complete."""
        return tuple(chain.from_iterable(group.rows for group in self.spec))

    @property
    def rows(self) -> tuple[PublishedRow, ...]:
        """All published results, each complete, in the file's order."""
        return tuple(chain.from_iterable(group.rows for group in self.published))


def _values(parameters: dict[Key, Parameter]) -> dict[str, bool | int | float | str]:
    return {name: parameter.value for name, parameter in parameters.items()}


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
            raise ValueError(f"row {number} is uncertain and has no note to say why")
    return group


MODELS: dict[str, type[Device | System | Published]] = {
    "devices": Device,
    "systems": System,
    "published": Published,
}
