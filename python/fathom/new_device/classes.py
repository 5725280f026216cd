"""What is known of a drive's class: the device of the catalogue that it is like, and the dies there are."""

from __future__ import annotations

from functools import cache
from typing import Literal

from pydantic import Field

from fathom.catalog import load_device
from fathom.catalog.models import Device
from fathom.catalog.models.base import Count, Key, Many, Name, Positive, Strict, Text
from fathom.catalog.shipped import shipped
from fathom.new_device.sheet import DataSheet, Interface, Kind, Nand

FILE = "classes.toml"
GBIT = 2**30 // 8
"""Bytes of a gigabit of NAND."""


class DriveClass(Strict):
    """`[[drive]]`: the device that drives of a kind and interface are like."""

    kind: Kind
    interface: Interface
    least_generation: Count | None = None
    """PCIe generation from which on; the first class that fits counts."""
    like: Name
    channels: Count | None = None


class NandClass(Strict):
    """`[[nand]]`: a die."""

    type: Nand
    die_gbit: Literal[512, 1024, 2048]
    program_mbps: Positive
    """Rate at which one die programs."""
    parameters: dict[Key, bool | int | float]
    source: Text

    @property
    def die_bytes(self) -> int:
        """Bytes of a die."""
        return self.die_gbit * GBIT

    @property
    def unit_bytes(self) -> int:
        """Bytes that a die programs at once."""
        keys = ("planes_per_die", "nand_page_bytes", "pages_per_program")
        planes, page_bytes, pages = (int(self.parameters[key]) for key in keys)
        return planes * page_bytes * pages

    @property
    def program_us(self) -> float:
        """Time of that."""
        return round(self.unit_bytes / self.program_mbps, 1)


class Classes(Strict):
    """`classes.toml`, schema `fathom-classes/1`."""

    schema_: Literal["fathom-classes/1"] = Field(alias="schema")
    drive: Many[DriveClass]
    nand: Many[NandClass]


@cache
def classes() -> Classes:
    """Returns the classes that come with the catalogue.

    Raises CatalogError where the file is wrong.
    """
    return shipped(FILE, Classes)


def class_of(sheet: DataSheet) -> DriveClass:
    """Returns the class of the sheet's drive."""
    fitting = (
        one
        for one in classes().drive
        if (one.kind, one.interface) == (sheet.kind, sheet.interface)
        and (one.least_generation or 0) <= (sheet.pcie_generation or 0)
    )
    return next(fitting)


def likeness(sheet: DataSheet) -> Device:
    """Returns the device of the catalogue that the sheet's drive is like."""
    return load_device(class_of(sheet).like)


def dies_of(sheet: DataSheet) -> list[NandClass]:
    """Returns the dies that the sheet's drive may have, the largest first."""
    return [
        one for one in classes().nand if one.type == sheet.nand and sheet.die_gbit in (None, one.die_gbit)
    ]
