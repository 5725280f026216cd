"""What a file of `fathom export-results` says of its run: who made it, what is simulated, and its validity notes.

fio's JSON has it under the key `fathom`, a log of HdrHistogram in a comment of that name. Programs that read either
format pass it over. `fathom import-results` reads it back.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self, get_args

from pydantic import JsonValue, ValidationError

from fathom.runs.document import Made, NoteRecord, RunDocument
from fathom.targets.target import Kind

KEY = "fathom"
_OF_NOTES = {"level", "target", "step", "text", "next_step"}
KINDS: tuple[Kind, ...] = get_args(Kind)
_TARGETS = "targets"
_WORKLOADS = "workloads"
_NOTES = "notes"
RULE = "exported"
"""The rule of a note that came with an export."""


@dataclass(frozen=True)
class Marks:
    """The program that made a run, and the run's targets with their kinds."""

    program: str
    version: str | None
    targets: Mapping[str, Kind]
    workloads: Mapping[str, str]
    """The names by which steps are compared, where they differ from their own."""
    notes: Sequence[NoteRecord] = ()
    """The validity notes of the run that was exported."""

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
            _texts(about.get(_WORKLOADS)),
            list(_notes(about.get(_NOTES))),
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
        **({_WORKLOADS: workloads} if (workloads := _workloads(document)) else {}),
        _NOTES: [note.model_dump(include=_OF_NOTES) for note in document.notes],
    }


def comment(document: RunDocument) -> str:
    """Returns the marks of a run as a comment of one line."""
    return f"#[{KEY} {json.dumps(about(document))}]"


def _by(made: Made) -> str:
    return f"{made} by"


def _workloads(document: RunDocument) -> dict[str, str]:
    """Returns the workload of each step that is called otherwise."""
    steps = document.method.parsed.get("steps")
    each = steps if isinstance(steps, list) else []
    named = [(step.get("name"), step.get("workload")) for step in each if isinstance(step, dict)]
    return {
        name: workload
        for name, workload in named
        if isinstance(name, str) and isinstance(workload, str) and workload != name
    }


def _notes(value: JsonValue | None) -> Iterator[NoteRecord]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            stated = {name: one[name] for name in _OF_NOTES if name in one}
            # A file that people have changed may hold anything.
            with suppress(ValidationError):
                yield NoteRecord.model_validate({"rule": RULE, **stated})


def _texts(value: JsonValue | None) -> Mapping[str, str]:
    stated = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in stated if isinstance(text, str)}


def _kinds(value: JsonValue | None) -> Mapping[str, Kind]:
    kinds: dict[str, Kind] = {kind: kind for kind in KINDS}
    stated = value.items() if isinstance(value, dict) else ()
    return {name: kinds[kind] for name, kind in stated if isinstance(kind, str) and kind in kinds}
