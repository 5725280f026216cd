"""run.json as a checked model: what was run, on what, where, and how it ended."""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from fathom.columns.schema import RUN_SCHEMA
from fathom.errors import FathomError, UsageError
from fathom.runs.checksums import is_sound, signed
from fathom.runs.damage import DamagedFileError, Fault
from fathom.runs.files import text_of, write_atomically
from fathom.runs.layout import RUN, step_folders
from fathom.runs.manifest import Manifest
from fathom.runs.steps import load_record
from fathom.runs.writer import is_written
from fathom.targets.array import PREFIX as ARRAY
from fathom.targets.target import REAL_KINDS, Kind, is_world_wide

Status = Literal["running", "killed", "complete", "partial", "interrupted", "failed"]
"""`partial`: a host was lost, and the others went on to the end.

`killed` is never written: it is what a reader makes of `running` where nobody writes the run any more."""

ENDED: frozenset[Status] = frozenset({"complete", "partial", "interrupted", "failed"})
"""States of a run whose tables, notes and manifest are written."""


class Made(StrEnum):
    """How the figures of a run came to be, as a participle."""

    MEASURED = "measured"
    SIMULATED = "simulated"
    BOTH = "measured and simulated"


FROM_A_COPY = "bring it back from a copy of the run"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QuickFactors(_Model):
    """By how much `--quick` shortened the method."""

    divide_times_by: float
    divide_preconditioning_by: float
    divide_volumes_by: float


class MethodRecord(_Model):
    """The method as it ran."""

    name: str
    title: str
    source: str
    text: str = Field(description="the method file, verbatim")
    parsed: dict[str, JsonValue] = Field(description="normal form after --quick, as JSON")


class TargetRecord(_Model):
    """One target and who it is."""

    name: str
    kind: Kind | Literal["unknown"]
    label: str
    capacity_bytes: int | None = Field(
        description="null where another program did not record it; of the total of several hosts, the least of one"
    )
    bound: str | None = Field(default=None, description="the name by which steps of the method ask for it")
    catalog: str | None = Field(default=None, description="catalogue device, for published figures")
    scale: float | None = Field(default=None, description="twins: simulated capacity / real capacity")
    identity: dict[str, JsonValue] = {}
    part_of: str | None = Field(
        default=None, description="the target whose total this one is a part of: a host's or a drive's share"
    )

    @property
    def has_members(self) -> bool:
        """Whether it is an array of named targets, rather than a number of equal twins."""
        return self.kind == "array" or (self.kind == "twin" and self.name.startswith(ARRAY))

    def is_drive_of(self, total: "TargetRecord") -> bool:
        """Returns whether this part of a total is a drive; else it is a host.

        Drives are numbered behind the name of equal twins, or are the members of an array. Hosts stand in front of the
        target's name.
        """
        is_member = total.has_members and self.kind != "array"
        return is_member or self.name.startswith(f"{total.name}#")

    @property
    def shared_id(self) -> tuple[JsonValue, JsonValue] | None:
        """What a drive has in common with itself on another host; None where it cannot be known again there."""
        wwid = self.identity.get("wwid")
        known = self.kind == "device" and isinstance(wwid, str) and is_world_wide(wwid)
        return (wwid, self.identity.get("namespace")) if known else None

    @property
    def device_bytes(self) -> int:
        """The size of a device as its host sees it, else the capacity."""
        size_bytes = self.identity.get("size_bytes")
        return size_bytes if self.kind == "device" and isinstance(size_bytes, int) else self.known_bytes

    @property
    def known_bytes(self) -> int:
        """The capacity. Raises FathomError where another program measured the target and did not record it."""
        if self.capacity_bytes is None:
            raise FathomError(
                f"{self.name}: its capacity is not known", "take a run that Fathom itself measured"
            )
        return self.capacity_bytes

    @property
    def taken_share(self) -> float:
        """Share of the capacity that can hold data, 0..1: the rest are gaps behind the capacity of zones."""
        zone_bytes, taken_bytes = (self.identity.get(name) for name in ("zone_bytes", "zone_capacity_bytes"))
        if isinstance(zone_bytes, int) and isinstance(taken_bytes, int) and 0 < taken_bytes < zone_bytes:
            return taken_bytes / zone_bytes
        return 1.0

    @property
    def usable_bytes(self) -> int:
        """What it can hold. Raises FathomError as `known_bytes`."""
        return round(self.taken_share * self.known_bytes)


