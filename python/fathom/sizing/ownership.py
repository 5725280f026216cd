"""What an offer costs over years: its purchase, its energy, and the drives that its writes wear out.

A drive wears by what its flash takes: the host's writes, times the redundancy of the system, times write amplification.
Its rating already holds the amplification of the rating's own workload (JESD218), so the needs state the ratio of the
two. Interest, staff, space and failures are left out.
"""

import math
from dataclasses import dataclass

from fathom.errors import UsageError
from fathom.sizing.choose import Offer
from fathom.sizing.drive import DAYS, LIFE, rated_drive
from fathom.sizing.files import Needs, Prices

HOURS_PER_YEAR = 8766.0


@dataclass(frozen=True)
class Ownership:
    """Costs in the currency of the prices; None where a part of them is not known."""

    years: float
    purchase: float | None
    energy_kwh: float | None
    energy: float | None
    lives_used: float | None
    """Rated lives that each drive's writes take."""
    replaced: int | None
    """Drives bought again."""
    replacements: float | None
    wear_unknown: bool = False
    """Whether writes were stated, and what they cost in drives is not known."""

    @property
    def total(self) -> float | None:
        """Purchase with energy, where that is priced, and replacements; None where the price of either is not known."""
        if self.purchase is None or self.wear_unknown:
            return None
        return self.purchase + (self.energy or 0.0) + (self.replacements or 0.0)


def ownership(offer: Offer, needs: Needs, prices: Prices) -> Ownership:
    """Returns what the offer costs over the years of the needs."""
    watts = offer.system.figure("power")
    energy_kwh = offer.count * watts * HOURS_PER_YEAR * needs.years / 1000 if offer.count and watts else None
    priced = energy_kwh is not None and prices.energy_per_kwh is not None
    wear = _wear(offer, needs, prices)
    return Ownership(
        needs.years,
        offer.cost,
        energy_kwh,
        (energy_kwh or 0.0) * (prices.energy_per_kwh or 0.0) if priced else None,
        wear.lives_used,
        wear.replaced,
        wear.replacements,
        needs.writes_tb_per_day is not None and wear.replacements is None,
    )


@dataclass(frozen=True)
class _Wear:
    """Rated lives that each drive's writes take, drives bought again, and their price; None where not known."""

    lives_used: float | None = None
    replaced: int | None = None
    replacements: float | None = None


def _wear(offer: Offer, needs: Needs, prices: Prices) -> _Wear:
    drives = [part for part in offer.system.parts if part.group == "storage"]
    system = offer.system
    if needs.writes_tb_per_day is None or not offer.count or len(drives) != 1:
        return _Wear()
    [part] = drives
    try:
        life = rated_drive(part.item).figures.get(LIFE)
    except UsageError:
        life = None
    if life is None:
        return _Wear()
    count = part.count * offer.count
    redundancy = system.raw_bytes / system.usable_bytes if system.raw_bytes and system.usable_bytes else 1.0
    written = needs.writes_tb_per_day * 1e12 * DAYS * needs.years * redundancy * needs.waf_ratio
    lives = written / count / life.value
    replaced = count * max(0, math.ceil(lives - 1e-9) - 1)
    price = prices.items[part.item].price if part.item in prices.items else None
    return _Wear(lives, replaced, None if price is None else replaced * price)
