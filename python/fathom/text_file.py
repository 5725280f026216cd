"""Text that a user gives, in files and in names. What is in it is parsed, and complained about, elsewhere."""

import os
from pathlib import Path

from fathom.errors import UsageError


def read_text(path: Path, hint: str | None = None) -> str:
    """Returns the whole file. Raises UsageError with the hint where it cannot be read, is a device, or is not UTF-8."""
    try:
        refuse_device(path, hint)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text", hint) from error


def refuse_device(path: Path, hint: str | None = None) -> None:
    """Passes for what is no device, which would be read to its end. Raises UsageError with the hint, or OSError."""
    if path.is_block_device() or path.is_char_device():
        raise UsageError(f"{path}: a device, not a text file", hint)


def check_utf8(name: str) -> None:
    """Passes when reports and tables can hold a name. Raises UsageError for one of bytes that are no text."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = name.encode("utf-8", "backslashreplace").decode()
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
