"""What the interface of a drive carries."""

from __future__ import annotations

from fathom.catalog import load_system
from fathom.catalog.models.base import values_of
from fathom.catalog.pcie import ENCODING, GTPS
from fathom.new_device.sheet import DataSheet
from fathom.validation.ratings import BENCH

BYTES_OF_BITS = 0.1
"""Bytes over line bits of SATA and SAS: eight bits in ten."""
MOST_PAYLOAD_BYTES = 4096
"""The largest payload of a packet (PCIe Base Specification, Max_Payload_Size). Drives are rated above what 512 bytes
give: the 990 PRO at 7,450 MB/s over PCIe Gen4 x4.
"""
FULL = 0.8
"""Share of the link from which on it, and not the flash, is taken to bound rated writes."""


def link_mbps(sheet: DataSheet) -> float:
    """Returns what the sheet's interface carries one way on the bench, headers taken off."""
    bench = values_of(load_system(BENCH).parameters)
    return _carried_mbps(sheet, float(bench["tlp_payload_bytes"]))


def most_link_mbps(sheet: DataSheet) -> float:
    """Returns what the interface carries one way at most, with the largest packets."""
    return _carried_mbps(sheet, MOST_PAYLOAD_BYTES)


def _carried_mbps(sheet: DataSheet, payload: float) -> float:
    if sheet.interface != "PCIe":
        return sheet.line_gbps * 1000 * BYTES_OF_BITS
    bench = values_of(load_system(BENCH).parameters)
    header = float(bench["tlp_overhead_bytes"])
    raw_mbps = GTPS[sheet.pcie_generation or 3] * 1000 / 8 * ENCODING * sheet.pcie_lanes
    return raw_mbps * payload / (payload + header) * (1 - float(bench["link_protocol_share"]))


def fills_link(sheet: DataSheet) -> bool:
    """Returns whether rated sequential writes are bound by the interface, and say nothing of the flash."""
    return (sheet.seq_write_mbps or 0.0) >= FULL * link_mbps(sheet)
