"""Hosts that load one drive over NVMe/TCP: what they do adds up, and the drive is known to be over a network."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from vm_guest import sh

from fathom.fleet.agent import HostAgent
from fathom.fleet.fleet import Fleet
from fathom.method import parse_method
from fathom.session import Options, start_run

T = TypeVar("T")
# The guest is ten times slower than a machine: a coordinator that loads a library is away for longer than a lease.
LEASE_S = 60.0
METHOD = """
schema = "fathom-method/1"
name = "over-tcp"
[[steps]]
name = "read"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 4 }
until = { time = "3s" }
"""


class Here:
    """A host in threads of this process."""

    def __init__(self, name: str, pool: ThreadPoolExecutor) -> None:
        self.agent, self._pool = HostAgent(name, lease_s=LEASE_S), pool

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        return self._pool.submit(method, self.agent, *arguments)


def test_hosts_load_a_drive_over_nvme_tcp_together(tmp_path: Path) -> None:
    sh("vmlab-guest", "target", "/dev/nvme2n1")
    device = sh("vmlab-guest", "connect").strip()
    with ThreadPoolExecutor(16) as pool:
        fleet = Fleet([(name, Here(name, pool)) for name in ("h1", "h2")])
        targets = fleet.resolve([device])
        run = start_run(parse_method(METHOD, "over-tcp.toml"), targets, Options(out=tmp_path, site=fleet))
    points = {row["target"]: row for row in run.points.to_pylist()}
    assert set(points) == {device, f"h1:{device}", f"h2:{device}"}
    assert points[device]["n"] == points[f"h1:{device}"]["n"] + points[f"h2:{device}"]["n"] > 0
    assert points[device]["errors"] == 0
    assert run.targets[0].identity["transport"] == "nvme-tcp"
