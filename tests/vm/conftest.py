"""Tests of tests/vm/run, skipped everywhere else: most run inside its guest, since they write to the guest's drives,
those of LAB outside, since they start and kill guests of their own."""

import os
from pathlib import Path

import pytest
from vm_guest import sh

SMR = Path("/dev/nullb0")
SMR_ZONE_MIB = 16
SMR_CONVENTIONAL = 4
LAB = {"test_guest_namespaces.py", "test_multipath.py", "test_power_cut.py"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    side = os.environ.get("FATHOM_VM")
    of_vm = [item for item in items if here in item.path.parents]
    if not side:
        for item in of_vm:
            item.add_marker(pytest.mark.skip(reason="needs the guest: make test-vm"))
        return
    others = [item for item in of_vm if (item.path.name in LAB) != (side == "lab")]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="module", autouse=True)
def empty() -> None:
    """Nothing on the guest's drives that an earlier module has left: Fathom refuses drives that hold data."""
    if os.environ.get("FATHOM_VM") != "guest":
        return
    for drive in ("/dev/nvme0n1", "/dev/nvme2n1"):
        sh("blkdiscard", "--zeroout", drive)
    if SMR.exists():
        sh("blkzone", "reset", str(SMR))
        sh("blkdiscard", "--zeroout", "--length", f"{SMR_CONVENTIONAL * SMR_ZONE_MIB}MiB", str(SMR))


@pytest.fixture(scope="session")
def smr() -> Path:
    """A host-managed disk of 32 zones."""
    if not SMR.exists():
        sh("vmlab-guest", "smr", str(32 * SMR_ZONE_MIB), str(SMR_ZONE_MIB), str(SMR_CONVENTIONAL))
    return SMR
