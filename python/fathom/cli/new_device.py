"""The command that makes a drive of the catalogue from its data sheet."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.option_groups import HostOptions
from fathom.cli.options import Seed
from fathom.cli.output import stderr, stdout
from fathom.fleet.initiators import workers_of

if TYPE_CHECKING:
    from fathom.new_device.sheet import DataSheet


def new_device(
    sheet: Annotated[
        Path | None,
        typer.Argument(help="a data sheet as TOML or JSON; without one, the command asks", metavar="[SHEET]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="folder of a catalogue; default: FATHOM_CATALOG, or ~/.config/fathom", metavar="FOLDER"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite a drive of the same name")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="only check the sheet; simulate and write nothing")
    ] = False,
    seed: Seed = 1,
    *,
    hosts: HostOptions,
) -> None:
    """Make a drive of the catalogue from its data sheet.

    The twin is fitted to the ratings; the rest is that of its class.
    """
    from fathom.new_device.make import check as check_sheet
    from fathom.new_device.make import make
    from fathom.new_device.sheet import read_sheet
    from fathom.new_device.terminal import print_made
    from fathom.validation.terminal import TrialProgress
    from fathom.validation.validate import TrialRunner

    given = _asked() if sheet is None else read_sheet(sheet)
    paths = check_sheet(given, out, force=force or check)
    if check:
        print(f"{given.device_name}: no rating is impossible")
        return
    with workers_of(hosts.wanted) as workers, TrialProgress(stderr()) as watch:
        made = make(given, paths, TrialRunner(workers, seed, watch=watch))
    print_made(stdout(), made)


def _asked() -> "DataSheet":
    """Returns the sheet that its user answers at a terminal, and prints it to keep."""
    from fathom.errors import UsageError
    from fathom.new_device.ask import ask_for_sheet

    if not sys.stdin.isatty():
        raise UsageError(
            "no data sheet", "name a TOML or JSON file, or type the command at a terminal to be asked"
        )
    print("Leave empty what the data sheet does not say.")
    sheet, text = ask_for_sheet(lambda question: typer.prompt(question, default="", show_default=False))
    print(f"\n# the same as a file\n{text}")
    return sheet
