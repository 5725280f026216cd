"""The first line of a CSV of another program as the columns of a trace: quoted names, and units in the names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DELIMITERS = (",", "\t", ";")
#: The first line has to hold this many fields, or the text is no CSV of I/Os.
_LEAST_FIELDS = 4
#: Fewer names that are known may as well be words of a text.
_LEAST_KNOWN = 2
_WITH_UNIT = re.compile(r"(?P<name>.*?)(?:\s*[(\[](?P<inside>[^()\[\]]*)[)\]]|[ _](?P<behind>[^ _]+))?")

_TIMES = {
    unit: short
    for short, names in {
        "s": ("s", "sec", "secs", "second", "seconds"),
        "ms": ("ms", "msec", "millisecond", "milliseconds"),
        "us": ("us", "usec", "µs", "μs", "microsecond", "microseconds"),
        "ns": ("ns", "nsec", "nanosecond", "nanoseconds"),
        "filetime": ("filetime",),
    }.items()
    for unit in names
}
_SPACES = {"b": "", "byte": "", "bytes": "", "sector": "_sectors", "sectors": "_sectors"}
#: What a name stands for. One that is said to be in bytes where it has no unit ends in a star.
_KINDS = {
    name: kind
    for kind, names in {
        "time": ("time", "timestamp", "issue", "issue time"),
        "latency": ("latency", "response time"),
        "offset": ("offset*", "byte offset"),
        "size": ("size*", "length*", "len", "io size", "request size"),
        "op": ("op*", "operation*", "opcode*", "rw*", "io type*", "iotype*"),
        "flags": ("flags*",),
        "device": ("device*",),
        "process": ("process*",),
        "pid": ("pid*",),
        "cpu": ("cpu*",),
    }.items()
    for name in names
}
_REQUIRED = ("time", "op", "offset", "size")
#: What of a trace only counts once.
_ONCE = (*_REQUIRED, "latency", "flags", "process", "pid", "cpu")
_CHOICES = {
    "time": "a time (time_s, time_ms, time_us or time_ns)",
    "latency": "the latency (latency_s, latency_ms, latency_us or latency_ns)",
    "offset": "an offset (offset, in bytes, or offset_sectors)",
    "size": "a size (size, in bytes, or size_sectors)",
    "op": "op",
}
_LEFT_OUT = "_"


@dataclass(frozen=True)
class _Field:
    """A field of the first line. `kind`: what it holds, empty if not known. `column`: its name in `--columns`, empty
    where its unit is not known.
    """

    written: str
    kind: str
    column: str


@dataclass(frozen=True)
class Header:
    """The first line of a CSV."""

    fields: Sequence[_Field]

    @property
    def columns(self) -> str:
        """The columns by their names in `--columns`; what is in doubt is left out."""
        return ",".join(
            _LEFT_OUT if one.kind in self.doubtful else one.column or _LEFT_OUT for one in self.fields
        )

    @property
    def known(self) -> Sequence[str]:
        """The columns without those that are left out."""
        return [one for one in self.columns.split(",") if one != _LEFT_OUT]

    @property
    def left_out(self) -> Sequence[str]:
        """The fields of unknown names, as the file has them."""
        return [one.written for one in self.fields if not one.kind]

    @property
    def doubtful(self) -> Sequence[str]:
        """The kinds of columns that are missing, there twice, or without a unit that is known."""
        found = {kind: [one.column for one in self.fields if one.kind == kind] for kind in _ONCE}
        return [
            kind
            for kind, columns in found.items()
            if (kind in _REQUIRED and not columns) or len(columns) > 1 or columns == [""]
        ]

    def refusal(self) -> tuple[str, str]:
        """Returns what is missing, and the columns to give."""
        reasons = [reason for kind in self.doubtful if (reason := self._reason(kind))]
        if self.left_out:
            reasons.append(f"not known: {', '.join(self.left_out)}")
        missing = ", ".join(self.doubtful)
        said = f" ({'; '.join(reasons)})" if reasons else ""
        named = ", ".join(self.known) or "no column that is known"
        wanted = ", ".join(_CHOICES.get(kind, kind) for kind in self.doubtful)
        return (
            f"the first line of this CSV names {named}; in doubt or missing: {missing}{said}",
            f"give --columns {self.columns}, with {wanted} in place of a _",
        )

    def _reason(self, kind: str) -> str:
        own = [one for one in self.fields if one.kind == kind]
        names = " and ".join(one.written for one in own)
        if len(own) > 1:
            return f"{names} are both a {kind}"
        return f"{names} has no unit that is known" if own and not own[0].column else ""


def header_of(head: bytes) -> Header | None:
    """Returns the first line of a CSV; None for a text that is none, or whose first line holds values."""
    names = _split(_first_line(head))
    if len(names) < _LEAST_FIELDS or not all(one[:1].isascii() and one[:1].isalpha() for one in names):
        return None
    fields = [_field(one) for one in names]
    return Header(fields) if sum(bool(one.kind) for one in fields) >= _LEAST_KNOWN else None


def has_values_only(head: bytes) -> bool:
    """Returns whether the first line looks like one of a CSV without names."""
    fields = _split(_first_line(head))
    return len(fields) >= _LEAST_FIELDS and any(re.fullmatch(r"[\d.,]+", field) for field in fields)


def has_decimal_commas(head: bytes) -> bool:
    """Returns whether semicolons separate fields, so that commas among them are those of decimals."""
    return b"\0" not in head and _has_semicolons(_first_line(head))


def _first_line(head: bytes) -> str:
    lines = head.decode("utf-8", "replace").splitlines()
    return next((line for line in lines if line.strip()), "")


def _split(line: str) -> list[str]:
    known = (one for one in _DELIMITERS if one in line)
    return [_unquoted(field) for field in line.split(";" if _has_semicolons(line) else next(known, None))]


def _has_semicolons(line: str) -> bool:
    return line.count(";") >= max(line.count(","), _LEAST_FIELDS - 1)


def _unquoted(field: str) -> str:
    field = field.strip()
    quoted = len(field) > 1 and field[0] == field[-1] == '"'
    return field[1:-1].strip() if quoted else field


def _field(written: str) -> _Field:
    """Returns what a field of the first line holds."""
    name = re.sub(r"[\s_]+", " ", written.lower())
    if found := _column(name, ""):
        return _Field(written, *found)
    parts = _WITH_UNIT.fullmatch(name)
    if parts and (unit := parts["inside"] or parts["behind"]):
        found = _column(parts["name"].strip(), unit.strip())
    return _Field(written, *(found or ("", "")))


def _column(name: str, unit: str) -> tuple[str, str] | None:
    """Returns what a name stands for, and the column of it with its unit; None for a name that is not known."""
    kind = _KINDS.get(f"{name}*") if not unit else None
    if kind is not None:
        return kind, kind
    kind = _KINDS.get(f"{name}*") or _KINDS.get(name)
    if kind in ("time", "latency"):
        return kind, f"{kind}_{_TIMES[unit]}" if unit in _TIMES else ""
    if kind in ("offset", "size"):
        return kind, f"{kind}{_SPACES[unit]}" if unit in _SPACES else ""
    return None
