"""The record of a split: a file that has what was there, so that it can be put back after a kill at any point."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fathom.errors import FathomError
from fathom.namespaces.layout import Definition
from fathom.runs.files import sync_directory, write_atomically

FOLDER = Path("/var/lib/fathom/namespaces")
"""Not below a home: who puts the namespaces back need not be who split them."""
SCHEMA = "fathom-namespaces/1"


class Record(BaseModel):
    """What one namespace was, and what stands in its place.

    Until the `stage` is `ours`, none of ours was created. From then on the original is gone, until it is `original`
    again. So a namespace that is not among `others` is the original in one stage and ours in the other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_: Literal["fathom-namespaces/1"] = Field(default=SCHEMA, alias="schema")
    serial: str
    model: str
    stage: Literal["original", "ours"]
    namespace: int
    controllers: tuple[int, ...]
    block_bytes: int
    original: Definition
    ours: tuple[Definition, ...]
    others: tuple[int, ...]
    made: tuple[int, ...] = ()
    """Those of ours that the drive has given a number."""


def record_path(serial: str) -> Path:
    """Returns where the record of a drive is, unless the user names another file."""
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in serial)
    return FOLDER / f"{name.lstrip('.') or 'drive'}.json"


def save(path: Path, record: Record) -> None:
    """Writes the record and waits until it is on the disk. Raises FathomError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, record.model_dump_json(by_alias=True, indent=1) + "\n")
    except OSError as error:
        raise FathomError(
            f"cannot write the record {path}: {error.strerror or error}", "name another file with --record"
        ) from error


def load(path: Path) -> Record | None:
    """Returns the record; None where there is none. Raises FathomError for a file that is no record."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FathomError(
            f"cannot read the record {path}: {error.strerror or error}", "run as root"
        ) from error
    try:
        return Record.model_validate_json(text)
    except ValidationError as error:
        raise FathomError(
            f"{path} is no record of namespaces: {error.error_count()} faults in it",
            "name another with --record",
        ) from error


def remove(path: Path) -> None:
    """Removes the record for good."""
    path.unlink()
    sync_directory(path.parent)
