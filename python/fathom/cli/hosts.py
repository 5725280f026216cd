"""Where load and simulations come from: this machine, or hosts that live as long as a command."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.fleet.hosts import Nodes
    from fathom.site import Site
    from fathom.workers import Workers


@contextmanager
def site_of(hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None) -> Iterator["Site"]:
    """Where the load comes from; hosts live as long as the `with`."""
    if hosts is ray is local_hosts is None:
        from fathom.site import ThisMachine

        yield ThisMachine()
        return
    from fathom.fleet.hosts import fleet_of

    with _nodes(hosts, shell, ray, local_hosts) as nodes:
        yield fleet_of(nodes)


@contextmanager
def workers_of(
    hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None
) -> Iterator["Workers"]:
    """Where simulations run; hosts live as long as the `with`."""
    if hosts is ray is local_hosts is None:
        from fathom.workers import local_workers

        with local_workers() as workers:
            yield workers
        return
    from fathom.fleet.workers import RayWorkers

    with _nodes(hosts, shell, ray, local_hosts):
        yield RayWorkers()


@contextmanager
def _nodes(hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None) -> Iterator["Nodes"]:
    """Brings the hosts of one of the options up."""
    from fathom.errors import UsageError
    from fathom.fleet.hosts import hosts_of_file, local_nodes, ray_cluster

    if sum(given is not None for given in (hosts, ray, local_hosts)) > 1:
        raise UsageError("--hosts, --ray and --local-hosts exclude each other", "give one of them")
    if hosts is not None:
        found = hosts_of_file(hosts, shell)
    elif ray is not None:
        found = ray_cluster(ray)
    else:
        found = local_nodes(local_hosts or 0)
    print("bringing the hosts up: about ten seconds for each", file=sys.stderr)
    # Ray prints what its nodes have to say to standard output, which is the result's.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), found as nodes:
        yield nodes
