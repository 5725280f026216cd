"""What is not as it was when a run goes on: versions, kernel, processors. The journal keeps it, and a note says it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fathom.runs.document import NoteRecord, RunDocument
from fathom.runs.event_log import Event
from fathom.session.record import own_versions
from fathom.targets.environment import environment

if TYPE_CHECKING:
    from pydantic import JsonValue

RULE = "resumed"
OF_MACHINE = (
    "kernel",
    "cpu_model",
    "threads_allowed",
    "cpu_quota_threads",
    "governor",
    "smt",
    "virtualisation",
    "container",
    "io_uring",
)
"""What figures of real targets depend on. Twins have the same ones on any machine."""


def changed_since(document: RunDocument) -> "dict[str, JsonValue]":
    """Returns what differs from the run's begin, by name: the value then and the value now."""
    found: dict[str, JsonValue] = {}
    for name, version in own_versions().items():
        if document.versions.get(name) != version:
            found[name] = [document.versions.get(name), version]
    if all(target.kind == "twin" for target in document.targets):
        return found
    now = environment().to_json()
    for name in OF_MACHINE:
        if name in document.environment and document.environment[name] != now[name]:
            found[name] = [document.environment[name], now[name]]
    return found


def resumed_notes(events: Sequence[Event]) -> list[NoteRecord]:
    """Returns a note on a run that went on under other conditions than it began."""
    seen: dict[str, list[str]] = {}
    for event in events:
        changed = event.get("changed") if event["event"] == "run-resume" else None
        for name, pair in changed.items() if isinstance(changed, Mapping) else ():
            values = seen.setdefault(str(name), [])
            values += [shown for one in pair if (shown := _shown(one)) not in values]
    if not seen:
        return []
    lines = [f"{name.replace('_', ' ')} {', then '.join(values)}" for name, values in seen.items()]
    return [
        NoteRecord(
            rule=RULE,
            level="warning",
            text=f"the run went on under other conditions than it began: {'; '.join(lines)}",
            next_step="hold no step from before against one from after; a new run has all under the same conditions",
        )
    ]


def _shown(value: object) -> str:
    return "unknown" if value is None else str(value)
