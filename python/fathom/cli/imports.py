"""The command that takes over what was written for other load generators."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="fio job file, script of fio commands, or Vdbench parameter file"
        ),
    ],
    name: Annotated[str | None, typer.Option(help="the method's name (default: the file's)")] = None,
) -> None:
    """Print a fio job file or Vdbench parameter file as a method."""
    from fathom.imports import import_method

    method, notes = import_method(file, name)
    print(method, end="")
    for note in notes:
        print(f"fathom: {note}", file=sys.stderr)
