"""A disk of the user's catalogue with drive-managed SMR: the HC560 with a band and a media cache."""

from pathlib import Path

import fathom.catalog

NAME = "acme-drive-managed"
BASE = "wd-ultrastar-dc-hc560-20tb"
SHIPPED = Path(fathom.catalog.__file__).parent / "devices" / f"{BASE}.toml"


def write_device(catalogue: Path, media_cache_bytes: int) -> str:
    """Writes the device into a catalogue folder and returns the target that names its twin."""
    text = SHIPPED.read_text(encoding="utf-8")
    text = text.replace(f'name = "{BASE}"', f'name = "{NAME}"').replace('"conventional"', '"drive-managed"')
    assert '"drive-managed"' in text
    for name, value in {
        "zone_bytes": 32 << 20,
        "media_cache_bytes": media_cache_bytes,
        "media_cache_idle_ms": 100.0,
    }.items():
        text += f'\n[twin.parameters.{name}]\nvalue = {value}\nbasis = "assumed"\nsource = "test"\n'
    (catalogue / "devices").mkdir(parents=True)
    (catalogue / "devices" / f"{NAME}.toml").write_text(text, encoding="utf-8")
    return f"twin:{NAME}"
