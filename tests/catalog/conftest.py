"""A user's own catalogue folder, empty at first, in the place of whatever the machine has."""

from pathlib import Path

import pytest
from catalog_samples import BENCH, DEVICE, PUBLISHED, Write


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file of the user's catalogue: `write("devices/x.toml", text)`."""
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def acme(write: Write) -> Write:
    """A user's device with its bench and its published results."""
    write("devices/acme-one-7.68tb.toml", DEVICE)
    write("systems/acme-bench.toml", BENCH)
    write("published/acme-one.toml", PUBLISHED)
    return write
