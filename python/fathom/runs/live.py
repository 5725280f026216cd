"""live.json: how far a run is, for those who watch it from another process.

The writer replaces it once a second and removes it at the end. A run that was killed leaves it, which `life_of`
recognises. Nothing is made from it, and no checksum covers it.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from fathom.runs.files import no_link, write_atomically
from fathom.runs.layout import LIVE
from fathom.runs.writer import is_written
from fathom.targets.target import Kind

LIVE_SCHEMA = "fathom-live/1"
MOST_BYTES = 8 << 20
"""A larger file is none of Fathom's."""
SILENT_S = 10.0
"""From this age on, a file that is replaced once a second shows a writer that hangs."""

Phase = Literal["preparing", "settling", "measuring"]
"""What a step is for: bringing the target to a state, waiting for a steady rate, taking figures."""
PHASES: Mapping[str, Phase] = {
    "purge": "preparing",
    "fill": "preparing",
    "idle": "preparing",
    "precondition": "settling",
    "measure": "measuring",
    "point": "measuring",
}
"""The phase by the kind of a step."""
Basis = Literal["time", "volume", "target", "pace"]
"""On what the time left is based: the step's own time, its volume at the present rate, or the target's word. For a
twin, on the share done and the real time that it took.
"""
Life = Literal["running", "silent", "dead"]
"""Whether the writer goes on, hangs, or is gone."""
State = Literal["waiting", "running", "done", "failed"]

Number: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class LiveSeries(_Part):
    """The last minutes of a target, a value for each second in which it reported; all lists have one length."""

    at_s: tuple[Number, ...] = Field(default=(), description="real time since the run began")
    step: tuple[int, ...] = Field(default=(), description="number of the step that ran then")
    iops: tuple[Number, ...] = ()
    bytes_per_s: tuple[Number, ...] = ()
    mean_latency_us: tuple[Number | None, ...] = ()

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        series = (self.at_s, self.step, self.iops, self.bytes_per_s, self.mean_latency_us)
        lengths = {len(one) for one in series}
        if len(lengths) != 1:
            raise ValueError("series of different lengths")
        return self


class LiveStep(_Part):
    """The running step. Rates and latency are those of the last second; a twin's seconds are virtual."""

    number: int = Field(ge=1, description="from 1")
    total: int = Field(ge=1)
    name: str
    label: str
    kind: str
    phase: Phase
    large_blocks: bool = Field(description="whether bytes are the figure that people ask for, not I/Os")
    steady: bool | None = Field(default=None, description="null where nobody has judged it")
    rounds: int = Field(default=0, ge=0)
    state: str = Field(default="", description="in words, such as the criterion that is not met yet")
    elapsed_s: Number = Field(default=0.0, description="in the target's own time")
    iops: Number | None = None
    bytes_per_s: Number | None = None
    mean_latency_us: Number | None = None
    share: float = Field(default=0.0, ge=0, le=1, description="share of the step done")
    left_s: Number | None = Field(default=None, description="real time until the step ends")
    left_at_most: bool = False
    basis: Basis | None = Field(default=None, description="on what share and time left are based")


class LiveTarget(_Part):
    """A target and what it does now."""

    name: str
    label: str
    kind: Kind
    state: State
    error: str | None = None
    step: LiveStep | None = None
    recent: LiveSeries = Field(default_factory=LiveSeries)


class LiveRun(_Part):
    """The whole of live.json."""

    format: Literal["fathom-live/1"] = Field(default=LIVE_SCHEMA, alias="schema")
    run: str = Field(description="id of the run")
    method: str
    title: str
    pid: int = Field(description="process that writes the run, on the machine that it runs on")
    started: AwareDatetime = Field(description="when this process took the run up")
    updated: AwareDatetime = Field(description="when this file was written")
    targets: tuple[LiveTarget, ...]


def write_live(run: Path, live: LiveRun) -> None:
    """Replaces live.json without waiting for the disk. Raises OSError."""
    write_atomically(run / LIVE, live.model_dump_json(by_alias=True), durable=False)


def drop_live(run: Path) -> None:
    """Removes live.json, and what a killed writer left of a new one."""
    for name in (LIVE, f".{LIVE}.new"):
        with suppress(OSError):
            (run / name).unlink(missing_ok=True)


def read_live(run: Path) -> LiveRun | None:
    """Returns live.json; None where there is none that can be read. Follows no link and waits for no pipe."""
    try:
        with open(run / LIVE, "rb", opener=no_link) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return LiveRun.model_validate_json(file.read(MOST_BYTES))
    except (OSError, ValidationError):
        return None


def life_of(run: Path, live: LiveRun, now: datetime) -> Life:
    """Returns whether the writer of a run goes on. Its lock shows its death at once, the file's age that it hangs."""
    if not is_written(run):
        return "dead"
    return "silent" if (now - live.updated).total_seconds() > SILENT_S else "running"
