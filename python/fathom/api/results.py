"""What runs say: their reports, what changed between them, questions over all, and results of other programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.api.options import path_of, words_of
from fathom.errors import UsageError
from fathom.runs.home import find_run
from fathom.runs.reader import Run

if TYPE_CHECKING:
    import pyarrow as pa

    from fathom.compare.rows import Result
    from fathom.results.import_files import Outcome


def open_run(run: str | Path) -> Run:
    """Returns the run named by a path, an id, a unique part of an id, or `last`."""
    return Run.open(run)


def write_report(
    runs: Run | Sequence[Run],
    *,
    baseline: str | Path | None = None,
    prices: str | Path | None = None,
    out: str | Path | None = None,
) -> Path:
    """Writes the report of runs into the first one's folder, or to `out`, and returns its path.

    `baseline` is an earlier run of the drive alone, to report beside. `prices` is a price list; the default is
    relative. Raises FathomError where a run or the list cannot be read.
    """
    from fathom.report import REPORT, write_html
    from fathom.sizing.files import read_prices

    own = [runs.path] if isinstance(runs, Run) else [one.path for one in runs]
    if not own:
        raise UsageError("no run to report", "give one or more")
    beside = [] if baseline is None else [find_run(str(baseline))]
    path = own[0] / REPORT if out is None else Path(out)
    return write_html([*own, *beside], path, prices=read_prices(path_of(prices)))


def compare_runs(
    base: Run | str | Path,
    *new: Run | str | Path,
    metrics: str | Sequence[str] = (),
    limits: str | Sequence[str] = (),
    level_pct: float | None = None,
) -> "list[Result]":
    """Returns what changed in each of `new` against the base, figure by figure, as `fathom compare` does.

    A run that was made with repeats stands for all of them. `metrics` and `limits` are written as in the command:
    `p99`, `p99 > +5%`; one may stand alone. `level_pct` is the change in percent within which two figures are level.

    Raises UsageError for a metric or a limit that is none, and for targets without a counterpart.
    """
    from fathom.compare.gate import parse_gate
    from fathom.compare.metrics import metric_names
    from fathom.compare.rows import LEVEL_PCT, compare_sides
    from fathom.compare.sides import read_side

    if not new:
        raise UsageError("no run to hold against the base", "give one or more after it")
    sides = [read_side(str(one.path if isinstance(one, Run) else one)) for one in (base, *new)]
    names = metric_names(",".join(words_of(metrics)) if metrics else None)
    gates = [parse_gate(text) for text in words_of(limits)]
    level = LEVEL_PCT if level_pct is None else level_pct
    return [compare_sides(sides[0], side, names, gates, level) for side in sides[1:]]


def import_results(
    *files: str | Path, format: str | None = None, unit: str = "ns", out: str | Path | None = None
) -> "Outcome":
    """Makes runs from the results of other load generators, as `fathom import-results` does. Folders are taken whole.

    The result has the new `runs`, the `duplicates` and the `bad` files. Raises UsageError for an unknown format or
    unit, and where there is no file.
    """
    from fathom.results import import_files
    from fathom.results.formats import format_named, unit_named

    chosen = None if format is None else format_named(format)
    return import_files.import_results([Path(file) for file in files], chosen, unit_named(unit), path_of(out))


def export_results(run: Run | str | Path, format: str) -> bytes:
    """Returns a run as a file of another program, as `fathom export-results` writes it.

    Raises UsageError for an unknown format, and for a run without what the format is made of.
    """
    from fathom.results import export

    opened = run if isinstance(run, Run) else Run.open(run)
    return export.export_results(opened, export.export_format_named(format))


def query(sql: str, *, store: str | None = None) -> "pa.Table":
    """Returns the answer to one SQL statement over all runs, or those of a team's store, as `fathom query` does.

    Raises UsageError for a statement that is none, and for a store that cannot be read.
    """
    from fathom.runs.query import query as of_runs
    from fathom.store.address import parse_address
    from fathom.store.query import query as of_store
    from fathom.store.store import open_store

    if store is None:
        return of_runs(sql)
    with open_store(parse_address(store)) as one:
        return of_store(sql, one)
