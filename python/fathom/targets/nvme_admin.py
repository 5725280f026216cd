"""NVMe admin commands through a device node: one command at a time, by the kernel's ioctl."""

import ctypes
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fathom.targets.syscalls import device_ioctl

ADMIN_CMD = 0xC0484E41
"""`_IOWR('N', 0x41, 72 bytes)` of linux/nvme_ioctl.h; on a namespace it goes to its controller."""
IO_CMD, RESCAN = 0xC0484E43, 0x4E46
GET_LOG_PAGE, IDENTIFY, SET_FEATURES, GET_FEATURES, FORMAT_NVM, SANITIZE = 0x02, 0x06, 0x09, 0x0A, 0x80, 0x84
NAMESPACE_MANAGEMENT, NAMESPACE_ATTACHMENT = 0x0D, 0x15
TIMEOUT_MS = 5_000
CHANGE_TIMEOUT_MS = 120_000
"""Timeout of commands that change namespaces: that of nvme-cli."""
_COMMAND = struct.Struct("<B3xI8xQQIIII16xII")
"""struct nvme_admin_cmd: opcode, nsid, metadata, addr, metadata_len, data_len, cdw10, cdw11, timeout_ms, result."""


class Admin(Protocol):
    """Sends an admin command to one controller and gives the `size` bytes that it answers with."""

    def __call__(
        self, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        """Raises OSError where the command does not arrive, or with the status by which it is refused."""
        ...


class Change(Protocol):
    """Sends an admin command with data to one controller and gives dword 0 of its completion."""

    def __call__(self, opcode: int, namespace: int, cdw10: int, given: bytes) -> int:
        """Raises OSError as `Admin` does."""
        ...


def change_of(node: Path) -> Change:
    """Returns the controller behind a device node, for commands that change its namespaces."""

    def change(opcode: int, namespace: int, cdw10: int, given: bytes) -> int:
        _, result = _send(node, opcode, namespace, cdw10, 0, len(given), CHANGE_TIMEOUT_MS, given=given)
        return result

    return change


def asked_namespace(node: Path, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int) -> bytes:
    """Returns what a namespace answers to a command of its I/O command set. Raises OSError as `Admin` does."""
    data, _ = _send(node, opcode, namespace, cdw10, cdw11, size, TIMEOUT_MS, request=IO_CMD)
    return data


def rescan(node: Path) -> None:
    """Asks the kernel to look again which namespaces a controller has. Raises OSError."""
    device_ioctl(node, RESCAN)


def admin_of(node: Path) -> Admin:
    """Returns the controller behind a device node, which is open only while a command runs."""

    def admin(
        opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        data, _ = _send(node, opcode, namespace, cdw10, cdw11, size, timeout_ms)
        return data

    return admin


@dataclass(frozen=True, slots=True)
class Features:
    """The features of the controller behind a device node, one dword each. Methods raise OSError as `Admin` does."""

    node: Path

    def get(self, feature: int) -> int:
        """Returns the current value."""
        _, result = _send(self.node, GET_FEATURES, 0, feature, 0, 0, TIMEOUT_MS)
        return result

    def set(self, feature: int, value: int) -> None:
        """Sets the value until the controller is reset. The drive does not save it."""
        _send(self.node, SET_FEATURES, 0, feature, value, 0, TIMEOUT_MS)


def _send(
    node: Path,
    opcode: int,
    namespace: int,
    cdw10: int,
    cdw11: int,
    size: int,
    timeout_ms: int,
    *,
    given: bytes = b"",
    request: int = ADMIN_CMD,
) -> tuple[bytes, int]:
    """Returns the bytes and dword 0 of the completion. `given` are bytes for an opcode that takes some."""
    data = ctypes.create_string_buffer(given, size) if size else None
    address = ctypes.addressof(data) if data else 0
    command = bytearray(_COMMAND.pack(opcode, namespace, 0, address, 0, size, cdw10, cdw11, timeout_ms, 0))
    if status := device_ioctl(node, request, command):
        raise OSError(f"{node}: NVMe status {status:#x}")
    return data.raw if data else b"", _COMMAND.unpack(command)[-1]
