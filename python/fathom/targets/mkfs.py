"""File systems that Fathom makes: `/dev/NAME/btrfs`, a whole device turned into one file to measure.

Made and mounted for one run, under the device's own safety: nothing happens without its `--destroy` token. At the end
it is unmounted and its signatures are wiped. After an interrupt or an error it stays for `fathom resume`, which knows
it by its UUID: run.json keeps the one that was drawn for it. After a kill it stays mounted until then.
"""

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from fathom.errors import NEW_RUN, FathomError, RefusedError, UsageError
from fathom.targets.contents import blank
from fathom.targets.file_hold import hold_file
from fathom.targets.file_making import prepare_file
from fathom.targets.files import dir_target
from fathom.targets.mounts import dev_text, mount_of, read_usage
from fathom.targets.safety import ExclusiveHold, Refusal, recheck_identity
from fathom.targets.target import Target
from fathom.targets.zones import HOST_MANAGED

LABEL = "fathom"
"""Label of a file system that a run left; XFS takes 12 letters at most."""
PREFIX = "fathom-"
_ON_ZONES = ("-d", "single", "-m", "single")


@dataclass(frozen=True, slots=True)
class Maker:
    """How to make a file system, and the Debian package that has the program."""

    program: str
    package: str
    options: tuple[str, ...]
    mounts_as: str
    uuid_option: tuple[str, ...] = ("-U", "{uuid}")


MAKERS = {
    "btrfs": Maker("mkfs.btrfs", "btrfs-progs", ("-q", "-f"), "btrfs"),
    "btrfs-zoned": Maker("mkfs.btrfs", "btrfs-progs", ("-q", "-f", "-O", "zoned", *_ON_ZONES), "btrfs"),
    "xfs": Maker("mkfs.xfs", "xfsprogs", ("-q", "-f"), "xfs", ("-m", "uuid={uuid}")),
    # Tables that ext4 would write in the background of the first hours are written at once.
    "ext4": Maker(
        "mkfs.ext4", "e2fsprogs", ("-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"), "ext4"
    ),
}


def check_maker(target: Target) -> None:
    """Passes when the file system can be made on the device and mounted here.

    Raises:
        UsageError: no such program, no root, or a file system that a host-managed device cannot hold.
    """
    maker = _maker(target)
    if shutil.which(maker.program) is None:
        raise UsageError(
            f"{target.name}: {maker.program} is not installed",
            f"install it (Debian: apt install {maker.package})",
        )
    if os.geteuid() != 0:
        raise UsageError(
            f"{target.name}: making and mounting a file system needs root", "run as root, or use dir:PATH"
        )
    if target.identity.zoned == HOST_MANAGED and maker.mounts_as != "btrfs":
        raise UsageError(
            f"{target.name}: {maker.mounts_as} writes in place, which a host-managed zoned device refuses",
            f"use {target.path}/btrfs",
        )


def lifted(target: Target, refusals: Sequence[Refusal]) -> list[Refusal]:
    """Returns the refusals without those of the file system which an ended run has left for its `fathom resume`. A
    killed one leaves it mounted too.
    """
    if not target.made or not _is_the_runs_own(target):
        return list(refusals)
    mounted = sum(refusal.rule == "mounted" for refusal in refusals)
    rules = ("signed", "mounted") if mounted == len(_left_mounts(target)) else ("signed",)
    return [refusal for refusal in refusals if refusal.rule not in rules]


@contextmanager
def made_file_system(target: Target, *, unknown_data: bool = False) -> Iterator[Target]:
    """Makes the file system on an authorised device, or takes the one that the run has left; gives its file.

    Raises:
        FathomError: it cannot be made or mounted, or the one that the run began with is gone.
    """
    if target.made:
        if not _is_the_runs_own(target):
            raise FathomError(f"{target.name}: the file system that this run made is gone", NEW_RUN)
        for point in _left_mounts(target):
            _run(target, "umount", str(point))
            point.rmdir()
    else:
        # What makes and mounts it needs the device for itself, so the claim ends when all is examined.
        with ExclusiveHold(target, unknown_data=unknown_data):
            pass
        target = replace(target, identity=replace(target.identity, file_system_uuid=str(uuid4())))
        _make(target)
    with _mounted(target) as directory:
        file = prepare_file(_file_on(target, directory), writes=True)
        with hold_file(file, writes=True) as held:
            yield held
    _wipe(target)


