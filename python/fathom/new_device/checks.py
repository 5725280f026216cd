"""Which ratings no drive like that can have. Computes from the sheet alone, before anything is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal

from fathom.new_device.classes import classes, dies_of
from fathom.new_device.flash import LEAST_SPARE, MOST_SPARE, Flash, flash_of
from fathom.new_device.link import most_link_mbps
from fathom.new_device.sheet import DataSheet
from fathom.output.text import mbps_text, percent, writes_a_day_text, years_text
from fathom.prediction.priors import shipped_priors
from fathom.validation.ratings import OF_LINK, OF_TAGS

YEARS = 5.0
"""Warranty of a drive whose sheet gives none."""
DAYS = 365
AGREE = 0.06
"""By how much endurance in two units may differ: sheets round both."""
TURNS_S = 60.0
IO_PER_TURN = 8
"""Random I/Os in a turn of a disk that no order of queued commands reaches."""
MIXED_READ_PCT = 70.0
"""Share of reads of a rated mix whose sheet gives none."""


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
    found = [*_link(sheet), *_endurance(sheet), *_power(sheet)]
    if sheet.kind == "disk":
        return [*found, *_turns(sheet)]
    if not dies_of(sheet):
        return [*found, _die(sheet)]
    flash = flash_of(sheet)
    if not flash.possible:
        return [*found, _spare(sheet, flash)]
    latencies = (*_sense(sheet, flash), *_ahead(sheet, flash), *_in_flight(sheet))
    return [*found, *_rates(sheet, flash), *latencies, *_mix(sheet)]


def _link(sheet: DataSheet) -> Iterator[Problem]:
    most = most_link_mbps(sheet)
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
    assumed = "" if sheet.warranty_years else " (assumed: no warranty_years)"
    tb = sheet.endurance_dwpd * sheet.capacity_gb / 1000 * DAYS * years
    if abs(sheet.tbw_tb / tb - 1) > AGREE:
        yield Problem(
            "tbw_tb",
            f"{sheet.tbw_tb:,.0f} TB is not the {tb:,.0f} TB of {writes_a_day_text(sheet.endurance_dwpd)} "
            f"for {years_text(years)}{assumed}",
        )


def _power(sheet: DataSheet) -> Iterator[Problem]:
    active = [one for one in (sheet.power_active_w, sheet.power_read_w, sheet.power_write_w) if one]
    if sheet.power_idle_w and active and sheet.power_idle_w > max(active):
        yield Problem("power_idle_w", f"{sheet.power_idle_w:g} W idle is above the {max(active):g} W at work")


def _die(sheet: DataSheet) -> Problem:
    known = " or ".join(f"{one.die_gbit}" for one in classes().nand if one.type == sheet.nand)
    return Problem(
        "die_gbit", f"no {sheet.nand} die of {sheet.die_gbit} Gb is known; give {known}, or leave it out"
    )


def _spare(sheet: DataSheet, flash: Flash) -> Problem:
    tb = flash.capacity_bytes / 1e12
    if sheet.dies:
        return Problem(
            "dies",
            f"{flash.words} are {flash.raw_bytes / 1e12:.4g} TB for a capacity of {tb:.4g} TB; drives have "
            f"{percent(LEAST_SPARE)} to {percent(MOST_SPARE)} more",
        )
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
            f"{flash.most_program_mbps:,.0f} MB/s; leave out the rate of an SLC cache",
        )
    asked_per_s = flash.senses_asked_per_s(sheet)
    if asked_per_s > flash.senses_per_s:
        yield Problem(
            "rand_read_iops",
            f"{sheet.rand_read_iops or 0:,.0f} reads a second sense {asked_per_s:,.0f} pages, above the "
            f"{flash.senses_per_s:,.0f} that {flash.words} can sense",
        )
    for op in ("read", "write"):
        yield from _random_above_sequential(sheet, op)


def _random_above_sequential(sheet: DataSheet, op: Literal["read", "write"]) -> Iterator[Problem]:
    """Yields where random I/O carries more than sequential I/O: one of them is in another unit, such as GB/s."""
    iops, seq_mbps = getattr(sheet, f"rand_{op}_iops"), getattr(sheet, f"seq_{op}_mbps")
    if not iops or not seq_mbps:
        return
    block_kib = 4 * sheet.rand_units(op)
    mbps = iops * block_kib * 1024 / 1e6
    if mbps > seq_mbps:
        text = f"{iops:,.0f} of {block_kib:g} KiB are {mbps:,.0f} MB/s, above the sequential {mbps_text(seq_mbps)}"
        yield Problem(f"rand_{op}_iops", text)


def _sense(sheet: DataSheet, flash: Flash) -> Iterator[Problem]:
    """Yields where a read is quicker than its flash: sheets quote reads in order too, which a buffer answers."""
    least_us = (
        float(flash.nand.parameters["read_sense_us"]) / shipped_priors().parameters["read_sense_us"].factor
    )
    if sheet.read_latency_us and sheet.read_latency_us < least_us:
        yield Problem(
            "read_latency_us",
            f"{sheet.read_latency_us:g} us is less than the {least_us:g} us in which {sheet.nand} senses a page; "
            "give the latency of random reads",
        )


def _ahead(sheet: DataSheet, flash: Flash) -> Iterator[Problem]:
    """Yields where a read in order takes as long as flash does, so that nothing was read ahead of it."""
    sense_us = float(flash.nand.parameters["read_sense_us"])
    slowest_us = min(sheet.read_latency_us or sense_us, sense_us)
    if sheet.seq_read_latency_us and sheet.seq_read_latency_us >= slowest_us:
        yield Problem(
            "seq_read_latency_us",
            f"{sheet.seq_read_latency_us:g} us is no less than the {slowest_us:g} us of a random read; leave it out: "
            "such a drive does not read ahead",
        )


def _in_flight(sheet: DataSheet) -> Iterator[Problem]:
    """Yields where rate and latency contradict each other, by Little's law: in flight = rate x latency."""
    most = prod(OF_LINK if sheet.interface == "PCIe" else OF_TAGS)
    for op in ("read", "write"):
        iops, latency_us = getattr(sheet, f"rand_{op}_iops"), getattr(sheet, f"{op}_latency_us")
        if not iops or not latency_us:
            continue
        in_flight = iops * latency_us / 1e6
        if in_flight > most:
            yield Problem(
                f"{op}_latency_us",
                f"{iops:,.0f} {op}s a second of {latency_us:,.0f} us each need {in_flight:,.0f} in flight; a rating is "
                f"simulated with {most}",
            )
        if op == "read" and in_flight < 1:
            yield Problem(
                "rand_read_iops",
                f"{iops:,.0f} reads a second are fewer than the {1e6 / latency_us:,.0f} of one read of "
                f"{latency_us:g} us after the other",
            )


def _mix(sheet: DataSheet) -> Iterator[Problem]:
    """Yields where the reads or the writes of a mix alone are more than the drive is rated for."""
    if not sheet.mixed_iops:
        return
    read_share = (sheet.mixed_read_pct or MIXED_READ_PCT) / 100
    for op, share in (("read", read_share), ("write", 1 - read_share)):
        rated = getattr(sheet, f"rand_{op}_iops")
        if rated and sheet.mixed_iops * share > rated * (1 + AGREE):
            text = (
                f"{sheet.mixed_iops * share:,.0f} {op}s of the mix are above the {rated:,.0f} of {op}s alone"
            )
            yield Problem("mixed_iops", text)


def _turns(sheet: DataSheet) -> Iterator[Problem]:
    rpm = sheet.rpm or 7200
    most = rpm / TURNS_S * IO_PER_TURN
    if sheet.rand_read_iops and sheet.rand_read_iops > most:
        yield Problem(
            "rand_read_iops",
            f"{sheet.rand_read_iops:,.0f} reads a second are more than {IO_PER_TURN} in a turn at {rpm} rpm",
        )
