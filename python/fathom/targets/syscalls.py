"""Linux calls that Python's `os` lacks: statx, fallocate, renameat2, a probe of io_uring_setup, ioctl to a device."""

import ctypes
import errno
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_STATX_DIOALIGN = 0x2000
_STATX_SIZE_BYTES = 256
_RENAME_NOREPLACE = 1
_IO_URING_SETUP = 425
_IO_URING_PARAMS_BYTES = 120


@dataclass(frozen=True, slots=True)
class ExtendedStat:
    """What statx(2) adds to stat(2).

    `born_ns` is the time of birth since the epoch, None where the file system keeps none.
    `direct_align_bytes` is the O_DIRECT alignment of offset and length. It is 0 when O_DIRECT is not supported, None
    when the kernel (before 6.1) or the file system does not say.
    """

    born_ns: int | None
    direct_align_bytes: int | None


def statx(file: Path | int) -> ExtendedStat:
    """Reads birth time and direct-I/O alignment of a descriptor, or of a path itself (a symlink is not followed).

    Raises OSError as stat(2) does.
    """
    buffer = ctypes.create_string_buffer(_STATX_SIZE_BYTES)
    wanted = _STATX_BTIME | _STATX_DIOALIGN
    where = (
        (file, b"", _AT_EMPTY_PATH)
        if isinstance(file, int)
        else (_AT_FDCWD, os.fsencode(file), _AT_SYMLINK_NOFOLLOW)
    )
    if _LIBC.statx(*where, wanted, buffer) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(file))
    raw = buffer.raw
    mask = int.from_bytes(raw[0:4], "little")
    # struct statx, linux/stat.h: stx_btime at 80 (s64 seconds, u32 nanoseconds), stx_dio_offset_align at 156.
    seconds = int.from_bytes(raw[80:88], "little", signed=True)
    nanoseconds = int.from_bytes(raw[88:92], "little")
    return ExtendedStat(
        born_ns=seconds * 1_000_000_000 + nanoseconds if mask & _STATX_BTIME else None,
        direct_align_bytes=int.from_bytes(raw[156:160], "little") if mask & _STATX_DIOALIGN else None,
    )


def device_ioctl(node: Path, request: int, argument: bytearray | int = 0) -> int:
    """Sends an ioctl to a device, which is open for reads only as long as that takes; returns its result.

    Raises OSError as open(2) and ioctl(2) do.
    """
    descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return fcntl.ioctl(descriptor, request, argument)
    finally:
        os.close(descriptor)


def fallocate(fd: int, size_bytes: int) -> None:
    """Reserves [0, size) of the file and sets its size, never by writing zeros as posix_fallocate(3) may.

    Raises OSError: ENOSPC and EDQUOT when there is no room, EOPNOTSUPP when the file system has no fallocate.
    """
    call = _LIBC.fallocate64 if hasattr(_LIBC, "fallocate64") else _LIBC.fallocate
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if call(fd, 0, 0, size_bytes) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def rename_new(old: Path, new: Path) -> bool:
    """Gives a file or directory a name that nothing has yet; returns False where the file system cannot ask for that.

    Raises OSError as rename(2) does, and FileExistsError where something has the name.
    """
    if not hasattr(_LIBC, "renameat2"):
        return False
    names = (_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new))
    if _LIBC.renameat2(*names, ctypes.c_uint(_RENAME_NOREPLACE)) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(code, os.strerror(code), str(new))


def io_uring_errno() -> int:
    """Sets up and closes a ring of one entry. Returns 0, or the errno with which the kernel refused it."""
    params = ctypes.create_string_buffer(_IO_URING_PARAMS_BYTES)
    ring = _LIBC.syscall(ctypes.c_long(_IO_URING_SETUP), ctypes.c_uint(1), params)
    if ring < 0:
        return ctypes.get_errno()
    os.close(ring)
    return 0
