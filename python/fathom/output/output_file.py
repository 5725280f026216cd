"""The one way in which a command writes a result to a path: a new file, or in the place of its own earlier one.

An output carries the SHA-256 of its content in the extended attribute `user.fathom-output`. Where the file system keeps
none, a side-car `.NAME.fathom-output` of the same user has it. A file without it, or with other content, is somebody's
work and stays. Nothing is written into what a path already leads to: a temporary file beside it takes its name at the
end.
"""

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fathom.errors import FathomError, RefusedError, UsageError
from fathom.output.marked import attribute, own_text, put_attribute, write_side_car

_ATTRIBUTE = "user.fathom-output"
_KINDS: Mapping[int, str] = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ELSEWHERE = "give the path of a file that does not exist"


def check_output(path: Path, *, of_a_run: bool = False) -> None:
    """Passes when `path` is free, or an earlier output that nobody changed. `of_a_run`: see `write_output`.

    Raises UsageError for a directory, RefusedError for everything else.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise UsageError(f"{path} is a directory", f"name the file, such as {path / 'report.html'}")
    if not stat.S_ISREG(mode):
        raise RefusedError(f"{path}: is {_KINDS.get(stat.S_IFMT(mode), 'no regular file')}", _ELSEWHERE)
    recorded = _recorded(path)
    if recorded is None and not of_a_run:
        raise RefusedError(
            f"{path}: exists and is not an earlier output of Fathom", f"remove it, or {_ELSEWHERE}"
        )
    if recorded is not None and recorded != _digest(path.read_bytes()):
        raise RefusedError(f"{path}: was changed since Fathom wrote it", f"remove it, or {_ELSEWHERE}")


def write_output(path: Path, content: bytes, *, of_a_run: bool = False) -> None:
    """Writes `content` to `path`, whole or not at all; makes the folders above it.

    A file of a run's own folder (`of_a_run`) is known by its name: earlier versions left no mark on it.
    Raises UsageError and RefusedError as `check_output`.
    """
    check_output(path, of_a_run=of_a_run)
    with _named_in_errors(path):
        _write(path, content)


def _write(path: Path, content: bytes) -> None:
    before = _file_number(path)
    fd, temporary = _temporary_beside(path)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(fd, 0o666 & ~_umask())
            marked = put_attribute(fd, _ATTRIBUTE, _digest(content))
            os.fsync(fd)
        _take_name(temporary, path, before)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    if not marked:
        write_side_car(_side_car(path), _digest(content))


@contextmanager
def new_output(path: Path) -> Iterator[Path]:
    """Gives a temporary file beside `path`, which takes its name when the `with` ends well; else it is removed.

    For results too large for memory. Raises RefusedError where something is at `path`.
    """
    if path.exists() or path.is_symlink():
        raise RefusedError(f"{path}: exists", f"remove it, or {_ELSEWHERE}")
    with _named_in_errors(path):
        fd, temporary = _temporary_beside(path)
        os.fchmod(fd, 0o666 & ~_umask())
        os.close(fd)
    try:
        yield temporary
        _take_name(temporary, path, None)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise FathomError(
            f"cannot write {path}: {os.strerror(error.errno)}", "free some space there, or give another path"
        ) from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _temporary_beside(path: Path) -> tuple[int, Path]:
    """Returns a new file in the folder of `path`, which is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    return fd, Path(name)


@contextmanager
def _named_in_errors(path: Path) -> Iterator[None]:
    """Turns an OSError into an error that names the output, not the temporary file beside it."""
    try:
        yield
    except OSError as error:
        raise FathomError(f"cannot write {path}: {error.strerror or error}", "give another path") from error


def _take_name(temporary: Path, path: Path, before: tuple[int, int] | None) -> None:
    """Gives the finished file its name, unless the name now leads to another file than was checked."""
    appeared = RefusedError(f"{path}: another file appeared while this was made", _ELSEWHERE)
    if _file_number(path) != before:
        raise appeared
    if before is None:
        try:
            path.hardlink_to(temporary)
        except FileExistsError as error:
            raise appeared from error
        except OSError:
            # A file system without hard links: between the look above and the rename there is an instant.
            temporary.rename(path)
    else:
        temporary.replace(path)


def _recorded(path: Path) -> bytes | None:
    """Returns the digest that the file carries; None where it carries none."""
    found = attribute(path, _ATTRIBUTE)
    return own_text(_side_car(path)) if found is None else found or None


def _side_car(path: Path) -> Path:
    return path.with_name(f".{path.name}.fathom-output")


def _digest(content: bytes) -> bytes:
    return f"sha256:{hashlib.sha256(content).hexdigest()}".encode()


def _file_number(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _umask() -> int:
    """This process's; Linux shows it without changing it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1], 8) for line in lines if line.startswith("Umask:")), 0o077)
