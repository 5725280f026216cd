"""A user's own catalogue folder with the tiny drive in it, beside the shipped entries."""

from pathlib import Path

import pytest
from tiny_drive import READ_ROW, Catalogue


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path / "catalog"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    made = Catalogue(tmp_path / "catalog")
    made.device()
    made.rows(READ_ROW)
    return made
