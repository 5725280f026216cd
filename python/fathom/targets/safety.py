"""Decides whether a block device may be written: who uses it, what is on it, and whether the user named it.

`check_device` gives every reason against. `authorise_destroy` compares the token that the user typed. `ExclusiveHold`
keeps the device for one run. `recheck_identity` makes sure, before each destructive step, that it is still the same
device. Reading never harms, so only what makes reading impossible blocks a reading run.
"""

import errno
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from fathom.errors import NEW_RUN, FathomError, RefusedError, UsageError
from fathom.targets import sysfs
from fathom.targets.contents import Contents, examine
from fathom.targets.mounts import SYS, Usage, dev_of_path, dev_text, read_usage
from fathom.targets.refusal import Refusal
from fathom.targets.stack import Stacks, loops_under
from fathom.targets.sysfs import SECTOR_BYTES, BlockDevice
from fathom.targets.target import FileId, Identity, Target
from fathom.targets.uses import uses

_SAME_DEVICE = (
    *("model", "serial", "wwid", "namespace", "size_bytes", "logical_block_bytes"),
    *("backing_file", "mapped", "array_uuid"),
)
_SAME_ATTACHMENT = ("dev", "diskseq")
_EXCLUSIVE = "in exclusive use by the kernel or another program"

NO_LIBBLKID = (
    "libblkid (util-linux) is not installed: only Fathom's own table of formats checked what is on devices"
)
"""What a reader must know where the second opinion is missing."""


def block_device(path: Path) -> BlockDevice:
    """Returns the device that `path` names.

    Raises UsageError when there is nothing at `path` or something that is no block device.
    """
    dev = dev_of_path(path)
    found = sysfs.by_dev(dev) if dev else None
    if found is None:
        what = "is not a block device" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}", "`fathom devices` lists what is attached")
    return found


def check_device(
    path: Path,
    *,
    usage: Usage | None = None,
    stacks: Stacks | None = None,
    holding: bool = False,
    sample: bool = True,
) -> list[Refusal]:
    """Returns every reason not to write to the device at `path`; empty when there is none.

    Looks at the device, its partitions, and whatever has bytes in common with it. `usage` and `stacks` let a listing
    share one picture of the system. `holding` says that this process itself has claimed the device, so that the
    exclusive open, which would find that claim, is left out. Without `sample` data that no format explains are not
    looked for.
    """
    device = block_device(path)
    refusals = uses(device, usage or read_usage(), stacks or Stacks(device.sys))
    if device.read_only:
        refusals.append(Refusal("read-only", "read-only"))
    if device.size_bytes == 0:
        return [*refusals, Refusal("empty", "has no medium (size 0)")]
    sample = sample and not device.partitions and not device.read_only and not device.is_zoned
    look = _ContentCheck(exclusive=not holding, explained=bool(refusals), sample=sample)
    return [*refusals, *_contents(device, path, look), *_contents_below(device, sample=sample)]


def lift_unknown(refusals: Sequence[Refusal]) -> list[Refusal]:
    """Returns the refusals without that of unknown data: the user has said that they may be lost too."""
    return [refusal for refusal in refusals if refusal.rule != "unknown-data"]


def destroy_token(identity: Identity) -> str:
    """Returns what the user must type after `--destroy` for this device: its serial number.

    A serial that other attached devices share (NVMe namespaces, partitions) is followed by `@NAME`. The kernel numbers
    stacks anew at each boot, so device-mapper's have their own name (`vg-data:BYTES`) and md's their UUID
    (`md127:UUID`). Others without a serial have a token made of their kernel name: `loop0:BACKING_FILE`, `zram0`, and
    `NAME:BYTES` for the rest.
    """
    name = identity.device or ""
    if identity.serial:
        return f"{identity.serial}@{name}" if _serial_is_shared(identity) else identity.serial
    if identity.transport == "zram":
        return name
    return f"{identity.mapped or name}:{identity.array_uuid or identity.backing_file or identity.size_bytes}"


def authorise_destroy(target: Target, *tokens: str) -> None:
    """Passes when one of `tokens` is the device's own; other kinds of target need none.

    Raises RefusedError.
    """
    if target.kind != "device":
        return
    expected = destroy_token(target.identity)
    if expected not in tokens:
        given = (
            f"--destroy {' '.join(tokens)} does not match it" if tokens else "this destroys all data on it"
        )
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
        raise RefusedError(f"{name} is no longer the same device: {'; '.join(changed)}", NEW_RUN)


