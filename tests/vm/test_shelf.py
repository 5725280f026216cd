"""A shelf of two drives behind NVMe/TCP that two hosts load at once, beside one of its drives attached directly."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_fabric import Here
from vm_guest import NVMET, end_target, sh, shelf_method

from fathom.fleet.fleet import Fleet
from fathom.load.initiator import ThisMachine
from fathom.method.method import parse_method
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import added_latency
from fathom.runs.reader import Run
from fathom.session import Options, start_run

DRIVES = ("/dev/nvme0n1", "/dev/nvme2n1")
FAR = "10.79.0.1"


@pytest.fixture
def shelf() -> Iterator[list[str]]:
    """Both drives as namespaces of one target, which this side reaches over a wire; gives their devices here."""
    for command in ("netns add shelf", "link add wire type veth peer name e0 netns shelf"):
        sh("ip", *command.split())
    for command in (
        f"addr add {FAR}/24 dev wire",
        "link set wire up",
        "-n shelf addr add 10.79.0.2/24 dev e0",
        "-n shelf link set e0 up",
    ):
        sh("ip", *command.split())
    sh("vmlab-guest", "target", DRIVES[0], FAR)
    second = NVMET / "subsystems/nqn.vmlab/namespaces/2"
    second.mkdir()
    (second / "device_path").write_text(DRIVES[1])
    (second / "enable").write_text("1")
    first = sh("ip", "netns", "exec", "shelf", "vmlab-guest", "connect", FAR).strip()
    devices = [first, first[: -len("1")] + "2"]
    until = time.monotonic() + 30
    while not all(Path(device).is_block_device() for device in devices):
        assert time.monotonic() < until, devices
        time.sleep(0.1)
    yield devices
    sh("nvme", "disconnect", "-n", "nqn.vmlab")
    sh("ip", "netns", "del", "shelf")
    end_target()


def by_hosts(text: str, out: Path) -> Run:
    with ThreadPoolExecutor(16) as pool:
        fleet = Fleet([(name, Here(name, pool)) for name in ("h1", "h2")])
        targets = fleet.resolve([text])
        return start_run(
            parse_method(shelf_method("3s"), "shelf.toml"), targets, Options(out=out, initiator=fleet)
        )


def from_here(text: str, out: Path) -> Run:
    here = ThisMachine()
    targets = here.resolve([text])
    return start_run(
        parse_method(shelf_method("3s"), "shelf.toml"), targets, Options(out=out, initiator=here)
    )


def test_two_hosts_load_every_drive_of_a_shelf_and_each_stage_of_the_way_is_apart(
    tmp_path: Path, shelf: list[str]
) -> None:
    total = f"array:{','.join(shelf)}"
    run = by_hosts(total, tmp_path)
    points = {row["target"]: row for row in run.points.to_pylist()}
    assert set(points) == {total, f"h1:{total}", f"h2:{total}"}
    assert points[total]["n"] == points[f"h1:{total}"]["n"] + points[f"h2:{total}"]["n"] > 0
    assert points[total]["errors"] == 0
    members = [one for one in run.targets if one.part_of == f"h1:{total}"]
    assert [one.identity["transport"] for one in members] == ["nvme-tcp", "nvme-tcp"]
    network, local = from_here(shelf[1], tmp_path), from_here(DRIVES[1], tmp_path)
    section = added_latency.build(compare([load(one.path) for one in (run, network, local)]))
    assert section is not None
    titles = [getattr(block, "corner", "") for block in section.blocks]
    assert "Where the system adds it" in titles
    assert "Added at equal load per drive (1 x 32 per host against 1 x 32)" in titles
