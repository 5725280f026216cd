"""The command that ranks drives for a recorded load."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.options import AsJson, PriceList, Seed
from fathom.cli.output import print_json, stderr, stdout
from fathom.cli.traces import Columns, Format, TraceDevice, TraceFile


def recommend(
    trace: TraceFile,
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="twin:NAME (default: every drive of the catalogue)", metavar="[TARGET...]"),
    ] = None,
    slo: Annotated[
        list[str],
        typer.Option("--slo", help='an objective, such as "p99 read < 500us"; once each', metavar="LIMIT"),
    ] = [],  # noqa: B006 (typer copies defaults)
    prices: PriceList = None,
    out: Annotated[Path | None, typer.Option(help="also write an HTML page", metavar="FILE")] = None,
    trace_device: TraceDevice = None,
    format: Format = None,
    columns: Columns = None,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Find the drive that a recorded load needs, and its headroom.

    Replays the trace on the drives' twins, side by side on all cores.
    """
    from fathom.load.workers import local_workers
    from fathom.output.output_file import check_output, write_output
    from fathom.recommend import ranking
    from fathom.recommend.objective import parse_objective
    from fathom.recommend.page import render
    from fathom.recommend.reading import read
    from fathom.recommend.terminal import print_recommendation, recommendation_json
    from fathom.sizing.files import read_prices
    from fathom.traces.opening import open_trace
    from fathom.validation.terminal import TrialProgress

    if out is not None:
        check_output(out)
    objectives = [parse_objective(text) for text in slo]
    devices, listed = ranking.devices_of(targets or []), read_prices(prices)
    found_in = read(
        lambda: open_trace(trace, format, columns),
        trace_device,
        objectives,
        ranking.MOST_IOS,
        once=trace == Path("-"),
    )
    for text in found_in.complaints:
        print(f"fathom: {text}", file=sys.stderr)
    with local_workers() as workers, TrialProgress(stderr()) as watch:
        found = ranking.recommend(
            found_in.prepared, found_in.portion, devices, objectives, listed, workers, seed=seed, watch=watch
        )
    if out is not None:
        write_output(out, render(found).encode())
    if as_json:
        print_json(recommendation_json(found))
    else:
        print_recommendation(stdout(), found)
