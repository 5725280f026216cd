"""Namespaces attached, detached, held and seen by the kernel, of a drive of QEMU's. Create and delete are played."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
WHOLE, HALF = 256 << 20, 128 << 20


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a guest says whose kernel joins the paths to a namespace, as that of a distribution does."""
    # The guest writes in the project's folder alone.
    folder = HERE.parents[1] / "target" / "vm-namespaces"
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    folder.mkdir(parents=True)
    lab = [str(HERE / "vmlab"), "run", "-t", "540", "-K", "nvme_core.multipath=Y", "-a", drive(folder), "--"]
    guest = [sys.executable, str(HERE / "namespaces_guest.py"), str(folder)]
    done = subprocess.run(
        [*lab, "env", f"PYTHONPATH={os.environ['PYTHONPATH']}", *guest],
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((folder / "told.json").read_text())
    print(json.dumps(found, indent=1))
    return found


def drive(folder: Path) -> str:
    """Options of QEMU: a drive with one namespace attached, and two of half its size that are not."""
    options = [
        "-device nvme-subsys,id=s9,nqn=spare",
        "-device nvme,id=n9,serial=VMLABSPARE,subsys=s9",
    ]
    for number, (size, more) in enumerate([(WHOLE, ""), (HALF, ",detached=on"), (HALF, ",detached=on")], 1):
        image = folder / f"{number}.img"
        with image.open("wb") as file:
            file.truncate(size)
        options += [
            f"-drive file={image},format=raw,if=none,id=s9n{number},cache=unsafe,discard=unmap",
            f"-device nvme-ns,drive=s9n{number},bus=n9,nsid={number}{more}",
        ]
    return " ".join(options)


def test_all_namespaces_are_listed_with_their_handles_and_without_a_device_where_not_attached(
    told: dict[str, Any],
) -> None:
    assert told["rows"] == [[1, WHOLE, True, []], [2, HALF, False, []], [3, HALF, False, []]]
    [[number, _, reached, handles]] = told["placed"]
    assert (number, reached, handles) == (1, True, list(range(8)))


def test_a_drive_that_does_not_create_namespaces_is_refused(told: dict[str, Any]) -> None:
    assert "does not create and delete namespaces (OACS bit 3, log 05h)" in told["refused"]


def test_a_namespace_that_is_attached_becomes_a_block_device_until_it_is_detached(
    told: dict[str, Any],
) -> None:
    assert told["attached"] == [[1, 2], True]
    assert told["detached"] == []


def test_a_namespace_in_use_is_neither_split_nor_put_back(told: dict[str, Any]) -> None:
    assert "this destroys all data on it; if you mean it: --destroy VMLABSPARE" in told["without token"]
    assert f"{told['first']} refused: mounted on /mnt" in told["mounted"]
    assert "refused: mounted on /mnt" in told["in use"]


def test_tenants_are_loaded_at_their_own_paces_in_namespaces_of_their_own(told: dict[str, Any]) -> None:
    assert told["split"] == [[2, HALF, True, []], [3, HALF, True, []]]
    assert told["tenants"] == [2, 3]
    (first, failed), (second, failed_too) = (one["write"] for one in told["loaded"])
    assert (failed, failed_too) == (0, 0)
    assert first > 0
    assert second > 0


def test_the_namespace_is_back_under_its_name_after_the_end_and_after_a_kill(told: dict[str, Any]) -> None:
    whole = [{"1": told["first"]}, False]
    assert told["restored"] == whole
    assert told["killed"] == 9
    assert told["after the kill"] == [[2], True]
    assert told["restored again"] == whole
