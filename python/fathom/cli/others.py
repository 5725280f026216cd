"""The commands between runs and the results of other load generators."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.options import AsJson, Out, RunName
from fathom.cli.output import print_json, stderr

if TYPE_CHECKING:
    from fathom.results.import_files import Outcome

MOST_NAMED = 10
"""Files that are there already and are named each; of more, one is named and the others are counted."""
NEWS_EVERY = 1000
"""Files between two lines of progress where the output is no terminal."""


def import_results(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="results of fio (JSON, JSON+, logs), Vdbench, elbencho, Iometer, or HdrHistogram logs; or folders",
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(help="take all files for this format (default: by their contents)", metavar="NAME"),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(help="unit of latencies in logs of fio and HdrHistogram: ns, us or ms", metavar="UNIT"),
    ] = "ns",
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Make runs from the results of other load generators."""
    from fathom.errors import FathomError, UsageError
    from fathom.load.workers import local_workers
    from fathom.results.formats import format_named, unit_named
    from fathom.results.import_files import MOST_WORKERS
    from fathom.results.import_files import import_results as import_all

    chosen = format_named(format) if format else None
    with local_workers(most=MOST_WORKERS) as workers:
        outcome = import_all(files, chosen, unit_named(unit), out, _progress, workers)
    others = len(outcome.runs) + len(outcome.duplicates)
    if len(outcome.bad) == 1 and not others and not as_json:
        raise UsageError(outcome.bad[0].why)
    _print_outcome(outcome, as_json=as_json)
    if outcome.bad:
        count = sum(one.many for one in outcome.bad)
        raise FathomError(
            f"{count} of {count + others} not imported",
            "`bad` in the document gives the reasons" if as_json else "the lines above give the reasons",
        )


def _progress(done: int, count: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == count else ""
        print(f"\rimporting {done:,} of {count:,}", end=end, file=sys.stderr, flush=True)
    elif done and done % NEWS_EVERY == 0:
        print(f"fathom: {done:,} of {count:,} imported", file=sys.stderr, flush=True)


def _print_outcome(outcome: "Outcome", *, as_json: bool) -> None:
    """The runs go to standard output, all else to standard error."""
    if as_json:
        print_json(
            {
                "schema": "fathom-import-results/1",
                "runs": [str(run) for run in outcome.runs],
                "duplicates": [{"file": str(one.file), "run": one.run} for one in outcome.duplicates],
                "bad": [{"file": str(one.file), "why": one.why} for one in outcome.bad],
            }
        )
        return
    for run in outcome.runs:
        print(run)
    console = stderr()
    named = outcome.duplicates if len(outcome.duplicates) <= MOST_NAMED else outcome.duplicates[:1]
    lines = [f"fathom: {one.file}: already there as run {one.run}" for one in named]
    if left := len(outcome.duplicates) - len(named):
        lines.append(f"fathom: {left:,} more files are already there; --json lists them with their runs")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for one in outcome.bad:
        console.print(f"fathom: {one.why}", highlight=False, markup=False, soft_wrap=True)


def export_results(
    run: RunName,
    format: Annotated[
        str,
        typer.Option(help="fio-json, fio-json+, hdrhistogram, openmetrics, csv or xlsx", metavar="NAME"),
    ],
    out: Annotated[
        Path | None, typer.Option(help="the file (default: standard output, but for xlsx)", metavar="FILE")
    ] = None,
) -> None:
    """Print a run as results of fio, HdrHistogram or others."""
    from fathom.errors import UsageError
    from fathom.output.output_file import check_output, write_output
    from fathom.results.export import ExportFormat, export_format_named
    from fathom.results.export import export_results as export
    from fathom.runs.home import called, find_run
    from fathom.runs.reader import Run

    chosen = export_format_named(format)
    if out is None and chosen is ExportFormat.XLSX:
        raise UsageError("a workbook is no text for a terminal", "give --out FILE.xlsx")
    if out:
        check_output(out)
    opened = Run.open(find_run(run))
    data = export(opened, chosen)
    if chosen is ExportFormat.CSV and (notes := len(opened.document.notes)):
        left_out = f"{notes} validity {'note is' if notes == 1 else 'notes are'} not in the CSV"
        print(f"fathom: {left_out}; see `fathom report {called(opened.path)}`", file=sys.stderr)
    if out:
        write_output(out, data)
        print(out)
    else:
        print(data.decode(), end="")
