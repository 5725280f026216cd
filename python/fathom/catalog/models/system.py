"""`systems/NAME.toml`, schema `fathom-system/1`: the test bench that devices are measured on."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from fathom.catalog.models.base import (
    Count,
    Key,
    Many,
    Name,
    Parameter,
    Percent,
    Positive,
    Strict,
    Text,
    values_of,
)
from fathom.catalog.models.machine import Machine


class Prior(Strict):
    """`[[prior]]`: work that a device has done on a bench before a test begins, in order."""

    job: dict[str, JsonValue]
    """As in a method's step; times are those of a whole drive, a slice takes its share of them."""
    source: Text


class Depths(Strict):
    """`[depths]`: the iodepths that a bench runs after its window, one after the other, with the same workload."""

    iodepths: Annotated[Many[Count], Field(min_length=1)]
    time_s: Positive
    """Length of each, for a whole drive; there is no idle time between them."""
    source: Text


class System(Strict):
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
    """File system between the tests and each device; absent: devices are raw."""
    threads: Count | None = None
    """Threads that load one device, where the results show another number than their source names: see `note`."""
    position: Literal["shared"] | None = None
    """Where the bench's tool has the threads of a sequential test share one position; absent: a part for each."""
    prior: Many[Prior] = ()
    """What preceded every test; absent: the device was filled twice, and each test runs until it is steady."""
    window_s: Positive | None = None
    """Length of a test after `prior`, for a whole drive; required with it."""
    depths: Depths | None = None
    """What follows the window; only for a bench with `prior`."""
    machines: Many[Machine] = ()
    """The hosts of the bench and what stands between them and the drives, in the order of the path."""
    parameters: dict[Key, Parameter]

    @model_validator(mode="after")
    def _window_follows_prior(self) -> Self:
        if bool(self.prior) != (self.window_s is not None):
            raise ValueError("prior and window_s go together")
        if self.depths and not self.prior:
            raise ValueError("depths follow the window of a bench with prior")
        return self

    @property
    def hosts(self) -> int:
        """Machines that load the storage; 0 where the source names none."""
        return sum(machine.count for machine in self.machines if machine.role == "host")

    def share(self, devices: int, hosts: int | None = None) -> dict[str, bool | int | float | str]:
        """Returns the parameters of the bench's share for one of several equally loaded devices.

        Each device gets an equal number of cores. N devices on one core share its time, so that CPU work takes N times
        as long. The adapter's rate is divided by the devices. With another number of the same `hosts`, each keeps its
        cores.
        """
        values = values_of(self.parameters)
        if hosts and self.hosts and "cores" in values:
            values["cores"] = max(1, int(values["cores"]) * hosts // self.hosts)
        if devices == 1:
            return values
        cores = int(values.get("cores", 1))
        own_cores = max(1, cores // devices)
        stretch = max(1.0, devices / cores)
        shared = {key: float(values[key]) * stretch for key in ("submit_us", "complete_us") if key in values}
        if "adapter_mbps" in values:
            shared["adapter_mbps"] = float(values["adapter_mbps"]) / devices
        return values | shared | {"cores": own_cores}
