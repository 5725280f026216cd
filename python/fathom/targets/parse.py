"""From the text of a target, as typed on the command line or kept in run.json, to `Target` objects.

Reads facts (sysfs, the file system, the catalogue) and makes nothing. Whether a target may be used is decided
later, when it is known whether it will be written.
"""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fathom.errors import UsageError
from fathom.output.text import capacity
from fathom.targets.array import PREFIX, array_of, member_texts
from fathom.targets.file_identity import encryption_notes
from fathom.targets.files import dir_target, file_set, file_target
from fathom.targets.io_limits import with_io_limits
from fathom.targets.safety import block_device
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity, Target
from fathom.targets.twin_names import TWIN
from fathom.targets.zones import ZoneSizes, with_zones
from fathom.text_file import expanded_path

EMPTY_CAPACITY_BYTES = 1 << 40
MAX_TWINS = 1024
MAX_FILES = 256
FILE_SYSTEMS = ("btrfs", "btrfs-zoned", "xfs", "ext4")
_KINDS = (
    "/dev/NAME",
    "/dev/NAME/btrfs",
    "/dev/ngXnY",
    "file:PATH",
    "dir:PATH",
    "dir:PATH*8",
    "null:",
    "nop:",
    "twin:NAME",
    "twin:NAME*8",
    "array:TARGET,TARGET",
)


@dataclass(frozen=True, slots=True)
class TwinFacts:
    """What the catalogue knows of a twin before one is made."""

    label: str
    capacity_bytes: int
    logical_block_bytes: int
    placement_handles: int = 1
    parameters_sha256: str | None = None
    """None for what cannot be simulated."""
    zones: ZoneSizes | None = None
    """None where it has none that must be written in order."""


TwinLookup = Callable[[str], TwinFacts]
"""Finds a twin by its catalogue name; raises UsageError, with the nearest name, when there is none."""

_LONGEST_SHOWN = 80


FileSizes = int | tuple[int | None, ...] | None
"""The size that files shall have, or that of each member of an array in its order. None: the one that it has."""


def parse_targets(
    texts: Sequence[str], *, size_bytes: FileSizes = None, twins: TwinLookup | None = None
) -> list[Target]:
    """Parses all targets of a run, in order; `size_bytes` is the size that file targets shall have.

    Raises UsageError when a text is no target or a target is named twice, RefusedError for files that are never used.
    """
    targets = [parse_target(text, size_bytes=size_bytes, twins=twins) for text in texts]
    seen: dict[str, str] = {}
    for target in (one for whole in targets for one in whole.members or (whole,)):
        place = str(target.path.resolve()) if target.path else target.name
        if place in seen:
            raise UsageError(f"{target.name} and {seen[place]} are the same target", "name each target once")
        seen[place] = target.name
    return targets


def parse_target(text: str, *, size_bytes: FileSizes = None, twins: TwinLookup | None = None) -> Target:
    """Parses one text.

    `twin:NAME*8` is eight equal twins as one target, with the parts `twin:NAME*8#1` to `#8`. `twin:NAME#3` is one twin,
    with the seed of the third. `?KEY=VALUE,...` behind the name sets its parameters. `/btrfs` behind all is a file
    system on each; behind a device, one that Fathom makes on it. `dir:PATH*8` is an array of eight files. See
    `parse_targets`.
    """
    try:
        return _parsed(text, size_bytes, twins)
    except OSError as error:
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
        raise UsageError(f"{shown!r}: {error.strerror or error}", "give a path that can be opened") from error


