"""The interval around a twin's rate that a measurement would lie in, and how often it held.

A twin's own published figures say nothing of its interval: it comes from the validation rows of the other devices of
its family. So a drive that nobody has published gets its interval by the rule that is tested on those that somebody
has. The bound is relative, and the same both ways on a logarithmic scale.

Twins miss I/O of 16 KiB by far more than I/O of 4 KiB. So each class of block sizes learns from its own rows where it
has enough of them. This is Mondrian conformal prediction (Vovk, Gammerman & Shafer 2005, 4.5).

Measurements check only reads and sequential writes of twins that were fitted to data sheets. So other I/O of such a
twin has no interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, exp, log
from statistics import median
from typing import TYPE_CHECKING, Literal

from fathom.prediction.misses import DeviceMisses, Family, Miss, family_of, kept_misses, shipped_misses
from fathom.statistics.conformal import bound

if TYPE_CHECKING:
    from fathom._core import Job
    from fathom.catalog.models import Device

COVERAGE = 0.8
"""The probability that printed intervals hold with."""
FAR = 0.95
"""A published figure outside the interval of this coverage suggests that the twin lacks a mechanism. Chance alone puts
one in twenty there.
"""
REFUTED = 0.05
"""A device has no range where fewer of its published rates lie inside than chance explains with this probability."""
KIB = 1024
Blocks = Literal["up to 8 KiB", "above 8 KiB, below 128 KiB", "from 128 KiB", "several sizes"]


def blocks_of(block_bytes: int | None) -> Blocks:
    """Returns the class of a block size, in bytes; None is several sizes at once."""
    if block_bytes is None:
        return "several sizes"
    if block_bytes <= 8 * KIB:
        return "up to 8 KiB"
    return "above 8 KiB, below 128 KiB" if block_bytes < 128 * KIB else "from 128 KiB"


@dataclass(frozen=True)
class Spread:
    """How far measurements lie from what twins of a family predict, learnt from other devices."""

    factor: float
    """The interval is from value / factor to value x factor, with coverage `COVERAGE`."""
    far_factor: float | None
    """As `factor`, with coverage `FAR`; None with too few rows."""
    family: Family
    """The twins that it is learnt from."""
    blocks: Blocks
    """The class of the I/O that it is about."""
    of_class: bool
    """Whether it is learnt from that class; else from all, because the class has too few rows."""
    misses: tuple[float, ...]
    """What it is learnt from: logarithms of simulated over published."""
    devices: int

    @property
    def rows(self) -> int:
        """Number of published figures that it is learnt from."""
        return len(self.misses)

    def around(self, value: float) -> tuple[float, float]:
        """Returns the interval around a simulated rate, in its unit."""
        return value / self.factor, value * self.factor

    def holds(self, ratio: float) -> bool:
        """Returns whether a published figure lies in the interval; `ratio` is simulated over published."""
        return 1 / self.factor <= ratio <= self.factor

    def chance_above(self, factor: float) -> float:
        """Returns the chance, 0..1, that a measurement reaches a rate that the twin exceeds by a factor.

        It is the share of past misses that are at most as large. The next one counts as larger, so it is below 1
        (Vovk, Gammerman & Shafer 2005, 2.2).
        """
        return sum(miss <= log(factor) for miss in self.misses) / (len(self.misses) + 1)

    def is_far(self, ratio: float) -> bool:
        """Returns whether a published figure lies outside the wide interval."""
        return self.far_factor is not None and not 1 / self.far_factor <= ratio <= self.far_factor


def spread_of(
    device: Device,
    block_bytes: int | None,
    job: Job | None = None,
    known: Sequence[DeviceMisses] | None = None,
) -> Spread | None:
    """Returns the spread of a device's twin; None without a twin, or where too little of its family is published.

    None too for a twin of a data sheet alone and I/O that no published row of such drives is about. And None for a
    device whose own published rates show that the range does not hold (`refuted`).

    Args:
        device: the device.
        block_bytes: of the I/O; None for several sizes.
        job: the I/O, or several streams of it. Only twins of data sheets need it.
        known: misses to learn from; those of the catalogue if absent.

    Raises:
        CatalogError: the file of misses is wrong.
    """
    return None if refuted(device, known) else tried_spread(device, block_bytes, job, known)


def refuted(device: Device, known: Sequence[DeviceMisses] | None = None) -> Coverage | None:
    """Returns how many published rates of a device its ranges hold, where those are clearly too few; else None."""
    found = _shipped_record(device.name) if known is None else coverage(known, device=device.name)
    return found if found and found.falls_short else None


def kept_record(device: Device) -> Coverage | None:
    """Returns how many published rates of a device its ranges hold; None with other parameters than those checked."""
    return _shipped_record(device.name) if kept_misses(device) else None


@cache
def _shipped_record(name: str) -> Coverage | None:
    return coverage(shipped_misses(), device=name)


def tried_spread(
    device: Device,
    block_bytes: int | None,
    job: Job | None = None,
    known: Sequence[DeviceMisses] | None = None,
) -> Spread | None:
    """Returns the spread as `spread_of`, and also where published rates of the device refute it: to test it on them."""
    family = family_of(device)
    # All published rates of such disks are sequential: they show nothing of how far random I/O is off.
    if family is None or family == "data-sheet-disk":
        return None
    if family == "data-sheet-ssd" and not (job and is_checked(job)):
        return None
    if known is None:
        return _shipped_spread(device.name, family, blocks_of(block_bytes))
    return spread_without(device.name, family, blocks_of(block_bytes), known)


def is_checked(job: Job) -> bool:
    """Returns whether validation rows of data-sheet SSDs are about such I/O: reads, or sequential writes."""
    if job.streams:
        return all(map(is_checked, job.streams.values()))
    match job.pattern.kind:
        case "sequential":
            return len(job.weights) == 1
        case "uniform":
            return not job.writes
        case _:
            return False


@cache
def _shipped_spread(name: str, family: Family, blocks: Blocks) -> Spread | None:
    """Returns the spread by the catalogue's misses, once: a report asks for that of each of its figures."""
    return spread_without(name, family, blocks, shipped_misses())


