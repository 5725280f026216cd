"""A method under construction from another tool's file, and its TOML."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from fathom.method.method import MOST_IN_NAME
from fathom.method.toml_text import Value, table_lines
from fathom.targets.array import PREFIX, member_texts

MOST_KEPT = MOST_IN_NAME - 20
#: Longer lists are read by nobody: of those the first few are named, and how many there are.
_MOST_LISTED = 64
_NAMED = 5


@dataclass
class DraftStep:
    """One step: its own keys, and those of its job."""

    name: str
    keys: dict[str, Value] = field(default_factory=dict)
    job: dict[str, Value] = field(default_factory=dict)
    place: str = ""
    """Where the file says it, as `file:line`."""
    places: Callable[[str], str] | None = None
    """Where the file says a key of the job."""

    def place_of(self, key: str) -> str:
        """Returns where the file says a key of the job, or the step."""
        return self.places(key) if self.places else self.place


@dataclass
class Draft:
    """The steps of a method, the notes on them, and the targets that the file names."""

    source: str
    steps: list[DraftStep] = field(default_factory=list)
    #: Each once, in their order.
    notes: dict[str, None] = field(default_factory=dict[str, None])
    targets: list[str] = field(default_factory=list)
    #: The places of each option that is set aside, each once, in their order.
    _aside: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    _names: set[str] = field(default_factory=set)

    def add(self, step: DraftStep) -> None:
        """Appends a step under a unique name."""
        name = shortened(step.name)
        step.name, count = name, 2
        while step.name in self._names:
            step.name = f"{name}-{count}"
            count += 1
        self._names.add(step.name)
        self.steps.append(step)

    def note(self, text: str) -> None:
        """Adds a note, unless it is there already."""
        self.notes.setdefault(text)

    def set_aside(self, key: str, place: str) -> None:
        """Records an option that only controls the other tool's reports, once per line."""
        self._aside.setdefault(key, {}).setdefault(place)

    def said(self) -> list[str]:
        """Returns all notes, those of one text together. Options set aside share one note at the end."""
        notes = _together(self.notes)
        if not self._aside:
            return notes
        keys = [
            f"{key} ({_listed([place.rpartition(':')[2] for place in places])})"
            for key, places in self._aside.items()
        ]
        file = next(iter(next(iter(self._aside.values())))).rpartition(":")[0]
        return [
            *notes,
            (
                f"{file}: options of the tool's own reports and logs, which a run directory replaces: "
                f"{', '.join(keys)}"
            ),
        ]

    def aim(self, target: str) -> None:
        """Adds a target, unless it is there already."""
        if target not in self.targets:
            self.targets.append(target)

    def to_toml(self, name: str, file: str) -> str:
        """Returns the method file; its comments say where it comes from, what to run it on, and the notes."""
        return "".join(f"{text}\n" for text, _ in self._lines(name, file))

    def place_of(self, line: int, name: str, file: str) -> str:
        """Returns the place in the other tool's file that a line of the method comes from; empty without one."""
        lines = self._lines(name, file)
        return lines[min(line, len(lines)) - 1][1]

    def _lines(self, name: str, file: str) -> list[tuple[str, str]]:
        """Returns the lines of the method, each with the place that it comes from."""
        comments = [f"Imported from {file}.", *self.said()]
        if self.targets:
            comments.append(f"Run it on {' '.join(map(shown_target, self.targets))}")
        head: dict[str, Value] = {"schema": "fathom-method/1", "name": name, "source": self.source}
        lines = [f"# {one}" for comment in comments for one in comment.splitlines()]
        placed = [(line, "") for line in [*lines, "", *(text for _, text in table_lines(head))]]
        for step in self.steps:
            placed += [(line, step.place) for line in ("", "[[steps]]")]
            placed += [(line, step.place) for _, line in table_lines({"name": step.name, **step.keys})]
            if step.job:
                placed.append(("[steps.job]", step.place))
                placed += [(line, step.place_of(key)) for key, line in table_lines(step.job)]
        return placed


def shown_target(target: str) -> str:
    """Returns a target as a shell takes it; a long array as its first members and how many it has."""
    members = member_texts(target)
    if len(members) <= _MOST_LISTED:
        return shlex.quote(target)
    array = PREFIX if target.startswith(PREFIX) else ""
    return f"{array}{','.join(members[:_NAMED])},... ({len(members):,} in all, in the order of the file)"


def _listed(texts: Sequence[str]) -> str:
    if len(texts) <= _MOST_LISTED:
        return ", ".join(texts)
    return f"{', '.join(texts[:_NAMED])} and {len(texts) - _NAMED:,} more"


def _together(notes: Iterable[str]) -> list[str]:
    """Returns notes in their order. Those that differ in their line alone are one, which lists the lines."""
    alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for note in notes:
        found = re.match(r"(.*?):(\d+): ", note)
        alike.setdefault((found[1], note[found.end() :]) if found else ("", note), []).append(
            (note, found[2] if found else "")
        )
    return [
        first if not others else f"{first} (also on line {_listed([line for _, line in others])})"
        for (first, _), *others in alike.values()
    ]


def name_of(text: str, otherwise: str = "job") -> str:
    """Returns a text as the name of a method or step; `otherwise` if no valid character is left."""
    return shortened(re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")) or otherwise


def shortened(name: str) -> str:
    """Returns a name that leaves a method room for a number behind it."""
    return name[:MOST_KEPT].rstrip("-")
