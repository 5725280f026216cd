"""Hosts that load one drive over NVMe/TCP: what they do adds up, and the drive is known to be over a network."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from vm_guest import GIB, end_target, sh, start

from fathom import _core
from fathom.fleet.agent import HostAgent
from fathom.fleet.fleet import Fleet
from fathom.method.method import parse_method
from fathom.runs.reader import Run
from fathom.session import Options, start_run

T = TypeVar("T")
# The guest is ten times slower than a machine: a coordinator that loads a library is away for longer than a lease.
LEASE_S = 60.0
WIRE, TARGET = "fathom0far", "10.78.0.1"
CUT_S = 1.5
"""Shorter than NVMe's keep-alive of 5 s: the connection outlives it."""
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


@pytest.fixture(scope="module")
def far() -> Iterator[str]:
    """A drive that a network namespace of its own reaches over NVMe/TCP; the wire is `WIRE`, on this side."""
    for command in (
        "netns add far",
        f"link add {WIRE} type veth peer name e0 netns far",
        f"addr add {TARGET}/24 dev {WIRE}",
        f"link set {WIRE} up",
        "-n far addr add 10.78.0.2/24 dev e0",
        "-n far link set e0 up",
    ):
        sh("ip", *command.split())
    sh("vmlab-guest", "target", "/dev/nvme2n1", TARGET)
    yield sh("ip", "netns", "exec", "far", "vmlab-guest", "connect", TARGET).strip()
    sh("nvme", "disconnect", "-n", "nqn.vmlab")
    sh("ip", "netns", "del", "far")
    end_target()


def loaded(device: str, method: str, out: Path, meanwhile: Callable[[], None] = lambda: None) -> Run:
    """A run of two hosts on the drive, and what happens to it meanwhile, a while after they have begun."""
    with ThreadPoolExecutor(16) as pool:
        fleet = Fleet([(name, Here(name, pool)) for name in ("h1", "h2")])
        happens = pool.submit(meanwhile)
        targets = fleet.resolve([device])
        run = start_run(parse_method(method, "over-tcp.toml"), targets, Options(out=out, initiator=fleet))
        happens.result()
    return run


def test_hosts_load_a_drive_over_nvme_tcp_together(tmp_path: Path, far: str) -> None:
    run = loaded(far, METHOD, tmp_path)
    points = {row["target"]: row for row in run.points.to_pylist()}
    assert set(points) == {far, f"h1:{far}", f"h2:{far}"}
    assert points[far]["n"] == points[f"h1:{far}"]["n"] + points[f"h2:{far}"]["n"] > 0
    assert points[far]["errors"] == 0
    assert run.targets[0].identity["transport"] == "nvme-tcp"


def test_a_wire_that_is_cut_for_a_while_is_a_wait_of_every_host_and_loses_nothing(
    tmp_path: Path, far: str
) -> None:
    def cut() -> None:
        while not any(log.stat().st_size for log in tmp_path.glob("*/steps/*-read.live.jsonl")):
            time.sleep(0.1)
        sh("ip", "link", "set", WIRE, "down")
        time.sleep(CUT_S)
        sh("ip", "link", "set", WIRE, "up")

    run = loaded(far, METHOD.replace('"3s"', '"20s"'), tmp_path, cut)
    points = {row["target"]: row for row in run.points.to_pylist()}
    hosts = [points[f"h1:{far}"], points[f"h2:{far}"]]
    assert points[far]["n"] == sum(host["n"] for host in hosts)
    assert all(host["errors"] == 0 and host["max_us"] > 1e6 * CUT_S for host in hosts)


def test_an_io_that_never_returns_ends_the_run_and_is_named(far: str) -> None:
    job = {"mix": "read", "block": "4KiB", "pattern": "uniform", "errors": {"stuck": "1s"}}
    handle = start("device", far, 2 * GIB, **job, until={"time": "60s"})
    while not handle.poll():
        pass
    sh("ip", "link", "set", WIRE, "down")
    time.sleep(2 * CUT_S)
    sh("ip", "link", "set", WIRE, "up")
    while not handle.done():
        handle.poll()
    with pytest.raises(_core.BackendError) as failed:
        handle.result()
    assert "an I/O does not return: read of 4096 bytes at" in str(failed.value)
