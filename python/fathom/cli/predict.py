"""Commands that predict: twins against published results, and what drives or systems a need takes."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.option_groups import HostOptions
from fathom.cli.options import (
    AsJson,
    Out,
    PriceList,
    Quick,
    RunMethod,
    Seed,
)
from fathom.cli.output import one_form, print_json, stderr, stdout
from fathom.errors import UsageError
from fathom.fleet.initiators import workers_of


def validate(
    devices: Annotated[
        list[str] | None, typer.Argument(help="default: every twin of the catalogue", metavar="[DEVICE...]")
    ] = None,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate",
            help="exit 4 if a device's median error exceeds 3 % of rows it was fitted to, or 10 % of others",
        ),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="write the misses into the catalogue, for the intervals of twins")
    ] = False,
    seed: Seed = 1,
    *,
    hosts: HostOptions,
    as_json: AsJson = False,
) -> None:
    """Print how far twins are from published results.

    Shows the errors of fitted and of predicted figures separately.
    """
    from fathom.validation.comparison import check_gate, medians
    from fathom.validation.misses import keep_misses
    from fathom.validation.terminal import (
        TrialProgress,
        print_validation,
        print_without_twin,
        validation_json,
    )
    from fathom.validation.validate import TrialRunner, devices_to_validate, validate

    chosen = devices_to_validate(devices or [])
    with workers_of(hosts.wanted) as workers, TrialProgress(stderr()) as watch:
        rows = validate(chosen, TrialRunner(workers, seed, watch=watch))
    if as_json:
        print_json(validation_json(rows))
    else:
        print_validation(stdout(), rows)
        if not devices:
            print_without_twin(stdout(), chosen)
    if keep:
        stderr().print(f"written to {keep_misses(rows)}", markup=False, highlight=False)
    if gate:
        check_gate(medians(rows))


def calibrate(
    device: Annotated[
        str, typer.Argument(help="a device of the catalogue that has a twin", metavar="DEVICE")
    ],
    write: Annotated[bool, typer.Option("--write", help="write the values into the device's file")] = False,
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="find many parameter sets that agree with the rows")
    ] = False,
    members: Annotated[
        int, typer.Option(help="parameter sets of the ensemble", metavar="N", min=10, max=1000)
    ] = 100,
    seed: Seed = 1,
    *,
    hosts: HostOptions,
) -> None:
    """Fit a twin's parameters to its calibration rows alone."""
    from fathom.catalog import load_device
    from fathom.validation.calibrate import calibrate, write_values
    from fathom.validation.terminal import TrialProgress, print_calibration
    from fathom.validation.validate import TrialRunner

    if ensemble:
        _find_ensemble(device, members, seed, hosts, write=write)
        return
    fitting = load_device(device)
    with workers_of(hosts.wanted) as workers, TrialProgress(stderr()) as watch:
        fitted = calibrate(fitting, TrialRunner(workers, seed, watch=watch))
    print_calibration(stdout(), fitted)
    if write:
        print(f"written to {write_values(fitted)}")


def _find_ensemble(name: str, members: int, seed: int, hosts: HostOptions, *, write: bool) -> None:
    from fathom.catalog import load_device
    from fathom.catalog.ensemble import write_ensemble
    from fathom.validation.ensemble import sample_ensemble
    from fathom.validation.ensemble_terminal import print_ensemble
    from fathom.validation.terminal import TrialProgress
    from fathom.validation.validate import TrialRunner

    with workers_of(hosts.wanted) as workers, TrialProgress(stderr()) as watch:
        sampled = sample_ensemble(load_device(name), TrialRunner(workers, seed, watch=watch), members)
    print_ensemble(stdout(), sampled)
    if write:
        print(f"written to {write_ensemble(sampled.ensemble)}")


def sensitivity(
    device: Annotated[str, typer.Argument(help="an SSD of the catalogue that has a twin", metavar="DEVICE")],
    method: Annotated[
        str | None,
        typer.Option("--method", help="whose figures (default: eight common ones)", metavar="METHOD"),
    ] = None,
    quick: Quick = False,
    trajectories: Annotated[
        int,
        typer.Option(
            help="ways through the parameters; each takes one simulation a parameter",
            metavar="N",
            min=2,
            max=100,
        ),
    ] = 10,
    write: Annotated[bool, typer.Option("--write", help="keep the result in your catalogue")] = False,
    seed: Seed = 1,
    *,
    hosts: HostOptions,
    as_json: AsJson = False,
) -> None:
    """Find which parameters of a twin drive which figures."""
    from fathom.catalog import load_device
    from fathom.catalog.sensitivity import write_sensitivity
    from fathom.catalog.sensitivity_terminal import print_sensitivity
    from fathom.catalog.settings import MARK
    from fathom.method.method import load_method
    from fathom.sweep.sensitivity import figures_method, find_sensitivity
    from fathom.validation.terminal import TrialProgress

    if MARK in device:
        raise UsageError(f"{device}: priors are those of a drive as it is", "leave out what is set")
    chosen = load_method(method, quick=quick) if method else figures_method()
    with workers_of(hosts.wanted) as workers, TrialProgress(stderr()) as watch:
        found = find_sensitivity(load_device(device), chosen, workers, watch, trajectories, seed)
    if as_json:
        print_json(found.model_dump(by_alias=True, mode="json"))
    else:
        print_sensitivity(stdout(), found)
    if write:
        print(f"written to {write_sensitivity(found)}", file=sys.stderr if as_json else sys.stdout)


