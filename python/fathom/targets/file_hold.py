"""Holding a file target while it is measured: its lock, and the mark that a run writes to it."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from fathom.errors import RefusedError
from fathom.targets.file_check import check_file, check_held
from fathom.targets.file_path import explained, target_path
from fathom.targets.own_file import mark_closed, mark_open, own
from fathom.targets.safety import refuse
from fathom.targets.target import FileId, Target


@contextmanager
def hold_file(target: Target, *, writes: bool) -> Iterator[Target]:
    """Keeps other Fathom runs off the file while it is measured (flock: exclusive to write, shared to read).

    Gives the target with the file that is held. Some network file systems have no locks; there, nothing keeps other
    runs off.

    Raises RefusedError when another run has it, or another file has taken its place.
    """
    # NFS locks exclusively only what is open to write.
    mode = os.O_RDWR if writes else os.O_RDONLY
    fd = os.open(target_path(target), mode | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        lock(fd, target, exclusive=writes)
        held = replace(target, held=FileId.of(os.fstat(fd)))
        check_held(held)
        refuse(target.name, check_file(held, writes=writes))
        found = own(target_path(target))
        if found is None:
            yield held
            return
        identity = replace(held.identity, file_uuid=found.uuid)
        path = target_path(target)
        mark = (partial(mark_open, fd, path, found), partial(mark_closed, fd, path, found))
        with while_written(path, *mark) if writes else nullcontext():
            yield replace(held, identity=identity)
    finally:
        os.close(fd)


@contextmanager
def while_written(
    path: Path, mark_written: Callable[[], None], mark_done: Callable[[], None]
) -> Iterator[None]:
    """Marks a file or a set as written to by a run, and with its state when the run ends."""
    try:
        mark_written()
    except OSError as error:
        raise explained(path, error) from error
    try:
        yield
    finally:
        # A mark that stays open takes it for one that a killed run left, which is used again.
        with suppress(OSError):
            mark_done()


def lock(fd: int, target: Target, *, exclusive: bool) -> None:
    """Locks an open file or directory against other runs. Raises RefusedError when another one has it."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise in_use(target) from error
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise


def in_use(target: Target) -> RefusedError:
    """Returns the refusal of a target that another run has."""
    return RefusedError(f"{target.name} refused: another Fathom run is using it", "wait for it")
