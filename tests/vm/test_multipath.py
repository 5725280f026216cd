"""A target of three namespaces by NVMe loopback, then over two paths of which one fails during a run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What a guest with the kernel's NVMe multipath says."""
    # The guest writes in the project's folder alone.
    folder = HERE.parents[1] / "target" / "vm-multipath"
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    folder.mkdir(parents=True)
    lab = [str(HERE / "vmlab"), "run", "-t", "540", "-K", "nvme_core.multipath=Y", "--"]
    guest = [sys.executable, str(HERE / "multipath_guest.py"), str(folder)]
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


def test_the_loopback_of_a_shelf_of_three_namespaces_is_a_stage_of_the_way(told: dict[str, dict]) -> None:
    assert told["loopback"]["transport"] == "nvme-loop"
    assert told["loopback"]["errors"] == 0
    assert "Where the system adds it" in told["stages"]


def test_a_drive_behind_two_paths_is_measured_and_both_are_counted(told: dict[str, dict]) -> None:
    both = told["two paths"]
    assert (both["paths"], both["errors"], both["notes"]) == (2, 0, [])
    assert both["transport"] == "nvme-tcp"


def test_a_path_that_fails_costs_a_wait_and_no_measurement_and_is_one_line(told: dict[str, dict]) -> None:
    failed = told["one fails"]
    assert (failed["status"], failed["errors"]) == ("complete", 0)
    assert failed["n"] > 0
    [line] = failed["notes"]
    assert line.startswith("path-down: one of 2 paths to the drive was down for ")
    assert "no I/O failed, the longest took " in line