def made_of(targets: Sequence[TargetRecord]) -> Made:
    """Returns how the figures of targets came to be: those of twins are simulated."""
    twins = {target.kind == "twin" for target in targets if target.part_of is None}
    return Made.BOTH if len(twins) > 1 else Made.SIMULATED if True in twins else Made.MEASURED


def maker_of(title: str, made: Made) -> str:
    """Returns a program, and what it did unless it measured: `fathom 0.1.0, simulated`."""
    return title if made is Made.MEASURED else f"{title}, {made}"


class OriginFile(_Model):
    """A file that a run was imported from, and the digest by which it is known again."""

    name: str
    bytes: int
    sha256: str


class OriginRecord(_Model):
    """The program that made a run elsewhere, and the files that its results were read from."""

    program: str
    version: str | None = None
    format: str = Field(description="format of the files, as `fathom import-results --format` names it")
    measured: str | None = Field(default=None, description="when, as far as the files say")
    files: list[OriginFile]

    @property
    def title(self) -> str:
        """The program with its version, `fio 3.33`."""
        return f"{self.program} {self.version}" if self.version else self.program


LOST_HOST = "lost-host"
"""The rule of the note on a host that a fleet lost: the run's figures are not of all that it was asked for."""


class NoteRecord(_Model):
    """A validity note: what a reader must know before trusting a figure."""

    rule: str
    level: Literal["info", "warning", "error"]
    target: str | None = None
    step: str | None = None
    text: str
    next_step: str = ""


