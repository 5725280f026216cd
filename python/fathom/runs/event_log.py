"""The event log of a run, `journal.jsonl`: which file it is, and what stands in it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from fathom.runs.checksums import OWN, is_sound, signed
from fathom.runs.damage import Damage, Fault, Substitute
from fathom.runs.files import append_line, text_of
from fathom.runs.layout import JOURNAL

Event = dict[str, object]

TEXTS: Mapping[str, tuple[str, ...]] = {
    "remark": ("target", "step", "text"),
    "not-measured": ("target", "text"),
    "setup": ("target", "step"),
    "power": ("target", "step"),
}
"""What readers take from an event, beside `time` and `event` that each has."""
FIGURES: Mapping[str, tuple[str, ...]] = {"power": ("joules", "half_width_j", "interval_s")}
"""Numbers of an event, unless it has a `reason` why there are none."""


def append_event(run: Path, event: Mapping[str, object], *, durable: bool = True) -> None:
    """Appends one line with its own checksum; waits for the disk if `durable`."""
    append_line(run / JOURNAL, signed(event), durable=durable)


def read_events(run: Path) -> list[Event]:
    """Returns the events of a run in order; docs/reference/run-directory.md says what each has.

    Damaged lines are left aside (`scan_events` names them), and a last line that a crash cut short is no line.
    """
    return scan_events(run)[0]


def scan_events(run: Path) -> tuple[list[Event], list[Damage]]:
    """Returns the sound events of a run in order, and its damaged lines. Raises OSError where the file cannot
    be read.
    """
    events: list[Event] = []
    damaged: list[Damage] = []
    has_sums = False
    for number, line in _lines(run / JOURNAL):
        event = _parsed(line)
        if event is None or not _is_whole(event) or ((has_sums or OWN in event) and not is_sound(event)):
            damaged.append(Damage(f"{JOURNAL}:{number}", Fault.CHANGED, Substitute.LEFT_OUT))
            continue
        has_sums = OWN in event
        events.append({name: value for name, value in event.items() if name != OWN})
    return events, damaged


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if not path.exists():
        return
    complete = text_of(path, errors="replace").split("\n")[:-1]
    yield from ((number, line) for number, line in enumerate(complete, 1) if line)


def _parsed(line: str) -> Event | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _is_whole(event: Event) -> bool:
    kind = str(event.get("event"))
    texts = [event.get(name) for name in ("time", "event", *TEXTS.get(kind, ()))]
    figures = [] if "reason" in event else [event.get(name) for name in FIGURES.get(kind, ())]
    return all(isinstance(text, str) for text in texts) and all(
        isinstance(one, int | float) for one in figures
    )
