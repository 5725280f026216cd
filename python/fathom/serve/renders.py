"""Reports and comparisons as text, one made at a time, the last ones kept."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path

from fathom.compare.context import context_of
from fathom.compare.metrics import DEFAULT
from fathom.compare.page import render as compare_page
from fathom.compare.rows import compare_sides
from fathom.compare.sides import read_side
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.page import render
from fathom.report.published import catalogue

MOST_KEPT = 8
"""A page of many runs has several MB."""
RUNS = ("All runs", "/")


class Renders:
    """Makes pages in another thread. A second request for a page waits for the first one's."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._kept: OrderedDict[Hashable, str] = OrderedDict()

    async def page(self, key: Hashable, make: Callable[[], str]) -> str:
        """Returns the page of a key, made once. Raises what `make` raises."""
        async with self._one_at_a_time:
            if key not in self._kept:
                self._kept[key] = await asyncio.to_thread(make)
                if len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def report_of(runs: Sequence[Path], about: Sequence[tuple[str, str]] = ()) -> str:
    """Returns the report of runs, side by side; `about` are further pages of them. Raises FathomError."""
    return render(compare([load(run) for run in runs], catalogue), site=(RUNS, *about))


def comparison_of(base: Path, news: Sequence[Path]) -> str:
    """Returns the page of what changed from the base. Raises FathomError for runs that cannot be compared."""
    first, *others = (replace(read_side(str(run)), name=run.name) for run in (base, *news))
    results = [compare_sides(first, other, DEFAULT) for other in others]
    contexts = [context_of(first, *both) for both in zip(others, results, strict=True)]
    return compare_page(first, others, results, contexts, site=(RUNS,))
