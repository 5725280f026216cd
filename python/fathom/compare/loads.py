"""Two sides under an open load: whether each kept up with its rate, and how late it was. Equal rates are no result."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.compare.metrics import DEFAULT, OF_OPEN_LOADS, RATE
from fathom.output.text import latency_text
from fathom.report.comparison import Cell
from fathom.report.style import plain
from fathom.statistics.means import mean_by_count

SAME_RATE = 0.01
"""Rates that were offered are the same up to this share."""


@dataclass(frozen=True)
class OpenLoad:
    """A step of both sides under an open load: whether each kept up, and how long its I/Os waited to be issued."""

    label: str
    base_kept: bool
    new_kept: bool
    base_wait_us: float
    new_wait_us: float
    is_replay: bool

    @property
    def words(self) -> str:
        """Returns who fell behind, and by how much; empty where both kept up."""
        times = "recorded times" if self.is_replay else "offered rate"
        late = [
            f"{name} fell behind the {times}, its I/Os waiting {latency_text(wait_us)} on average"
            for name, kept, wait_us in (
                ("base", self.base_kept, self.base_wait_us),
                ("new", self.new_kept, self.new_wait_us),
            )
            if not kept
        ]
        kept = " and ".join(name for name, kept in (("base", self.base_kept), ("new", self.new_kept)) if kept)
        parts = [*late, *([f"{kept} kept up"] if kept else [])]
        return f"{plain(self.label)}: {'; '.join(parts)}." if late else ""


def open_load(theirs: Cell, own: Cell) -> OpenLoad | None:
    """Returns how both sides did under an open load; None where one is closed."""
    if theirs.keeps_up is None or own.keeps_up is None:
        return None
    return OpenLoad(
        own.step.label or own.step.name,
        theirs.keeps_up,
        own.keeps_up,
        _wait_us(theirs),
        _wait_us(own),
        own.is_replay,
    )


def default_metrics(theirs: Cell, own: Cell) -> Sequence[str]:
    """Returns the default metrics that the two can differ in: a rate that both kept up with is equal."""
    found = open_load(theirs, own)
    if not found:
        return DEFAULT
    names = [OF_OPEN_LOADS.get(name, name) for name in DEFAULT]
    return [name for name in names if name != RATE] if _is_equal(theirs, own) else names


def _is_equal(theirs: Cell, own: Cell) -> bool:
    """Returns whether both kept up with one rate."""
    rates = [one.offered_iops if one.keeps_up else None for one in (theirs, own)]
    return rates[0] is not None and rates[1] is not None and abs(rates[1] / rates[0] - 1) <= SAME_RATE


def loads_in_words(loads: Sequence[OpenLoad]) -> list[str]:
    """Returns who fell behind, a sentence for each load, and one on all that both kept up with."""
    found = list(dict.fromkeys(loads))
    kept = [one for one in found if one.base_kept and one.new_kept]
    texts = [one.words for one in found if one.words]
    if kept:
        times = "recorded times" if all(one.is_replay for one in kept) else "offered rate"
        where = plain(kept[0].label) if len(kept) == 1 else f"{len(kept)} workloads"
        texts.append(f"Both kept up with the {times} of {where}, so that rate is no result.")
    return texts


def _wait_us(cell: Cell) -> float:
    """Returns how long the step's I/Os waited to be issued, on average."""
    own = (cell.point.target, cell.point.step)
    points = [one for one in cell.column.run.points if (one.target, one.step) == own]
    response = mean_by_count((one.n, one.response_mean_us) for one in points)
    service = mean_by_count((one.n, one.mean_us) for one in points)
    return max(0.0, (response or 0.0) - (service or 0.0))
