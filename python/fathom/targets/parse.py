"""From the text of a target, as typed on the command line or kept in run.json, to `Target` objects.

Reads facts (sysfs, the file system, the catalogue) and makes nothing. Whether a target may be used is decided
later, when it is known whether it will be written.
"""

import difflib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import UsageError
from fathom.targets.files import dir_target, file_target
from fathom.targets.safety import block_device
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity, Target
from fathom.text import capacity

NULL_CAPACITY_BYTES = 1 << 40
MAX_TWINS = 4096
_KINDS = ("/dev/NAME", "file:PATH", "dir:PATH", "null:", "twin:NAME")


@dataclass(frozen=True, slots=True)
class TwinFacts:
    """What the catalogue knows of a twin before one is made."""

    label: str
    capacity_bytes: int
    logical_block_bytes: int


TwinLookup = Callable[[str], TwinFacts]
"""Finds a twin by its catalogue name; raises UsageError, with the nearest name, when there is none."""


def parse_targets(
    texts: Sequence[str], *, size_bytes: int | None = None, twins: TwinLookup | None = None
) -> list[Target]:
    """Parses all targets of a run, in order; `size_bytes` is the size that file targets shall have.

    `twin:NAME*8` becomes eight targets named `twin:NAME#1` to `twin:NAME#8`. Raises UsageError when a text is
    no target or a target is named twice, RefusedError for files that are never used.
    """
    targets = [target for text in texts for target in parse_target(text, size_bytes=size_bytes, twins=twins)]
    seen: dict[str, str] = {}
    for target in targets:
        place = str(target.path.resolve()) if target.path else target.name
        if place in seen:
            raise UsageError(f"{target.name} and {seen[place]} are the same target", "name each target once")
        seen[place] = target.name
    return targets


def parse_target(
    text: str, *, size_bytes: int | None = None, twins: TwinLookup | None = None
) -> list[Target]:
    """Parses one text, which for `twin:NAME*N` stands for N targets; see `parse_targets`."""
    kind, colon, rest = text.partition(":")
    if text.startswith("/dev/"):
        return [device_target(Path(text))]
    if kind in ("file", "dir") and colon:
        if not rest:
            raise UsageError(f"{text}: the path is missing", f"write {kind}:PATH")
        make = file_target if kind == "file" else dir_target
        return [make(_expanded(text, rest), size_bytes)]
    if text == "null:":
        return [_null_target()]
    if kind == "twin" and colon:
        return _twin_targets(rest, twins)
    raise UsageError(f"{text!r} is not a target", _advice(text))


def device_target(path: Path) -> Target:
    """Describes a block device under its kernel name, whatever link it was reached by."""
    device = block_device(path)
    node = device.node if device.node.exists() else path
    identity = device.identity()
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
    )


def device_label(device: BlockDevice, identity: Identity) -> str:
    """What a person calls the device: its model, or what it is, and its capacity in vendor's units."""
    what = identity.model or identity.backing_file or identity.transport or device.name
    part = f", partition {device.name}" if device.is_partition else ""
    return f"{what} {capacity(device.size_bytes)}{part}"


def _expanded(text: str, rest: str) -> Path:
    """The path with `~` replaced. Raises UsageError for what no file system can hold."""
    try:
        path = Path(rest).expanduser()
        encoded = os.fsencode(path)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"{text!r} is not a path: {error}", "give a plain path") from error
    if b"\0" in encoded:
        raise UsageError(f"{text!r} is not a path: it has a null byte in it", "give a plain path")
    return path


def _null_target() -> Target:
    return Target(
        name="null:",
        kind="null",
        path=None,
        capacity_bytes=NULL_CAPACITY_BYTES,
        logical_block_bytes=512,
        direct_align_bytes=512,
        identity=Identity(),
        label="no device: the load generator alone",
    )


def _twin_targets(rest: str, twins: TwinLookup | None) -> list[Target]:
    form = re.fullmatch(r"(?P<name>[a-z0-9][a-z0-9._-]*)(?:\*(?P<count>\d{1,6})|#(?P<index>\d{1,6}))?", rest)
    if form is None:
        raise UsageError(
            f"twin:{rest}: not a name", "write twin:NAME or twin:NAME*8; `fathom catalog` lists names"
        )
    if twins is None:
        raise UsageError(f"twin:{rest}: there is no catalogue here", "use a device or a file")
    name, count = form["name"], int(form["count"] or 1)
    if not 1 <= count <= MAX_TWINS:
        raise UsageError(f"twin:{rest}: {count} twins", f"ask for 1 to {MAX_TWINS}")
    facts = twins(name)
    indices = range(1, count + 1) if form["count"] else [int(form["index"])] if form["index"] else [None]
    return [_twin_target(name, index, facts) for index in indices]


def _twin_target(name: str, index: int | None, facts: TwinFacts) -> Target:
    number = "" if index is None else f"#{index}"
    return Target(
        name=f"twin:{name}{number}",
        kind="twin",
        path=None,
        capacity_bytes=facts.capacity_bytes,
        logical_block_bytes=facts.logical_block_bytes,
        direct_align_bytes=facts.logical_block_bytes,
        identity=Identity(),
        label=f"{facts.label} {number}".strip(),
        catalog=name,
    )


def _advice(text: str) -> str:
    """The nearest right form: a prefix misspelt, a path without one, or the list of forms."""
    kind, colon, rest = text.partition(":")
    near = difflib.get_close_matches(kind, ["file", "dir", "null", "twin"], n=1)
    if colon and near:
        return f"did you mean {near[0]}:{rest}"
    if not colon and text and Path(text).is_dir():
        return f"write dir:{text}"
    if not colon and text and ("/" in text or Path(text).suffix or Path(text).exists()):
        return f"write file:{text}"
    return f"write one of {', '.join(_KINDS)}"
