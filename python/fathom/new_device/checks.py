"""Which ratings no drive like that can have. Computes from the sheet alone, before anything is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fathom.new_device.flash import Flash, flash_of
from fathom.new_device.link import link_mbps
from fathom.new_device.sheet import DataSheet

YEARS = 5.0
"""Warranty of a drive whose sheet gives none."""
DAYS = 365
AGREE = 0.06
"""By how much endurance in two units may differ: sheets round both."""
TURNS_S = 60.0
IO_PER_TURN = 8
"""Random I/Os in a turn of a disk that no order of queued commands reaches."""


@dataclass(frozen=True)
class Problem:
    """A rating that cannot be."""

    key: str
    text: str

    def __str__(self) -> str:
        """Return one line: the key of the sheet, and what is wrong."""
        return f"{self.key}: {self.text}"


def problems(sheet: DataSheet) -> list[Problem]:
    """Returns what is wrong with the sheet's ratings; an empty list where a drive can have them all."""
    found = [*_link(sheet), *_endurance(sheet)]
    if sheet.kind == "disk":
        return [*found, *_turns(sheet)]
    flash = flash_of(sheet)
    if not flash.possible:
        return [*found, _spare(flash)]
    return [*found, *_rates(sheet, flash)]


def _link(sheet: DataSheet) -> Iterator[Problem]:
    most = link_mbps(sheet)
    carried = f"above the {most:,.0f} MB/s that {sheet.interface_text} carries"
    for key in ("seq_read_mbps", "seq_write_mbps"):
        if (rate := getattr(sheet, key)) and rate > most:
            yield Problem(key, f"{rate:,.0f} MB/s is {carried}")
    for key, block_key in (
        ("rand_read_iops", "rand_read_block_kib"),
        ("rand_write_iops", "rand_write_block_kib"),
    ):
        block_kib = getattr(sheet, block_key) or 4
        if (rate := getattr(sheet, key)) and rate * block_kib * 1024 / 1e6 > most:
            mbps = rate * block_kib * 1024 / 1e6
            yield Problem(key, f"{rate:,.0f} of {block_kib:g} KiB are {mbps:,.0f} MB/s, {carried}")


def _endurance(sheet: DataSheet) -> Iterator[Problem]:
    if not sheet.endurance_dwpd or not sheet.tbw_tb:
        return
    years = sheet.warranty_years or YEARS
    tb = sheet.endurance_dwpd * sheet.capacity_gb / 1000 * DAYS * years
    if abs(sheet.tbw_tb / tb - 1) > AGREE:
        yield Problem(
            "tbw_tb",
            f"{sheet.tbw_tb:,.0f} TB, but {sheet.endurance_dwpd:g} drive writes a day "
            f"for {years:g} years are {tb:,.0f} TB",
        )


def _spare(flash: Flash) -> Problem:
    tb = flash.capacity_bytes / 1e12
    return Problem(
        "capacity_gb",
        f"no whole number of dies gives {tb:.4g} TB: {flash.words} leave {100 * flash.spare:.1f} % spare; "
        "give dies and die_gbit",
    )


def _rates(sheet: DataSheet, flash: Flash) -> Iterator[Problem]:
    if sheet.seq_write_mbps and sheet.seq_write_mbps > flash.most_program_mbps:
        yield Problem(
            "seq_write_mbps",
            f"rated writes of {sheet.seq_write_mbps:,.0f} MB/s exceed what {flash.words} can program, "
            f"{flash.most_program_mbps:,.0f} MB/s",
        )
    if sheet.rand_read_iops and sheet.rand_read_iops > flash.senses_per_s:
        yield Problem(
            "rand_read_iops",
            f"{sheet.rand_read_iops:,.0f} reads a second exceed the {flash.senses_per_s:,.0f} pages that "
            f"{flash.words} can sense",
        )
    if sheet.rand_write_iops and sheet.seq_write_mbps:
        block_kib = sheet.rand_write_block_kib or 4
        mbps = sheet.rand_write_iops * block_kib * 1024 / 1e6
        if mbps > sheet.seq_write_mbps:
            yield Problem(
                "rand_write_iops",
                f"{sheet.rand_write_iops:,.0f} of {block_kib:g} KiB are {mbps:,.0f} MB/s, above the sequential "
                f"{sheet.seq_write_mbps:,.0f} MB/s",
            )


def _turns(sheet: DataSheet) -> Iterator[Problem]:
    rpm = sheet.rpm or 7200
    most = rpm / TURNS_S * IO_PER_TURN
    if sheet.rand_read_iops and sheet.rand_read_iops > most:
        yield Problem(
            "rand_read_iops",
            f"{sheet.rand_read_iops:,.0f} reads a second are more than {IO_PER_TURN} in a turn at {rpm} rpm",
        )
