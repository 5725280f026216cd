"""Where load and simulations come from: this machine, or hosts that live as long as a command."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.fleet.shell import SSH

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from fathom.fleet.process import HostProcess
    from fathom.load.initiator import Initiator
    from fathom.load.workers import Workers


@contextmanager
def initiator_of(
    hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None, wait: str | None = None
) -> Iterator["Initiator"]:
    """Yields where the load comes from; hosts live as long as the `with`."""
    if not _given(hosts, shell, ray, local_hosts, wait):
        from fathom.load.initiator import ThisMachine

        yield ThisMachine()
        return
    from fathom.fleet.fleet import Fleet

    if ray is not None:
        from fathom.fleet.ray_cluster import RayHost, ray_connected

        with _without_rays_words(), ray_connected(ray) as nodes:
            yield Fleet([(name, RayHost(name, node_id)) for name, node_id in nodes])
    else:
        with _started(hosts, shell, local_hosts, wait) as found:
            yield Fleet([(host.name, host) for host in found])


@contextmanager
def workers_of(
    hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None, wait: str | None = None
) -> Iterator["Workers"]:
    """Yields where simulations run; hosts live as long as the `with`."""
    if not _given(hosts, shell, ray, local_hosts, wait):
        from fathom.load.workers import local_workers

        with local_workers() as workers:
            yield workers
        return
    from fathom.fleet.workers import HostWorkers, RayWorkers

    if ray is not None:
        from fathom.fleet.ray_cluster import ray_connected

        with _without_rays_words(), ray_connected(ray):
            yield RayWorkers()
    else:
        with _started(hosts, shell, local_hosts, wait) as found:
            yield HostWorkers(found, _show)


def _given(
    hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None, wait: str | None
) -> bool:
    """Returns whether one of the options that name hosts is given. Raises UsageError for more than one."""
    from fathom.errors import UsageError

    given = sum(option is not None for option in (hosts, ray, local_hosts))
    if given > 1:
        raise UsageError("--hosts, --ray and --local-hosts exclude each other", "give only one")
    for name, is_given in (("--wait", wait is not None), ("--shell", shell != SSH)):
        if is_given and hosts is None:
            raise UsageError(f"{name} is for the hosts of --hosts", "leave it out, or give --hosts FILE")
    return given == 1


def _started(
    hosts: Path | None, shell: str, local_hosts: int | None, wait: str | None
) -> "AbstractContextManager[list[HostProcess]]":
    """Brings the hosts up."""
    from fathom.fleet import hosts as fleet_hosts

    if hosts is not None:
        patience = None if wait is None else fleet_hosts.Patience(_seconds(wait), _show)
        return fleet_hosts.hosts_of_file(hosts, shell, patience)
    return fleet_hosts.local_hosts(local_hosts or 0)


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
