"""Bare drives in a method that is about a file system: each gets the one that the method names."""

from collections.abc import Sequence
from dataclasses import replace

from fathom.load.resolve import resolve_targets
from fathom.method.method import Method
from fathom.targets.array import array_of
from fathom.targets.target import Target


def with_file_system(
    method: Method, targets: Sequence[Target], size_bytes: int | None = None
) -> list[Target]:
    """Returns the targets, bare virtual drives and block devices under the method's file system, where it names one.

    Files and directories lie on one already; a target that names its own keeps it. The file on a device that gets a
    file system is as large as asked for, or as the method's regions.
    """
    under = [_under(method.file_system, target, size_bytes) for target in targets]
    return [
        replace(_sized(method, one, size_bytes), bound=target.bound)
        for one, target in zip(under, targets, strict=True)
    ]


def is_bare(target: Target) -> bool:
    """Returns whether a target is a drive without a file system: a twin or a device."""
    if target.kind == "twin":
        return target.identity.file_system is None
    return target.kind == "device" and target.makes is None and target.passthrough is None


def _under(file_system: str | None, target: Target, size_bytes: int | None) -> Target:
    if target.members:
        return _of_members(target, [_under(file_system, member, size_bytes) for member in target.members])
    if file_system is None or not is_bare(target):
        return target
    return resolve_targets([f"{target.name}/{file_system}"], size_bytes)[0]


def _sized(method: Method, target: Target, size_bytes: int | None) -> Target:
    if target.members:
        return _of_members(target, [_sized(method, member, size_bytes) for member in target.members])
    regions = [step.job.region_size.up_to for step in method.steps if step.job.block_sizes]
    if target.makes is None or size_bytes is not None or not regions or None in regions:
        return target
    most = max(region for region in regions if region is not None)
    block_bytes = target.logical_block_bytes
    return replace(target, capacity_bytes=min(most, target.capacity_bytes) // block_bytes * block_bytes)


def _of_members(target: Target, members: Sequence[Target]) -> Target:
    return target if tuple(members) == target.members else array_of(members)
