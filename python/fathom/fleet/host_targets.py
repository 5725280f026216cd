"""A fleet's target as each of its hosts sees it: what a host may say of it, and what it becomes when it is held."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fathom._core import Job
from fathom.errors import FathomError, UsageError
from fathom.targets.array import PREFIX, member_texts
from fathom.targets.safety import ensure_same
from fathom.targets.target import FILE_KINDS, REAL_KINDS, Identity, Target, is_world_wide

KINDS = (*REAL_KINDS, "null", "nop", "array")
MOST_BLOCK_BYTES = 1 << 20
MOST_CAPACITY_BYTES = (1 << 63) - 1


def as_held(own: Target, ready: Target) -> Target:
    """Returns a host's target with what holding it found. Raises FathomError where it is of other members."""
    if len(own.members) != len(ready.members):
        raise FathomError(
            f"{own.name}: it holds {len(ready.members)} members, {len(own.members)} were asked for"
        )
    members = tuple(as_held(*pair) for pair in zip(own.members, ready.members, strict=True))
    return replace(own, identity=ready.identity, members=members)


def as_began(host: str, own: Target, name: str, began: Mapping[str, Identity]) -> Target:
    """Returns a host's target as the file or device that it was when the run began. Raises as `Fleet.go_on` does."""
    then = began.get(f"{host}:{name}")
    if then is None:
        raise UsageError(
            f"host {host} had no part in this run", "name the hosts that it began with, or some of them"
        )
    if own.kind == "device":
        ensure_same(f"{host}:{own.name}", then, own.identity)
    identity = replace(own.identity, file_uuid=then.file_uuid)
    return replace(own, made=own.kind in FILE_KINDS, identity=identity)


def least(members: Sequence[Sequence[Target]]) -> tuple[Target, ...]:
    """Returns the members of the first host's array, each as small as any host's. None has a path here."""
    return tuple(
        replace(same[0], path=None, passthrough=None, capacity_bytes=min(one.capacity_bytes for one in same))
        for same in zip(*members, strict=True)
    )


def is_shared(seen: Sequence[Target]) -> bool:
    """Returns whether every host has the same drives by these names, by an id that no two drives have.

    Serials and other ids are not unique: virtual machines have disks of their own with the same ones.
    """
    return all(
        len({(one.kind, one.identity.wwid, one.identity.namespace, one.capacity_bytes) for one in same}) == 1
        and same[0].kind == "device"
        and is_world_wide(same[0].identity.wwid)
        for same in zip(*(own.members or (own,) for own in seen), strict=True)
    )


def divides(fill: Job, target: Target, hosts: int) -> bool:
    """Returns whether parts of a fill come to the fill.

    It writes multiples of its region, in blocks enough for all hosts, and no data waits in a host's page cache.
    """
    by_region = fill.region_multiple is not None and fill.bytes is None and fill.count is None
    region_bytes = fill.region_on(target.unit_capacity_bytes, target.logical_block_bytes)[1]
    enough = region_bytes >= hosts * fill.largest_block_bytes
    return by_region and enough and fill.direct and fill.pattern.kind != "zones" and not fill.streams


def require_plausible(host: str, text: str, own: Target) -> None:
    """Raises FathomError for a target that no host can have, or that is not what was asked for."""
    asked = member_texts(text) if text.startswith(PREFIX) else []
    alike = len(own.members) == len(asked) and [*own.parts] == [member.name for member in own.members]
    if not alike or not all(_is_plausible(one) for one in (own, *own.members)):
        raise FathomError(f"host {host}: it describes {text} as what it cannot be", "look at that host")


def _is_plausible(own: Target) -> bool:
    return (
        own.kind in KINDS
        and (own.kind == "array") == bool(own.members)
        and 0 < own.capacity_bytes <= MOST_CAPACITY_BYTES
        and 0 < own.logical_block_bytes <= MOST_BLOCK_BYTES
        and 0 <= own.direct_align_bytes <= MOST_BLOCK_BYTES
    )
