"""A data sheet as the user gives it: TOML or JSON, keys as in `published/NAME.toml`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fathom.catalog.check import parse_as, parse_document
from fathom.catalog.models import SpecRow
from fathom.catalog.models.base import Count, Name, Positive, Text
from fathom.catalog.store import CatalogError
from fathom.text_file import read_text

Interface = Literal["PCIe", "SATA", "SAS"]
Nand = Literal["TLC", "QLC"]
Kind = Literal["ssd", "disk"]
RATINGS = (
    "seq_read_mbps",
    "seq_write_mbps",
    "rand_read_iops",
    "rand_write_iops",
    "mixed_iops",
    "read_latency_us",
    "seq_read_latency_us",
    "write_latency_us",
)
"""Keys of ratings that a twin can be held to."""
_JSON_KEY = re.compile(r'"(\w+)"\s*:')
GBPS = {"SATA": 6.0, "SAS": 12.0}
"""Line rate of an interface where the sheet does not give one."""


class DataSheet(SpecRow):
    """What a data sheet says of one capacity of one drive."""

    name: Name | None = None
    """The device's name; absent: vendor-model-capacity."""
    vendor: Text
    model: Text
    kind: Kind
    capacity_gb: Positive = Field()  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    interface: Interface
    pcie_generation: Annotated[int, Field(ge=3, le=6)] | None = None
    pcie_lanes: Count = 4
    gbps: Positive | None = None
    """Line rate of SATA or SAS; absent: 6 and 12."""
    nand: Nand | None = None
    nand_note: Text | None = None
    """More about the NAND, in the sheet's words: layers, generation."""
    controller: Text | None = None
    dies: Count | None = None
    die_gbit: Literal[512, 1024, 2048] | None = None
    indirection_kib: Literal[4, 8, 16, 32, 64] | None = None
    warranty_years: Positive | None = None
    rpm: Count | None = None
    platters: Count | None = None
    cache_mb: Positive | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.source:
            raise ValueError(
                'key "source" is missing: the document that the ratings are from, with its revision'
            )
        if self.kind == "disk" and self.interface == "PCIe":
            raise ValueError('interface: "PCIe" is none of a disk; SATA or SAS')
        if self.interface == "PCIe" and self.pcie_generation is None:
            raise ValueError('key "pcie_generation" is missing: 3 to 6')
        if self.kind == "ssd" and self.nand is None:
            raise ValueError('key "nand" is missing: "TLC" or "QLC"')
        missing = [key for key in RATINGS[:4] if getattr(self, key) is None]
        if self.kind == "ssd" and len(missing) > 1:
            raise ValueError(f"too few ratings: {', '.join(missing)} are missing; at most one of them may be")
        if self.kind == "disk" and self.seq_read_mbps is None:
            raise ValueError('key "seq_read_mbps" is missing: the sustained rate of the outer tracks')
        return self

    def rand_units(self, op: Literal["read", "write"]) -> float:
        """Returns how many units of 4 KiB a rated random I/O moves."""
        block_kib = self.rand_read_block_kib if op == "read" else self.rand_write_block_kib
        return (block_kib or 4) / 4

    @property
    def device_name(self) -> str:
        """The name of the device in the catalogue."""
        tb = self.capacity_gb / 1000
        size = f"{tb:g}tb" if tb >= 1 else f"{self.capacity_gb:g}gb"
        words = f"{self.vendor} {self.model} {size}".lower()
        return self.name or re.sub(r"[^a-z0-9.]+", "-", words).strip("-.")

    @property
    def label(self) -> str:
        """The name in tables and reports."""
        tb = self.capacity_gb / 1000
        return f"{self.vendor} {self.model} " + (f"{tb:g}TB" if tb >= 1 else f"{self.capacity_gb:g}GB")

    @property
    def interface_text(self) -> str:
        """The interface in words."""
        if self.interface == "PCIe":
            return f"PCIe Gen{self.pcie_generation} x{self.pcie_lanes}, NVMe"
        return f"{self.interface} {self.line_gbps:g} Gb/s"

    @property
    def line_gbps(self) -> float:
        """Line rate of SATA or SAS."""
        return self.gbps or GBPS[self.interface]

    @property
    def ratings(self) -> SpecRow:
        """The sheet's row of ratings, as published results keep it."""
        own = {key: getattr(self, key) for key in SpecRow.model_fields}
        return SpecRow(**own)

    @property
    def capacity_bytes(self) -> int:
        """Bytes of that many gigabytes by IDEMA LBA1-03, which drives of at least 50 GB follow; 512-byte sectors."""
        return round(97_696_368 + 1_953_504 * (self.capacity_gb - 50)) * 512


def read_sheet(path: Path) -> DataSheet:
    """Returns the data sheet of a TOML or JSON file.

    Raises:
        CatalogError: one line per problem: file, line, what is wrong.
        UsageError: the file cannot be read.
    """
    text = read_text(path, "name a data sheet as TOML or JSON; without one, `fathom new-device` asks")
    if path.suffix != ".json":
        return parse_as(DataSheet, text, str(path))
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise CatalogError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise CatalogError(f"{path}: nested too deeply for a data sheet") from error
    if not isinstance(document, dict):
        raise CatalogError(f"{path}:1: expected one object with the keys of a data sheet")
    keys = (
        (key, number) for number, line in enumerate(text.splitlines(), 1) for key in _JSON_KEY.findall(line)
    )
    return parse_document(DataSheet, document, str(path), {(key,): number for key, number in keys})
