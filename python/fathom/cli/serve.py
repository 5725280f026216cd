"""The command that shows runs, reports and comparisons as pages of a web server on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.store import VARIABLE, StoreOption
from fathom.serve.settings import LISTEN


def serve(
    runs: Annotated[
        Path | None, typer.Option(help="folder of runs (default: the home of all runs)", metavar="DIR")
    ] = None,
    store: StoreOption = None,
    listen: Annotated[
        str, typer.Option(help="address and port; beyond this machine only with a token", metavar="HOST:PORT")
    ] = LISTEN,
    token: Annotated[
        str | None,
        typer.Option(
            help="ask every visitor for this secret; `new` makes one", metavar="TOKEN", envvar="FATHOM_TOKEN"
        ),
    ] = None,
    name: Annotated[
        list[str], typer.Option("--name", help="a host name under which it answers too", metavar="NAME")
    ] = [],  # noqa: B006 (typer copies defaults)
) -> None:
    """Show runs, reports and comparisons as web pages.

    Its pages start runs of twins only. It opens no device.
    """
    from fathom.errors import MissingPackagesError, UsageError
    from fathom.runs.home import runs_home
    from fathom.store.address import parse_address

    try:
        from fathom.serve.server import serve as serve_pages
        from fathom.serve.settings import settings_of
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "segno", "starlette"):
            raise
        raise MissingPackagesError("serve needs FastAPI, uvicorn and segno", "serve") from error
    if runs and store:
        raise UsageError(
            f"serve shows a folder or a store, not both: --runs {runs} and {store}",
            f"leave one out; {VARIABLE} counts as --store",
        )
    place = parse_address(store) if store else (runs or runs_home()).absolute()
    serve_pages(settings_of(place, listen, token, name))
