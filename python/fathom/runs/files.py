"""Small durable writes: a file is either its old self or its new self, never half of each."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fathom.errors import FathomError


def write_atomically(path: Path, text: str) -> None:
    """Replaces `path` by `text`, surviving a crash at any moment."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def write_json(path: Path, document: Mapping[str, object]) -> None:
    """`write_atomically` of an indented JSON document."""
    write_atomically(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def append_line(path: Path, document: Mapping[str, object]) -> None:
    """Appends one JSON object as a line and waits until it is on the disk."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(document, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path) -> list[dict[str, object]]:
    """The JSON objects of a line file; a last line that a crash cut short is left out.

    Raises FathomError for any other line that is not JSON.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    complete = lines[:-1]
    return [_parse_line(path, number, line) for number, line in enumerate(complete, 1) if line]


def _parse_line(path: Path, number: int, line: str) -> dict[str, object]:
    try:
        return json.loads(line)
    except ValueError as error:
        raise FathomError(f"{path}:{number}: damaged: {error}", "remove that line") from error


@contextmanager
def refusals_told(run: Path) -> Iterator[None]:
    """Turns a refusal of the operating system into the user's error."""
    try:
        yield
    except OSError as error:
        raise FathomError(
            f"cannot write the run directory {run}: {error.strerror or error}",
            "make room there, or choose another place with --out or FATHOM_RUNS",
        ) from error


def sync_directory(path: Path) -> None:
    """Makes renames inside a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
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
        with path.open("r+b") as file:
            file.truncate(complete)
            os.fsync(file.fileno())
