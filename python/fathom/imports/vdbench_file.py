"""The text of a Vdbench parameter file as definitions with keys, read as Vdbench 5.04.06 reads it (`Vdb_scan`).

Newlines separate keys as commas do, so a definition goes on until the next begins. A blank outside of quotes ends a
line. A key may be abbreviated, and `eof` ends the file.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fathom.errors import UsageError
from fathom.imports.variables import missing
from fathom.imports.vdbench_keys import Section, VdbenchKey, find_key
from fathom.text_file import read_text

#: Puts the values of variables into a line, which stands at a place.
Fill: TypeAlias = Callable[[str, str], str]
#: Takes a note.
Note: TypeAlias = Callable[[str], None]

MOST_VALUES = 1000
_MOST = 1 << 60
_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([kmgth%]?)b?")
_NAME = re.compile(r"(.*?)(\d{1,9})")
#: Keys whose `m` are minutes.
_TIMES = frozenset(("elapsed", "interval", "pause", "warmup"))
#: Stand for characters in quotes, which mean nothing there.
_QUOTED = str.maketrans(
    {",": "\ue000", "=": "\ue001", "-": "\ue002", " ": "\ue003", "(": "\ue004", ")": "\ue005"}
)
_UNQUOTED = str.maketrans({value: chr(key) for key, value in _QUOTED.items()})


@dataclass(frozen=True)
class GivenKey:
    """A key as the file gives it, with its values."""

    key: VdbenchKey
    word: str
    values: tuple[str, ...]
    place: str
    listed: bool

    @property
    def text(self) -> str:
        """The first value."""
        return self.values[0]

    @property
    def written(self) -> str:
        """As in the file."""
        return f"({','.join(self.values)})" if self.listed else self.text

    def error(self, what: str, remedy: str) -> UsageError:
        """Returns a refusal at this key's line."""
        return UsageError(f"{self.place}: {self.word}={self.written}: {what}", remedy)

    def number(self, text: str | None = None) -> float:
        """Returns a value as a number, its unit counted. Raises UsageError."""
        value = (text if text is not None else self.text).lower()
        if not (found := _NUMBER.fullmatch(value)) or found[2] == "%":
            raise self.error(f"{value or 'nothing'} is not a number", "write one like 8, 4k or 10g")
        minutes = found[2] == "m" and self.key.name in _TIMES
        units = {"": 1, "k": 1024, "m": 60 if minutes else 1024**2, "g": 1024**3, "t": 1024**4, "h": 3600}
        number = float(found[1]) * units[found[2]]
        if number > _MOST:
            raise self.error(f"{value} is more than any storage has", "write a smaller number")
        return number

    def numbers(self) -> list[float]:
        """Returns all values, ranges written out: `1-4,1` goes up by steps, `1-64,d` and `64-1,d` by factors of two."""
        values: list[float] = []
        texts = list(self.values)
        while texts:
            first, dash, last = texts.pop(0).partition("-")
            values.append(self.number(first))
            if dash and self.listed:
                if not texts:
                    raise self.error("a range needs a step", "such as (10-100,10) or (1-64,d)")
                values += self._range(values[-1], self.number(last), texts.pop(0))
            elif dash:
                raise self.error(f"{first}-{last} is not a number", "write a range in parentheses: (1-64,d)")
        return values

    def _range(self, first: float, last: float, step: str) -> list[float]:
        values: list[float] = []
        by = 0.0 if step == "d" else self.number(step)
        if (min(first, last) if step == "d" else by) <= 0:
            raise self.error("a range that does not end", "such as (10-100,10) or (1-64,d)")
        value = first
        while len(values) < MOST_VALUES:
            value = value + by if by else value * 2 if first < last else value / 2
            if (value > last) if (by or first < last) else (value < last):
                return values
            values.append(value)
        raise self.error(f"more than {MOST_VALUES} values", "take a larger step")

    def names(self) -> list[str]:
        """Returns all values as names, `(sd1-sd4)` written out. Raises UsageError."""
        found: list[str] = []
        for text in self.values:
            first, dash, last = text.partition("-")
            if not (dash and self.listed):
                found.append(text)
                continue
            low, high = _NAME.fullmatch(first), _NAME.fullmatch(last)
            if not low or not high or low[1] != high[1] or int(low[2]) >= int(high[2]):
                raise self.error(f"{text} is not a range of names", "such as (sd1-sd4)")
            if int(high[2]) - int(low[2]) >= MOST_VALUES:
                raise self.error(f"more than {MOST_VALUES} names", "take fewer")
            found += [f"{low[1]}{number}" for number in range(int(low[2]), int(high[2]) + 1)]
        return found


@dataclass
class Definition:
    """A storage, workload or run definition, with the keys of its default."""

    section: Section
    name: str
    place: str
    keys: dict[str, GivenKey] = field(default_factory=dict)

    def set(self, given: GivenKey) -> None:
        """Takes a key; one that was there goes to the end, as Vdbench's loops do."""
        self.keys.pop(given.key.name, None)
        self.keys[given.key.name] = given

    def get(self, *names: str) -> GivenKey | None:
        """Returns the last given of these keys."""
        return next((one for one in reversed(self.keys.values()) if one.key.name in names), None)

    def number(self, name: str, otherwise: float) -> float:
        """Returns a key that has one number."""
        given = self.get(name)
        return given.number() if given else otherwise


