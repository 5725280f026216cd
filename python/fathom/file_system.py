"""Bare drives in a method that is about a file system: each gets the one that the method names."""

from collections.abc import Sequence

from fathom.method import Method
from fathom.resolve import resolve_targets
from fathom.targets.target import Target


def with_file_system(method: Method, targets: Sequence[Target]) -> list[Target]:
    """The targets, bare virtual drives under the method's file system, where it names one.

    Files and directories lie on one already; a target that names its own keeps it.
    """
    if method.file_system is None:
        return list(targets)
    named = [f"{target.name}/{method.file_system}" if _is_bare(target) else None for target in targets]
    return [
        target if name is None else resolve_targets([name])[0]
        for target, name in zip(targets, named, strict=True)
    ]


def _is_bare(target: Target) -> bool:
    return target.kind == "twin" and target.identity.file_system is None
