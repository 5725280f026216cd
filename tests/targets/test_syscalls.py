"""Calls to the kernel that Python's `os` lacks."""

import fcntl
import os
from pathlib import Path

import pytest

from fathom.targets.syscalls import device_ioctl


def test_a_device_is_open_for_reads_only_while_an_ioctl_runs(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []

    def ioctl(descriptor: int, request: int, argument: bytearray | int) -> int:
        seen.append(descriptor)
        assert fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        return request + len(seen)

    monkeypatch.setattr("fathom.targets.syscalls.fcntl.ioctl", ioctl)
    assert device_ioctl(Path("/dev/null"), 40) == 41
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(seen[0])


def test_a_device_is_closed_after_an_ioctl_that_the_kernel_refuses():
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match="ioctl"):
        device_ioctl(Path("/dev/null"), 0x1261)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
