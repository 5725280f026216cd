"""How far a twin's predictions are from published measurements: its validation error, computed once and kept."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from fathom import _core
from fathom.catalog import load_device, load_published
from fathom.errors import FathomError
from fathom.load.workers import Workers
from fathom.validation.comparison import medians
from fathom.validation.validate import devices_to_validate, validate


@dataclass(frozen=True)
class TwinError:
    """The median of the absolute errors of what a twin predicts, 0.1 for 10 %, over `rows` published figures."""

    share: float
    rows: int


def twin_error(device: str, workers: Workers, *, kept_only: bool = False) -> TwinError | None:
    """Returns the error of a device's twin; None where nothing that it predicts has been published.

    What is not kept from before is simulated, a minute of one core for each drive; with `kept_only` it is not known.
    """
    kept = _folder() / f"{_digest(device)}.json"
    try:
        stored = json.loads(kept.read_text())
        return TwinError(**stored) if stored else None
    except (OSError, ValueError, TypeError):
        pass
    if kept_only:
        return None
    found = _computed(device, workers)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(asdict(found) if found else None))
    part.replace(kept)
    return found


def _computed(device: str, workers: Workers) -> TwinError | None:
    try:
        chosen = devices_to_validate([device])
        rows = validate(chosen, workers)
    except FathomError:
        return None
    of_device = [one for one in medians(rows) if one.role == "validation" and one.device == device]
    return TwinError(of_device[0].median_pct / 100, of_device[0].n) if of_device else None


def _digest(device: str) -> str:
    """Returns a digest of all that the error depends on: the simulator, the device's file, the published rows."""
    loaded = load_device(device)
    parts = [Path(_core.__file__ or "").read_bytes(), loaded.model_dump_json().encode()]
    if loaded.published:
        parts.append(load_published(loaded.published).model_dump_json().encode())
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:32]


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "fathom" / "validation"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
