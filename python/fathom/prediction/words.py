"""The sentences on what a twin's figure is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.prediction.interval import COVERAGE, Coverage, Spread, kept_record
from fathom.prediction.misses import family_of, kept_misses

if TYPE_CHECKING:
    from fathom.catalog.models import Device


def range_words(spread: Spread) -> str:
    """Returns the interval as changes of a simulated rate: `−9 % to +10 %`."""
    return f"−{100 * (1 - 1 / spread.factor):.0f} % to +{100 * (spread.factor - 1):.0f} %"


def refuted_words(record: Coverage) -> str:
    """Returns how far from its promise the range of a device's twin is, by the device's own published rates."""
    return f"{_held_words(record)}, fewer than chance explains"


def _held_words(record: Coverage) -> str:
    return (
        f"{100 * COVERAGE:.0f} % ranges learnt from other devices hold {record.held} of {record.rows} of its published "
        "rates"
    )


def record_words(device: Device) -> str | None:
    """Returns how many published rates the ranges of a device's twin hold; None where nothing has checked the twin.

    None too where its parameters are not those that were checked.
    """
    record = kept_record(device)
    if record:
        return (
            f"{refuted_words(record)}: reports give it no range"
            if record.falls_short
            else _held_words(record)
        )
    misses = kept_misses(device)
    if misses is None:
        return None
    if any(row.is_rate and row.role == "validation" for row in misses.rows):
        return "none: too few such twins have been checked to learn a range from"
    return "none: a range is about a rate, and no published rate checks this twin"


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
