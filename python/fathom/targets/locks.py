"""Locks on what several Fathom processes would change: the kernel drops them however a process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.errors import RefusedError


@contextmanager
def alone_with(path: Path, busy: RefusedError) -> Iterator[None]:
    """Locks a device node or a directory of sysfs (flock, exclusive). Raises `busy` where another process has it."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise busy from error
        yield
    finally:
        os.close(fd)