class ExclusiveHold:
    """Holds a device against mounts, swapon and all who ask for exclusive use, from enter to exit.

    The claim (O_EXCL) comes first and the checks after it, so that nothing can slip in between. Raises
    RefusedError with every reason.
    """

    def __init__(self, target: Target, *, unknown_data: bool = False) -> None:
        """Remember the target and whether unknown data may be lost; nothing is opened before `with`."""
        self._target = target
        self._unknown_data = unknown_data
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
        refusals = check_device(path, holding=True)
        refuse(self._target.name, lift_unknown(refusals) if self._unknown_data else refusals)

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
    hint = "`fathom devices` lists which are safe" if name.startswith("/dev/") else "choose another path"
    if all(refusal.rule == "unknown-data" for refusal in refusals):
        hint = "if they may be lost: --unknown-data, with --destroy"
    hint = next((refusal.hint for refusal in refusals if refusal.hint), hint)
    _raise_all(f"{name} refused", refusals, hint)


def recheck_use(target: Target) -> None:
    """Passes when nobody else has come to use the device since it was claimed.

    It does not look for what a claim keeps out, nor for what a run writes itself. It looks for mounts, swap,
    partitions, stacks and loop devices, by which others write to the same bytes.

    Raises RefusedError with every reason.
    """
    if target.kind != "device" or target.path is None:
        return
    device = block_device(target.path)
    found = uses(device, read_usage(openers=False), Stacks(device.sys))
    _raise_all(f"{target.name} has come into use during the run", found, "end that use")


def _raise_all(what: str, refusals: Sequence[Refusal], hint: str) -> None:
    """Raises RefusedError with all reasons in one line, and their rules; passes when there are none."""
    if refusals:
        reasons = ", ".join(refusal.reason for refusal in refusals)
        rules = tuple(dict.fromkeys(refusal.rule for refusal in refusals))
        raise RefusedError(f"{what}: {reasons}", hint, rules)


@dataclass(frozen=True, slots=True)
class _ContentCheck:
    """How the contents of a device are looked at, and whether another reason already explains a busy device."""

    exclusive: bool
    explained: bool
    sample: bool


def _contents(device: BlockDevice, path: Path, look: _ContentCheck) -> Iterator[Refusal]:
    """Yields what an exclusive open and the bytes of the device and its partitions say."""
    try:
        if look.exclusive and _is_claimed(path) and not look.explained:
            yield Refusal("open", _EXCLUSIVE)
        with _opened(path) as fd:
            found = examine(fd, device.size_bytes, sample=look.sample)
    except OSError as error:
        yield _unreadable("", error)
        return
    yield from _refusals(found)
    inner = _ContentCheck(exclusive=False, explained=True, sample=False)
    for partition in device.partitions:
        for refusal in _contents(partition, partition.node, inner):
            yield Refusal(refusal.rule, f"{partition.name} {refusal.reason}")


def _contents_below(device: BlockDevice, *, sample: bool) -> Iterator[Refusal]:
    """Yields what a file or device holds where a loop device covers only a part: a blank part belongs to it too."""
    for loop, backing in loops_under(device):
        where = Path(backing.path)
        try:
            with _opened(where) as fd:
                if isinstance(backing.container, FileId) and FileId.of(os.fstat(fd)) != backing.container:
                    raise FileNotFoundError(errno.ENOENT, "another file has its name")
                size_bytes = os.lseek(fd, 0, os.SEEK_END)
                if backing.offset == 0 and loop.size_bytes >= size_bytes // SECTOR_BYTES * SECTOR_BYTES:
                    continue
                part = (backing.offset, backing.offset + loop.size_bytes)
                found = examine(fd, size_bytes, sample=sample, apart_from=part)
        except OSError as error:
            if backing.offset or sysfs.number(loop.directory / "loop/sizelimit"):
                yield _unreadable(f"{where}, on which it lies, ", error)
            continue
        for refusal in _refusals(found):
            yield Refusal(refusal.rule, f"lies on {where}, which {refusal.reason}")


def _refusals(found: Contents) -> Iterator[Refusal]:
    """Yields why contents speak against loading the device that has them."""
    if found.table:
        yield Refusal("partitioned", f"has a partition table: {found.table}")
    for name in found.formats:
        yield Refusal("signed", f"holds {name}")
    if found.unknown:
        yield Refusal("unknown-data", f"holds unknown data ({found.unknown})")


def _unreadable(subject: str, error: OSError) -> Refusal:
    advice = " (run as root)" if error.errno == errno.EACCES else ""
    return Refusal(
        "unreadable", f"{subject}cannot be examined: {(error.strerror or str(error)).lower()}{advice}"
    )


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor for reading."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_claimed(path: Path) -> bool:
    """Returns whether somebody else has claimed the device; lets it go at once, so that nobody finds it busy."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_EXCL))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return True
    return False


def _serial_is_shared(identity: Identity) -> bool:
    """Returns whether the serial alone does not identify the device."""
    same = [disk.name for disk in sysfs.all_disks(SYS) if disk.serial == identity.serial]
    return same != [identity.device]