def size(
    needs: Annotated[
        list[str],
        typer.Option(
            "--need",
            help="such as: 64 GB/s read, 5M IOPS write, 500 TB, 20 TB/day for 5 years, 400 W; once per need",
            metavar="NEED",
        ),
    ],
    device: Annotated[
        str | None,
        typer.Option(
            help="a data sheet of the catalogue; with --run, for endurance and power", metavar="NAME"
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="use the rates of this run of one drive, measured or a twin's", metavar="RUN"),
    ] = None,
    derate: Annotated[float, typer.Option(help="share of a drive's rate to count on", metavar="SHARE")] = 1.0,
    link: Annotated[str, typer.Option(help="the host's or GPU's PCIe link", metavar="GENxLANES")] = "5x16",
    out: Annotated[
        Path | None, typer.Option(help="also write the sizing as an HTML page", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find how many drives a need takes, and what binds."""
    from fathom.errors import UsageError
    from fathom.output.output_file import check_output, write_output
    from fathom.report.sizing_page import render
    from fathom.runs.home import find_run
    from fathom.sizing.drive import rated_drive
    from fathom.sizing.measured import measured_drive
    from fathom.sizing.needs import parse_need
    from fathom.sizing.size import size as size_for
    from fathom.sizing.terminal import print_sizing, sizing_json

    if out is not None:
        check_output(out)
    parsed = [parse_need(text) for text in needs]
    if run is not None:
        drive = measured_drive(find_run(run), parsed)
        if device is not None:
            drive = drive.with_ratings(rated_drive(device))
    elif device is not None:
        drive = rated_drive(device)
    else:
        raise UsageError("no drive to size with", "add --device NAME or --run RUN")
    sizing = size_for(drive, parsed, derate, link)
    if out is not None:
        write_output(out, render(sizing).encode())
    if as_json:
        print_json(sizing_json(sizing))
    else:
        print_sizing(stdout(), sizing)


def sweep(
    method: RunMethod,
    targets: Annotated[
        list[str],
        typer.Argument(help="twin:NAME, twin:NAME*8; other targets have no values to set", metavar="TWIN..."),
    ],
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="values of a twin's parameter, of a system's drives (drives.KEY) or of a job's key (job.KEY)",
            metavar="KEY=VALUE,...",
        ),
    ],
    quick: Quick = False,
    seed: Seed = 1,
    out: Out = None,
    *,
    hosts: HostOptions,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print the points as CSV instead")] = False,
) -> None:
    """Simulate a method for every combination of values.

    The same command goes on where it ended.
    """
    from fathom.cli.replay import method_of
    from fathom.sweep import table, terminal
    from fathom.sweep.sweep import run_sweep
    from fathom.validation.terminal import TrialProgress

    one_form(as_json, as_csv)
    parsed = method_of(method, quick=quick)
    with workers_of(hosts.wanted) as workers, TrialProgress(stderr()) as watch:
        swept = run_sweep(parsed, targets, settings, workers, watch, quick=quick, seed=seed, out=out)
    csv = swept.folder / table.CSV
    if as_json:
        print_json(terminal.sweep_json(swept.folder, swept.points))
    elif as_csv:
        print(csv.read_text(encoding="utf-8"), end="")
    else:
        terminal.print_sweep(stdout(), swept.asked, swept.points, swept.outcomes)
        print(f"report  {swept.page}\ntables  {csv}")
    swept.check(named=not (as_json or as_csv))


def what_if(
    target: Annotated[
        str,
        typer.Argument(help="twin:NAME or twin:NAME?KEY=VALUE,...: a single SSD or a system", metavar="TWIN"),
    ],
    out: Annotated[
        Path | None, typer.Option(help="the page to write (default: what-if.html)", metavar="FILE")
    ] = None,
) -> None:
    """Write a page with a twin inside, and sliders."""
    from fathom.what_if.page import PAGE, write_page

    print(write_page(target, out or Path(PAGE)))


def _show_prices(asked: bool) -> None:
    if asked:
        from fathom.sizing.files import shipped_prices

        print(shipped_prices(), end="")
        raise typer.Exit


def choose(
    needs: Annotated[Path, typer.Argument(help="a TOML file of needs", metavar="NEEDS.toml")],
    systems: Annotated[
        list[str], typer.Argument(help="systems of the catalogue's published results", metavar="SYSTEM...")
    ],
    prices: PriceList = None,
    run: Annotated[
        list[str],
        typer.Option(
            "--run", help="use this run for a system's rates, once per system", metavar="SYSTEM=RUN"
        ),
    ] = [],  # noqa: B006
    show_prices: Annotated[
        bool,
        typer.Option(
            "--show-prices",
            help="print the relative price list, to copy and edit",
            is_eager=True,
            callback=_show_prices,
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="also write the choice as an HTML page", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the system that answers the needs best, and its cost."""
    from fathom.output.output_file import check_output, write_output
    from fathom.report.choice_page import render
    from fathom.sizing.choice_terminal import choice_json, print_choice
    from fathom.sizing.choose import choose as choose_between
    from fathom.sizing.choose import systems_to_compare
    from fathom.sizing.files import read_needs, read_prices

    if out is not None:
        check_output(out)
    stated, listed = read_needs(needs), read_prices(prices)
    choice = choose_between(stated, systems_to_compare(systems, run, stated, listed), listed)
    if out is not None:
        write_output(out, render(choice).encode())
    if as_json:
        print_json(choice_json(choice))
    else:
        print_choice(stdout(), choice)
