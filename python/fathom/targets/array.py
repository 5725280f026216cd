"""Several targets that are loaded at once as one target, `array:/dev/nvme0n1,/dev/nvme1n1`. Opens nothing.

Members are all real or all twins, because twins have a time of their own. Equal twins have a shorter name:
`twin:NAME*8`.
"""

import re
from collections import Counter
from collections.abc import Sequence

from fathom.errors import UsageError
from fathom.targets.target import REAL_KINDS, Identity, Target

PREFIX = "array:"
LIMIT_KEYS = ("read_bytes_per_s_max", "write_bytes_per_s_max", "read_iops_max", "write_iops_max")
_BETWEEN = re.compile(r",(?=/dev/|[a-z]+:)")
"""Paths may have commas in them, so one only counts in front of what begins another target."""


def member_texts(text: str) -> list[str]:
    """Returns the texts of an array's members."""
    return _BETWEEN.split(text.removeprefix(PREFIX))


def array_text(texts: Sequence[str]) -> str:
    """Returns the text of an array of those targets. Raises UsageError for a path that could not be parsed back from
    it.
    """
    for text in texts:
        if len(_BETWEEN.split(text)) > 1:
            raise UsageError(
                f"{text}: this path cannot be named in an array", "rename it, or use a link to it"
            )
    return PREFIX + ",".join(texts)


def array_of(members: Sequence[Target]) -> Target:
    """Returns the members as one target, whose parts they are. It has the properties that all of them share.

    An array of twins is a twin itself. Raises UsageError for fewer than two, for twins beside real targets, and for
    what can be no member.
    """
    name = array_text([member.name for member in members])
    if len(members) < 2:
        raise UsageError(f"{name}: an array needs two members or more", "write array:TARGET,TARGET")
    _ensure_alike(name, members)
    handles = [member.placement_handles for member in members]
    known = [count for count in handles if count is not None]
    aligns = [member.direct_align_bytes for member in members]
    return Target(
        name=name,
        kind="twin" if members[0].kind == "twin" else "array",
        path=None,
        capacity_bytes=sum(member.capacity_bytes for member in members),
        logical_block_bytes=max(member.logical_block_bytes for member in members),
        direct_align_bytes=max(aligns) if all(aligns) else 0,
        identity=_common(members),
        label=_label(members),
        parts=tuple(member.name for member in members),
        members=tuple(members),
        placement_handles=min(known) if len(known) == len(handles) else None,
        makes=members[0].makes if len({member.makes for member in members}) == 1 else None,
    )


def _ensure_alike(name: str, members: Sequence[Target]) -> None:
    """Passes when the members can be loaded on one clock. Raises UsageError."""
    twins = [member for member in members if member.kind == "twin"]
    if twins and len(twins) < len(members):
        raise UsageError(
            f"{name}: twins run in virtual time, the other members in real time",
            "name twins alone, or devices, files and directories alone",
        )
    if odd := next((member for member in members if member.kind not in (*REAL_KINDS, "twin")), None):
        raise UsageError(
            f"{name}: {odd.name} cannot be a member", "name devices, files and directories, or twins"
        )
    if whole := next((member for member in twins if member.parts), None):
        raise UsageError(
            f"{name}: {whole.name} is an array itself", "name each of its drives, such as twin:NAME#1"
        )


def _common(members: Sequence[Target]) -> Identity:
    """Returns what all have in common; the size, and the limits of a control group, are those of all together."""
    first, *others = [member.identity.to_json() for member in members]
    same = {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
    sizes = [member.identity.size_bytes for member in members]
    known = [size for size in sizes if size is not None]
    limits = {key: _together(members, key) for key in LIMIT_KEYS}
    return Identity.from_json(
        same | {"size_bytes": sum(known) if len(known) == len(sizes) else None} | limits
    )


def _together(members: Sequence[Target], key: str) -> int | None:
    """Returns how much a control group allows on all devices; None where one has no limit, or may be another's.

    Several files of one device share its limit.
    """
    limits: dict[object, int] = {}
    for identity in (member.identity.to_json() for member in members):
        limit = identity.get(key)
        if not isinstance(limit, int):
            return None
        limits[identity.get("dev")] = limit
    return None if None in limits else sum(limits.values())


def _label(members: Sequence[Target]) -> str:
    counts = Counter(member.label for member in members)
    return ", ".join(f"{count} x {label}" if count > 1 else label for label, count in counts.items())
