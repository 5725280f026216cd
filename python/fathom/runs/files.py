"""Small durable writes: a file is either its old self or its new self, never half of each."""

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from fathom.errors import FathomError
from fathom.text_file import no_wait

MOST_WAITING = 32
"""Files that wait for the disk at once."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_atomically(path: Path, text: str, *, durable: bool = True) -> None:
    """Replaces `path` by `text`, surviving a crash at any moment.

    Without `durable` it does not wait for the disk: a power cut may then leave an empty file.
    """
    temporary = path.with_name(f".{path.name}.new")
    # In a folder that others may write to, the name may be a link to a file of somebody else.
    temporary.unlink(missing_ok=True)
    with temporary.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    temporary.replace(path)
    if durable:
        sync_directory(path.parent)


def write_json(path: Path, document: Mapping[str, object], *, durable: bool = True) -> None:
    """Writes an indented JSON document by `write_atomically`."""
    write_atomically(path, json.dumps(document, indent=1, allow_nan=False) + "\n", durable=durable)


@contextmanager
def alone_in(folder: Path, busy: FathomError | None = None) -> Iterator[None]:
    """Lets others that change a folder's files in this way wait (flock): what was read there is still so when written.

    With an error for `busy`, that is raised instead of waiting. Nothing is kept off where the file system has no locks.
    Raises OSError where the folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Any other refusal means that there are no locks here.
        with suppress(OSError):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
            except BlockingIOError:
                if busy:
                    raise busy from None
        yield
    finally:
        os.close(descriptor)


def no_link(path: str, flags: int) -> int:
    """Opens no symbolic link and never blocks on a FIFO: an opener for `open`, in folders that others may have made."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def no_device(path: str, flags: int) -> int:
    """Opens as `no_wait`, but no device, which may have no end: an opener for `open`. Raises OSError."""
    mode = Path(path).stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "a device, not a file", path)
    return no_wait(path, flags)


def text_of(path: Path, errors: str = "strict") -> str:
    """Returns the text of a run's file; nothing of a pipe without a writer. Raises OSError or UnicodeDecodeError."""
    with open(path, encoding="utf-8", errors=errors, opener=no_device) as file:
        return file.read()


def append_line(path: Path, document: Mapping[str, object], *, durable: bool = True) -> None:
    """Appends one JSON object as a line: the whole line, or nothing of it. Waits for the disk if `durable`."""
    line = (json.dumps(document, allow_nan=False) + "\n").encode("utf-8")
    with open(path, "ab", buffering=0, opener=no_link) as file:
        before = file.tell()
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[file.write(rest) :]
            if durable:
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(before)
            raise


@contextmanager
def write_errors_named(run: Path) -> Iterator[None]:
    """Turns an OSError into an error for the user."""
    try:
        yield
    except OSError as error:
        elsewhere = "choose another place with --out or FATHOM_RUNS"
        raise FathomError(
            f"cannot write the run directory {run}: {error.strerror or error}",
            f"free some space there, or {elsewhere}" if error.errno in _FULL else elsewhere,
        ) from error


@contextmanager
def errors_in_place(folder: Path) -> Iterator[None]:
    """Turns an OSError from writing into a folder that is where it is into an error for the user."""
    try:
        yield
    except OSError as error:
        raise FathomError(
            f"cannot write into {folder}: {error.strerror or error}",
            "free some space there" if error.errno in _FULL else "make that folder writable",
        ) from error


def sync_files(paths: Sequence[Path]) -> None:
    """Waits until files and folders are on the disk. Many at once take a file system hardly longer than one."""
    with ThreadPoolExecutor(max_workers=min(MOST_WAITING, max(1, len(paths)))) as pool:
        list(pool.map(_sync, paths))


def sync_directory(path: Path) -> None:
    """Makes renames inside a folder durable."""
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_cut_line(path: Path) -> None:
    """Truncates a line file behind its last complete line, so that appending to it is safe after a crash."""
    if not path.exists():
        return
    data = path.read_bytes()
    complete = data.rfind(b"\n") + 1
    if complete < len(data):
        with open(path, "r+b", opener=no_link) as file:
            file.truncate(complete)
            os.fsync(file.fileno())
