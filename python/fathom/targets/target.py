"""What a target is once its text is parsed and its facts are read: plain data that opens nothing."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import PlainSerializer, PlainValidator

from fathom._core import FileSet, ParseError

if TYPE_CHECKING:
    from pydantic import JsonValue

Kind = Literal["device", "file", "dir", "files", "null", "nop", "twin", "array"]
KIND_IN_WORDS: Mapping[Kind, str] = {
    "device": "a device",
    "file": "a file",
    "dir": "a file in a directory",
    "files": "a set of files",
    "null": "a target with nothing behind it",
    "nop": "a target with nothing behind it",
    "twin": "a twin",
    "array": "an array",
}
FILE_KINDS: tuple[Kind, ...] = ("file", "dir")
"""Kinds of targets that are files, with checks and holds for files."""
REAL_KINDS: tuple[Kind, ...] = ("device", *FILE_KINDS, "files")
"""Kinds of targets with hardware behind them."""


def _received(value: object) -> FileSet:
    if isinstance(value, FileSet):
        return value
    try:
        return FileSet(str(value))
    except ParseError as error:
        raise ValueError(str(error)) from error


WORLD_WIDE = ("naa.", "eui.", "uuid.")
"""How WWIDs begin that are assigned once in the world. By others, drives of two machines can have the same one."""


def is_world_wide(wwid: str | None) -> bool:
    """Returns whether no two drives have this WWID."""
    return (wwid or "").startswith(WORLD_WIDE)


SentFiles = Annotated[
    FileSet, PlainValidator(_received), PlainSerializer(lambda files: files.json, return_type=str)
]
"""A set of files in a call to another process: its normal form in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which thing was measured, as the kernel reports it; None where the kernel does not say.

    For files and directories the device fields describe the block device below the file system, where there is exactly
    one. A file on a stack has the model, serial number, firmware and links of the one drive below, a stacked device has
    none. `layers` are what lies between a device and its drives, from the top. `drives` counts those if there are
    several. `mapped` is device-mapper's name for the device, `array_uuid` that of an md array. `source` is what a file
    system on no block device is mounted from: an export of NFS, a dataset of ZFS.

    `scheduler` is the kernel's for the device. The block layer splits what is larger than `io_bytes_max`, a setting;
    `command_bytes_max` is the device's own limit. The other four `..._max` are what the control group of this process
    may do in a second. By passthrough, which goes around the block layer, only `command_bytes_max` is known.

    `block_metadata_bytes` is what an NVMe drive stores beside each block. `zone_bytes` lies between the starts of two
    zones, and `zone_capacity_bytes` of them can be written.

    `dev` is `major:minor`. `diskseq` is a number the kernel never gives twice between two boots, so another device that
    took the name is recognised. `link_max_*` is what the device can do, `link_*` what it negotiated. `drive_managed` is
    whether a disk says that it orders shingled tracks by itself: not all of them do. `file_uuid` is of a file that
    Fathom made, `file_system_uuid` of a file system that it made: a resumed run goes on with no others.
    `parameters_sha256` is of a twin's parameters, the start of it.
    """

    device: str | None = None
    dev: str | None = None
    diskseq: int | None = None
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    wwid: str | None = None
    transport: str | None = None
    link_speed_gtps: float | None = None
    link_width_lanes: int | None = None
    link_max_speed_gtps: float | None = None
    link_max_width_lanes: int | None = None
    namespace: int | None = None
    size_bytes: int | None = None
    logical_block_bytes: int | None = None
    physical_block_bytes: int | None = None
    block_metadata_bytes: int | None = None
    scheduler: str | None = None
    rotational: bool | None = None
    zoned: str | None = None
    zone_bytes: int | None = None
    zone_capacity_bytes: int | None = None
    drive_managed: bool | None = None
    numa_node: int | None = None
    write_cache: str | None = None
    backing_file: str | None = None
    file_system: str | None = None
    mount_point: str | None = None
    mount_options: str | None = None
    source: str | None = None
    io_bytes_max: int | None = None
    command_bytes_max: int | None = None
    read_bytes_per_s_max: int | None = None
    write_bytes_per_s_max: int | None = None
    read_iops_max: int | None = None
    write_iops_max: int | None = None
    mapped: str | None = None
    array_uuid: str | None = None
    layers: tuple[str, ...] = ()
    drives: int | None = None
    file_uuid: str | None = None
    file_system_uuid: str | None = None
    parameters_sha256: str | None = None

    @property
    def stack(self) -> str | None:
        """What a stacked device is called: `vg-data (LVM)`, `md127 (raid1)`."""
        return f"{self.mapped or self.device} ({self.layers[0]})" if self.layers else None

    @property
    def around_block_layer(self) -> "Identity":
        """The same thing reached by passthrough: no setting of the block layer holds there."""
        return replace(
            self,
            scheduler=None,
            io_bytes_max=None,
            read_bytes_per_s_max=None,
            write_bytes_per_s_max=None,
            read_iops_max=None,
            write_iops_max=None,
        )

    def to_json(self) -> "dict[str, JsonValue]":
        """Returns the fields that are known, for run.json."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value not in (None, ())
        }

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> "Identity":
        """Returns the reverse of `to_json`; keys that this version does not know are left out."""
        known = {field.name for field in fields(cls)}
        present = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if name in known
        }
        return cls(**present)  # pyright: ignore[reportArgumentType]


