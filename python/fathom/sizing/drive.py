"""The figures of one drive by its data sheet, each with its source; `fathom.sizing.measured` reads runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fathom.catalog import load_device, load_published
from fathom.catalog.models import SpecRow
from fathom.catalog.store import entries, nearest
from fathom.errors import UsageError
from fathom.output.text import writes_a_day_text, years_text
from fathom.prediction.interval import Spread
from fathom.sizing.needs import OPS, SMALL_BYTES, Kind, Need, Op

Noun = Literal["drive", "array", "system"]
"""What figures are those of: one drive, an array of drives, or a system of several."""
DAYS = 365
LIFE: tuple[Kind, Op | None] = ("endurance", None)
RATED_ONLY: tuple[Kind, ...] = ("endurance", "power")
"""What no run measures of a drive."""
SMALL_KIB = SMALL_BYTES / 1024
SYSTEM_KINDS = ("cluster", "nvme-of-array", "hdd-server")
_CAPACITY = re.compile(r"-(?P<number>\d+(?:\.\d+)?)(?P<unit>tb|gb)$")


@dataclass(frozen=True)
class Figure:
    """One figure of one drive, in the units of `Need.amount`."""

    value: float
    basis: str
    source: str
    is_bound: bool = False
    """Whether the true value is only known to be no higher."""
    spread: Spread | None = None
    """How far measurements may lie from it, where it is a twin's rate that has a range."""


@dataclass(frozen=True)
class Drive:
    """The figures of one drive, by kind and operation; or of one whole array or system."""

    name: str
    label: str
    figures: dict[tuple[Kind, Op | None], Figure]
    noun: Noun = "drive"
    absent: str = "no figure for this drive: give a run of it or of its twin with --run"
    """The message for a need without a figure."""
    unrated: str = "its data sheet in the catalogue does not rate it"
    """The message for one that no run measures."""
    notes: tuple[str, ...] = ()
    """What its figures are worth, a sentence each."""
    unsized: str = absent
    """The message for a capacity that is not known."""

    def figure(self, need: Need) -> Figure | None:
        """Returns the figure to compare a need with; None where there is none."""
        return self.figures.get((need.kind, need.op))

    def reason(self, need: Need) -> str:
        """Returns why a need has no figure."""
        if need.kind == "capacity":
            return self.unsized
        return self.unrated if need.kind in RATED_ONLY else self.absent

    def with_ratings(self, rated: "Drive") -> "Drive":
        """Returns the drive with the other's endurance and power, where its own are not known.

        Raises UsageError for an array or a system: what one drive is rated for is not what all of them are.
        """
        if self.noun != "drive":
            raise UsageError(
                f"--device {rated.name}: rates one drive, and {self.label} is one {self.noun}",
                "leave out --device, or give a run of one drive",
            )
        more = {key: figure for key, figure in rated.figures.items() if key[0] in RATED_ONLY}
        return replace(self, figures={**more, **self.figures}, unrated=rated.unrated)


def rated_drive(name: str) -> Drive:
    """Returns a product of the catalogue by its data sheet: the capacity that the name ends in, or the largest.

    For a device of the catalogue, rows of another form factor serve only where there is no other. So do rows that no
    good source confirms. Endurance is the least of all rows: variants of a model differ, and wear must not be
    understated.

    Raises UsageError where there is no such product or capacity.
    """
    products = {entry.name for entry in entries("published")}
    capacity_gb = None
    product = name
    if name not in products and (match := _CAPACITY.search(name)):
        product = name[: match.start()]
        capacity_gb = float(match["number"]) * (1000 if match["unit"] == "tb" else 1)
    if product not in products:
        raise UsageError(
            f"--device {name}: no data sheet of that name; {nearest(product, sorted(products))}`fathom catalog "
            "--kind published` lists them"
        )
    published = load_published(product)
    if published.identity.kind in SYSTEM_KINDS:
        raise UsageError(
            f"--device {name}: is no drive but a system",
            f"`fathom choose NEEDS.toml {product}` sizes systems",
        )
    of_size = _of_size(name, published.ratings, capacity_gb)
    fitting = _of_form(name, of_size)
    row = max([one for one in fitting if not one.uncertain] or fitting, key=lambda one: one.capacity_gb or 0)
    size = f" {row.capacity_gb / 1000:g} TB" if row.capacity_gb else ""
    label = f"{published.identity.vendor} {published.identity.model}{size}"
    years = published.identity.warranty_years
    is_disk = published.identity.kind == "hdd"
    figures = _figures(row, years, is_disk=is_disk)
    same = [_figures(one, years, is_disk=is_disk) for one in of_size if one.capacity_gb == row.capacity_gb]
    lives = [one[LIFE] for one in same if LIFE in one]
    if lives:
        figures[LIFE] = min(lives, key=lambda life: life.value)
    return Drive(name, label, figures)


