"""Checksums of files, and of JSON objects that carry their own: damaged data is never taken for measured data."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from fathom.runs.damage import Fault
from fathom.runs.files import no_device

OWN = "sha256"
"""The key under which an object keeps the checksum of its other keys."""


class FileSum(BaseModel):
    """Size and SHA-256 of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "FileSum":
        """Reads the whole file. Raises OSError."""
        with open(path, "rb", opener=no_device) as file:
            digest = hashlib.file_digest(file, "sha256")
            return cls(bytes=file.tell(), sha256=digest.hexdigest())

    @classmethod
    def of_text(cls, text: str) -> "FileSum":
        """Returns the size and checksum of a file with that text."""
        data = text.encode("utf-8")
        return cls(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def signed(document: Mapping[str, object]) -> dict[str, object]:
    """Returns the object with its own checksum as the last key."""
    return {**_without(document), OWN: _digest(document)}


def is_sound(document: Mapping[str, object]) -> bool:
    """Returns whether the object matches its own checksum; False if it has none."""
    return document.get(OWN) == _digest(document)


def _without(document: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != OWN}


def _digest(document: Mapping[str, object]) -> str:
    canonical = json.dumps(_without(document), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def fault_of(path: Path, listed: FileSum | None) -> Fault | None:
    """Returns what is wrong with a file that should have that sum; without a sum it is foreign."""
    try:
        if listed is None:
            return Fault.FOREIGN
        same = path.stat().st_size == listed.bytes and FileSum.of(path) == listed
    except FileNotFoundError:
        return Fault.MISSING
    except OSError:
        return Fault.UNREADABLE
    return None if same else Fault.CHANGED