class RunDocument(_Model):
    """The whole of run.json."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    format: str = Field(default=RUN_SCHEMA, alias="schema")
    id: str
    created: str
    finished: str | None = None
    status: Status
    error: str | None = None
    seed: int | None = Field(description="null where another program did not record it")
    repeat_of: str | None = Field(
        default=None, description="id of the first of the runs that this one repeats"
    )
    quick: QuickFactors | None = None
    method: MethodRecord
    targets: list[TargetRecord]
    origin: OriginRecord | None = Field(default=None, description="where it was imported from, if it was")
    environment: dict[str, JsonValue] = {}
    versions: dict[str, str] = {}
    notes: list[NoteRecord] = []

    sha256: str | None = Field(default=None, description="checksum of the other keys")

    def parts_of(self, total: TargetRecord) -> list[TargetRecord]:
        """Returns the hosts or drives whose sum a target is, in order."""
        return [one for one in self.targets if one.part_of == total.name]

    def drives_of(self, total: TargetRecord) -> list[TargetRecord]:
        """Returns the drives of an array, those of its first host where hosts load it; none of another target."""
        parts = self.parts_of(total)
        if total.kind == "array" and parts and not parts[0].is_drive_of(total):
            return self.parts_of(parts[0])
        return [one for one in parts if one.is_drive_of(total)]

    def hosts_of(self, total: TargetRecord) -> list[TargetRecord]:
        """Returns the rows of the hosts that load a target together; none where one machine does, and of twins."""
        if total.kind == "twin":
            return []
        return [one for one in self.parts_of(total) if not one.is_drive_of(total)]

    @property
    def bound_by_limits(self) -> dict[str, TargetRecord]:
        """The targets that one machine loads, by name: the limits of its control group bind their rates."""
        return {
            one.name: one
            for one in self.targets
            if one.kind in (*REAL_KINDS, "array") and not self.hosts_of(one)
        }

    def copies_of(self, total: TargetRecord) -> float:
        """Returns how often its hosts have a target's capacity: once where they share its drives.

        Hosts can have drives of their own under one name. The target's own capacity is that of the smallest.
        """
        drives = [drive for host in self.hosts_of(total) for drive in self.parts_of(host) or [host]]
        own = {drive.shared_id or drive.name: drive for drive in drives}
        return sum(one.device_bytes for one in own.values()) / total.known_bytes if own else 1.0

    @property
    def made(self) -> Made:
        """Whether its targets were measured or, as twins, simulated."""
        return made_of(self.targets)

    @property
    def maker(self) -> str:
        """The program that made an imported run, and whether it simulated it; empty for any other run."""
        return maker_of(self.origin.title, self.made) if self.origin else ""

    @property
    def program(self) -> str:
        """The program that made it, with its version: Fathom, or another one elsewhere."""
        return self.origin.title if self.origin else f"fathom {self.versions.get('fathom', '')}".rstrip()

    @property
    def measured(self) -> str | None:
        """When it was measured; None where another program did not record it."""
        return self.origin.measured if self.origin else self.created

    @property
    def power_state(self) -> int | None:
        """The NVMe power state that the drives were held in; None where they were left as they were."""
        match self.environment.get("power_state"):
            case {"number": int(number)}:
                return number
            case _:
                return None

    @property
    def own_seed(self) -> int:
        """The seed. Raises UsageError for an imported run: Fathom cannot go on with it."""
        if self.seed is None:
            raise UsageError(f"run {self.id} was imported", "only a run that was begun here can go on")
        return self.seed

    @property
    def has_ended(self) -> bool:
        """Whether the run's tables and its manifest are written, if it has checksums at all."""
        return self.status in ENDED

    @property
    def has_sums(self) -> bool:
        """Whether the run was written with checksums."""
        return self.sha256 is not None

    def text(self) -> str:
        """Returns the text of run.json."""
        document = signed(self.model_dump(by_alias=True, mode="json"))
        return json.dumps(document, indent=1, allow_nan=False) + "\n"

    def save(self, run: Path, *, durable: bool = True) -> None:
        """Replaces run.json atomically; waits for the disk if `durable`."""
        write_atomically(run / RUN, self.text(), durable=durable)

    @classmethod
    def load(cls, run: Path) -> "RunDocument":
        """Reads and checks run.json.

        Raises FathomError for a run of another format version or a damaged file.
        """
        path = run / RUN
        try:
            text = text_of(path)
            document = cls.model_validate_json(text)
            sound = not document.has_sums or is_sound(json.loads(text))
        except (OSError, UnicodeDecodeError, ValidationError) as error:
            if isinstance(error, ValidationError) and (version := _other_version(path)):
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise FathomError(
                    f"{path}: written by fathom {version}, and this one cannot read its {where}: {first['msg']}",
                    "update Fathom",
                ) from error
            match error:
                case ValidationError():
                    why = error.errors()[0]["msg"]
                case OSError():
                    why = error.strerror
                case _:
                    why = "not UTF-8 text"
            raise FathomError(
                f"{path}: not a readable run: {why}", f"expected {RUN_SCHEMA}; {FROM_A_COPY}"
            ) from error
        if document.format != RUN_SCHEMA:
            raise FathomError(
                f"{path}: format {document.format}, this Fathom reads {RUN_SCHEMA}", "update Fathom"
            )
        if not sound:
            raise DamagedFileError(str(path), Fault.CHANGED, FROM_A_COPY)
        _check_own(run, document)
        if document.status == "running" and not is_written(run):
            document.status = "killed"
        return document


def _other_version(path: Path) -> str | None:
    """Returns the version that wrote a document which is as it was written; None where it may be damaged."""
    try:
        document = json.loads(text_of(path))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("schema") != RUN_SCHEMA or not is_sound(document):
        return None
    versions = document.get("versions")
    return str(versions.get("fathom", "unknown")) if isinstance(versions, dict) else "unknown"


def _check_own(run: Path, document: RunDocument) -> None:
    """Raises FathomError where the manifest, or every step of a run without one, says that run.json is another's."""
    manifest = Manifest.load(run)
    fault = None
    if not isinstance(manifest, Manifest):
        folders = step_folders(run) if document.has_sums else []
        if folders and all(load_record(folder, document.id) is Fault.FOREIGN for folder in folders):
            fault = Fault.FOREIGN
    elif document.has_ended and (fault := manifest.fault(run, RUN)):
        fault = Fault.FOREIGN if document.has_sums and manifest.of != document.id else fault
    if fault:
        raise DamagedFileError(str(run / RUN), fault, FROM_A_COPY)
