"""Runs read, compared and made into sections, once for all that shows them. It takes seconds where runs are many."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fathom.report import sections
from fathom.report.blocks import Section
from fathom.report.comparison import Comparison, compare
from fathom.report.data import load
from fathom.report.published import Lookup, catalogue
from fathom.sizing.files import Prices


class Built(NamedTuple):
    """Runs beside each other, and all sections about them."""

    runs: Sequence[Path]
    comparison: Comparison
    sections: Sequence[Section]


def build(
    runs: Sequence[Path], lookup: Lookup = catalogue, prices: Prices | None = None, *, pool: bool = False
) -> Built:
    """Returns run directories as they are shown. `prices` and `pool` are those of `compare`.

    Raises FathomError when a run cannot be read.
    """
    comparison = compare([load(run) for run in runs], lookup, prices, pool=pool)
    return Built(runs, comparison, sections.build_all(comparison))
