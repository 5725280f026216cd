"""`devices/NAME.toml`, schema `fathom-device/1`: a product's capacity, and the twin that stands for it."""

from __future__ import annotations

import json
from math import prod
from typing import Literal

from pydantic import Field

from fathom.catalog.models.base import Count, Key, Many, Name, Parameter, Strict, Text, values_of
from fathom.catalog.models.machine import Machine

SYSTEM_KINDS = ("fabric", "cluster")
"""Kinds of twins that are drives behind something, with the hosts that load them."""
SYSTEM_DRIVE_BYTES = 2 << 30
"""Most that a system's twin simulates of one of its drives, as of an SSD's twin by `slice_bytes`."""
SYSTEM_BLOCK_BYTES = 512
DATA_SHEET = "data-sheet"
"""The bench of drives whose twins were fitted to ratings alone."""
SLICE_ROWS = 64
"""Superblocks of a slice, at least: with fewer, cleaning has too few to choose from."""
_ROW = ("planes_per_die", "nand_page_bytes", "pages_per_program", "channels", "dies_per_channel")
"""Parameters whose product is what all dies program at once."""


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
    def starts_settled(self) -> bool:
        """Whether its twin begins in the state that long use leaves, so that no method brings it there."""
        return self.twin is not None and self.twin.kind in SYSTEM_KINDS

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
        if self.twin is None or self.twin.kind not in SYSTEM_KINDS:
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
        return max(1, int(stated)) if stated.isdigit() else stated.count("+") + 1

    @property
    def addressed_bytes(self) -> int:
        """Bytes that jobs on its twin address: the drive's, or those of the namespace that was asked for."""
        values = values_of(self.twin.parameters) if self.twin else {}
        number, stated = int(values.get("namespace", 0)), str(values.get("namespaces", "1"))
        if not 1 <= number <= self.namespaces:
            return self.capacity_bytes
        percent = "" if stated.isdigit() else stated.split("+")[number - 1]
        if not percent.replace(".", "", 1).isdigit():
            return self.capacity_bytes // self.namespaces
        return int(self.capacity_bytes * float(percent) / 100)

    def twin_params_json(
        self, bench: str | None = None, sharing: int = 1, slice_bytes: int | None = None
    ) -> str:
        """Returns the twin's parameters as crate `twin` takes them: name to value, the bench under `host`.

        Args:
            bench: name of the system to drive it from; the device's own bench if absent.
            sharing: devices that share the bench, this one included.
            slice_bytes: most that an SSD's twin simulates of it, to a power of two of its capacity; more where that
                holds fewer than `SLICE_ROWS` programs of every die. A zoned one's zones keep their size, so it is left
                as it is.

        Raises:
            CatalogError: the device has no twin, or the bench is unknown.
        """
        from fathom.catalog.load import load_system
        from fathom.catalog.store import CatalogError

        if self.twin is None:
            raise CatalogError(
                f"{self.name} has no [twin]: the catalogue lists it, but it cannot be simulated"
            )
        own_hosts = self.hosts if self.twin.kind in SYSTEM_KINDS else None
        host = load_system(bench or self.twin.bench).share(sharing, own_hosts)
        if self.twin.kind in SYSTEM_KINDS:
            return json.dumps({"kind": "system", **self._system_params(self.twin), "host": host})
        values = values_of(self.twin.parameters)
        if slice_bytes and "slice_denominator" in values and "zone_bytes" not in values:
            values["slice_denominator"] = self._slices(slice_bytes)
        return json.dumps(
            {"kind": self.twin.kind, "capacity_bytes": self.capacity_bytes, **values, "host": host}
        )

    def _system_params(self, twin: TwinModel) -> dict[str, object]:
        from fathom.catalog.load import load_device

        members = [(load_device(name), count) for name, count in twin.members.items()]
        slices = max(device._slices(SYSTEM_DRIVE_BYTES) for device, _ in members)
        return {
            "capacity_bytes": self.capacity_bytes,
            "block_bytes": SYSTEM_BLOCK_BYTES,
            "drives": [{"count": count, "ssd": device._member_params(slices)} for device, count in members],
            "between": {twin.kind: values_of(twin.parameters)},
        }

    def _member_params(self, slices: int) -> dict[str, object]:
        from fathom.catalog.store import CatalogError

        parameters: dict[str, object] = json.loads(self.twin_params_json())
        if parameters.pop("kind") != "ssd":
            raise CatalogError(f"{self.name} is no SSD, and drives of a system are")
        return parameters | {"slice_denominator": slices}

    def _slices(self, slice_bytes: int) -> int:
        """Returns the number of slices; the twin simulates one. It is the file's, or more as `slice_bytes` asks."""
        values = values_of(self.twin.parameters) if self.twin else {}
        least = 1 << max(0, -(-self.capacity_bytes // slice_bytes) - 1).bit_length()
        return max(int(values["slice_denominator"]), min(least, _most_slices(self.capacity_bytes, values)))


def _most_slices(capacity_bytes: int, values: dict[str, bool | int | float | str]) -> int:
    """Returns the largest power of two of slices that are still large enough."""
    row_bytes = prod(max(1, int(values.get(name, 1))) for name in _ROW)  # The model refuses what is below 1.
    return 1 << (max(1, capacity_bytes // (SLICE_ROWS * row_bytes)).bit_length() - 1)