def _parsed(text: str, size_bytes: FileSizes, twins: TwinLookup | None) -> Target:
    """As `parse_target`, but raises OSError for a path that the system cannot look up."""
    if text.startswith(PREFIX):
        members = member_texts(text)
        sizes = size_bytes if isinstance(size_bytes, tuple) else (size_bytes,) * len(members)
        if len(sizes) != len(members):
            raise UsageError(
                f"{text}: {len(sizes)} sizes for {len(members)} targets", "give one size, or one each"
            )
        return array_of(
            [parse_target(one, size_bytes=own, twins=twins) for one, own in zip(members, sizes, strict=True)]
        )
    if isinstance(size_bytes, tuple):
        [size_bytes] = size_bytes
    if is_file_set(text):
        return _file_set(text, size_bytes)
    _no_array_of_real_targets(text)
    kind, colon, rest = text.partition(":")
    if re.fullmatch(r"/dev/ng\d+n\d+", text):
        return _generic_target(text)
    if text.startswith("/dev/"):
        device, _, last = text.rpartition("/")
        made = last in FILE_SYSTEMS and not Path(text).exists()
        return made_target(Path(device), last, size_bytes) if made else device_target(Path(text))
    if kind in ("file", "dir") and colon:
        if not rest:
            raise UsageError(f"{text}: the path is missing", f"write {kind}:PATH")
        make = file_target if kind == "file" else dir_target
        return make(expanded_path(text, rest), size_bytes)
    if text in _EMPTY:
        return _empty_target(text)
    if kind == "twin" and colon:
        return _twin_target(rest, twins)
    raise UsageError(f"{text!r} is not a target", _advice(text, twins))


def device_target(path: Path) -> Target:
    """Describes a block device under its kernel name, whatever link it was reached by."""
    device = block_device(path)
    node = device.node if device.node.exists() else path
    identity = with_zones(with_io_limits(device.identity(), [device]), node)
    block_bytes = identity.logical_block_bytes or 512
    return Target(
        name=str(node),
        kind="device",
        path=node,
        capacity_bytes=device.size_bytes,
        logical_block_bytes=block_bytes,
        direct_align_bytes=block_bytes,
        identity=identity,
        label=device_label(device, identity),
        placement_handles=device.write_streams or 1,
        notes=encryption_notes(str(node), identity),
    )


def made_target(path: Path, file_system: str, size_bytes: int | None) -> Target:
    """Returns a device that gets a file system, and on it one file: of that size, or of a third of the device.

    Copy-on-write keeps an extent whole until its last block is replaced, so random writes take twice the file's room.
    """
    target = device_target(path)
    file_bytes = size_bytes or target.capacity_bytes // 3
    return replace(
        target,
        name=f"{target.name}/{file_system}",
        capacity_bytes=file_bytes // target.logical_block_bytes * target.logical_block_bytes,
        label=f"{target.label}, {file_system}",
        makes=file_system,
    )


def _generic_target(text: str) -> Target:
    """Returns an NVMe generic device: the block device of the same namespace, spoken to by passthrough."""
    path = Path(text)
    if not path.is_char_device():
        raise UsageError(f"{text} is not an NVMe generic device", "`fathom devices` lists what is attached")
    block = path.with_name(path.name.replace("ng", "nvme", 1))
    target = device_target(block)
    label = f"{target.label}, passthrough"
    identity = target.identity.around_block_layer
    return replace(
        target, name=text, passthrough=path, placement_handles=None, label=label, identity=identity
    )


def device_label(device: BlockDevice, identity: Identity) -> str:
    """Returns what a person calls the device: its model, or what it is, and its capacity in vendor's units."""
    what = identity.model or identity.backing_file or identity.stack or identity.transport or device.name
    part = f", partition {device.name}" if device.is_partition else ""
    return f"{what} {capacity(device.size_bytes)}{part}"


def is_file_set(text: str) -> bool:
    """Returns whether this is `dir:PATH*8`, and not a directory of that name."""
    return bool(re.fullmatch(r"dir:.+\*[^*/]*", text)) and not Path(text.removeprefix("dir:")).is_dir()


def _file_set(text: str, size_bytes: int | None) -> Target:
    """Returns `dir:PATH*8`: eight files in the directory, as an array of them."""
    path, _, count = text.removeprefix("dir:").rpartition("*")
    number = _number(text, count, "files", 2, MAX_FILES)
    return array_of(file_set(expanded_path(text, path), number, size_bytes))


_EMPTY: dict[str, tuple[Literal["null", "nop"], str]] = {
    "null:": ("null", "no device: the load generator alone"),
    "nop:": ("nop", "no device: the load generator and io_uring"),
}
"""Kind and label of the targets with nothing behind them."""


