"""Published results beside measured ones: which catalogue row belongs to a point, and how far apart they are."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from fathom._core import Job
from fathom.analysis import beside_published
from fathom.output.text import signed_pct, without_document
from fathom.report.blocks import Item

NEAR_PCT = 10.0
"""A figure no further from the published one is near it."""
CALIBRATION = "calibration"
Metric = Literal["mbps", "iops"]


class PublishedRow(beside_published.PublishedRow, Protocol):
    """What the report reads of a catalogue row beyond what findings read; `mbps` is 10^6 B/s."""

    @property
    def latency_us(self) -> float | None: ...  # noqa: D102
    @property
    def page(self) -> str | None: ...  # noqa: D102


Lookup = Callable[[str, str], Sequence[PublishedRow]]
"""(catalogue device, published workload) -> its rows, best first."""


@dataclass(frozen=True)
class Published:
    """A published figure in the unit of the measured one. `role` says `uncertain` too where the source is."""

    value: float
    role: str
    source: str
    is_floor: bool = False

    @property
    def fitted(self) -> bool:
        """Whether a twin may be fitted to it."""
        return self.role.startswith(CALIBRATION)

    def error_pct(self, measured: float) -> float:
        """Returns how far the measured figure is above (+) or below (-) the published one, in percent of the latter."""
        return 100 * (measured / self.value - 1)


def catalogue(device: str, workload: str) -> Sequence[PublishedRow]:
    """Returns the shipped catalogue's rows; none for a device that this version's catalogue does not know."""
    from fathom.catalog import published_for
    from fathom.errors import FathomError

    try:
        return published_for(device, workload)
    except FathomError:
        return []


def caveat(device: str | None) -> str:
    """Returns what a reader must know of the unit whose published figures a twin stands for; mostly nothing."""
    from fathom.catalog import load_device, load_published
    from fathom.errors import FathomError

    try:
        named = load_device(device).published if device else None
        return (load_published(named).identity.caveat or "") if named else ""
    except FathomError:
        return ""


def find(
    lookup: Lookup, device: str | None, workload: str | None, metric: Metric, job: Job | None
) -> Published | None:
    """Returns the first published row of the job's load that has the metric, or None."""
    if device is None or workload is None:
        return None
    for row in lookup(device, workload):
        value = row.mbps if metric == "mbps" else row.iops
        if value is None or not math.isfinite(value) or value <= 0:
            continue
        if beside_published.is_of_load(row, job):
            parts = (row.role, row.statistic, "uncertain" if row.uncertain else "")
            role = ", ".join(part for part in parts if part)
            source = ", ".join(part for part in (without_document(row.source or ""), row.page) if part)
            return Published(value, role, source, row.statistic == "floor")
    return None


def counted(lookup: Lookup) -> Lookup:
    """Returns the same without rows that are shown for context and count for nothing."""
    return lambda device, workload: [row for row in lookup(device, workload) if row.role != "context"]


def error_item(error_pct: float, *, fitted: bool = False) -> Item:
    """Returns how far a figure is from the published one, in the colour of near or far.

    Near one that a twin may be `fitted` to, it has no colour: that is no merit.
    """
    near = "quiet" if fitted else "good"
    return Item(signed_pct(error_pct), tone=near if abs(error_pct) <= NEAR_PCT else "bad")


def fitted_words(count: int) -> str:
    """Returns what `count` published figures that twins may be fitted to are worth."""
    figures, them = (
        ("1 published figure is", "it") if count == 1 else (f"{count} published figures are", "them")
    )
    return f"{figures} for calibration: twins may be fitted to {them}, so being near predicts nothing."
