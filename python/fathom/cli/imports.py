"""The commands between Fathom's methods and the files of other load generators."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.options import Quick, RunMethod, Size, size_bytes


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
    out: Annotated[
        Path | None, typer.Option(help="the method's file (default: standard output)", metavar="FILE")
    ] = None,
) -> None:
    """Turn a file of fio or Vdbench into a method."""
    from fathom.imports import import_method
    from fathom.imports.variables import variables_of

    _give(out, lambda: import_method(file, name, variables_of(values or [])))


def export_file(
    method: RunMethod,
    target: Annotated[
        str | None,
        typer.Argument(
            help="a device, file:PATH or dir:PATH (default: fio asks for TARGET)", metavar="[TARGET]"
        ),
    ] = None,
    quick: Quick = False,
    size: Size = None,
    out: Annotated[
        Path | None, typer.Option(help="the job file (default: standard output)", metavar="FILE")
    ] = None,
) -> None:
    """Turn a method into a fio job file. Touches no target."""
    from fathom.exports import export_method
    from fathom.imports.named import method_named, notes_on_targets

    def exported() -> tuple[str, list[str]]:
        found = method_named(method, None, quick=quick)
        text, notes = export_method(found.method, target, size_bytes(size))
        others = notes_on_targets(method, found.targets, [target] if target else [])
        return text, [*found.notes, *others, *notes]

    _give(out, exported)


def _give(out: Path | None, made: Callable[[], tuple[str, list[str]]]) -> None:
    """Writes a text to a file, or prints it, and prints the notes. What is at the path is checked first."""
    from fathom.output.output_file import check_output, write_output

    if out is not None:
        check_output(out)
    text, notes = made()
    if out is not None:
        write_output(out, text.encode())
    else:
        print(text, end="")
    for note in notes:
        print(f"fathom: {note}", file=sys.stderr)
