"""Two drives behind NVMe/TCP that two hosts fill, settle and read together, and what the report claims of them.

Each host has a connection of its own, so the kernel gives it block devices of its own. They have the WWIDs of the same
two drives: that is how Fathom knows that one fill is enough.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from test_fabric import Here
from vm_guest import NVMET, end_target, sh

from fathom.analysis.settled import Unsettled
from fathom.catalog import method_text
from fathom.fleet.fleet import Fleet
from fathom.method.method import Method, parse_method
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.findings import gate
from fathom.session import Options, start_run
from fathom.targets.parse import parse_target
from fathom.targets.safety import destroy_token
from fathom.targets.target import Target

T = TypeVar("T")
NQN = "nqn.claim"
DRIVES = ("/dev/nvme0n1", "/dev/nvme2n1")
SIZE = 16 << 20
HOSTS = {"h1": "00000000-0000-0000-0000-000000000001", "h2": "00000000-0000-0000-0000-000000000002"}
MEASURED = ["4k-rand-read-1x32", "4k-rand-write-1x32"]


def devices() -> set[str]:
    return {str(one) for one in Path("/dev").glob("nvme*n*")}


@pytest.fixture
def seen() -> Iterator[dict[str, str]]:
    """The array of the two drives as each host sees it: parts of drives of QEMU's, so small that they are soon full."""
    sh("modprobe", "-a", "nvmet", "nvmet_tcp", "nvme_tcp", "dm_mod")
    subsystem, port = NVMET / "subsystems" / NQN, NVMET / "ports/7"
    subsystem.mkdir()
    (subsystem / "attr_allow_any_host").write_text("1")
    for number, drive in enumerate(DRIVES, 1):
        sh("dmsetup", "create", f"part{number}", "--table", f"0 {SIZE // 512} linear {drive} 0")
        namespace = subsystem / f"namespaces/{number}"
        namespace.mkdir()
        name = sh("dmsetup", "info", "-c", "--noheadings", "-o", "blkdevname", f"part{number}").strip()
        (namespace / "device_path").write_text(f"/dev/{name}")
        (namespace / "enable").write_text("1")
    port.mkdir()
    for name, text in (("trtype", "tcp"), ("adrfam", "ipv4"), ("traddr", "127.0.0.1"), ("trsvcid", "4427")):
        (port / f"addr_{name}").write_text(text)
    (port / "subsystems" / NQN).symlink_to(subsystem)
    found = {}
    for host, ident in HOSTS.items():
        before, until = devices(), time.monotonic() + 60
        over = ("-t", "tcp", "-a", "127.0.0.1", "-s", "4427")
        sh("nvme", "connect", *over, "-n", NQN, "--hostnqn", f"nqn.{host}", "--hostid", ident)
        while len(own := devices() - before) < 2:
            assert time.monotonic() < until, own
            time.sleep(0.1)
        found[host] = f"array:{','.join(sorted(own))}"
    yield found
    sh("nvme", "disconnect", "-n", NQN)
    end_target()
    sh("dmsetup", "remove", "part1", "part2")


def added_latency() -> Method:
    """The method of the catalogue with a step for reads and one for writes, its times and loads shortened."""
    head, *blocks = method_text("added-latency").split("[[steps]]\n")
    names = ["fill", "settle-4k-rand-write", *MEASURED]
    text = "[[steps]]\n".join([head, *(one for one in blocks if any(f'"{name}"' in one for name in names))])
    for long, short in {
        'time = "2min"': 'time = "3s"',
        # The guest is too slow for even rounds. What the hosts have written is judged all the same.
        'kind     = "precondition"': 'kind = "measure"',
        'steady   = { round = "1min" }\n': "",
        'time = "25min"': 'written = "1x"',
    }.items():
        text = text.replace(long, short)
    return parse_method(text, "added-latency.toml")


class Apart(Here):
    """A host that knows the array by the devices of its own connection, as a machine of its own would."""

    def __init__(self, name: str, pool: ThreadPoolExecutor, own: Target) -> None:
        super().__init__(name, pool)
        self.agent.resolve = lambda text, size_bytes: own  # pyright: ignore[reportAttributeAccessIssue]

    def submit(self, method: Callable[..., T], *arguments: object) -> "Future[T]":
        return self._pool.submit(getattr(self.agent, method.__name__), *arguments)


def test_two_hosts_fill_the_drives_of_a_shelf_once_and_what_they_read_is_claimed(
    tmp_path: Path, seen: dict[str, str]
) -> None:
    own = {host: parse_target(text) for host, text in seen.items()}
    drives = [drive for array in own.values() for drive in array.members]
    assert len({drive.identity.wwid for drive in drives}) == len(drives) / len(HOSTS) == 2
    assert {(drive.identity.transport, drive.identity.rotational) for drive in drives} == {
        ("nvme-tcp", False)
    }
    with ThreadPoolExecutor(16) as pool:
        fleet = Fleet([(host, Apart(host, pool, array)) for host, array in own.items()])
        options = Options(
            out=tmp_path, initiator=fleet, destroy=tuple(destroy_token(drive.identity) for drive in drives)
        )
        run = start_run(added_latency(), fleet.resolve([total := seen["h1"]]), options)
    filled = Counter[str]()
    for row in run.intervals.to_pylist():
        if row["step"] == "fill":
            filled[row["target"]] += row["bytes"]
    assert filled == {total: 2 * SIZE, f"h1:{total}": SIZE, f"h2:{total}": SIZE}
    points = {row["step"]: row for row in run.points.to_pylist() if row["target"] == total}
    assert set(points) >= set(MEASURED)
    assert all(row["n"] > 0 and not row["errors"] for row in points.values())
    # Other programs may have had the cores.
    reasons = {why for (_, step), why in gate(compare([load(run.path)])).items() if step in MEASURED}
    assert reasons <= {Unsettled.MACHINE_BUSY}
