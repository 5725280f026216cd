"""`devices/NAME.toml`, schema `fathom-device/1`: a product's capacity, and the twin that stands for it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from fathom.catalog.models.base import (
    Count,
    Key,
    Many,
    Name,
    Parameter,
    Positive,
    Strict,
    Text,
    values_of,
)
from fathom.catalog.models.machine import Machine

SYSTEM_KINDS = ("fabric", "cluster")
"""Kinds of twins that are drives behind something, with the hosts that load them."""
_WHOLE = (
    *("planes_per_die", "nand_page_bytes", "pages_per_program", "channels", "dies_per_channel"),
    *("slice_denominator", "block_bytes", "zone_bytes", "placement_handles", "reclaim_groups", "namespace"),
    *("hosts", "clients"),
)
"""Parameters that are counted with before the model looks at them."""
DATA_SHEET = "data-sheet"
"""The bench of drives whose twins were fitted to ratings alone."""


class DeviceIdentity(Strict):
    """What the device calls itself."""

    vendor: Text
    model: Text
    label: Text
    """The name in tables and reports."""
    form_factor: Text | None = None
    interface: Text | None = None
    nand: Text | None = None
    controller: Text | None = None


class MissedRating(Strict):
    """A rating of the data sheet that the twin missed when it was fitted, by more than a rating may be off."""

    rating: Annotated[str, StringConstraints(pattern=r"^[a-z]+(_[a-z]+)*_(iops|mbps|us)$")]
    """Its key in the data sheet, which ends with its unit."""
    rated: Positive
    simulated: Positive
    limited_by: Text | None = None
    """What bounded the twin; absent where it named nothing."""

    @property
    def error_pct(self) -> float:
        """How far the twin lies above (+) or below (-) the rating."""
        return 100 * (self.simulated / self.rated - 1)


class TwinModel(Strict):
    """The virtual device: which model of crate `twin`, on which bench, with which parameters."""

    kind: Name
    """The model: `ssd`, or a system (`SYSTEM_KINDS`)."""
    bench: Name
    """The bench that drives it, unless another is asked for."""
    parameters: dict[Key, Parameter]
    members: dict[Name, Count] = Field(default_factory=dict)
    """A system's drives by the name of their device, and how many."""
    baseline: Name | None = None
    """Systems only: the device that its drives are when attached directly."""
    reasons: dict[Name, Text] = Field(default_factory=dict)
    """Published workload to why the twin misses it by far: physics that the model leaves out, or the source's."""
    missed: Many[MissedRating] = ()
    """Ratings that the twin missed when it was fitted."""

    @model_validator(mode="after")
    def _numbers_are_numbers(self) -> Self:
        for name, parameter in self.parameters.items():
            if name in _WHOLE and not isinstance(parameter.value, int):
                raise ValueError(f"{name}: expected a whole number, found {parameter.value}")
        share = self.parameters.get("settled_share")
        if share and not isinstance(share.value, int | float):
            raise ValueError(f"settled_share: expected a number, found {share.value}")
        return self


class Device(Strict):
    """`devices/NAME.toml`: one capacity of one product."""

    schema_: Literal["fathom-device/1"] = Field(alias="schema")
    name: Name
    """vendor-family-model-capacity, the file's name."""
    variant_of: Name | None = None
    """The device whose file holds all that this one does not say: another capacity or form of the same product."""
    published: Name | None = None
    """The file of published results this device belongs to."""
    capacity_bytes: Count
    identity: DeviceIdentity
    machines: Many[Machine] = ()
    """Simulated systems only: its machines, besides the drives."""
    twin: TwinModel | None = None

    @property
    def is_of_data_sheet(self) -> bool:
        """Whether its twin was fitted to the ratings of a data sheet alone."""
        return self.twin is not None and self.twin.bench == DATA_SHEET

    @property
    def is_system(self) -> bool:
        """Whether its twin is drives behind something, with the hosts that load them."""
        return self.twin is not None and self.twin.kind in SYSTEM_KINDS

    @property
    def starts_settled(self) -> bool:
        """Whether its twin begins in the state that long use leaves, so that no method brings it there."""
        return self.is_system

    @property
    def starts_overwritten(self) -> bool:
        """Whether its twin begins as random overwrites leave it, which writes in order change."""
        return self.twin is not None and self.twin.kind == "fabric"

    @property
    def settled_share(self) -> float:
        """Share of an SSD's twin, 0..1, that begins as random overwrites without end leave it; 0 of anything else."""
        values = values_of(self.twin.parameters) if self.twin else {}
        return float(values.get("settled_share", 0.0))

    @property
    def hosts(self) -> int:
        """Hosts that a simulated system is loaded from; 1 of anything else."""
        if self.twin is None or not self.is_system:
            return 1
        values = values_of(self.twin.parameters)
        return int(values.get("hosts", values.get("clients", 1)))

    @property
    def placement_handles(self) -> int:
        """Placement handles of each namespace of its twin, over all reclaim groups; 1 without placement."""
        values = values_of(self.twin.parameters) if self.twin else {}
        handles = int(values.get("placement_handles", 1)) * int(values.get("reclaim_groups", 1))
        namespaces = self.namespaces
        return handles // namespaces if handles >= namespaces else handles

    @property
    def namespaces(self) -> int:
        """How many namespaces its twin has."""
        values = values_of(self.twin.parameters) if self.twin else {}
        stated = str(values.get("namespaces", "1"))
        return max(1, int(stated)) if stated.isdecimal() else stated.count("+") + 1

    @property
    def addressed_bytes(self) -> int:
        """Bytes that jobs on its twin address: the drive's, or those of the namespace that was asked for.

        Zones with a capacity below their size leave gaps, which count.
        """
        values = values_of(self.twin.parameters) if self.twin else {}
        zone_bytes, taken_bytes = (int(values.get(name, 0)) for name in ("zone_bytes", "zone_capacity_bytes"))
        if zone_bytes and taken_bytes:
            return self.capacity_bytes // taken_bytes * zone_bytes
        number, stated = int(values.get("namespace", 0)), str(values.get("namespaces", "1"))
        if not 1 <= number <= self.namespaces:
            return self.capacity_bytes
        percent = "" if stated.isdecimal() else stated.split("+")[number - 1]
        if not percent.replace(".", "", 1).isdecimal():
            return self.capacity_bytes // self.namespaces
        return int(self.capacity_bytes * float(percent) / 100)

    @property
    def own_params(self) -> dict[str, bool | int | float | str]:
        """The twin's parameters by name as its model takes them, without a bench; empty without a twin."""
        if self.twin is None:
            return {}
        own = {"kind": self.twin.kind, "capacity_bytes": self.capacity_bytes}
        return own | values_of(self.twin.parameters)
