"""Tests that run inside the guest of tests/vm/run and are skipped everywhere else: they write to its drives."""

import os
from pathlib import Path

import pytest
from vm_guest import sh


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("FATHOM_VM"):
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="needs the guest: tests/vm/run"))


@pytest.fixture(scope="session")
def smr() -> Path:
    """A host-managed disk: 32 zones of 16 MiB, 4 of them conventional."""
    if not Path("/dev/nullb0").exists():
        sh("vmlab-guest", "smr", "512", "16", "4")
    return Path("/dev/nullb0")
