"""Reads the text files that a user names. What is in them is parsed, and complained about, elsewhere."""

from pathlib import Path

from fathom.errors import UsageError


def read_text(path: Path, hint: str | None = None) -> str:
    """The whole file. Raises UsageError with the hint where it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text", hint) from error
