"""A sweep from the texts that ask for it to its tables and page: one way for the command and for Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fathom.errors import FathomError
from fathom.load.workers import Workers
from fathom.method.method import Method
from fathom.runs.home import runs_home
from fathom.sweep import grid, study, table
from fathom.sweep.page import write_page


@dataclass(frozen=True)
class Swept:
    """What a sweep left in its folder: a run for each combination, the points of all, and a page."""

    asked: study.Sweep
    folder: Path
    points: pa.Table
    outcomes: Sequence[study.Outcome]
    page: Path

    def check(self, *, named: bool = False) -> None:
        """Raises FathomError where a combination has no run; without the reason where all are `named` already."""
        if failed := [one for one in self.outcomes if one.error]:
            why = "" if named else f"; the first: {failed[0].error}"
            raise FathomError(
                f"{len(failed)} of {len(self.outcomes)} points failed{why}",
                "correct or remove their values; the others are kept",
            )


def run_sweep(
    method: Method,
    targets: Sequence[str],
    settings: Sequence[str],
    workers: Workers,
    watch: study.Watch,
    *,
    quick: bool = False,
    seed: int = 1,
    out: Path | None = None,
) -> Swept:
    """Simulates a method for every combination of values, `KEY=VALUE,...` for each key, and writes the sweep's folder.

    The folder lies in `out`, or in the home of all runs. Combinations that are there already are not simulated again.
    `quick` is whether the method was shortened.
    Raises UsageError for a key or a value that is none.
    """
    axes = [grid.parse_axis(text) for text in settings]
    asked = study.Sweep(method, targets, axes, grid.combinations(axes, method, targets), seed, quick)
    study.check_values(asked, workers)
    folder = (out or runs_home()) / asked.name
    outcomes = study.simulate_all(asked, folder, workers, watch)
    points = table.gather(axes, outcomes)
    table.write_tables(points, folder)
    return Swept(asked, folder, points, outcomes, write_page(asked, folder, points, outcomes))
