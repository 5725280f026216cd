"""Values of a method file as TOML."""

import json
import re
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import TypeAlias

#: A value of a method file.
Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value]"

_LINE = 100
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def table_lines(values: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Returns each line of a table, with its key."""
    width = max(len(_key(key)) for key in values)
    return [
        (key, line)
        for key, value in values.items()
        for line in f"{_key(key):{width}} = {_wrapped(value)}".split("\n")
    ]


def _wrapped(value: Value) -> str:
    """As `_text`, but tables of a list that is too long for a line one in each."""
    text = _text(value)
    if len(text) > _LINE and isinstance(value, Sequence) and all(isinstance(one, Mapping) for one in value):
        return "[\n" + "".join(f"  {_text(one)},\n" for one in value) + "]"
    return text


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)


def _text(value: Value) -> str:
    """Returns a value in TOML, tables in one line. A string's JSON is its TOML."""
    match value:
        case bool() | str() | int():
            return json.dumps(value)
        case float():
            return json.dumps(int(value) if value.is_integer() else value)
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_text(one)}" for key, one in value.items()) + " }"
        case _:
            return "[" + ", ".join(_text(one) for one in value) + "]"


def size_text(size_bytes: int) -> str:
    """Returns a size as methods have it, in the largest unit that divides it."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{unit}"
    return str(size_bytes)


def duration_text(seconds: float) -> str:
    """Returns a duration as methods have it."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        count = seconds / scale
        if abs(count - round(count)) < 1e-9 * max(1.0, count):
            return f"{round(count)}{unit}"
    return f"{round(seconds * 1e6)}us"


def rate_text(iops: float) -> str:
    """Returns a rate as methods have it, with six digits and no exponent."""
    digits = 0 if iops <= 0 else max(0, 5 - floor(log10(iops)))
    text = f"{iops:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text}/s"
