"""Turns the text of a catalogue file into its model, or into one line per problem: file, line, remedy."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from pydantic import BaseModel, StringConstraints, ValidationError

from fathom.catalog.models import MODELS, Device, Key, Name, Published, System, Text
from fathom.catalog.positions import Path, key_lines
from fathom.catalog.store import CatalogError, nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_Model = TypeVar("_Model", bound=BaseModel)

_EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "too_short": "a list of at least {min_length}",
    "finite_number": "a finite number; leave the key out where the source gives none",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number from {ge:g} up",
    "less_than_equal": "a number up to {le:g}",
}
_WORDING = {
    Name: "lower-case letters, digits, dots and dashes",
    Key: "lower-case words joined by _, the unit last",
    Text: "one line of text, not empty",
}


@lru_cache(maxsize=256)
def parse(kind: str, text: str, location: str, base_text: str = "") -> Device | System | Published:
    """Returns the model of a file.

    Args:
        kind: `devices`, `systems` or `published`.
        text: the file.
        location: its path, for messages.
        base_text: the file of the device that this one is a variant of; what the variant does not say is from there.

    Raises:
        CatalogError: one line per problem: `path:line: what is wrong; what to do`.
    """
    return parse_as(MODELS[kind], text, location, tomllib.loads(base_text))


def parse_as(
    model: type[_Model], text: str, location: str, base: Mapping[str, object] | None = None
) -> _Model:
    """Returns a TOML text as that model, laid over `base`. Raises as `parse`."""
    try:
        document = laid_over(base or {}, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(_syntax(str(error), text, location)) from error
    return parse_document(model, document, location, key_lines(text))


def parse_document(
    model: type[_Model], document: Mapping[str, object], location: str, lines: Mapping[Path, int]
) -> _Model:
    """Returns a document as that model; `lines` has the line of each key. Raises as `parse`."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise CatalogError(*_problems(error.errors(), model, lines, location)) from error


def value_problem(model: type[BaseModel], key: str, value: object) -> str | None:
    """Returns what is wrong with one key's value, whatever the other keys are; None where nothing is."""
    try:
        model.model_validate({key: value})
    except ValidationError as error:
        own = (one for one in error.errors() if one["loc"] == (key,))
        return next((_explain(one, (), model) for one in own), None)
    return None


def laid_over(base: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """Returns the base with the keys of `own`: tables of both are merged key by key, but a parameter is whole."""
    merged = dict(base)
    for key, value in own.items():
        below = merged.get(key)
        whole = not isinstance(value, dict) or not isinstance(below, dict) or "value" in value
        merged[key] = (
            value if whole else laid_over(cast("dict[str, object]", below), cast("dict[str, object]", value))
        )
    return merged


def _syntax(message: str, text: str, location: str) -> str:
    """Returns one line for a syntax error; `tomllib` states its place at the end of the message."""
    at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = (at and at[1]) or len(text.splitlines())
    return f"{location}:{line}: not TOML: {message[: at.start()] if at else message}"


def _problems(
    errors: list[ErrorDetails], model: type[BaseModel], lines: Mapping[Path, int], location: str
) -> list[str]:
    """Returns one line per wrong key, in the file's order. A group's key is reported once, not once per row.

    A list whose entries are wrong is not reported as too short for lack of them.
    """
    found: dict[tuple[int, str], None] = {}
    within = {error["loc"][:length] for error in errors for length in range(len(error["loc"]))}
    for error in errors:
        if error["type"] == "too_short" and error["loc"] in within:
            continue
        known, rest = _place(error["loc"], lines)
        found[lines.get(known, 1), _explain(error, rest, model)] = None
    return [f"{location}:{line}: {problem}" for line, problem in sorted(found)]


def _place(loc: Path, lines: Mapping[Path, int]) -> tuple[Path, Path]:
    """Returns the part of an error's path that is in the file, and the rest: a missing key, or a branch of a union. A
    row's key may be in the row, or in its group for all rows.
    """
    row = next((i for i, part in enumerate(loc) if part == "rows" and i + 1 < len(loc)), None)
    candidates = [loc] if row is None else [loc, loc[:row] + loc[row + 2 :]]
    places = [
        (path[:length], path[length:])
        for path in candidates
        for length in range(len(path), -1, -1)
        if length == 0 or path[:length] in lines
    ]
    return min(places, key=lambda place: (len(place[1]), -len(place[0])))


def _explain(error: ErrorDetails, rest: Path, model: type[BaseModel]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    key, value = _label(error["loc"]), error["input"]
    match kind:
        case "extra_forbidden":
            known = _keys_at(model, error["loc"][:-1])
            hint = nearest(key, known, 1) or "known here: " + ", ".join(known)
            return f"unknown key {_quote(key)}; {hint}".rstrip()
        case "missing":
            return f'key "{key}" is missing{_only_value(model, error["loc"])}'
        case _ if rest not in ((), ("[key]",)):
            owner = _label(error["loc"][: -len(rest)])
            return f"{owner}: expected a number, true, false or text, found {_quote(value)}"
        case "literal_error":
            choices = re.findall("'([^']*)'", str(context["expected"]))
            near = nearest(str(value), choices, 1)
            return f"{key}: {_quote(value)} is not one of {', '.join(choices)}; {near}".rstrip("; ")
        case "string_pattern_mismatch":
            wanted = next(text for type_, text in _WORDING.items() if _pattern(type_) == context["pattern"])
            return f"{key}: expected {wanted}, found {_quote(value)}"
        case "value_error":
            return str(context["error"])
        case _ if kind in _EXPECTED:
            return f"{key}: expected {_EXPECTED[kind].format(**context)}, found {_quote(value)}"
    return f"{key}: {error['msg']}"


def _only_value(model: type[BaseModel], loc: Path) -> str:
    """Returns what to write for a key of the document that has one possible value, such as `schema`."""
    found = next((one for name, one in model.model_fields.items() if loc == (one.alias or name,)), None)
    values = get_args(found.annotation if found else None)
    return f": write {loc[0]} = {_quote(values[0])}" if [type(one) for one in values] == [str] else ""


def _label(loc: Path) -> str:
    """Returns the key's own name, with its place in a list: `capacities_gb[1]`."""
    path = [part for part in loc if part != "[key]"]
    last = max((i for i, part in enumerate(path) if isinstance(part, str)), default=0)
    return "".join(str(part) if i == 0 else f"[{part}]" for i, part in enumerate(path[last:]))


def _pattern(type_: object) -> object:
    return next(item.pattern for item in get_args(type_) if isinstance(item, StringConstraints))


def _quote(value: object) -> str:
    """Returns a value as TOML would have it, control characters escaped: the text goes to a terminal."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)


def _keys_at(model: type[BaseModel], loc: Path) -> list[str]:
    """Returns the keys that may stand in the table at a path."""
    for part in loc:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if isinstance(part, str) and part in fields:
            model = next(_models_in(fields[part].annotation), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
