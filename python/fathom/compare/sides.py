"""The two sides of a comparison: their runs, and which target and workload of one corresponds to the other's."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fathom.analysis.settled import Unsettled, unsettled
from fathom.analysis.validity.of_waf import little_written
from fathom.errors import UsageError
from fathom.report.comparison import Cell, Column, Comparison, Corner, compare
from fathom.report.data import RunData, load
from fathom.report.findings import view_of_all
from fathom.report.style import plain
from fathom.runs.finder import LOCAL, Finder
from fathom.runs.layout import RUN

PUBLISHED = "published"
"""The base that stands for the published figures of each target."""


class Unclaimed(NamedTuple):
    """Why nothing may be claimed of a figure: as a verdict, and as the rest of a sentence about its side."""

    verdict: str
    why: str


@dataclass(frozen=True)
class Side:
    """One or more runs that are repeats of one measurement, as a comparison of the report shows them."""

    name: str
    comparison: Comparison
    unsettled: Mapping[tuple[str, str], Unsettled]
    little_written: Collection[tuple[str, str]]
    """Steps that wrote too little for a WAF of their own, by the column's short label and the step's name."""

    @property
    def runs(self) -> Sequence[RunData]:
        """The runs, in the order given."""
        return self.comparison.runs

    @property
    def is_foreign(self) -> bool:
        """Whether it was imported."""
        return any(run.document.origin for run in self.runs)

    def shares_a_run(self, other: "Side") -> bool:
        """Returns whether one run stands on both sides, so that a comparison would be with itself."""
        first, second = ({run.run.path.resolve() for run in side.runs} for side in (self, other))
        return not first.isdisjoint(second)

    def unclaimed(self, cell: Cell) -> Unclaimed | None:
        """Returns why nothing may be claimed of a cell; None where something may."""
        found = self.unsettled.get((cell.column.short, cell.step.name))
        return Unclaimed(found.tag, found.value) if found else None

    def wrote_little(self, cell: Cell) -> bool:
        """Returns whether a cell's step wrote too little for a WAF of its own."""
        return (cell.column.short, cell.step.name) in self.little_written


@dataclass(frozen=True)
class Match:
    """A target of the new side and its counterpart in the base. Without one it is compared with published figures."""

    base: Column | None
    new: Column


def read_side(text: str, finder: Finder = LOCAL) -> Side:
    """Reads a side from run names with commas between them.

    A single name stands for all repeats of its run. Raises UsageError for names that match no run and for runs that are
    no repeats of each other, FathomError for runs that cannot be read.
    """
    paths = _paths(text, finder)
    runs = [load(path) for path in paths]
    comparison = compare(runs, pool=len(paths) > 1)
    if len(runs) > 1 and any(column.repeats < len(runs) for column in comparison.columns):
        raise UsageError(
            f"{text}: these runs are no repeats of one measurement",
            "repeats share method, targets, version and machine, and each twin has its own seed",
        )
    view = view_of_all(comparison)
    return Side(text, comparison, unsettled(view), little_written(view))


def names_of(text: str) -> list[str]:
    """Returns the names of a side's runs; a path of one run may have commas in it."""
    return [text] if (Path(text) / RUN).exists() else [name for name in text.split(",") if name]


def _paths(text: str, finder: Finder) -> list[Path]:
    names = names_of(text)
    if not names:
        raise UsageError("a side of the comparison names no run", "`fathom runs` lists the runs")
    paths = [finder.find(name) for name in names]
    return paths if len(paths) > 1 else finder.repeats(paths[0])


def matches(base: Side | None, new: Side) -> list[Match]:
    """Returns each target of the new side with the base's of the same name, or with the base's only one.

    Raises UsageError where a target has none.
    """
    if base is None:
        return [Match(None, column) for column in new.comparison.columns]
    known = base.comparison.columns
    return [Match(_partner(column, known, base, new), column) for column in new.comparison.columns]


def _partner(column: Column, known: Sequence[Column], base: Side, new: Side) -> Column:
    same = [one for one in known if one.target.name == column.target.name]
    if same:
        return same[0]
    if len(known) == 1 and len(new.comparison.columns) == 1:
        return known[0]
    raise UsageError(
        f"{_named(column)} of {new.name}: {base.name} has no target of that name, only {', '.join(map(_named, known))}",
        "compare runs of the same targets, or runs of one target each",
    )


def _named(column: Column) -> str:
    """Returns a target's label with the name that sides are matched by: files of two paths may have one label."""
    name = plain(column.target.name)
    return column.label if name == column.label else f"{column.label} ({name})"


def cells(base: Side | None, new: Side, match: Match) -> Iterator[tuple[Corner, Cell | None, Cell | None]]:
    """Yields each workload of either side with its two cells, those of the base first; None where one lacks it."""
    own = {corner.key: corner for corner in new.comparison.corners}
    theirs = {corner.key: corner for corner in base.comparison.corners} if base else {}
    for key in dict.fromkeys((*theirs, *own)):
        first = theirs[key].cell(match.base) if key in theirs and match.base else None
        second = own[key].cell(match.new) if key in own else None
        if first or second:
            yield (own.get(key) or theirs[key]), first, second
