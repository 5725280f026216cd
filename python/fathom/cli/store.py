"""The commands of a team's store, and the option by which others read one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.command import Command

if TYPE_CHECKING:
    from fathom.runs.finder import Finder
    from fathom.store.store import Store

VARIABLE = "FATHOM_STORE"
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="a team's runs instead of yours: a folder or postgresql://HOST/DATABASE",
        metavar="WHERE",
        envvar=VARIABLE,
    ),
]

store_app = typer.Typer(name="store", no_args_is_help=True, help="Share runs with a team.")


@store_app.command(cls=Command)
def init(
    where: Annotated[
        str, typer.Argument(help="a folder, or postgresql://HOST/DATABASE", metavar="WHERE", envvar=VARIABLE)
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="where the data goes: a folder or s3://BUCKET/PREFIX (default: WHERE/data)", metavar="WHERE"
        ),
    ] = None,
) -> None:
    """Make a store."""
    from fathom.store.address import parse_address, parse_data
    from fathom.store.tables import init as make

    address = parse_address(where)
    make(address, parse_data(data, address))
    print(where)


@store_app.command(cls=Command)
def add(
    runs: Annotated[list[str], typer.Argument(help="runs that have ended", metavar="RUN...")],
    store: StoreOption = None,
) -> None:
    """Add runs with all of their files.

    A run that is there already is left as it is.
    """
    from fathom.runs.home import find_run

    paths = [find_run(name) for name in runs]
    with opened(store, to_write=True) as one:
        one.add(paths, lambda name, new: print(name if new else f"{name}  already there"))


@store_app.command(cls=Command)
def fetch(
    runs: Annotated[list[str], typer.Argument(help="runs of the store", metavar="RUN...")],
    store: StoreOption = None,
) -> None:
    """Bring runs into the cache of this user, and print where they are."""
    with opened(store) as one:
        from fathom.store.finder import StoreRuns

        finder = StoreRuns(one)
        for name in runs:
            print(finder.find(name))


@contextmanager
def opened(store: str | None, *, to_write: bool = False) -> Iterator["Store"]:
    """Opens the store that the user names. Raises UsageError where none is named."""
    from fathom.errors import UsageError
    from fathom.store.address import parse_address
    from fathom.store.store import open_store

    if not store:
        raise UsageError("no store is named", f"add --store WHERE, or set {VARIABLE}")
    with open_store(parse_address(store), to_write=to_write) as one:
        yield one


@contextmanager
def finding(store: str | None) -> Iterator["Finder"]:
    """Gives what finds runs: in the store where one is named, else in the home of all runs."""
    if not store:
        from fathom.runs.finder import LOCAL

        yield LOCAL
        return
    with opened(store) as one:
        from fathom.store.finder import StoreRuns

        yield StoreRuns(one)


def report_path(run: Path, store: str | None) -> Path:
    """Returns where a report goes without `--out`: into the run's directory, or here for a run of a store."""
    from fathom.report import REPORT

    return Path(f"{run.name}.html") if store else run / REPORT
