"""Purges by NVMe Format: which namespaces may be formatted, the command, and what is kept of the namespace's format.

Fields are those of NVM Express base 2.0 (Identify Controller, Format NVM) and the NVM command set 1.0 (Identify
Namespace). Sanitize is not sent. TRIM, the default, is I/O like any other and nothing of this module.
"""

import fcntl
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.targets.nvme_admin import FORMAT_NVM, IDENTIFY, Admin, admin_of
from fathom.targets.safety import block_device
from fathom.targets.target import Target

Purge = Literal["trim", "format", "format-crypto"]
SECURE_ERASE = {"format": 1, "format-crypto": 2}
"""Secure Erase Settings: user data erase, cryptographic erase."""
_ERASES = {1: "user data erase", 2: "cryptographic erase"}
_NAMESPACE = re.compile(r"nvme\d+n\d+")
_OF_NAMESPACE, _OF_CONTROLLER, _ACTIVE = 0x00, 0x01, 0x02
_PAGE_BYTES = 4096
FORMAT_TIMEOUT_MS = 3_600_000
"""The kernel resets a controller that is late; its own limit, a minute, is too short for a Format."""
BLKFLSBUF = 0x1261


@dataclass(frozen=True, slots=True)
class Format:
    """One Format NVM command for one namespace: `cdw10` as it is sent, `text` as it is told."""

    namespace: int
    cdw10: int
    text: str


def purge_of(text: str) -> Purge:
    """The purge of that name. Raises UsageError."""
    for known in get_args(Purge):
        if text == known:
            return known
    raise UsageError(f"--purge {text}: unknown", f"expected one of {', '.join(get_args(Purge))}")


def format_of(
    name: str, namespace: int, purge: Purge, controller: bytes, own: bytes, active: tuple[int, ...]
) -> Format:
    """The command that erases a namespace and leaves its LBA format, metadata and protection as they are.

    `controller`, `own` and `active` are Identify Controller, Identify Namespace and the controller's active namespaces.
    Raises RefusedError where the controller cannot, or would erase another namespace too.
    """
    optional = int.from_bytes(controller[256:258], "little")
    attributes = controller[524]
    if not optional & 1 << 1:
        raise RefusedError(f"{name}: the controller has no Format NVM (OACS bit 1)", "take --purge trim")
    erase = SECURE_ERASE[purge]
    if erase == SECURE_ERASE["format-crypto"] and not attributes & 1 << 2:
        raise RefusedError(
            f"{name}: the controller has no cryptographic erase (FNA bit 2)", "take --purge format"
        )
    others = [number for number in active if number != namespace]
    if attributes & 0b11 and others:
        listed = ", ".join(map(str, others))
        raise RefusedError(
            f"{name}: a Format there erases all namespaces (FNA bits 0 and 1), and the controller has others: "
            f"{listed}",
            "take --purge trim, or detach and delete the others first",
        )
    formatted, protection = own[26], own[29]
    lba_format = formatted & 0xF | (formatted >> 1) & 0x30
    cdw10 = (
        formatted & 0xF
        | (formatted >> 4 & 1) << 4
        | (protection & 0b111) << 5
        | (protection >> 3 & 1) << 8
        | erase << 9
        | (formatted >> 5 & 0b11) << 12
    )
    return Format(
        namespace, cdw10, f"NVMe Format ({_ERASES[erase]}, LBA format {lba_format} kept, CDW10 {cdw10:#06x})"
    )


def check_purge(target: Target, purge: Purge, admin: Callable[[Path], Admin] = admin_of) -> list[Format]:
    """Passes when the target can be purged so, with a command for each of its drives; a twin and TRIM need none.

    Raises RefusedError with the reason. Erases nothing.
    """
    if purge == "trim" or target.kind == "twin":
        return []
    if target.members:
        return [one for member in target.members for one in check_purge(member, purge, admin)]
    path = target.path
    if target.kind != "device" or path is None or target.makes:
        what = "a file system on a device" if target.makes else f"a {target.kind}"
        raise RefusedError(
            f"{target.name}: {what} cannot be formatted", "take --purge trim, or a whole NVMe namespace"
        )
    device = block_device(path)
    if device.is_partition or not _NAMESPACE.fullmatch(device.name):
        raise RefusedError(
            f"{target.name}: only a whole NVMe namespace can be formatted",
            "take --purge trim, or /dev/nvmeXnY",
        )
    namespace = int((device.directory / "nsid").read_text())
    send = admin(path)
    try:
        controller = send(IDENTIFY, 0, _OF_CONTROLLER, 0, _PAGE_BYTES)
        own = send(IDENTIFY, namespace, _OF_NAMESPACE, 0, _PAGE_BYTES)
        listed = send(IDENTIFY, 0, _ACTIVE, 0, _PAGE_BYTES)
    except OSError as error:
        raise RefusedError(
            f"{target.name}: it does not tell whether it may be formatted: {error}",
            "run as root, or take --purge trim",
        ) from error
    numbers = (int.from_bytes(listed[at : at + 4], "little") for at in range(0, _PAGE_BYTES, 4))
    active = tuple(number for number in numbers if number)
    return [format_of(target.name, namespace, purge, controller, own, active)]


def send_format(target: Target, purge: Purge, admin: Callable[[Path], Admin] = admin_of) -> tuple[str, float]:
    """Erases one claimed namespace, looked at again first: what was sent, and the seconds until it was done.

    It cannot be called off. Raises RefusedError as `check_purge` does, FathomError where the drive fails.
    """
    [command] = check_purge(target, purge, admin)
    path = target.path
    if path is None:
        raise UsageError(f"{target.name} is not a device", "only devices can be formatted")
    _forget_cached(path)
    began_s = time.monotonic()
    try:
        admin(path)(FORMAT_NVM, command.namespace, command.cdw10, 0, 0, FORMAT_TIMEOUT_MS)
    except OSError as error:
        raise FathomError(
            f"{target.name}: {command.text} failed: {error}; what it holds now is not known",
            "purge it by hand, or `fathom resume`, which formats it again",
        ) from error
    took_s = time.monotonic() - began_s
    _forget_cached(path)
    return command.text, took_s


def _forget_cached(path: Path) -> None:
    """Writes back what the page cache holds of a device, which must not come after a Format, and drops it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, BLKFLSBUF)
    finally:
        os.close(descriptor)
