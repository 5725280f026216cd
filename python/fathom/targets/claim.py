"""How a session takes its targets, of any kind: check all, then hold each, then check again.

    for target in targets:
        check_target(target, writes=True, destroy_tokens=tokens)
    with ExitStack() as stack:
        ready = [stack.enter_context(claim(target, writes=True, destroy_tokens=tokens)) for target in targets]
        ...
        recheck(ready[0], writes=True)  # before each destructive step

Checks write nothing, so that a run on several targets is refused before the first of them is touched.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import InitVar, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from fathom.errors import NEW_RUN, FathomError, RefusedError
from fathom.targets import libblkid
from fathom.targets.file_check import check_file, check_held
from fathom.targets.file_hold import hold_file
from fathom.targets.file_making import prepare_file
from fathom.targets.file_sets import check_held_set, check_set, hold_set
from fathom.targets.mkfs import check_maker, lifted, made_file_system
from fathom.targets.safety import (
    NO_LIBBLKID,
    ExclusiveHold,
    authorise_destroy,
    check_device,
    lift_unknown,
    recheck_identity,
    recheck_use,
    refuse,
)
from fathom.targets.target import FILE_KINDS, FileId, Target

_SEAL = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(Target):
    """A target that has passed every check and is held. Only `claim` makes one, and the engine loads nothing else.

    `writes` says whether it was checked and is held for writing. A changed copy is no longer what was checked, so that
    `dataclasses.replace` raises.
    """

    writes: bool
    members: "tuple[Claimed, ...]" = ()
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        """Raises TypeError unless `claim` made it."""
        if seal is not _SEAL:
            raise TypeError("only fathom.targets.claim.claim makes a Claimed target")

    def __reduce__(self) -> tuple[partial[Target], tuple[()]]:
        """Gives another process, or a copy, the plain target: it holds nothing."""
        return partial(Target, **_facts(self), members=self.members), ()


def claimed(target: Target) -> Claimed:
    """Returns the same target, typed as what `claim` gave. Raises TypeError for one that nothing has checked."""
    if not isinstance(target, Claimed):
        raise TypeError(f"{target!r} was not claimed: use fathom.targets.claim.claim")
    return target


def check_target(
    target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
) -> Target:
    """Passes when the target may be read, or written if `writes`; returns it with notes on who else uses it.

    Every member of an array must pass. `unknown_data` says that data which no format explains may be lost too.

    Raises RefusedError with every reason, and for a device without its token the one to type. Raises FathomError where
    a file is gone that the run began with.
    """
    if target.members:
        return _of_members(
            target,
            [
                check_target(one, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data)
                for one in target.members
            ],
        )
    if target.kind == "device" and target.path is not None:
        return _check_device(target, target.path, writes, destroy_tokens, unknown_data)
    if target.made and target.path is not None and not target.path.exists():
        gone = (
            "files that this run began with are"
            if target.kind == "files"
            else "file that this run began with is"
        )
        raise FathomError(f"{target.name}: the {gone} gone", NEW_RUN)
    if target.kind in FILE_KINDS:
        refuse(target.name, check_file(target, writes=writes))
    if target.kind == "files":
        refuse(target.name, check_set(target, writes=writes))
    return target


def _check_device(
    target: Target, path: Path, writes: bool, destroy_tokens: Sequence[str], unknown_data: bool
) -> Target:
    refusals = check_device(path, sample=writes or target.makes is not None)
    if unknown_data:
        refusals = lift_unknown(refusals)
    if target.makes:
        check_maker(target)
        refusals, writes = lifted(target, refusals), True
    refuse(target.name, [refusal for refusal in refusals if writes or refusal.blocks_reads])
    if writes:
        authorise_destroy(target, *destroy_tokens)
    shared = [r.reason for r in refusals if r.rule in ("mounted", "swap", "open", "held", "exported")]
    notes = [NO_LIBBLKID] if writes and not libblkid.available() else []
    if shared:
        notes.append(f"{target.name} is in use ({', '.join(shared)}): other I/O may change the figures")
    return replace(target, notes=(*target.notes, *notes))


def _of_members(target: Target, members: Sequence[Target]) -> Target:
    """Returns the array with its members as they are now, and their notes."""
    return replace(target, members=tuple(members), notes=tuple(note for one in members for note in one.notes))


@contextmanager
def claim(
    target: Target, *, writes: bool, destroy_tokens: Sequence[str] = (), unknown_data: bool = False
) -> Iterator[Claimed]:
    """Checks the target, prepares and holds it until the end of the `with`; gives it as it then is.

    A device that is written is held with O_EXCL. One that gets a file system is held by being mounted, and a file with
    flock. Twins, `null:` and `nop:` need nothing. What comes under the name of a file or device later is not opened.
    """
    checked = check_target(target, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data)
    if target.members:
        with ExitStack() as stack:
            held = [
                claim(one, writes=writes, destroy_tokens=destroy_tokens, unknown_data=unknown_data)
                for one in target.members
            ]
            members = tuple(stack.enter_context(one) for one in held)
            yield _sealed(_of_members(target, members), writes=writes, members=members)
    elif target.makes:
        with made_file_system(checked, unknown_data=unknown_data) as ready:
            yield _sealed(ready, writes=True)
    elif target.kind == "device" and writes:
        with ExclusiveHold(checked, unknown_data=unknown_data):
            yield _sealed(_with_device(checked), writes=writes)
    elif target.kind in FILE_KINDS:
        ready = prepare_file(checked, writes=writes)
        with hold_file(ready, writes=writes) as held:
            yield _sealed(held, writes=writes)
    elif target.kind == "files":
        with hold_set(checked, writes=writes) as held:
            yield _sealed(held, writes=writes)
    elif target.kind == "device":
        yield _sealed(_with_device(checked), writes=writes)
    else:
        yield _sealed(checked, writes=writes)


def _sealed(target: Target, *, writes: bool, members: tuple[Claimed, ...] = ()) -> Claimed:
    return Claimed(**_facts(target), members=members, writes=writes, seal=_SEAL)


def _facts(target: Target) -> dict[str, Any]:
    """Returns the fields of a target but its members, for the constructor of another."""
    return {one.name: getattr(target, one.name) for one in fields(Target) if one.name != "members"}


def _with_device(target: Target) -> Target:
    """Returns the target with the number of the device that was checked, or of the generic one that I/O goes to."""
    if target.passthrough:
        return replace(target, held=FileId.of(target.passthrough.stat()))
    if target.identity.dev is None:
        return target
    major, minor = target.identity.dev.split(":")
    return replace(target, held=FileId(os.makedev(int(major), int(minor)), 0))


def recheck(target: Target, *, writes: bool) -> None:
    """Passes when the target is still what was claimed: the same device, of use to nobody else, or the same file.

    Raises RefusedError when it is another, FathomError when it is gone.
    """
    for member in target.members:
        recheck(member, writes=writes)
    recheck_identity(target)
    if writes:
        recheck_use(target)
    if target.kind == "files":
        check_held_set(target)
        refuse(target.name, check_set(target, writes=writes))
    if target.kind not in FILE_KINDS or target.path is None:
        return
    try:
        status = target.path.lstat()
    except OSError as error:
        raise FathomError(f"{target.name}: the file is gone", NEW_RUN) from error
    check_held(target)
    refuse(target.name, check_file(target, writes=writes))
    if status.st_size < target.capacity_bytes:
        raise RefusedError(f"{target.name}: the file has shrunk to {status.st_size} bytes", NEW_RUN)