def definitions(
    text: str, file: str, fill: Fill, note: Note
) -> Iterator[tuple[Definition | None, GivenKey | None]]:
    """Yields each definition, then its keys one by one. Raises UsageError."""
    section, defaults = Section.GENERAL, dict[Section, Definition]()
    current: Definition | None = None
    for word, value, place in _pieces(text, file, fill, note):
        if begun := _begins(section, word):
            section = begun
            name = _values(value)[0][0]
            if name == "default" and section not in (Section.GENERAL, Section.HOST):
                current = defaults.setdefault(section, Definition(section, name, place))
            else:
                inherited = defaults[section].keys if section in defaults else {}
                current = Definition(section, name, place, dict(inherited))
            yield current, None
            continue
        key = find_key(section, word) if len(word) > 1 else None
        if key is None:
            raise UsageError(
                f"{place}: {word}: Vdbench 5.04.06 knows no such key of {section}",
                "see docs/reference/import-vdbench.md",
            )
        values, listed = _values(value)
        given = GivenKey(key, word, values, place, listed)
        if current:
            if section is Section.STORAGE and key.name == "lun" and current.get("lun"):
                raise given.error("another lun for other hosts has no counterpart", "give each lun an sd")
            current.set(given)
        yield current, given


def _begins(section: Section, word: str) -> Section | None:
    """Returns the definition that a word begins, which depends on where it stands: `sd=` in a workload is a key."""
    words = {
        "hd": Section.HOST,
        "host": Section.HOST,
        "sd": Section.STORAGE,
        "fsd": Section.FILES,
        "wd": Section.WORKLOAD,
        "fwd": Section.FILE_WORKLOAD,
        "rd": Section.RUN,
    }
    order = list(Section)
    begun = words.get(word)
    return begun if begun and order.index(begun) >= order.index(section) else None


def _values(value: str) -> tuple[tuple[str, ...], bool]:
    """Returns the values of a key, and whether they stand in parentheses."""
    if not value.startswith("("):
        return (value.translate(_UNQUOTED),), False
    inner = value.strip("()")
    return tuple(one.translate(_UNQUOTED) for one in inner.split(",") if one) or ("",), True


def _pieces(text: str, file: str, fill: Fill, note: Note) -> Iterator[tuple[str, str, str]]:
    """Yields every `key=value` with its place. Raises UsageError."""
    for line, place in _whole(_lines(text, file, fill, note, included=False)):
        for part in re.findall(r"(?:[^,()]|\([^()]*(?:\([^()]*\)[^()]*)*\)|[()])+", line):
            word, equals, value = part.partition("=")
            if not equals or not value or not word:
                raise UsageError(
                    f"{place}: {part.translate(_UNQUOTED)} is not a key=value", "separate them by commas"
                )
            if value.count("(") != value.count(")"):
                raise UsageError(f"{place}: {part.translate(_UNQUOTED)}: unmatched parenthesis", "close it")
            yield word.lower(), value, place


def _whole(lines: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields lines with those that go on within their parentheses."""
    for line, place in lines:
        whole = line
        while whole.endswith(",") and whole.count("(") > whole.count(")"):
            more = next(lines, None)
            if more is None:
                break
            whole += more[0]
        yield whole, place


def _lines(text: str, file: str, fill: Fill, note: Note, *, included: bool) -> Iterator[tuple[str, str]]:
    """Yields lines up to `eof` without comments, and those of included files."""
    for number, raw in enumerate(text.splitlines(), 1):
        line, place = raw.strip(), f"{file}:{number}"
        if line.startswith("eof"):
            return
        if not line or line[0] in "*#/":
            continue
        line = fill(line, place)
        if line.startswith("include="):
            if included:
                raise UsageError(
                    f"{place}: {line}: an included file includes no other", "include both in the first"
                )
            if "$" in line:
                raise missing(line, place)
            path = _included(line.partition("=")[2], file, place, note)
            yield from _lines(read_text(path, "see the include= line"), str(path), fill, note, included=True)
            continue
        if re.search(r"\$\{?\w", line):
            raise missing(line, place)
        yield _until_blank(line, place), place


def _included(name: str, file: str, place: str, note: Note) -> Path:
    """Returns the file of an `include=`: beside the file that names it, else in the current folder.

    A path that leads nowhere here, as of another machine, is looked for by its name beside the file too.
    """
    beside = Path(file).parent / Path(name).name
    own = Path(name) if "/" in name else beside
    path = next((one for one in (own, Path(name), beside) if one.is_file()), None)
    if path is None:
        raise UsageError(f"{place}: include={name}: there is no such file", f"put it beside {file}")
    if "/" in name and path is beside:
        note(f"{place}: include={name}: there is no such file here; {path} is read in its place")
    return path


def _until_blank(line: str, place: str) -> str:
    """Returns the line as far as Vdbench reads it, quotes removed. Raises UsageError where keys would be lost."""
    parts = re.sub(r"\s", " ", line).split('"')
    parts[1::2] = [part.translate(_QUOTED) for part in parts[1::2]]
    read, _, comment = "".join(parts).partition(" ")
    within = comment and read.count("(") > read.count(")")
    if within or re.match(r"\s*([,=]|,?[A-Za-z_]+\s*=)", comment):
        raise UsageError(
            f"{place}: to Vdbench a blank ends the line, and {comment.strip().translate(_UNQUOTED)} is a comment",
            "take the blank out, or put * before a comment",
        )
    return read
