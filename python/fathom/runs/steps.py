"""A finished step's folder: how the step ended, its tables, and whether they match their checksums."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fathom.runs.checksums import FileSum, fault_of, is_sound, signed
from fathom.runs.damage import DamagedFileError, Fault
from fathom.runs.files import text_of, write_json
from fathom.runs.layout import STEP


@dataclass(frozen=True)
class StepKey:
    """Names a step of a target."""

    target: int
    number: int
    name: str

    @property
    def folder(self) -> str:
        """Folder name: the target, the place in the order of execution, and the step's name."""
        return f"{self.target:02d}-{self.number:03d}-{self.name}"

    @classmethod
    def of_folder(cls, folder: str) -> "StepKey | None":
        """Returns the step of a folder name; None where it is none."""
        target, _, rest = folder.partition("-")
        number, _, name = rest.partition("-")
        return cls(int(target), int(number), name) if target.isdecimal() and number.isdecimal() else None


@dataclass(frozen=True)
class StepOutcome:
    """How a step ended. `partial`: interrupted; its figures cover less than was asked.

    `moved_bytes` is what each stream moved; what a job without streams moved has an empty name.
    """

    status: Literal["complete", "partial"]
    steady: bool | None
    reason: str
    window_s: float
    written_bytes: int
    moved_bytes: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def without_figures(cls, status: Literal["complete", "partial"], reason: str) -> "StepOutcome":
        """Returns the outcome of a step that had no load, or whose load failed."""
        return cls(status, None, reason, window_s=0.0, written_bytes=0)


class StepRecord(BaseModel):
    """The whole of step.json. Steps of versions before checksums have the outcome alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["complete", "partial"]
    steady: bool | None
    reason: str
    window_s: float
    written_bytes: int
    moved_bytes: dict[str, int] = {}
    of: str | None = Field(default=None, description="RUN-ID/FOLDER, so that no other step passes for it")
    files: dict[str, FileSum] | None = Field(default=None, description="the step's tables")
    sha256: str | None = Field(default=None, description="checksum of the other keys")

    @property
    def outcome(self) -> StepOutcome:
        """How the step ended."""
        return StepOutcome(
            self.status, self.steady, self.reason, self.window_s, self.written_bytes, self.moved_bytes
        )


def write_record(folder: Path, run_id: str, name: str, outcome: StepOutcome, *, durable: bool = True) -> None:
    """Writes step.json of a folder that has all its tables; `name` is the folder's when it is finished."""
    sums = {path.name: FileSum.of(path).model_dump() for path in sorted(folder.glob("*.parquet"))}
    record = asdict(outcome) | {"of": f"{run_id}/{name}", "files": sums}
    write_json(folder / STEP, signed(record), durable=durable)


def load_record(folder: Path, run_id: str | None = None, name: str | None = None) -> StepRecord | Fault:
    """Reads step.json, or returns why it cannot be trusted. Without `run_id` a step of any run will do."""
    try:
        document = json.loads(text_of(folder / STEP))
        record = StepRecord.model_validate(document)
    except FileNotFoundError:
        return Fault.MISSING
    except OSError:
        return Fault.UNREADABLE
    except (ValueError, RecursionError):
        return Fault.CHANGED
    if record.sha256 is not None and not is_sound(document):
        return Fault.CHANGED
    if run_id and record.of is not None and record.of != f"{run_id}/{name or folder.name}":
        return Fault.FOREIGN
    return record


def step_faults(folder: Path, run_id: str | None = None, name: str | None = None) -> dict[str, Fault]:
    """Returns what is wrong with a step, by file name; empty where it is whole. Without checksums, only step.json is
    read.
    """
    record = load_record(folder, run_id, name)
    if isinstance(record, Fault):
        return {STEP: record}
    listed = record.files or {}
    found = {one: fault_of(folder / one, listed[one]) for one in listed}
    if record.files is not None:
        found |= {path.name: Fault.FOREIGN for path in folder.glob("*.parquet") if path.name not in listed}
    return {one: fault for one, fault in found.items() if fault is not None}


def read_outcome(folder: Path) -> StepOutcome | None:
    """Returns the outcome of a step's folder, or None when the step is not finished.

    Raises FathomError for a damaged step.json.
    """
    if not folder.is_dir():
        return None
    record = load_record(folder)
    if isinstance(record, Fault):
        raise DamagedFileError(str(folder / STEP), record, "`fathom resume` measures that step again")
    return record.outcome


def has_sums(folder: Path) -> bool:
    """Returns whether the step keeps checksums of its tables, sound or not."""
    try:
        document = json.loads(text_of(folder / STEP))
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(document, dict) and "sha256" in document
