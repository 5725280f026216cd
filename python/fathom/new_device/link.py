"""What the interface of a drive carries."""

from __future__ import annotations

from fathom.catalog import load_system
from fathom.catalog.models.base import values_of
from fathom.catalog.pcie import ENCODING, GTPS
from fathom.new_device.sheet import DataSheet
from fathom.validation.ratings import BENCH

BYTES_OF_BITS = 0.1
"""Bytes over line bits of SATA and SAS: eight bits in ten."""
FULL = 0.8
"""Share of the link from which on it, and not the flash, is taken to bound rated writes."""


def link_mbps(sheet: DataSheet) -> float:
    """Returns what the sheet's interface carries one way, headers taken off."""
    if sheet.interface != "PCIe":
        return sheet.line_gbps * 1000 * BYTES_OF_BITS
    bench = values_of(load_system(BENCH).parameters)
    payload, header = float(bench["tlp_payload_bytes"]), float(bench["tlp_overhead_bytes"])
    raw_mbps = GTPS[sheet.pcie_generation or 3] * 1000 / 8 * ENCODING * sheet.pcie_lanes
    return raw_mbps * payload / (payload + header) * (1 - float(bench["link_protocol_share"]))


def fills_link(sheet: DataSheet) -> bool:
    """Returns whether rated sequential writes are bound by the interface, and say nothing of the flash."""
    return (sheet.seq_write_mbps or 0.0) >= FULL * link_mbps(sheet)
