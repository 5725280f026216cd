"""NVMe admin commands through a device node: one command at a time, by the kernel's ioctl."""

import ctypes
import fcntl
import os
import struct
from pathlib import Path
from typing import Protocol

ADMIN_CMD = 0xC0484E41
"""`_IOWR('N', 0x41, 72 bytes)` of linux/nvme_ioctl.h; on a namespace it goes to its controller."""
IDENTIFY, GET_LOG_PAGE, FORMAT_NVM, SANITIZE = 0x06, 0x02, 0x80, 0x84
TIMEOUT_MS = 5_000


class Admin(Protocol):
    """Sends an admin command to one controller and gives the `size` bytes that it answers with."""

    def __call__(
        self, opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        """Raises OSError where the command does not arrive, or with the status by which it is refused."""
        ...


def admin_of(node: Path) -> Admin:
    """Returns the controller behind a device node, which is open only while a command runs."""

    def admin(
        opcode: int, namespace: int, cdw10: int, cdw11: int, size: int, timeout_ms: int = TIMEOUT_MS
    ) -> bytes:
        data = ctypes.create_string_buffer(size) if size else None
        address = ctypes.addressof(data) if data else 0
        # struct nvme_admin_cmd: opcode, nsid, addr, data_len, cdw10, cdw11, timeout.
        command = bytearray(
            struct.pack(
                "<B3xI8xQQIIII16xII", opcode, namespace, 0, address, 0, size, cdw10, cdw11, timeout_ms, 0
            )
        )
        descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
        try:
            status = fcntl.ioctl(descriptor, ADMIN_CMD, command)
        finally:
            os.close(descriptor)
        if status:
            raise OSError(f"{node}: NVMe status {status:#x}")
        return data.raw if data else b""

    return admin
