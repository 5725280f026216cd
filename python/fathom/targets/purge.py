"""Purges by NVMe Format and Sanitize: which namespaces may be erased, the command, and what is kept of their format.

Fields are those of NVM Express base 2.0 (Identify Controller, Format NVM, Sanitize, Sanitize Status) and the NVM
command set 1.0 (Identify Namespace). TRIM, the default, is I/O like any other and nothing of this module.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Literal, TypeAlias, get_args

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.targets.nvme_admin import FORMAT_NVM, GET_LOG_PAGE, IDENTIFY, SANITIZE, Admin, admin_of
from fathom.targets.safety import block_device
from fathom.targets.syscalls import device_ioctl
from fathom.targets.target import KIND_IN_WORDS, Target

Purge = Literal["trim", "format", "format-crypto", "sanitize-block", "sanitize-crypto"]
OnProgress: TypeAlias = Callable[[float, float | None], None]
"""Called once a second with the seconds since the erase began, and the share done (0..1) if the drive reports it."""
_NAMESPACE = re.compile(r"nvme\d+n\d+")
_OF_NAMESPACE, _OF_CONTROLLER, _ACTIVE, _ALLOCATED = 0x00, 0x01, 0x02, 0x10
_PAGE_BYTES = 4096
ERASE_TIMEOUT_MS = 3_600_000
"""Timeout of the admin command, after which the kernel resets the controller. Its default, a minute, is too short for a
Format.
"""
SANITIZE_STATUS = 0x81
_STATUS_BYTES = 512
_EVERY_NAMESPACE = 0xFFFFFFFF
_RUNNING, _FAILED = 2, 3
_POLL_S = 1.0
BLKFLSBUF = 0x1261
_INSTEAD = "use --purge trim, or another way"


@dataclass(frozen=True, slots=True)
class Erase:
    """One admin command for one drive: `cdw10` as sent, `text` as reported. A Sanitize covers the whole subsystem, and
    continues in the drive after the command returns.
    """

    opcode: int
    namespace: int
    cdw10: int
    text: str


@dataclass(frozen=True, slots=True)
class _EraseAction:
    """How a purge erases: the field of the command that says so, and the capability that it needs."""

    action: int
    words: str
    needs: int
    named: str


_FORMATS = {
    "format": _EraseAction(1, "user data erase", 0, ""),
    "format-crypto": _EraseAction(2, "cryptographic erase", 1 << 2, "FNA bit 2"),
}
_SANITIZES = {
    "sanitize-crypto": _EraseAction(4, "cryptographic erase", 1 << 0, "SANICAP bit 0"),
    "sanitize-block": _EraseAction(2, "block erase", 1 << 1, "SANICAP bit 1"),
}


def purge_of(text: str) -> Purge:
    """Returns the purge of that name. Raises UsageError."""
    for known in get_args(Purge):
        if text == known:
            return known
    raise UsageError(f"--purge {text}: unknown", f"expected one of {', '.join(get_args(Purge))}")


def erase_of(
    name: str, namespace: int, purge: Purge, controller: bytes, own: bytes, known: tuple[int, ...] | None
) -> Erase:
    """Returns the command that erases a namespace, or the subsystem whose only one it is.

    `controller` and `own` are Identify Controller and Identify Namespace. `known` are the subsystem's namespaces, None
    where they are not known. Raises RefusedError where the controller cannot, or would erase another namespace too.
    """
    reaches_all = purge in _SANITIZES or bool(controller[524] & 0b11)
    if reaches_all:
        _check_alone(name, namespace, purge, known)
    if way := _SANITIZES.get(purge):
        able = int.from_bytes(controller[328:332], "little")
        if not able & way.needs:
            raise RefusedError(
                f"{name}: the controller has no Sanitize by {way.words} ({way.named})", _INSTEAD
            )
        # Unrestricted exit (AUSE): a Sanitize that fails leaves a drive that can be made to take I/O again.
        cdw10 = way.action | 1 << 3
        return Erase(SANITIZE, 0, cdw10, f"NVMe Sanitize ({way.words}, CDW10 {cdw10:#06x})")
    return _format_of(name, namespace, _FORMATS[purge], controller, own)


def _check_alone(name: str, namespace: int, purge: Purge, known: tuple[int, ...] | None) -> None:
    why = "a Sanitize" if purge in _SANITIZES else "a Format there (FNA bits 0 and 1)"
    if known is None:
        raise RefusedError(
            f"{name}: {why} erases every namespace of the subsystem; it has several controllers and cannot list "
            "all namespaces (OACS bit 3)",
            "use --purge trim",
        )
    if others := [number for number in known if number != namespace]:
        listed = ", ".join(map(str, others))
        raise RefusedError(
            f"{name}: {why} erases every namespace of the subsystem, which has others: {listed}",
            "use --purge trim, or detach and delete the others first",
        )


def _format_of(name: str, namespace: int, way: _EraseAction, controller: bytes, own: bytes) -> Erase:
    """Returns a Format that leaves LBA format, metadata and protection as they are."""
    if not int.from_bytes(controller[256:258], "little") & 1 << 1:
        raise RefusedError(f"{name}: the controller has no Format NVM (OACS bit 1)", _INSTEAD)
    if way.needs and not controller[524] & way.needs:
        raise RefusedError(f"{name}: the controller has no {way.words} ({way.named})", "use --purge format")
    formatted, protection = own[26], own[29]
    lba_format = formatted & 0xF | (formatted >> 1) & 0x30
    cdw10 = (
        formatted & 0xF
        | (formatted >> 4 & 1) << 4
        | (protection & 0b111) << 5
        | (protection >> 3 & 1) << 8
        | way.action << 9
        | (formatted >> 5 & 0b11) << 12
    )
    text = f"NVMe Format ({way.words}, LBA format {lba_format} kept, CDW10 {cdw10:#06x})"
    return Erase(FORMAT_NVM, namespace, cdw10, text)


def check_purge(target: Target, purge: Purge, admin: Callable[[Path], Admin] = admin_of) -> list[Erase]:
    """Passes when the target can be purged so, with a command for each of its drives; a twin and TRIM need none.

    Raises RefusedError with the reason. Erases nothing.
    """
    if purge == "trim" or target.kind == "twin":
        return []
    if target.members:
        return [one for member in target.members for one in check_purge(member, purge, admin)]
    path = target.path
    if target.kind != "device" or path is None or target.makes:
        what = "a file system on a device" if target.makes else KIND_IN_WORDS[target.kind]
        raise RefusedError(
            f"{target.name} is {what}, which --purge {purge} cannot erase",
            "use --purge trim, or a whole NVMe namespace",
        )
    device = block_device(path)
    if device.is_partition or not _NAMESPACE.fullmatch(device.name):
        raise RefusedError(
            f"{target.name}: --purge {purge} works only on a whole NVMe namespace",
            "use --purge trim, or /dev/nvmeXnY",
        )
    namespace = int((device.directory / "nsid").read_text())
    send = admin(path)
    try:
        controller = send(IDENTIFY, 0, _OF_CONTROLLER, 0, _PAGE_BYTES)
        own = send(IDENTIFY, namespace, _OF_NAMESPACE, 0, _PAGE_BYTES)
        known = _namespaces(send, controller)
        if purge in _SANITIZES:
            _check_idle(target.name, send)
    except OSError as error:
        raise RefusedError(
            f"{target.name}: cannot check whether --purge {purge} is possible: {error}",
            "run as root, or use --purge trim",
        ) from error
    return [erase_of(target.name, namespace, purge, controller, own, known)]


def send_purge(
    target: Target,
    purge: Purge,
    on_progress: OnProgress = lambda elapsed_s, share: None,
    admin: Callable[[Path], Admin] = admin_of,
) -> tuple[str, float]:
    """Erases one claimed drive, looked at again first: what was sent, and the seconds until it was done.

    It cannot be called off. `on_progress` is called meanwhile, maybe from another thread. Raises RefusedError as
    `check_purge` does, FathomError where the drive fails.
    """
    [command] = check_purge(target, purge, admin)
    path = target.path
    if path is None:
        raise UsageError(f"{target.name} is not a device", "only devices can be purged")
    _forget_cached(path)
    send = admin(path)
    began_s = time.monotonic()
    try:
        if command.opcode == SANITIZE:
            send(command.opcode, command.namespace, command.cdw10, 0, 0, ERASE_TIMEOUT_MS)
            _wait_sanitized(send, on_progress)
        else:
            with _watched(send, command.namespace, on_progress):
                send(command.opcode, command.namespace, command.cdw10, 0, 0, ERASE_TIMEOUT_MS)
    except OSError as error:
        raise FathomError(
            f"{target.name}: {command.text} failed: {error}; its contents are now unknown",
            "purge it by hand, or run `fathom resume`, which purges it again",
        ) from error
    took_s = time.monotonic() - began_s
    _forget_cached(path)
    return command.text, took_s


def _namespaces(send: Admin, controller: bytes) -> tuple[int, ...] | None:
    """Returns every namespace that exists in the subsystem; None where the controller does not list those of others."""
    manages = int.from_bytes(controller[256:258], "little") & 1 << 3
    has_others = controller[76] & 1 << 1
    if has_others and not manages:
        return None
    listed = send(IDENTIFY, 0, _ALLOCATED if manages else _ACTIVE, 0, _PAGE_BYTES)
    numbers = (int.from_bytes(listed[at : at + 4], "little") for at in range(0, _PAGE_BYTES, 4))
    return tuple(number for number in numbers if number)


@contextmanager
def _watched(send: Admin, namespace: int, on_progress: OnProgress) -> Iterator[None]:
    """Reports how far a Format has come, which returns only when it is done, until the block ends."""
    ended, began_s = Event(), time.monotonic()

    def watch() -> None:
        while not ended.wait(_POLL_S):
            on_progress(time.monotonic() - began_s, _share_formatted(send, namespace))

    watcher = Thread(target=watch, name="format progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _share_formatted(send: Admin, namespace: int) -> float | None:
    """By the Format Progress Indicator (FPI); None where the drive has none, or is not asked now."""
    try:
        indicator = send(IDENTIFY, namespace, _OF_NAMESPACE, 0, _PAGE_BYTES)[32]
    except OSError:
        return None
    has_one, left_pct = indicator >> 7, indicator & 0x7F
    return 1 - left_pct / 100 if has_one and 0 < left_pct <= 100 else None


def _sanitize_status(send: Admin) -> bytes:
    dwords = _STATUS_BYTES // 4 - 1
    return send(GET_LOG_PAGE, _EVERY_NAMESPACE, SANITIZE_STATUS | dwords << 16, 0, _STATUS_BYTES)


def _state_of(status: bytes) -> int:
    """Returns the state of the most recent Sanitize: 0 there was none, 1 and 4 done, 2 in progress, 3 failed."""
    return status[2] & 0b111


def _check_idle(name: str, send: Admin) -> None:
    state = _state_of(_sanitize_status(send))
    if state == _RUNNING:
        raise RefusedError(
            f"{name}: a Sanitize is in progress", "wait until `nvme sanitize-log` reports its end"
        )
    if state == _FAILED:
        raise RefusedError(
            f"{name}: its last Sanitize failed", "leave that state with `nvme sanitize --sanact=1`"
        )


def _wait_sanitized(send: Admin, on_progress: OnProgress) -> None:
    """Waits until the drive has finished, and reports its progress (SPROG). Raises OSError where it fails or falls
    silent.
    """
    began_s = time.monotonic()
    while (state := _state_of(status := _sanitize_status(send))) == _RUNNING:
        on_progress(time.monotonic() - began_s, int.from_bytes(status[:2], "little") / (1 << 16))
        time.sleep(_POLL_S)
    if state not in (1, 4):
        raise OSError(f"Sanitize Status {state}")


def _forget_cached(path: Path) -> None:
    """Writes back what the page cache holds of a device, which must not come after a Format, and drops it."""
    device_ioctl(path, BLKFLSBUF)
