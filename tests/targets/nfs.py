"""Locks as NFS has them: flock(2), "NFS details"."""

import errno
import fcntl
import os

_LOCAL = fcntl.flock


def flock(fd: int, how: int) -> None:
    """Locks as on a local file system. Raises OSError for an exclusive lock of what is not open to write."""
    may_write = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
    if how & fcntl.LOCK_EX and not may_write:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    _LOCAL(fd, how)
