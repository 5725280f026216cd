"""Numbers, sizes, names and tables from files of other programs. Implausible values are None."""

import csv
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import Enum

from fathom.errors import UsageError

MOST = 1e18
"""Counts, rates and times of real measurements are smaller."""
LONGEST_NAME = 60
MOST_SECONDS = 1_000_000
"""Most samples kept per operation: eleven days of seconds."""


class Unit(Enum):
    """The unit of latencies in a file that does not say it. The value is its length in ns."""

    NS = 1
    US = 1_000
    MS = 1_000_000

    @property
    def ns(self) -> int:
        """Nanoseconds in one."""
        return self.value

    @property
    def words(self) -> str:
        """Its name."""
        return {Unit.NS: "nanoseconds", Unit.US: "microseconds", Unit.MS: "milliseconds"}[self]


def number(value: object) -> float | None:
    """Returns a finite number from 0 on; None for anything else."""
    if type(value) is int:  # a bool is none; most values are one, thousands in each file
        return float(value) if 0 <= value <= MOST else None
    if not isinstance(value, float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and 0 <= found <= MOST else None


def time_of(seconds: object) -> datetime | None:
    """Returns the time of seconds since the epoch; None for anything else."""
    found = number(seconds)
    return datetime.fromtimestamp(found, UTC) if found and found < 1 << 33 else None


def whole(value: object) -> int | None:
    """Returns a count; None for anything else."""
    found = number(value)
    return None if found is None else round(found)


def scaled(value: object, factor: float) -> float | None:
    """Returns a number times `factor`, such as milliseconds as microseconds."""
    found = number(value)
    return None if found is None else found * factor


def size_bytes(text: object) -> int | None:
    """Returns a size as fio and Vdbench write it: `4k`, `1m`, `4096`, in powers of 1024."""
    if isinstance(text, int) and not isinstance(text, bool):
        return whole(text)
    match = re.fullmatch(r"(\d{1,15})\s*(?:([kmgt])(?:i?b)?|b)?", str(text).strip().lower())
    if match is None:
        return None
    power = " kmgt".index(match[2] or " ")
    return int(match[1]) << (10 * power)


def name_of(text: str) -> str:
    """Returns text as the name of a step: lower case, digits and hyphens, at most `LONGEST_NAME` characters.

    Text without letters and digits gives `load`.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST_NAME].strip("-")
    return slug or "load"


class Names:
    """Gives each load a unique name."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._asked: Counter[str] = Counter()

    def unique(self, text: str) -> str:
        """Returns the name, with a number appended if it is taken."""
        name = first = name_of(text)
        self._asked[first] += 1
        for number in itertools.count(max(2, self._asked[first])):
            if name not in self._given:
                break
            ending = f"-{number}"
            name = first[: LONGEST_NAME - len(ending)] + ending
        self._given.add(name)
        return name


def rows_of(lines: Iterable[str], file: str) -> Iterator[list[str]]:
    """Yields the cells of each line of a CSV file, without blanks around them. Raises UsageError."""
    try:
        for row in csv.reader(lines):
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise UsageError(f"{file}: not CSV: {error}", "give the file as the program wrote it") from error
