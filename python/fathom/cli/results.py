"""Commands that read runs: report, runs, query and check."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.options import AsJson, PriceList
from fathom.cli.output import one_form, print_json, stderr, stdout
from fathom.cli.store import StoreOption, finding, opened, report_path

if TYPE_CHECKING:
    from fathom.report.blocks import Section


class EditionName(StrEnum):
    """The editions of a report by name, without loading what draws them."""

    FULL = "full"
    SHORT = "short"


def report(
    runs: Annotated[list[str], typer.Argument(help="runs to show side by side", metavar="RUN...")],
    out: Annotated[Path | None, typer.Option(help="the HTML file", metavar="FILE")] = None,
    pool: Annotated[
        bool, typer.Option("--pool", help="pool runs of one method and target as repeats, not side by side")
    ] = False,
    prices: PriceList = None,
    edition: Annotated[
        EditionName,
        typer.Option(help="full, or short: the answer, notes and provenance for print", metavar="EDITION"),
    ] = EditionName.FULL,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if",
            help="hold the virtual SSDs and systems of the runs with sliders, as `fathom what-if`",
        ),
    ] = False,
    store: StoreOption = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print the points as CSV instead")] = False,
) -> None:
    """Write one offline HTML report from run directories alone."""
    from fathom.errors import UsageError
    from fathom.report import (
        Edition,
        build,
        check_place,
        print_method_answers,
        runs_csv,
        runs_json,
        write_built,
    )
    from fathom.sizing.files import read_prices

    one_form(as_json, as_csv)
    with finding(store) as finder:
        paths = [finder.find(name) for name in runs]
    if as_json:
        print_json(runs_json(paths, pool=pool))
    elif as_csv:
        print(runs_csv(paths), end="")
    else:
        chosen = Edition(edition.value)
        if what_if and chosen is Edition.SHORT:
            raise UsageError("--what-if: the short edition is for print", "leave one of the two out")
        path = out or report_path(paths[0], store)
        check_place(path, paths)
        further = [_what_if(paths)] if what_if else []
        built = build(paths, prices=read_prices(prices), pool=pool)
        write_built(built, path, chosen, further)
        print_method_answers(stderr(), built.comparison)
        print(path)


def _what_if(paths: list[Path]) -> "Section":
    from fathom.what_if.inside import section

    return section(paths)


def runs(
    store: StoreOption = None,
    tag: Annotated[list[str], typer.Option("--tag", help="only runs that have this tag", metavar="TAG")] = [],  # noqa: B006 (typer copies defaults)
    as_json: AsJson = False,
) -> None:
    """List the runs in the home of all runs, or in a store."""
    import pyarrow as pa

    from fathom.runs.home import home_place, runs_home
    from fathom.runs.labels import Labels, all_labels
    from fathom.runs.listing import runs_table
    from fathom.runs.terminal import print_runs

    if store:
        from fathom.store.finder import place_of

        with opened(store) as one:
            table, labels, place, of = one.runs_table(), one.labels(), place_of(one), {}
    else:
        home = runs_home()
        table, labels, place = runs_table(home, left_out=_say), all_labels(home), home_place()
        of = {name: {"path": f"{home}/{name}"} for name in table["run"].to_pylist()}
    if tag:
        kept = {name for name, one in labels.items() if set(tag) <= set(one.tags)}
        # An empty list has no values to take a type from.
        table = table.filter(pa.array([name in kept for name in table["run"].to_pylist()], pa.bool_()))
    if as_json:
        rows = [
            {**row, **of.get(row["run"], {}), "tags": one.tags, "note": one.note}
            for row in table.to_pylist()
            for one in [labels.get(row["run"], Labels())]
        ]
        print_json({"schema": "fathom-run-list/1", "runs": rows})
    elif tag and not table.num_rows:
        print(f"no run in {place.name} has {' and '.join(tag)}")
    else:
        print_runs(stdout(), table, place, {name: one.tags for name, one in labels.items()})


def query(
    sql: Annotated[
        str,
        typer.Argument(
            help="one statement over runs, points, streams, phases, ensemble, intervals, latency, telemetry",
            metavar="SQL",
        ),
    ],
    store: StoreOption = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV instead")] = False,
) -> None:
    """Ask everything ever measured, in SQL."""
    from fathom.runs.home import home_place, run_directories
    from fathom.runs.query import query as run_query
    from fathom.runs.terminal import json_rows, print_csv, print_result

    one_form(as_json, as_csv)
    if store:
        from fathom.store.finder import place_of
        from fathom.store.query import query as query_store

        with opened(store) as one:
            table, place = query_store(sql, one), place_of(one)
            has_runs = bool(table.num_rows or one.runs_table().num_rows)
    else:
        table, place = run_query(sql, left_out=_say), home_place()
        has_runs = bool(table.num_rows or run_directories())
    if as_json:
        print_json({"schema": "fathom-query/1", "rows": json_rows(table)})
    elif as_csv:
        print_csv(table)
    else:
        print_result(stdout(), table, place, has_runs=has_runs)


def check(
    runs: Annotated[list[str], typer.Argument(help="runs to look at", metavar="RUN...")],
    repair: Annotated[
        bool, typer.Option("--repair", help="rebuild damaged tables from the folders of the steps")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare every file of runs with its checksum."""
    from fathom.errors import FathomError, UsageError
    from fathom.runs.check import check as look
    from fathom.runs.check import in_words, to_json
    from fathom.runs.home import find_run

    paths: list[Path] = []
    unknown: list[UsageError] = []
    for name in runs:
        try:
            paths.append(find_run(name))
        except UsageError as error:
            unknown.append(error)
    if unknown and not paths:
        raise unknown[0]
    if repair:
        for path in paths:
            _mend(path)
    found = [look(path) for path in paths]
    if as_json:
        print_json({"schema": "fathom-check/1", "runs": [to_json(one) for one in found]})
    else:
        print("\n".join(line for one in found for line in in_words(one)))
    for error in unknown:
        _say(str(error))
    if damaged := [one for one in found if not one.whole]:
        mendable = not repair and any(one.error is None for one in damaged)
        hint = "--repair rebuilds damaged tables where the steps have their rows" if mendable else None
        raise FathomError(f"{len(damaged)} of {len(found)} runs damaged", hint)
    if unknown:
        raise UsageError(f"{len(unknown)} of {len(runs)} names are of no run", "`fathom runs` lists the runs")


def _mend(run: Path) -> None:
    """Repairs a run and prints what was written, or why nothing could be. A check follows."""
    from fathom.errors import FathomError
    from fathom.runs.check import repair

    try:
        if written := repair(run):
            _say(f"run {run.name}: rebuilt: {', '.join(written)}")
    except FathomError as error:
        _say(str(error))


def _say(text: str) -> None:
    print(f"fathom: {text}", file=sys.stderr)
