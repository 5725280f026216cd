"""The arguments and options that several commands share: one spelling and one help text for each."""

from pathlib import Path
from typing import Annotated

import typer

Targets = Annotated[
    list[str],
    typer.Argument(
        help="/dev/nvme0n1, file:PATH, dir:PATH, dir:PATH*8, null:, nop:, twin:NAME, twin:NAME*8, "
        "array:TARGET,TARGET; NAME=TARGET where a method's steps name their targets",
        metavar="TARGET...",
    ),
]
MethodName = Annotated[
    str, typer.Argument(help="a name from `fathom methods`, or a method file", metavar="METHOD")
]
RunMethod = Annotated[
    str,
    typer.Argument(
        help="a name from `fathom methods`, a method file, a file of fio or Vdbench, or a fio command in quotes",
        metavar="METHOD",
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="shorten the method by the factors that it states; the report says so")
]
Seed = Annotated[int, typer.Option(help="seed of every random choice", metavar="N", min=0, max=2**64 - 1)]
Size = Annotated[
    str | None, typer.Option(help="size of files that Fathom creates, such as 4GiB", metavar="SIZE")
]
Destroy = Annotated[
    list[str],
    typer.Option(help="serial of a device whose data may be lost; once per device", metavar="SERIAL"),
]
UnknownData = Annotated[
    bool,
    typer.Option("--unknown-data", help="with --destroy: data in no known format may be lost too"),
]
Purge = Annotated[
    str,
    typer.Option(
        help="how purge steps erase NVMe drives: trim, format, format-crypto, sanitize-block, sanitize-crypto",
        metavar="HOW",
    ),
]
PowerState = Annotated[
    str | None,
    typer.Option(
        "--power-state",
        help="NVMe power states to run in, one run for each: 0, 0,1,2 or all",
        metavar="WHICH",
    ),
]
Out = Annotated[
    Path | None, typer.Option(help="folder for the run (default: the home of all runs)", metavar="DIR")
]
Power = Annotated[
    str | None,
    typer.Option(help="a power meter: csv:PATH[?column=NAME] or prometheus:URL?query=QUERY", metavar="METER"),
]
Together = Annotated[
    bool,
    typer.Option("--together", help="load the real targets at once, as one array, instead of in turn"),
]
Repeats = Annotated[
    int,
    typer.Option(
        help="run it N times with different seeds and pool the results", metavar="N", min=1, max=100
    ),
]
Ensemble = Annotated[
    int | None,
    typer.Option(
        "--ensemble",
        help="also simulate N members of each twin's ensemble: what its parameters leave open",
        metavar="N",
        min=8,
        max=1000,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document instead")]
PriceList = Annotated[
    Path | None, typer.Option("--prices", help="a price list (default: a relative one)", metavar="FILE")
]
RunName = Annotated[str, typer.Argument(help="a run's path, id, part of an id, or `last`", metavar="RUN")]


def size_bytes(size: str | None) -> int | None:
    """Returns the value of `--size`, or None where it is not given. Raises UsageError."""
    if size is None:
        return None
    from fathom import _core
    from fathom.errors import UsageError

    try:
        wanted_bytes = _core.parse_size_bytes(size)
    except _core.ParseError as error:
        raise UsageError(f"--size: {error}") from error
    if not wanted_bytes:
        raise UsageError(f"--size {size}: no file is that small", "give a size such as 4GiB, or leave it out")
    return wanted_bytes