class FileId(NamedTuple):
    """Which file or device a path leads to: no other has it while this one is open.

    `device` is the number of the device that a file or directory is on, `inode` its number there. For the node of a
    device, `device` is the number of that device and `inode` is 0.
    """

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "FileId":
        """Returns the identity from the status of a regular file, a directory or a device."""
        there = S_ISREG(status.st_mode) or S_ISDIR(status.st_mode)
        return cls(status.st_dev, status.st_ino) if there else cls(status.st_rdev, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing that I/O can go to.

    `name` is unique within a run and parses back to the same target. `path` is what the engine opens (None for twins,
    `null:` and `nop:`). `capacity_bytes` is the size of the device or file, or the size that the file shall get.
    `logical_block_bytes` is the smallest I/O; `direct_align_bytes` the alignment that O_DIRECT needs of offset and
    length, 0 where O_DIRECT is not possible. `catalog` names the twin's catalogue entry. `notes` are what the user
    must know about the target before reading its figures. `parts` names the drives of an array. Each drive gets
    every job whole; `capacity_bytes` is then their sum. `number` distinguishes equal twins: it picks the seed.
    `placement_handles` is how many writes can choose from, 1 without placement, None where only the drive knows.
    `passthrough` is the NVMe generic device that I/O goes to instead of `path`, which remains what is checked and
    held. `makes` names the file system that a device is to get, with a file of `capacity_bytes` on it. `made` says
    that an earlier session of the run has made it, or the file that the target is. `members` are the targets of an
    array of them, in the order of `parts`, which has their names; equal twins, `twin:NAME*8`, have none. `held` is
    what a claim found the name to be, so that the engine opens nothing else that has taken it. `bound` is the name
    by which a method's steps know the target, None where they name none. `files` are those of a set, which the
    directory `path` holds. `foreign` says that it is a file that somebody else made, so it is only read.
    """

    name: str
    kind: Kind
    path: Path | None
    capacity_bytes: int
    logical_block_bytes: int
    direct_align_bytes: int
    identity: Identity
    label: str
    catalog: str | None = None
    notes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    number: int | None = None
    placement_handles: int | None = 1
    passthrough: Path | None = None
    makes: str | None = None
    made: bool = False
    members: "tuple[Target, ...]" = ()
    held: FileId | None = None
    bound: str | None = None
    files: SentFiles | None = None
    foreign: bool = False

    @property
    def is_file(self) -> bool:
        """Whether the load goes to a file, or to files of an array."""
        if self.members:
            return all(member.is_file for member in self.members)
        return self.kind in (*FILE_KINDS, "files") or self.makes is not None

    @property
    def notes_before_run(self) -> list[str]:
        """What the user must know before the first I/O: the notes; for an array, also those of its members."""
        return [note for one in self.members or (self,) for note in one.notes]

    @property
    def unit_capacity_bytes(self) -> int:
        """What one job addresses: the capacity of one of the parts, where there are any, and of the smallest."""
        least = min((member.capacity_bytes for member in self.members), default=None)
        return self.capacity_bytes // max(1, len(self.parts)) if least is None else least
