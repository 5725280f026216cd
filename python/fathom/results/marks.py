"""What a file of `fathom export-results` says of its run, so that its figures stay known for simulated ones.

fio's JSON has it under the key `fathom`, a log of HdrHistogram in a comment of that name. Programs that read either
format pass it over. `fathom import-results` reads it back.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, get_args

from pydantic import JsonValue

from fathom.runs.document import Made, RunDocument
from fathom.targets.target import Kind

KEY = "fathom"
KINDS: tuple[Kind, ...] = get_args(Kind)
_TARGETS = "targets"


@dataclass(frozen=True)
class Marks:
    """The program that made a run, and the run's targets with their kinds."""

    program: str
    version: str | None
    targets: Mapping[str, Kind]

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
            _kinds(about.get(_TARGETS)),
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
    # For people: the kinds say it too.
    simulated = [target.name for target in own if target.kind == "twin"]
    return {
        "run": document.id,
        "method": document.method.name,
        _by(document.made): document.program,
        _TARGETS: {target.name: target.kind for target in own},
        **({Made.SIMULATED: simulated} if simulated else {}),
    }


def comment(document: RunDocument) -> str:
    """Returns the marks of a run as a comment of one line."""
    return f"#[{KEY} {json.dumps(about(document))}]"


def _by(made: Made) -> str:
    return f"{made} by"


def _kinds(value: JsonValue | None) -> Mapping[str, Kind]:
    kinds: dict[str, Kind] = {kind: kind for kind in KINDS}
    stated = value.items() if isinstance(value, dict) else ()
    return {name: kinds[kind] for name, kind in stated if isinstance(kind, str) and kind in kinds}
