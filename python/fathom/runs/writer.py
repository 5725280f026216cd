"""Who writes a run: a lock (flock) on its journal, which the kernel drops when the writer ends, however it ends.

Where the file system has no locks, as some network file systems, a run that goes on looks like a killed one.
"""

import fcntl
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fathom.errors import RefusedError
from fathom.runs.files import no_link, write_errors_named
from fathom.runs.layout import JOURNAL

ATTEMPTS = 20
PAUSE_S = 0.05
"""A reader that checks holds the lock for an instant, so the writer tries more than once."""


@contextmanager
def writing_run(run: Path) -> Iterator[None]:
    """Makes this process the run's writer for the length of the `with`; makes the directory where there is none.

    Raises RefusedError when another process writes it, FathomError where the directory cannot be written.
    """
    with write_errors_named(run):
        run.mkdir(parents=True, exist_ok=True)
        _check_journal(run)
        journal = open(run / JOURNAL, "ab", opener=no_link)  # noqa: SIM115
    with journal:
        # Any other refusal means that there are no locks here.
        with suppress(OSError):
            if not _locked(journal.fileno()):
                raise RefusedError(
                    f"run {run.name} is being written by another process", "wait for it, or interrupt it"
                )
        yield


def _check_journal(run: Path) -> None:
    """Passes when the journal is absent or a regular file: a link may lead to a device, or to a file of others."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG((run / JOURNAL).lstat().st_mode):
            raise RefusedError(
                f"run {run.name}: its {JOURNAL} is not a regular file, so nothing is written there",
                "look where it leads",
            )


def _locked(fd: int) -> bool:
    for _ in range(ATTEMPTS):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_S)
        else:
            return True
    return False


def is_written(run: Path) -> bool:
    """Returns whether a process writes the run; True as well where that cannot be known."""
    try:
        with open(run / JOURNAL, "rb", opener=no_link) as journal:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, IsADirectoryError):
        return False
    except OSError:
        return True
    return False