def _of_size(name: str, ratings: Sequence[SpecRow], capacity_gb: float | None) -> list[SpecRow]:
    of_size = [row for row in ratings if capacity_gb is None or row.capacity_gb == capacity_gb]
    if not of_size:
        sizes = sorted({row.capacity_gb for row in ratings if row.capacity_gb})
        raise UsageError(
            f"--device {name}: the data sheet has no such capacity",
            f"it lists {', '.join(f'{size / 1000:g} TB' for size in sizes) or 'none'}",
        )
    return of_size


def _of_form(name: str, ratings: Sequence[SpecRow]) -> list[SpecRow]:
    """Returns the rows of the device's form factor, which decides its power and so its speed; all rows where it is
    unknown.
    """
    if name not in {entry.name for entry in entries("devices")}:
        return list(ratings)
    own = (load_device(name).identity.form_factor or "").partition(" ")[0]
    return [row for row in ratings if not row.form_factor or own in row.form_factor] or list(ratings)


def _figures(
    row: SpecRow, warranty_years: float | None, *, is_disk: bool
) -> dict[tuple[Kind, Op | None], Figure]:
    """Returns a row's ratings as figures. Random rates of other blocks than 4 KiB are none: IOPS are of 4 KiB."""
    written_tb = row.tbw_tb
    endurance = "rated TBW"
    if row.endurance_dwpd and row.capacity_gb and warranty_years:
        daily_tb = row.endurance_dwpd * row.capacity_gb / 1000 * DAYS * warranty_years
        # A rating of writes in order may stand beside one of random writes: the lesser is the one to count on.
        if written_tb is None or (row.uncertain and daily_tb < written_tb):
            written_tb = daily_tb
            endurance = f"{writes_a_day_text(row.endurance_dwpd)} for {years_text(warranty_years)}"
    small = {op: getattr(row, f"rand_{op}_block_kib") in (None, SMALL_KIB) for op in ("read", "write")}
    in_order = "rated, outer tracks" if is_disk else "rated"
    powers = ((row.power_active_w, "active"), (row.power_write_w, "writing"), (row.power_read_w, "reading"))
    power_w, power_while = next((one for one in powers if one[0]), (None, ""))
    stated: list[tuple[Kind, Op | None, float | None, float, str]] = [
        ("bandwidth", "read", row.seq_read_mbps, 1e6, in_order),
        ("bandwidth", "write", row.seq_write_mbps, 1e6, in_order),
        ("iops", "read", row.rand_read_iops if small["read"] else None, 1.0, "rated"),
        ("iops", "write", row.rand_write_iops if small["write"] else None, 1.0, "rated"),
        ("capacity", None, row.capacity_gb, 1e9, "rated"),
        ("endurance", None, written_tb, 1e12, endurance),
        ("latency", "read", row.read_latency_us, 1.0, "rated, one I/O outstanding"),
        ("latency", "write", row.write_latency_us, 1.0, "rated, one I/O outstanding"),
        ("power", None, power_w, 1.0, f"rated, {power_while}"),
    ]
    if row.mixed_block_kib == SMALL_KIB and row.mixed_read_pct and (mix := OPS.get(row.mixed_read_pct)):
        stated.append(("iops", mix, row.mixed_iops, 1.0, "rated"))
    return {
        (kind, op): Figure(value * scale, basis, row.source)
        for kind, op, value, scale, basis in stated
        if value is not None
    }
