"""Turns the ratings of a data sheet into cases: each is the maximum of its load on the bench `data-sheet`.

A data sheet seldom says how deep its queues were. A rating is the most that the drive gives, so the load here is deep
enough that more would give no more. A rated write latency is that of a drive that need not clean: one sequential write
at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fathom.catalog import load_published
from fathom.catalog.load import is_about
from fathom.catalog.models import Device, PublishedRow, SpecRow
from fathom.catalog.models.device import DATA_SHEET as BENCH
from fathom.validation.cases import Case, stated_case

RATED_MARGIN = 0.05
"""Share by which a maximum on another machine than the maker's may stay below its rating; an assumption."""
PRECISION = 0.01
"""Half the 95 % interval of a trial's rate, over it."""


@dataclass(frozen=True)
class Rating:
    """A key of a data sheet, and the load that it rates."""

    key: str
    workload: str
    metric: Literal["iops", "mbps", "latency_us"]
    read_pct: float
    pattern: Literal["seq", "rand"]
    block_kib: float
    block_key: str = ""
    """The key that gives another block."""
    share_key: str = ""
    """The key that gives another share of reads."""
    one_at_a_time: bool = False

    def row(self, ratings: SpecRow, device: Device) -> PublishedRow | None:
        """Returns the rating as a calibration row; None where the sheet has none."""
        value = getattr(ratings, self.key)
        if value is None:
            return None
        threads, iodepth = (1, 1) if self.one_at_a_time else _load(device, self.pattern)
        stated: dict[str, object] = {
            "workload": self.workload,
            "role": "calibration",
            "bench": BENCH,
            "subject": device.identity.label,
            "source": ratings.source,
            "block_kib": (self.block_key and getattr(ratings, self.block_key)) or self.block_kib,
            "read_pct": (self.share_key and getattr(ratings, self.share_key)) or self.read_pct,
            "pattern": self.pattern,
            "threads": threads,
            "iodepth": iodepth,
            self.metric: value,
        }
        if self.metric == "latency_us":
            stated["latency_kind"] = "mean"
        return PublishedRow.model_validate(stated)


RATINGS: tuple[Rating, ...] = (
    Rating("read_latency_us", "rated-read-latency", "latency_us", 100, "rand", 4, one_at_a_time=True),
    Rating("seq_read_latency_us", "rated-seq-read-latency", "latency_us", 100, "seq", 4, one_at_a_time=True),
    Rating("write_latency_us", "rated-write-latency", "latency_us", 0, "seq", 4, one_at_a_time=True),
    Rating("seq_read_mbps", "rated-seq-read", "mbps", 100, "seq", 128, "seq_read_block_kib"),
    Rating("rand_read_iops", "rated-rand-read", "iops", 100, "rand", 4, "rand_read_block_kib"),
    Rating("seq_write_mbps", "rated-seq-write", "mbps", 0, "seq", 128, "seq_write_block_kib"),
    Rating("rand_write_iops", "rated-rand-write", "iops", 0, "rand", 4, "rand_write_block_kib"),
    Rating("mixed_iops", "rated-mixed", "iops", 70, "rand", 4, "mixed_block_kib", "mixed_read_pct"),
)
"""What a twin can be held to, in an order in which each can be fitted without touching those before it."""


OF_LINK = (16, 32)
"""Threads and iodepth of random I/O over PCIe."""
OF_TAGS = (1, 32)
"""Threads and iodepth over a link of tags, SATA or SAS."""


def _load(device: Device, pattern: str) -> tuple[int, int]:
    """Returns threads and iodepth: 512 random and 64 sequential I/Os in flight over PCIe, what a link of tags takes
    elsewhere.
    """
    twin = device.twin
    if twin is None or twin.kind == "disk":
        return 1, 16
    if "pcie_lanes" not in twin.parameters:
        return OF_TAGS
    return OF_LINK if pattern == "rand" else (1, 64)


def cases_of_ratings(device: Device, ratings: Sequence[SpecRow]) -> list[tuple[Rating, Case]]:
    """Returns the ratings in these rows as cases, the first certain figure of each."""
    found: list[tuple[Rating, Case]] = []
    for rating in RATINGS:
        rows = [row for one in ratings if not one.uncertain and (row := rating.row(one, device))]
        if rows:
            found.append((rating, _without_filling(stated_case(device, rows[0]))))
    return found


def is_maximum(case: Case) -> bool:
    """Returns whether a rating is a rate, which is the most that the drive gives. A rated latency is no bound."""
    return "latency_us" not in case.figures


def at_least(case: Case) -> Case:
    """Returns a rate of a data sheet as the least that the drive's maximum is, `RATED_MARGIN` below the rating."""
    least = {metric: value * (1 - RATED_MARGIN) for metric, value in case.figures.items()}
    return replace(case, row=case.row.model_copy(update={"bound": "at-least", **least}))


def _without_filling(case: Case) -> Case:
    """Returns a disk's case without the fill before it: its rates do not depend on what is on it."""
    if case.trial is None or case.device.twin is None or case.device.twin.kind != "disk":
        return case
    return replace(case, trial=replace(case.trial, settled=PRECISION))


def rated_cases(device: Device) -> list[Case]:
    """Returns the ratings of a device of the catalogue as cases; an empty list where its data sheet is not known."""
    if device.published is None:
        return []
    about = [row for row in load_published(device.published).ratings if is_about(row, device)]
    return [case for _, case in cases_of_ratings(device, about)]
