"""Tests of tests/vm/run, skipped everywhere else: most run inside its guest, since they write to the guest's drives,
those of LAB outside, since they start and kill guests of their own."""

import os
from pathlib import Path

import pytest
from vm_guest import sh

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


@pytest.fixture(scope="session")
def smr() -> Path:
    """A host-managed disk: 32 zones of 16 MiB, 4 of them conventional."""
    if not Path("/dev/nullb0").exists():
        sh("vmlab-guest", "smr", "512", "16", "4")
    return Path("/dev/nullb0")
