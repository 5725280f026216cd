"""Decides whether a block device may be written: who uses it, what is on it, and whether the user named it.

`check_device` gives every reason against; `authorise_destroy` compares the token that the user typed;
`ExclusiveHold` keeps the device for one run; `recheck_identity` makes sure, before each destructive step,
that it is still the same device. Reading never harms, so only what makes reading impossible blocks a
reading run.
"""

import errno
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from fathom.errors import NEW_RUN, FathomError, RefusedError, UsageError
from fathom.targets import sysfs
from fathom.targets.mounts import SYS, Usage, dev_of_path, dev_text, read_usage
from fathom.targets.signatures import find_partition_table, find_signatures
from fathom.targets.sysfs import BlockDevice
from fathom.targets.target import Identity, Target

Rule = Literal[
    "root-disk",
    "mounted",
    "swap",
    "held",
    "open",
    "exported",
    "partitioned",
    "signed",
    "read-only",
    "empty",
    "unreadable",
    "not-own",
]

_SAME_DEVICE = ("model", "serial", "wwid", "namespace", "size_bytes", "backing_file")
_SAME_ATTACHMENT = ("dev", "diskseq")
_EXCLUSIVE = "in exclusive use by the kernel or another program"
_READ_BLOCKING: frozenset[Rule] = frozenset({"empty", "unreadable"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a target is not written; `reason` completes the sentence "refused: ..."."""

    rule: Rule
    reason: str

    @property
    def blocks_reads(self) -> bool:
        """Whether it rules out reading too."""
        return self.rule in _READ_BLOCKING


def block_device(path: Path) -> BlockDevice:
    """The device that `path` names.

    Raises UsageError when there is nothing at `path` or something that is no block device.
    """
    dev = dev_of_path(path)
    found = sysfs.by_dev(dev) if dev else None
    if found is None:
        what = "is not a block device" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}", "`fathom devices` lists what is attached")
    return found


def check_device(path: Path, *, usage: Usage | None = None, holding: bool = False) -> list[Refusal]:
    """Every reason not to write to the device at `path`; empty when there is none.

    Looks at the device, its partitions, what is stacked on them, and the disk it is part of. `usage` lets a
    listing share one picture of the system; `holding` says that this process itself has claimed the device,
    so that the exclusive open, which would find that claim, is left out.
    """
    device = block_device(path)
    usage = usage or read_usage()
    refusals = [*_root_disk(device, usage), *_uses(device, usage)]
    if device.holders:
        stacked = ", ".join(_stack_name(holder) for holder in device.holders)
        refusals.append(Refusal("held", f"part of {stacked}"))
    if device.partitions:
        refusals.append(Refusal("partitioned", f"has {len(device.partitions)} partition(s)"))
    if device.read_only:
        refusals.append(Refusal("read-only", "read-only"))
    if device.size_bytes == 0:
        return [*refusals, Refusal("empty", "has no medium (size 0)")]
    return [*refusals, *_contents(device, path, exclusive=not holding, explained=bool(refusals))]


def destroy_token(identity: Identity) -> str:
    """What the user must type after `--destroy` for this device: its serial number.

    A serial that other attached devices share (NVMe namespaces, partitions) is followed by `@NAME`. Devices
    without a serial have a token made of their kernel name: `loop0:BACKING_FILE`, `zram0`, and `NAME:BYTES`
    for all others.
    """
    name = identity.device or ""
    if identity.serial:
        return f"{identity.serial}@{name}" if _serial_is_shared(identity) else identity.serial
    if identity.transport == "zram":
        return name
    return f"{name}:{identity.backing_file or identity.size_bytes}"


def authorise_destroy(target: Target, *tokens: str) -> None:
    """Passes when one of `tokens` is the device's own; other kinds of target need none.

    Raises RefusedError.
    """
    if target.kind != "device":
        return
    expected = destroy_token(target.identity)
    if expected not in tokens:
        given = f"--destroy {' '.join(tokens)} is not its token" if tokens else "this destroys all data on it"
        raise RefusedError(
            f"{target.name} ({target.label}): {given}", f"if you mean it: --destroy {shlex.quote(expected)}"
        )


def recheck_identity(target: Target) -> None:
    """Passes when the target is still the device that was parsed: same attachment, serial, model and size.

    Raises RefusedError naming what changed, FathomError when the device is gone. Only devices are compared.
    """
    if target.kind != "device" or target.path is None:
        return
    try:
        now = block_device(target.path).identity()
    except UsageError as error:
        raise FathomError(
            f"{target.name}: the device is gone", "attach it again, then `fathom resume`"
        ) from error
    _compare(target.name, target.identity, now, _SAME_DEVICE + _SAME_ATTACHMENT)


def ensure_same(name: str, then: Identity, now: Identity) -> None:
    """Passes when both identities are of one device, even if it was attached anew: a run may be resumed after a reboot.

    Raises RefusedError naming each property that differs.
    """
    _compare(name, then, now, _SAME_DEVICE)


def _compare(name: str, then: Identity, now: Identity, properties: Sequence[str]) -> None:
    changed = [
        f"{key} was {getattr(then, key)}, is {getattr(now, key)}"
        for key in properties
        if getattr(then, key) != getattr(now, key)
    ]
    if changed:
        raise RefusedError(f"{name} is not the same device any more: {'; '.join(changed)}", NEW_RUN)


class ExclusiveHold:
    """Holds a device against mounts, swapon and all who ask for exclusive use, from enter to exit.

    The claim (O_EXCL) comes first and the checks after it, so that nothing can slip in between. Raises
    RefusedError with every reason.
    """

    def __init__(self, target: Target) -> None:
        """Remember the target; nothing is opened before `with`."""
        self._target = target
        self._fd: int | None = None

    def __enter__(self) -> "ExclusiveHold":
        """Claim the device, then check it."""
        path = self._target.path
        if path is None:
            raise UsageError(f"{self._target.name} is not a device", "only devices can be held")
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            busy = [Refusal("open", _EXCLUSIVE)] if error.errno == errno.EBUSY else []
            refuse(self._target.name, check_device(path) or busy)
            raise FathomError(f"{path}: cannot be opened: {error.strerror}", "check the device") from error
        try:
            self._check_claim(self._fd, path)
        except BaseException:
            self.release()
            raise
        return self

    def _check_claim(self, fd: int, path: Path) -> None:
        recheck_identity(self._target)
        if dev_text(os.fstat(fd).st_rdev) != self._target.identity.dev:
            raise RefusedError(f"{path} changed while it was being opened", "try again")
        refuse(self._target.name, check_device(path, holding=True))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the device go."""
        self.release()

    def release(self) -> None:
        """Lets the device go; harmless when it is not held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def refuse(name: str, refusals: Sequence[Refusal]) -> None:
    """Passes when there are no reasons. Raises RefusedError with all of them in one line."""
    if refusals:
        reasons = ", ".join(refusal.reason for refusal in refusals)
        hint = "`fathom devices` lists which are safe" if name.startswith("/dev/") else "choose another path"
        raise RefusedError(f"{name} refused: {reasons}", hint)


def _root_disk(device: BlockDevice, usage: Usage) -> Iterator[Refusal]:
    """Whether `/` lies on the same physical disk, through partitions and stacks on either side."""
    under_root = {
        below for dev in usage.roots if (root := sysfs.by_dev(dev, device.sys)) for below in root.below()
    }
    if under_root & device.below():
        yield Refusal("root-disk", "root disk" if device in under_root else "on the root disk")


def _uses(device: BlockDevice, usage: Usage) -> Iterator[Refusal]:
    """Mounts, swap, openers and exports of the device, of all that lies on it and of its whole disk."""
    related = dict.fromkeys([device, *device.above(), device.disk])
    for other in related:
        subject = "" if other == device else f"{other.name} is "
        for mount in usage.mounts.get(other.dev, []):
            yield Refusal("mounted", f"{subject}mounted on {mount.point} ({mount.file_system})")
        if other.dev in usage.swaps:
            yield Refusal("swap", f"{subject}in use as swap")
        if other.dev in usage.exports:
            yield Refusal("exported", f"{subject}exported over NVMe-oF")
        for opener in usage.openers.get(other.dev, []):
            yield Refusal("open", f"{subject}open in process {opener.pid} ({opener.command})")
        backing = sysfs.text(other.directory / "loop/backing_file") if other != device else None
        if backing and dev_of_path(backing) == device.dev:
            yield Refusal("held", f"the backing of {other.name}")
    if (device.directory / "bcache").exists():
        yield Refusal("held", "registered with bcache")


def _contents(device: BlockDevice, path: Path, *, exclusive: bool, explained: bool) -> Iterator[Refusal]:
    """What an exclusive open and the bytes of the device and its partitions say."""
    try:
        with _opened(path, exclusive) as (fd, busy):
            if busy and not explained:
                yield Refusal("open", _EXCLUSIVE)
            table = find_partition_table(fd, device.size_bytes)
            if table:
                yield Refusal("partitioned", f"partition table: {table}")
            for name in find_signatures(fd, device.size_bytes):
                yield Refusal("signed", f"holds {name}")
    except OSError as error:
        advice = " (run as root)" if error.errno == errno.EACCES else ""
        yield Refusal("unreadable", f"cannot be examined: {(error.strerror or str(error)).lower()}{advice}")
    for partition in device.partitions:
        for refusal in _contents(partition, partition.node, exclusive=False, explained=True):
            yield Refusal(refusal.rule, f"{partition.name} {refusal.reason}")


class _opened:
    """A descriptor for reading, and whether somebody else has claimed the device."""

    def __init__(self, path: Path, exclusive: bool) -> None:
        self._path, self._exclusive = path, exclusive

    def __enter__(self) -> tuple[int, bool]:
        busy = False
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | (os.O_EXCL if self._exclusive else 0))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            busy = True
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return self._fd, busy

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _stack_name(holder: BlockDevice) -> str:
    mapped = sysfs.text(holder.directory / "dm/name")
    return f"{holder.name} ({mapped})" if mapped else holder.name


def _serial_is_shared(identity: Identity) -> bool:
    """Whether the serial alone does not tell which device is meant."""
    same = [disk.name for disk in sysfs.all_disks(SYS) if disk.serial == identity.serial]
    return same != [identity.device]
