"""`[[machines]]` of a bench or a simulated system: what stands there, as its source describes it."""

from __future__ import annotations

from typing import Literal

from fathom.catalog.models.base import Count, Strict, Text

MachineRole = Literal["host", "switch", "enclosure", "controller", "server"]
"""`host`: loads the storage. `switch`: between hosts and storage. The others hold or present drives."""


class Machine(Strict):
    """One machine, or several that are alike. An absent key means that the source does not say."""

    role: MachineRole
    count: Count = 1
    model: Text
    cpu: Text | None = None
    """The processors of one machine."""
    memory: Text | None = None
    """The memory of one machine."""
    network: Text | None = None
    """Adapters or ports of one machine that carry the load."""
    link: Text | None = None
    """The way on towards the drives, for the picture: `100GbE`, `PCIe Gen3 x16`."""
    uplink: Text | None = None
    """The way to it from the hosts' side, where the machine before does not give it as its `link`."""
    os: Text | None = None
    kernel: Text | None = None
    tool: Text | None = None
    """What makes the load, with its version."""
    software: Text | None = None
    """Other software in the path: file system, drivers."""
    note: Text | None = None