def _make(target: Target) -> None:
    maker = _maker(target)
    zoned = _ON_ZONES if target.identity.zoned == HOST_MANAGED else ()
    uuid = [word.format(uuid=target.identity.file_system_uuid) for word in maker.uuid_option]
    _run(target, maker.program, *maker.options, *zoned, *uuid, "-L", LABEL, str(target.path))


def _wipe(target: Target) -> None:
    """Wipes the signatures of the run's own file system, which nobody else may use meanwhile.

    Raises RefusedError where the device is another by now, or holds or serves something else; nothing is wiped then.
    """
    try:
        fd = os.open(str(target.path), os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        why = "is in use" if error.errno == errno.EBUSY else (error.strerror or str(error)).lower()
        raise RefusedError(
            f"{target.name}: {target.path} {why}, so this run's file system stays on it",
            f"when nothing uses it: wipefs --all {target.path}",
        ) from error
    try:
        recheck_identity(target)
        if dev_text(os.fstat(fd).st_rdev) != target.identity.dev or not _is_the_runs_own(target):
            raise RefusedError(
                f"{target.name}: {target.path} holds something other than this run's file system, so nothing is "
                "wiped",
                "look at it, for example with blkid",
            )
        # The claim on the descriptor keeps others off; --force lets wipefs work beside it.
        _run(target, "wipefs", "--quiet", "--force", "--all", str(target.path))
        # A later run would find data that it does not know. In zones nothing is looked for, nor can be overwritten.
        if target.identity.zoned in (None, "none"):
            _blank(target, fd)
    finally:
        os.close(fd)


def _blank(target: Target, fd: int) -> None:
    """Overwrites what is left of the file system at the places that are examined. Raises FathomError."""
    try:
        blank(fd, os.lseek(fd, 0, os.SEEK_END))
    except OSError as error:
        raise FathomError(f"{target.name}: {error.strerror}", "look at the kernel log") from error


@contextmanager
def _mounted(target: Target) -> Iterator[Path]:
    recheck_identity(target)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        _run(target, "mount", "-t", _maker(target).mounts_as, str(target.path), str(directory))
        try:
            yield directory
        finally:
            _run(target, "umount", str(directory))
    finally:
        directory.rmdir()


def _left_mounts(target: Target) -> list[Path]:
    """Returns where a killed run has left its file system mounted; none where anything else is mounted from there."""
    mounts = read_usage(openers=False).mounts.get(target.identity.dev or "", [])
    points = [Path(mount.point) for mount in mounts]
    return points if all(point.name.startswith(PREFIX) for point in points) else []


def _file_on(target: Target, directory: Path) -> Target:
    """Returns Fathom's file on what is mounted, under the target's own name. Raises RefusedError for another device."""
    file = dir_target(directory, target.capacity_bytes)
    mount = mount_of(directory)
    attached = (target.identity.dev, target.identity.diskseq)
    if (
        mount is None
        or (file.identity.dev, file.identity.diskseq) != attached
        or not _is_the_runs_own(target)
    ):
        raise RefusedError(f"{target.name}: another device was mounted in its place", "try again")
    identity = replace(file.identity, file_system_uuid=target.identity.file_system_uuid)
    return replace(file, name=target.name, label=target.label, identity=identity)


def _is_the_runs_own(target: Target) -> bool:
    """Returns whether the device holds the file system that the run made, by type and UUID, read from it and from no
    cache.
    """
    found = subprocess.run(
        ["blkid", "--probe", "--output", "export", str(target.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    values = dict(line.split("=", 1) for line in found.stdout.splitlines() if "=" in line)
    uuid = target.identity.file_system_uuid
    return uuid is not None and (values.get("TYPE"), values.get("UUID")) == (_maker(target).mounts_as, uuid)


def _maker(target: Target) -> Maker:
    return MAKERS[target.makes or ""]


def _run(target: Target, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        reason = lines[-1].removeprefix(f"{command[0]}: ") if lines else f"ended with {done.returncode}"
        raise FathomError(f"{target.name}: {command[0]}: {reason}", "look at the kernel log, or use dir:PATH")
