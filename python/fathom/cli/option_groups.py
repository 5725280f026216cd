"""Groups of options that several commands share. A command takes a group as one parameter."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, NamedTuple, get_type_hints

import typer

from fathom.fleet.initiators import WantedHosts
from fathom.fleet.shell import MOST_LOCAL_HOSTS, SSH


class HostOptions(NamedTuple):
    """Where load or simulations run; by default on this machine."""

    hosts: Annotated[
        Path | None, typer.Option(help="run on the hosts in a file, one per line", metavar="FILE")
    ] = None
    shell: Annotated[
        str, typer.Option(help="how to reach those hosts: COMMAND HOST sh", metavar="COMMAND")
    ] = SSH
    ray: Annotated[
        str | None, typer.Option("--ray", help="run on every node of a Ray cluster", metavar="ADDRESS")
    ] = None
    local_hosts: Annotated[
        int | None,
        typer.Option(
            help="run as N processes on this machine, to try a fleet",
            metavar="N",
            min=1,
            max=MOST_LOCAL_HOSTS,
        ),
    ] = None
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait", help="how long to try hosts of --hosts that do not start yet", metavar="DURATION"
        ),
    ] = None

    @property
    def wanted(self) -> WantedHosts:
        """Which hosts the options name."""
        return WantedHosts(self.hosts, self.shell, self.ray, self.local_hosts, self.wait)


class ReplayOptions(NamedTuple):
    """Which trace a method takes its I/Os or its workload from, and how."""

    trace: Annotated[
        Path | None,
        typer.Option("--trace", help="the trace that replay issues, or snia-rwsw-* are like", metavar="FILE"),
    ] = None
    trace_device: Annotated[
        str | None, typer.Option(help="which of the trace's devices is replayed", metavar="NAME")
    ] = None
    timing: Annotated[
        str, typer.Option(help="as-recorded, as-fast-as-possible, or dependent", metavar="WHEN")
    ] = "as-recorded"
    speed: Annotated[
        float, typer.Option(help="replay recorded times this many times as fast", metavar="FACTOR")
    ] = 1.0
    offsets: Annotated[
        str,
        typer.Option(
            help="where the trace's offsets go: as-is, wrap or scale to the target", metavar="WHERE"
        ),
    ] = "as-is"
    fill: Annotated[
        str,
        typer.Option(
            help="what a replay writes first: reads (what the trace reads), all or none", metavar="WHAT"
        ),
    ] = "reads"
    iodepth: Annotated[
        int | None,
        typer.Option(
            help="most I/Os in flight of a replay (256 as recorded, else 32)",
            metavar="N",
            min=1,
            max=65536,
        ),
    ] = None
    align: Annotated[
        str, typer.Option(help="a replay's I/Os grow to whole blocks of this size", metavar="SIZE")
    ] = "512B"
    threads: Annotated[
        int,
        typer.Option(
            help="threads that issue a replay's I/Os for each device; those on the same bytes keep their order",
            metavar="N",
            min=1,
            max=256,
        ),
    ] = 1


GROUPS = (HostOptions, ReplayOptions)


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Returns a command that takes the options of its groups one by one, as the parser needs them."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: group for name, group in hints.items() if group in GROUPS}

    @wraps(command)
    def flat(**given: object) -> None:
        for name, group in groups.items():
            given[name] = group._make(given.pop(option) for option in group._fields)
        command(**given)

    taken = signature(command)
    parameters = list(_parameters(taken.parameters.values(), groups))
    flat.__signature__ = taken.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    flat.__annotations__ = {one.name: one.annotation for one in parameters}
    return flat


def _parameters(
    taken: Iterable[Parameter], groups: Mapping[str, type[HostOptions] | type[ReplayOptions]]
) -> Iterator[Parameter]:
    for one in taken:
        if one.name not in groups:
            yield one
            continue
        group = groups[one.name]
        for option, hint in get_type_hints(group, include_extras=True).items():
            default = group._field_defaults[option]
            yield Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
