"""What is wrong with a run directory, as facts. The words for people are made here alone."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fathom.errors import DamageWarning, FathomError


class Fault(Enum):
    """What happened to a file, or to a line of one."""

    MISSING = "is missing"
    CHANGED = "is not as it was written"
    FOREIGN = "belongs to another run or step"
    UNREADABLE = "cannot be read"


class Substitute(Enum):
    """How readers go on without the damaged file."""

    FROM_STEPS = "its rows are read from the folders of the steps"
    FROM_TABLES = "the tables of the run have its rows"
    LEFT_OUT = "it is left out"
    LINES_READ = "the lines that are whole are read"
    STEP_LEFT_OUT = "the step is left out"
    UNVERIFIED = "the files that it lists are read unverified"
    RUN_LEFT_OUT = "nothing of the run can be trusted without it; restore it from a copy"


@dataclass(frozen=True)
class Damage:
    """One damaged thing of a run: `file` is relative to the run, with `:LINE` behind it for a line."""

    file: str
    fault: Fault
    instead: Substitute

    def __str__(self) -> str:
        """Return `points.parquet is missing; its rows are read from the folders of the steps`."""
        return f"{self.file} {self.fault.value}; {self.instead.value}"


def first_of_each_file(found: Iterable[Damage]) -> list[Damage]:
    """Returns the damages in the order found, one per file."""
    out: dict[str, Damage] = {}
    for one in found:
        out.setdefault(one.file, one)
    return list(out.values())


def warn_of(run: Path, found: Iterable[Damage]) -> None:
    """Warns of each, one line at a time."""
    for one in found:
        warnings.warn(f"run {run.name}: {one}", DamageWarning, stacklevel=2)


class DamagedFileError(FathomError):
    """A file that a reader cannot do without is damaged."""

    def __init__(self, path: str, fault: Fault, hint: str) -> None:
        self.fault = fault
        super().__init__(f"{path}: damaged: it {fault.value}", hint)
