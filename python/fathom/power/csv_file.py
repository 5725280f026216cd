"""A power meter's log: a growing CSV file with a time and a power in each line.

Times are seconds, ms, us or ns since 1970, or ISO 8601 (without a zone: this machine's). A heading says which column is
which; without one the first is the time. The last 64 KiB of earlier lines are read.
"""

import csv
import math
import re
from datetime import datetime
from pathlib import Path

from fathom.power.energy import Sample
from fathom.power.source import MeterError

HEAD_BYTES = 64 << 10
TAIL_BYTES = 64 << 10
MOST_BYTES = 16 << 20
"""Most bytes to read at once; the next read continues there."""
_DELIMITERS = ",;\t"
_TIME = re.compile(r"time|date|epoch|^t$|^ts$", re.IGNORECASE)
_POWER = re.compile(r"power|watt|(?<![a-z])(m|k)?w(?![a-z])", re.IGNORECASE)
_MILLI = re.compile(r"milliwatt|(?<![a-zA-Z])m[wW](?![a-z])")
_KILO = re.compile(r"kilowatt|(?<![a-zA-Z])k[wW](?![a-z])", re.IGNORECASE)
_EPOCH_UNITS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e-3), (1e14, 1e17, 1e-6), (1e17, 1e20, 1e-9))
"""From, to, seconds: years 1973 to 5138 in seconds, ms, us and ns since 1970 do not overlap."""


class CsvFile:
    """Reads what is appended. `column` is the power's heading, or its number counted from 1."""

    def __init__(self, path: Path, column: str | None = None) -> None:
        """Finds the columns. Raises MeterError for a file that cannot be read or that does not name them."""
        self._path = path
        self._asked = column
        self._rest = b""
        self._open()

    def read(self) -> list[Sample]:
        """Returns whole lines since the last call; a file that was replaced or emptied is read from its beginning."""
        try:
            about = self._path.stat()
            if about.st_ino != self._inode or about.st_size < self._position:
                self._open()
            with self._path.open("rb") as file:
                file.seek(self._position)
                new = file.read(MOST_BYTES)
        except OSError as error:
            raise MeterError(f"{self._path}: {error.strerror or error}") from error
        self._position += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        return [sample for line in lines if (sample := self._sample(line)) is not None]

    def _open(self) -> None:
        try:
            with self._path.open("rb") as file:
                head = file.read(HEAD_BYTES)
                about = self._path.stat()
        except OSError as error:
            raise MeterError(f"{self._path}: {error.strerror or error}") from error
        lines = [line for line in head.split(b"\n")[:-1] if line.strip() and not line.startswith(b"#")]
        if not lines:
            raise MeterError(f"{self._path}: no whole line yet: the meter must be running first")
        first = _text(lines[0])
        self._delimiter = max(_DELIMITERS, key=first.count)
        self._columns(self._cells(lines[0]))
        self._inode = about.st_ino
        self._position = max(0, about.st_size - TAIL_BYTES)
        self._rest = b"" if self._position == 0 else b"#"

    def _columns(self, first: list[str]) -> None:
        self._scale = 1.0
        if _seconds(first[0], self._delimiter) is not None:
            self._time, self._power = 0, self._numbered(len(first))
            return
        self._time = self._named(first, _TIME, "time", None)
        self._power = self._named(first, _POWER, "power", self._asked)
        heading = first[self._power]
        self._scale = 1e-3 if _MILLI.search(heading) else 1e3 if _KILO.search(heading) else 1.0

    def _numbered(self, count: int) -> int:
        """Returns the power's column of a file without a heading."""
        asked = self._asked or ("2" if count == 2 else "")
        if not (asked.isdecimal() and 2 <= int(asked) <= count):
            raise MeterError(
                f"{self._path}: {count} columns without a heading: add ?column=N, N from 2 to {count}"
            )
        return int(asked) - 1

    def _named(self, headings: list[str], like: re.Pattern[str], what: str, asked: str | None) -> int:
        if asked is not None and asked in headings:
            return headings.index(asked)
        if asked is not None and asked.isdecimal() and 1 <= int(asked) <= len(headings):
            return int(asked) - 1
        listed = ", ".join(headings)
        if asked is not None:
            raise MeterError(f"{self._path}: no column {asked!r}, but {listed}")
        found = [place for place, heading in enumerate(headings) if like.search(heading)]
        if len(found) == 1 or (found and what == "time"):
            return found[0]
        if found:
            several = ", ".join(headings[place] for place in found)
            raise MeterError(f"{self._path}: {several} may each be the power: add ?column=NAME")
        raise MeterError(
            f"{self._path}: no column of {what} among {listed}"
            + (": add ?column=NAME" if what == "power" else "")
        )

    def _cells(self, line: bytes) -> list[str]:
        """Returns the line's cells, at least one; a line that is no CSV, such as one with a lone CR, has one empty
        cell.
        """
        try:
            rows = list(csv.reader([_text(line)], delimiter=self._delimiter))
        except csv.Error:
            return [""]
        return [cell.strip() for cell in rows[0]] if rows and rows[0] else [""]

    def _sample(self, line: bytes) -> Sample | None:
        """Returns a line's sample; None for a heading, a comment, or a broken line."""
        cells = self._cells(line)
        if line.startswith(b"#") or len(cells) <= max(self._time, self._power):
            return None
        seconds = _seconds(cells[self._time], self._delimiter)
        watts = _number(cells[self._power], self._delimiter)
        return None if seconds is None or watts is None else (seconds, watts * self._scale)


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig", errors="replace").strip()


def _number(text: str, delimiter: str) -> float | None:
    """Returns a finite number; where lines are divided at semicolons, a comma is a decimal point."""
    try:
        value = float(text.replace(",", ".") if delimiter == ";" else text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _seconds(text: str, delimiter: str) -> float | None:
    """Returns seconds since 1970; None for other times, such as seconds since the meter was switched on."""
    number = _number(text, delimiter)
    if number is not None:
        return next((number * unit for low, high, unit in _EPOCH_UNITS if low <= number < high), None)
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
