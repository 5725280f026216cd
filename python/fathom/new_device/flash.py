"""How much flash a drive of the sheet's capacity has: which dies, how many, and what they can do at most."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from fathom.new_device.classes import NandClass, class_of, dies_of
from fathom.new_device.sheet import DataSheet
from fathom.output.text import agreeing
from fathom.prediction.priors import shipped_priors

LEAST_SPARE, MOST_SPARE = 0.04, 0.9
"""Spare area as a share of the capacity, below and above which no drive is built."""
PARITY_DIES = 64
"""The share of dies that hold parity is one in this many. An assumption:
docs/explanation/ssd-twin-parameters.md, Spare area.
"""
MOST_DIES_PER_CHANNEL = 64
"""More than that no twin takes."""


@dataclass(frozen=True)
class Flash:
    """The dies of a drive."""

    nand: NandClass
    dies: int
    channels: int
    capacity_bytes: int

    @property
    def raw_bytes(self) -> int:
        """Bytes of all dies."""
        return self.dies * self.nand.die_bytes

    @property
    def spare(self) -> float:
        """What the dies hold beyond the capacity, over it."""
        return self.raw_bytes / self.capacity_bytes - 1

    @property
    def usable_spare(self) -> float:
        """What is left of that for cleaning, without parity."""
        return self.raw_bytes * (1 - 1 / PARITY_DIES) / self.capacity_bytes - 1

    @property
    def amplification(self) -> float:
        """Write amplification of uniform writes: the usual (1 + OP) / (2 OP), low by some 5 %."""
        return (1 + self.usable_spare) / (2 * self.usable_spare)

    @property
    def possible(self) -> bool:
        """Whether a drive is built so."""
        return LEAST_SPARE <= self.spare <= MOST_SPARE

    @property
    def program_mbps(self) -> float:
        """What the dies program together, as their class does."""
        return self.dies * self.nand.program_mbps

    @property
    def most_program_mbps(self) -> float:
        """The same with the shortest program time that the class leaves room for."""
        return self.program_mbps * shipped_priors().parameters["program_us"].factor

    @property
    def senses_per_s(self) -> float:
        """Pages that the dies sense in a second."""
        readers = (
            self.nand.parameters["planes_per_die"] if self.nand.parameters["independent_plane_reads"] else 1
        )
        return self.dies * readers / (self.nand.parameters["read_sense_us"] * 1e-6)

    def senses_asked_per_s(self, sheet: DataSheet) -> float:
        """Returns how many pages the rated random reads sense in a second."""
        pages = ceil(4096 * sheet.rand_units("read") / float(self.nand.parameters["nand_page_bytes"]))
        return pages * (sheet.rand_read_iops or 0.0)

    @property
    def words(self) -> str:
        """The dies in words: `64 dies of 1024 Gb`."""
        return f"{agreeing(f'{self.dies}', 'die', 'dies')} of {self.nand.die_gbit} Gb"


def flash_of(sheet: DataSheet) -> Flash:
    """Returns the dies of the sheet's drive: as given, else a power of two.

    They are the largest dies that program the rated writes and sense the rated random reads.
    """
    channels = class_of(sheet).channels or 1
    candidates = [_built(sheet, nand, channels) for nand in dies_of(sheet)]
    mbps = sheet.seq_write_mbps or 0.0
    able = [one for one in candidates if one.possible and one.most_program_mbps >= mbps]
    fast = [one for one in able if one.senses_per_s >= one.senses_asked_per_s(sheet)] or able
    return (fast or [one for one in candidates if one.possible] or candidates)[0 if fast else -1]


def _built(sheet: DataSheet, nand: NandClass, channels: int) -> Flash:
    dies = sheet.dies or 1 << (-(-sheet.capacity_bytes // nand.die_bytes) - 1).bit_length()
    while dies % channels:
        channels //= 2
    while dies // channels > MOST_DIES_PER_CHANNEL:
        channels *= 2
    # Every channel has as many dies, or the twin would have fewer than the sheet.
    while dies % channels:
        channels += 1
    return Flash(nand, dies, channels, sheet.capacity_bytes)
