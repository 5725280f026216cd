"""What a file of `fathom export-results` says of its run, so that its figures stay known for simulated ones.

fio's JSON has it under the key `fathom`, a log of HdrHistogram in a comment of that name. Programs that read either
format pass it over. `fathom import-results` reads it back.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pydantic import JsonValue

from fathom.runs.document import Made, RunDocument

KEY = "fathom"
_TARGETS, _SIMULATED = "targets", "simulated"


@dataclass(frozen=True)
class Marks:
    """The program that made a run, all targets of the run, and those of them that are simulated."""

    program: str
    version: str | None
    targets: Sequence[str]
    simulated: frozenset[str]

    @classmethod
    def read(cls, about: JsonValue) -> Self | None:
        """Returns the marks; None where there are none."""
        if not isinstance(about, dict):
            return None
        by = next((name for made in Made if isinstance(name := about.get(_by(made)), str)), "")
        program, _, version = by.rpartition(" ")
        return cls(
            program or version or KEY,
            version if program else None,
            _names(about.get(_TARGETS)),
            frozenset(_names(about.get(_SIMULATED))),
        )

    @classmethod
    def in_line(cls, line: str) -> Self | None:
        """Returns the marks in a comment that `comment` made; None for any other line."""
        begin = f"#[{KEY} "
        if not line.startswith(begin):
            return None
        try:
            return cls.read(json.loads(line.removeprefix(begin).rstrip().removesuffix("]")))
        except (ValueError, RecursionError):
            return None


def about(document: RunDocument) -> dict[str, object]:
    """Returns the marks of a run as JSON."""
    own = [target for target in document.targets if target.part_of is None]
    simulated = [target.name for target in own if target.kind == "twin"]
    return {
        "run": document.id,
        "method": document.method.name,
        _by(document.made): document.program,
        _TARGETS: [target.name for target in own],
        **({_SIMULATED: simulated} if simulated else {}),
    }


def comment(document: RunDocument) -> str:
    """Returns the marks of a run as a comment of one line."""
    return f"#[{KEY} {json.dumps(about(document))}]"


def _by(made: Made) -> str:
    return f"{made} by"


def _names(value: JsonValue | None) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