def known_device(catalog_name: str | None) -> Device | None:
    """Returns a device by its name in a run; None where this version's catalogue does not know it."""
    from fathom.catalog import load_device
    from fathom.errors import FathomError

    try:
        return load_device(catalog_name) if catalog_name else None
    except FathomError:
        return None


def spread_without(
    name: str, family: Family, blocks: Blocks, known: Sequence[DeviceMisses], row: Miss | None = None
) -> Spread | None:
    """Returns the spread that the other devices of a family show; None where they have too few validation rows.

    With `row`, only that one is left out: what a drive with published results would get if its own were let in.
    """
    others = [
        (one.name, other)
        for one in known
        if one.family == family
        for other in _taught(one)
        if (one.name != name if row is None else other is not row)
    ]
    of_class = [(name, row) for name, row in others if blocks_of(row.block_bytes) == blocks]
    return _learnt(of_class, family, blocks, of_class=True) or _learnt(others, family, blocks, of_class=False)


def _learnt(
    rows: Sequence[tuple[str, Miss]], family: Family, blocks: Blocks, *, of_class: bool
) -> Spread | None:
    logs = [log(row.ratio) for _, row in rows]
    half, far = bound(logs, COVERAGE), bound(logs, FAR)
    if half is None:
        return None
    wide = None if far is None else exp(far)
    return Spread(exp(half), wide, family, blocks, of_class, tuple(logs), len({name for name, _ in rows}))


def order_chance(lead: float, ahead: Spread | None, behind: Spread | None) -> float | None:
    """Returns how likely a measurement shows the order of two rates, 0..1; None where neither is a twin's.

    It is the share of all pairs of past misses that leave the first ahead. A measured rate has no miss.

    Args:
        lead: the first rate over the second, at least 1.
        ahead: the spread of the first; None if it was measured.
        behind: the spread of the second; None if it was measured.
    """
    if ahead is None and behind is None:
        return None
    # A miss is simulated over published: the higher it is, the lower a measurement would be.
    first, second = (one.misses if one else (0.0,) for one in (ahead, behind))
    kept = sum(log(lead) - one + other > 0 for one in first for other in second)
    return kept / (len(first) * len(second))


def _taught(device: DeviceMisses) -> Iterator[Miss]:
    """Yields the rows that an interval is learnt from and tested on."""
    return (row for row in device.rows if row.role == "validation" and row.is_rate)


@dataclass(frozen=True)
class Coverage:
    """How often intervals held, each learnt without the device that it is tested on."""

    held: int
    rows: int
    median_factor: float
    """The intervals' own: 1.1 means that half of them are from /1.1 to x1.1 or narrower."""

    @property
    def share(self) -> float:
        """The share of figures inside their interval."""
        return self.held / self.rows

    @property
    def falls_short(self) -> bool:
        """Whether fewer are held than chance explains: a one-sided binomial test of `COVERAGE`, at `REFUTED`."""
        chances = (
            comb(self.rows, held) * COVERAGE**held * (1 - COVERAGE) ** (self.rows - held)
            for held in range(self.held + 1)
        )
        return sum(chances) < REFUTED


def coverage(
    known: Sequence[DeviceMisses],
    families: Sequence[Family] | None = None,
    blocks: Blocks | None = None,
    left_out: Literal["device", "row"] = "device",
    device: str | None = None,
) -> Coverage | None:
    """Returns how often the intervals of `COVERAGE` hold over validation rates; None where there is none.

    Args:
        known: the misses to learn from and to test on.
        families: the families to test; all if absent.
        blocks: the class of block sizes to test; all if absent.
        left_out: what an interval is learnt without: all rows of its device, as printed ones are, or its own row.
        device: the device to test; all if absent.
    """
    tested = [
        (spread, row.ratio)
        for one in known
        if device is None or one.name == device
        if families is None or one.family in families
        for row in _taught(one)
        if blocks is None or blocks_of(row.block_bytes) == blocks
        if (
            spread := spread_without(
                one.name, one.family, blocks_of(row.block_bytes), known, row if left_out == "row" else None
            )
        )
    ]
    if not tested:
        return None
    held = sum(spread.holds(ratio) for spread, ratio in tested)
    return Coverage(held, len(tested), median(spread.factor for spread, _ in tested))
