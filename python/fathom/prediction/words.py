"""The sentences on what a twin's figure is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.prediction.interval import COVERAGE, Coverage, Spread
from fathom.prediction.misses import family_of

if TYPE_CHECKING:
    from fathom.catalog.models import Device


def range_words(spread: Spread) -> str:
    """Returns the interval as changes of a simulated rate: `−9 % to +10 %`."""
    return f"−{100 * (1 - 1 / spread.factor):.0f} % to +{100 * (spread.factor - 1):.0f} %"


def refuted_words(record: Coverage) -> str:
    """Returns how far from its promise the range of a device's twin is, by the device's own published rates."""
    return (
        f"{100 * COVERAGE:.0f} % ranges learnt from other devices hold {record.held} of {record.rows} of its published "
        "rates, fewer than chance explains"
    )


MOST_SURE_PCT = 99
"""No order is called likelier than this: past misses are too few."""


def order_words(chance: float) -> str:
    """Returns how likely measurements show an order, 0..1: `93 %`."""
    return f"> {MOST_SURE_PCT} %" if 100 * chance > MOST_SURE_PCT else f"{100 * chance:.0f} %"


def about_words(spread: Spread) -> str:
    """Returns which I/O a spread is about."""
    return f"blocks {spread.blocks}" if "KiB" in spread.blocks else f"blocks of {spread.blocks}"


def checked_words(device: Device) -> str:
    """Returns what measurements have checked of twins that were fitted to a data sheet, and so has a range."""
    if family_of(device) == "data-sheet-disk":
        return "Too few such disks have been measured for a range"
    return (
        "Measurements have checked only reads and sequential writes of such twins, so only these have a range. Mixes "
        "were off by a factor of two"
    )


def spread_words(spread: Spread) -> str:
    """Returns how far measurements lie from such twins, and where that is known from."""
    several = "s" if spread.devices > 1 else ""
    fitted = "" if spread.family in ("ssd", "system", "disk") else " fitted to a data sheet"
    devices = f"{spread.devices} other device{several}{fitted}"
    rates = "published rates" if spread.of_class else "published rates with blocks of any size"
    return (
        f"{about_words(spread)}: {100 * COVERAGE:.0f} % of measured rates lie within {range_words(spread)} of the "
        f"twin's, as {spread.rows} {rates} of {devices} show"
    )
