"""Where load and simulations come from: this machine, or hosts that live as long as a command."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fathom.fleet.shell import SSH

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from fathom.fleet.process import HostProcess
    from fathom.load.initiator import Initiator
    from fathom.load.workers import Workers


class WantedHosts(NamedTuple):
    """Which hosts a user wants, by the words of the options; this machine alone without any."""

    hosts: Path | None = None
    """A file of host names."""
    shell: str = SSH
    """How to reach them."""
    ray: str | None = None
    """Address of a Ray cluster."""
    local_hosts: int | None = None
    """Number of processes on this machine."""
    wait: str | None = None
    """How long to try hosts of the file that do not start yet; None: once."""


@contextmanager
def initiator_of(wanted: WantedHosts) -> Iterator["Initiator"]:
    """Yields where the load comes from; hosts live as long as the `with`."""
    if not _wants_hosts(wanted):
        from fathom.load.initiator import ThisMachine

        yield ThisMachine()
        return
    from fathom.fleet.fleet import Fleet

    if wanted.ray is not None:
        from fathom.fleet.ray_cluster import RayHost, ray_connected

        with _without_rays_words(), ray_connected(wanted.ray) as nodes:
            yield Fleet([(name, RayHost(name, node_id)) for name, node_id in nodes])
    else:
        with _started(wanted) as found:
            yield Fleet([(host.name, host) for host in found])


@contextmanager
def workers_of(wanted: WantedHosts) -> Iterator["Workers"]:
    """Yields where simulations run; hosts live as long as the `with`."""
    if not _wants_hosts(wanted):
        from fathom.load.workers import local_workers

        with local_workers() as workers:
            yield workers
        return
    from fathom.fleet.workers import HostWorkers, RayWorkers

    if wanted.ray is not None:
        from fathom.fleet.ray_cluster import ray_connected

        with _without_rays_words(), ray_connected(wanted.ray):
            yield RayWorkers()
    else:
        with _started(wanted) as found:
            yield HostWorkers(found, _show)


def _wants_hosts(wanted: WantedHosts) -> bool:
    """Returns whether one of the options that name hosts is given. Raises UsageError for options that contradict."""
    from fathom.errors import UsageError

    given = sum(option is not None for option in (wanted.hosts, wanted.ray, wanted.local_hosts))
    if given > 1:
        raise UsageError("--hosts, --ray and --local-hosts exclude each other", "give only one")
    for name, is_given in (("--wait", wanted.wait is not None), ("--shell", wanted.shell != SSH)):
        if is_given and wanted.hosts is None:
            raise UsageError(f"{name} is for the hosts of --hosts", "leave it out, or give --hosts FILE")
    return given == 1


def _started(wanted: WantedHosts) -> "AbstractContextManager[list[HostProcess]]":
    """Brings the hosts up."""
    from fathom.fleet import hosts as fleet_hosts

    if wanted.hosts is not None:
        patience = None if wanted.wait is None else fleet_hosts.Patience(_seconds(wanted.wait), _show)
        return fleet_hosts.hosts_of_file(wanted.hosts, wanted.shell, patience)
    return fleet_hosts.local_hosts(wanted.local_hosts or 0)


def _seconds(wait: str) -> float:
    from fathom import _core
    from fathom.errors import UsageError

    try:
        return _core.parse_duration_ns(wait) / 1e9
    except _core.ParseError as error:
        raise UsageError(f"--wait {wait}: {error}", "give a duration such as 10min") from error


def _show(text: str) -> None:
    print(f"fathom: {text}", file=sys.stderr, flush=True)


@contextmanager
def _without_rays_words() -> Iterator[None]:
    """Ray prints what its nodes have to say to standard output, which is the result's."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        yield
