"""The command that lists namespaces of an NVMe drive, splits one for tenants, and puts it back."""

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.options import AsJson, Destroy, UnknownData
from fathom.cli.output import print_json, stderr, stdout


def namespaces(
    device: Annotated[
        Path, typer.Argument(help="a namespace or a controller: /dev/nvme0n1, /dev/nvme0", metavar="DEVICE")
    ],
    split: Annotated[
        int | None,
        typer.Option(
            help="put N equal namespaces in the place of the one named; its data are lost",
            metavar="N",
            min=2,
            max=128,
        ),
    ] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="put back the namespace that was split, without its data")
    ] = False,
    destroy: Destroy = [],  # noqa: B006 (typer copies defaults)
    unknown_data: UnknownData = False,
    record: Annotated[
        Path | None,
        typer.Option(
            help="the file that keeps what was there (default: in /var/lib/fathom/namespaces)", metavar="FILE"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List NVMe namespaces, split one, put it back."""
    from fathom.errors import UsageError
    from fathom.namespaces.commands import restore_namespace, split_namespace
    from fathom.namespaces.listing import restored_in_words

    if split is not None and restore:
        raise UsageError("--split and --restore exclude each other", "give one of them")
    if split is not None:
        device = split_namespace(device, split, destroy, unknown_data=unknown_data, record=record)
    elif restore:
        done = restore_namespace(device, destroy, unknown_data=unknown_data, record=record)
        device = done.node
        console = stderr() if as_json else stdout()
        console.print(restored_in_words(done.record, done.namespace), markup=False)
    _show(device, record, as_json)


def _show(device: Path, record: Path | None, as_json: bool) -> None:
    from fathom.namespaces.commands import list_namespaces
    from fathom.namespaces.listing import listing_json, print_listing

    found = list_namespaces(device, record)
    if as_json:
        print_json(listing_json(found))
    else:
        print_listing(stdout(), found)
