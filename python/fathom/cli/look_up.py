"""Commands that look things up: attached devices, built-in methods, and the catalogue."""

from typing import Annotated

import typer

from fathom.catalog import Kind
from fathom.cli.command import Command
from fathom.cli.options import AsJson, MethodName
from fathom.cli.output import print_json, stdout

methods_app = typer.Typer(
    name="methods",
    invoke_without_command=True,
    rich_markup_mode=None,
    help="List what can be run, or show a method.",
)
catalog_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    name="catalog",
    help="List devices, systems and published results, or show one.",
)


def devices(
    device: Annotated[
        str | None, typer.Argument(help="one device, with what it says that it can do", metavar="[DEVICE]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is attached, and why each is safe or refused."""
    from fathom.targets.capability_words import capabilities_of
    from fathom.targets.discover import (
        devices_json,
        discover,
        examine,
        print_device,
        print_devices,
    )

    reports = discover() if device is None else [examine(device)]
    if as_json:
        more = {"capabilities": capabilities_of(reports[0].target)} if device else {}
        print_json(devices_json(reports) | more)
    elif device is not None:
        print_device(stdout(), reports[0])
    else:
        print_devices(stdout(), reports)


@methods_app.callback()
def methods(context: typer.Context) -> None:
    """List what can be run."""
    if context.invoked_subcommand is None:
        from fathom.catalog.terminal import print_methods

        print_methods(stdout())


@methods_app.command("show", cls=Command)
def methods_show(name: MethodName) -> None:
    """Print a method file, to read or to copy and edit."""
    from fathom.catalog import method_text

    print(method_text(name), end="")


@catalog_app.callback()
def catalog(
    context: typer.Context,
    kind: Annotated[
        Kind | None, typer.Option(help="devices, systems, methods or published", metavar="KIND")
    ] = None,
) -> None:
    """List devices, systems and published results, or show one."""
    if context.invoked_subcommand is None:
        from fathom.catalog.terminal import print_catalog

        print_catalog(stdout(), kind)


@catalog_app.command("show", cls=Command)
def catalog_show(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    as_json: AsJson = False,
    as_toml: Annotated[bool, typer.Option("--toml", help="print its file, to copy and edit")] = False,
) -> None:
    """Print an entry with every parameter, figure and source."""
    from fathom.catalog import entry_json, entry_text
    from fathom.catalog.terminal import print_entry
    from fathom.prediction.words import record_words

    if as_toml:
        print(entry_text(name), end="")
    elif as_json:
        print_json(entry_json(name))
    else:
        print_entry(stdout(), name, record_words)
