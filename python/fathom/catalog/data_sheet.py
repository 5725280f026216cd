"""What a data sheet says of a product beside its speed: endurance, warranty, reliability, size and temperature."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.catalog.models import ProductIdentity, SpecRow
from fathom.output.text import years_text

STATED_KEYS = (
    "warranty_years",
    "operating_min_c",
    "operating_max_c",
    "storage_min_c",
    "storage_max_c",
    "size_mm",
    "features",
    "caveat",
)
"""Keys of an identity that `data_sheet` puts into words."""


def data_sheet(identity: ProductIdentity) -> dict[str, str]:
    """Returns what is stated of the product, by name."""
    stated = {
        "warranty": years_text(identity.warranty_years) if identity.warranty_years else "",
        "operating": _range(identity.operating_min_c, identity.operating_max_c),
        "storage": _range(identity.storage_min_c, identity.storage_max_c),
        "size": " x ".join(f"{one:g}" for one in identity.size_mm) + (" mm" if identity.size_mm else ""),
        "features": ", ".join(identity.features),
        "caveat": identity.caveat or "",
    }
    return {name: text for name, text in stated.items() if text}


def ratings(rows: Sequence[SpecRow]) -> dict[str, str]:
    """Returns what the rows about one drive rate beside its speed, by name; the certain rows come first."""
    best = sorted(rows, key=lambda row: row.uncertain)
    stated = {
        "endurance": _first(best, "endurance_dwpd", "{:g} DWPD"),
        "total writes": _first(best, "tbw_tb", "{:,.0f} TB"),
        **reliability(rows),
        "power, active": _first(best, "power_active_w", "{:g} W"),
        "power, idle": _first(best, "power_idle_w", "{:g} W"),
    }
    return {name: text for name, text in stated.items() if text}


def reliability(rows: Sequence[SpecRow]) -> dict[str, str]:
    """Returns how often a drive may fail, as rated: of a device, or of a product whose capacities are alike in it."""
    best = sorted(rows, key=lambda row: row.uncertain)
    stated = {
        "MTTF": _first(best, "mttf_h", "{:,.0f} h"),
        "AFR": _first(best, "afr_pct", "{:g} %"),
        "UBER": _first(best, "uber_per_bit", "{:.0e} per bit"),
    }
    return {name: text for name, text in stated.items() if text}


def _first(rows: Sequence[SpecRow], key: str, form: str) -> str:
    """Returns the first figure that a row gives, with `?` where its source is doubtful."""
    for row in rows:
        if (value := getattr(row, key)) is not None:
            return form.format(value) + (" (?)" if row.uncertain else "")
    return ""


def _range(low: float | None, high: float | None) -> str:
    return f"{low:g} to {high:g} °C" if low is not None and high is not None else ""