def _empty_target(text: str) -> Target:
    kind, label = _EMPTY[text]
    return Target(
        name=text,
        kind=kind,
        path=None,
        capacity_bytes=EMPTY_CAPACITY_BYTES,
        logical_block_bytes=512,
        direct_align_bytes=512,
        identity=Identity(),
        label=label,
    )


def _no_array_of_real_targets(text: str) -> None:
    """Raises UsageError for `file:PATH*8`: a real target cannot be multiplied. A path may contain a star."""
    form = re.fullmatch(r"(?P<one>(?:file:|/dev/).+|null:|nop:)\*\d*", text)
    if form is not None and not Path(text.partition(":")[2] or text).exists():
        raise UsageError(
            f"{text}: only twins, and files in a directory, can be multiplied",
            f"name each target itself, such as {form['one']}; --together loads them at once",
        )


def _twin_target(rest: str, twins: TwinLookup | None) -> Target:
    form = TWIN.fullmatch(rest)
    if form is None:
        raise UsageError(
            f"twin:{rest} names no twin", "write twin:NAME or twin:NAME*8; `fathom catalog` lists names"
        )
    if twins is None:
        raise UsageError(f"twin:{rest}: there is no catalogue here", "use a device or a file")
    number = _number(f"twin:{rest}", form["number"], "twins", 1, MAX_TWINS) if form["mark"] else None
    file_system = form["file_system"]
    if file_system is not None and file_system not in FILE_SYSTEMS:
        raise UsageError(
            f"twin:{rest}: twins have no file system {file_system or 'nothing'!r}",
            f"write one of {', '.join(f'/{name}' for name in FILE_SYSTEMS)}",
        )
    facts = twins(form["name"])
    name = f"twin:{rest}"
    many = number if number is not None and form["mark"] == "*" else 1
    mark = {"*": f"{many} x {facts.label}", "#": f"{facts.label} #{number}", None: facts.label}[form["mark"]]
    return Target(
        name=name,
        kind="twin",
        path=None,
        capacity_bytes=many * facts.capacity_bytes,
        logical_block_bytes=facts.logical_block_bytes,
        direct_align_bytes=facts.logical_block_bytes,
        identity=Identity(
            file_system=file_system,
            parameters_sha256=facts.parameters_sha256,
            zone_bytes=facts.zones.zone_bytes if facts.zones else None,
            zone_capacity_bytes=facts.zones.capacity_bytes if facts.zones else None,
        ),
        label=f"{mark}, {file_system}" if file_system else mark,
        catalog=form["name"],
        parts=tuple(f"{name}#{k}" for k in range(1, many + 1)) if form["mark"] == "*" else (),
        number=number if form["mark"] == "#" else None,
        placement_handles=1 if file_system else facts.placement_handles,
    )


def _number(target: str, text: str, what: str, least: int, most: int) -> int:
    """Returns the number behind `*` or `#`. Raises UsageError when it is none or out of range."""
    if not (text.isascii() and text.isdigit() and least <= int(text[:7]) <= most):
        raise UsageError(
            f"{target}: {text or 'nothing'!r} is not a number of {what}",
            f"write a number from {least} to {most}",
        )
    return int(text)


def _advice(text: str, twins: TwinLookup | None) -> str:
    """Returns the nearest right form: a prefix misspelt or left out, or the list of forms."""
    kind, colon, rest = text.partition(":")
    near = difflib.get_close_matches(kind, ["file", "dir", "null", "nop", "twin"], n=1)
    if colon and near:
        nothing_behind = f"{near[0]}:" in _EMPTY
        return f"did you mean {near[0]}:{'' if nothing_behind else rest}"
    if not colon and text and Path(text).is_dir():
        return f"write dir:{text}"
    if not colon and twins is not None and _is_twin(text, twins):
        return f"write twin:{text}"
    if not colon and text and ("/" in text or Path(text).suffix or Path(text).exists()):
        return f"write file:{text}"
    return f"write one of {', '.join(_KINDS)}"


def _is_twin(text: str, twins: TwinLookup) -> bool:
    form = TWIN.fullmatch(text)
    try:
        return form is not None and bool(twins(form["name"]))
    except UsageError:
        return False
