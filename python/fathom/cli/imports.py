"""The commands between Fathom's methods and the files of other load generators."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.options import MethodName, Quick, Size, size_bytes


def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="fio job file, script of fio commands, or Vdbench parameter file"
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="the method's name (default: the file's)", metavar="NAME")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="what ${NAME} or $NAME of the file stands for"),
    ] = None,
) -> None:
    """Print a file of fio or Vdbench as a method."""
    from fathom.imports import import_method
    from fathom.imports.variables import variables_of

    method, notes = import_method(file, name, variables_of(values or []))
    print(method, end="")
    for note in notes:
        print(f"fathom: {note}", file=sys.stderr)


def export_file(
    method: MethodName,
    target: Annotated[
        str | None,
        typer.Argument(
            help="a device, file:PATH or dir:PATH (default: fio asks for TARGET)", metavar="[TARGET]"
        ),
    ] = None,
    quick: Quick = False,
    size: Size = None,
) -> None:
    """Print a method as a fio job file. Touches nothing."""
    from fathom.exports import export_method
    from fathom.method.method import load_method

    text, notes = export_method(load_method(method, quick=quick), target, size_bytes(size))
    print(text, end="")
    for note in notes:
        print(f"fathom: {note}", file=sys.stderr)
