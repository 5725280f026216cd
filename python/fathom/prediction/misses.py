"""The misses of the catalogue's twins: simulated over published for every figure that counts, kept in one file.

`fathom validate --keep` writes the file. It is read wherever a twin's figure is shown with an interval.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from fathom.catalog.models.base import Count, Many, Name, Positive, Strict, Text
from fathom.catalog.shipped import shipped
from fathom.catalog.twin_params import twin_params_json

if TYPE_CHECKING:
    from fathom.catalog.models import Device

FILE = "misses.toml"
Family = Literal["ssd", "disk", "system", "data-sheet-ssd", "data-sheet-disk"]
"""Twins of one family miss for like reasons. A family learns from its own misses alone.

Twins that were fitted to the ratings of a data sheet are families of their own.
"""
RATES = ("iops", "mbps", "mibps", "floor_iops")
"""The metrics of rows that are rates."""


class Miss(Strict):
    """A published figure and how its twin misses it."""

    workload: Name
    op: Literal["read", "write"] | None = None
    metric: Text
    role: Literal["calibration", "validation"]
    block_bytes: Count | None = None
    """Block size of its I/O; None where it has several."""
    ratio: Positive
    """Simulated over published."""

    @property
    def is_rate(self) -> bool:
        """Whether it is about I/Os or bytes a second."""
        return self.metric in RATES


class DeviceMisses(Strict):
    """The misses of one device's twin."""

    name: Name
    family: Family
    digest: Text
    """Digest of the twin's parameters (`digest_of`) when the rows were simulated."""
    rows: Many[Miss]


class Misses(Strict):
    """`misses.toml`, schema `fathom-misses/1`."""

    schema_: Literal["fathom-misses/1"] = Field(alias="schema")
    device: Many[DeviceMisses]


def family_of(device: Device) -> Family | None:
    """Returns the family of a device's twin; None without a twin."""
    if device.twin is None:
        return None
    match device.twin.kind:
        case "ssd":
            return "data-sheet-ssd" if device.is_of_data_sheet else "ssd"
        case "disk":
            return "data-sheet-disk" if device.is_of_data_sheet else "disk"
        case _:
            return "system"


def digest_of(device: Device) -> str:
    """Returns a digest of all parameters of a device's twin, its bench among them."""
    return hashlib.sha256(twin_params_json(device).encode()).hexdigest()[:16]


@cache
def shipped_misses() -> tuple[DeviceMisses, ...]:
    """Returns the misses that come with the catalogue.

    Raises CatalogError where the file is wrong.
    """
    return shipped(FILE, Misses).device


def kept_misses(device: Device) -> DeviceMisses | None:
    """Returns the misses of a device's twin that come with the catalogue; None with other parameters than theirs.

    Raises CatalogError where the file is wrong.
    """
    found = next((one for one in shipped_misses() if one.name == device.name), None)
    return found if found and device.twin and found.digest == digest_of(device) else None


def misses_toml(devices: Iterable[DeviceMisses]) -> str:
    """Returns the file's text."""
    lines = [
        "# Simulated over published, for every figure that counts. `fathom validate --keep` writes this file anew.",
        'schema = "fathom-misses/1"',
    ]
    for device in devices:
        lines += ["", "[[device]]", f'name = "{device.name}"', f'family = "{device.family}"']
        lines += [f'digest = "{device.digest}"', "rows = ["]
        lines += [f"  {_row(row)}," for row in device.rows]
        lines.append("]")
    return "\n".join(lines) + "\n"


def _row(row: Miss) -> str:
    op = f', op = "{row.op}"' if row.op else ""
    block = f", block_bytes = {row.block_bytes}" if row.block_bytes else ""
    return (
        f'{{ workload = "{row.workload}"{op}, metric = "{row.metric}", role = "{row.role}"{block}, '
        f"ratio = {row.ratio:.4g} }}"
    )
