"""A method as it is put together from another tool's file, and its TOML."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

#: A value of a method file.
Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value]"

_LINE = 100
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass
class DraftStep:
    """One step: its own keys, and those of its job."""

    name: str
    keys: dict[str, Value] = field(default_factory=dict)
    job: dict[str, Value] = field(default_factory=dict)


@dataclass
class Draft:
    """The steps of a method, what is said of them, and the targets that the file named."""

    source: str
    steps: list[DraftStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)

    def add(self, step: DraftStep) -> None:
        """Puts a step last, under a name that no other has."""
        name, count = step.name, 2
        while any(other.name == step.name for other in self.steps):
            step.name = f"{name}-{count}"
            count += 1
        self.steps.append(step)

    def note(self, text: str) -> None:
        """Keeps a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def aim(self, target: str) -> None:
        """Keeps a target, once."""
        if target not in self.targets:
            self.targets.append(target)

    def to_toml(self, name: str, file: str) -> str:
        """The method file; its comments say where it comes from, what to run it on, and the notes."""
        comments = [f"Imported from {file}.", *self.notes]
        if self.targets:
            comments.append(f"To be run on {' '.join(self.targets)}")
        lines = [f"# {one}" for comment in comments for one in comment.splitlines()]
        head: dict[str, Value] = {"schema": "fathom-method/1", "name": name, "source": self.source}
        lines += ["", *_table(head)]
        for step in self.steps:
            lines += ["", "[[steps]]", *_table({"name": step.name, **step.keys})]
            if step.job:
                lines += ["[steps.job]", *_table(step.job)]
        return "\n".join(lines) + "\n"


def name_of(text: str, otherwise: str = "job") -> str:
    """A name as methods and their steps have them, or the other where nothing is left of the text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or otherwise


def _table(values: Mapping[str, Value]) -> list[str]:
    width = max(len(_key(key)) for key in values)
    return [f"{_key(key):{width}} = {_wrapped(value)}" for key, value in values.items()]


def _wrapped(value: Value) -> str:
    """As `_text`, but tables of a list that is too long for a line one in each."""
    text = _text(value)
    if len(text) > _LINE and isinstance(value, Sequence) and all(isinstance(one, Mapping) for one in value):
        return "[\n" + "".join(f"  {_text(one)},\n" for one in value) + "]"
    return text


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)


def _text(value: Value) -> str:
    """A value in TOML, tables in one line. A string's JSON is its TOML."""
    match value:
        case bool() | str() | int():
            return json.dumps(value)
        case float():
            return json.dumps(int(value) if value.is_integer() else value)
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_text(one)}" for key, one in value.items()) + " }"
        case _:
            return "[" + ", ".join(_text(one) for one in value) + "]"
