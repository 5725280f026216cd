"""Text that a user gives, in files and in names. What is in it is parsed, and complained about, elsewhere."""

import io
import os
import re
import select
import stat
from pathlib import Path

from fathom.errors import UsageError

WRITER_WAIT_MS = 1000
"""How long a pipe without a writer may take to get one."""
_ESCAPED = re.compile("[\udc80-\udcff]")
"""Bytes of a name that are no UTF-8, as Python reads them (PEP 383)."""


def read_text(path: Path, hint: str | None = None) -> str:
    """Returns the whole file without a byte order mark, its line ends as `\\n`.

    Raises UsageError as `read_bytes` does, and for no UTF-8.
    """
    try:
        return io.TextIOWrapper(io.BytesIO(read_bytes(path, hint)), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text", hint) from error


def read_bytes(path: Path, hint: str | None = None) -> bytes:
    """Returns the whole file. Raises UsageError with the hint where it cannot be read.

    Devices are refused, because they may have no end, and pipes that nothing writes to.
    """
    try:
        if path.is_block_device() or path.is_char_device():
            raise UsageError(f"{path}: a device, not a text file", hint)
        with open(path, "rb", buffering=0, opener=no_wait) as file:
            begin = b""
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                begin = _first_byte(file.fileno())
                if not begin:
                    raise UsageError(
                        f"{path}: is not a regular file, but a pipe that nothing writes to", hint
                    )
            os.set_blocking(file.fileno(), True)
            return begin + file.read()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint) from error


def no_wait(path: str, flags: int) -> int:
    """Opens a pipe without waiting for who writes to it: an opener for `open`."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


def _first_byte(pipe: int) -> bytes:
    """Returns the first byte of a pipe that has a writer or gets one soon; nothing of another."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    poll.poll(WRITER_WAIT_MS)
    try:
        return os.read(pipe, 1)
    except BlockingIOError:
        os.set_blocking(pipe, True)
        return os.read(pipe, 1)


def check_utf8(name: str) -> None:
    """Passes when reports and tables can hold a name. Raises UsageError for one of bytes that are no text."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        # The byte as shells write it, not the code that Python reads it as.
        shown = _ESCAPED.sub(lambda one: f"\\x{ord(one[0]) - 0xDC00:02x}", name)
        shown = shown.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"{shown}: not UTF-8, as reports and tables are", "rename it") from error


def expanded_path(text: str, path: str) -> Path:
    """Returns the path with `~` replaced. Raises UsageError, which quotes `text`, for what no file system can hold."""
    try:
        expanded = Path(path).expanduser()
        encoded = os.fsencode(expanded)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"{text!r} is not a path: {error}", "give a plain path") from error
    if b"\0" in encoded:
        raise UsageError(f"{text!r} is not a path: it has a null byte in it", "give a plain path")
    return expanded
