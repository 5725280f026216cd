"""A validity note, and the type of a rule."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from fathom.analysis.run_view import RunView
from fathom.runs.document import NoteRecord

Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Note:
    """One note; without target or step it is about all of them."""

    rule: str
    level: Level
    target: str | None
    step: str | None
    text: str
    next_step: str

    def record(self) -> NoteRecord:
        """Returns the note as run.json keeps it."""
        return NoteRecord(
            rule=self.rule,
            level=self.level,
            target=self.target,
            step=self.step,
            text=self.text,
            next_step=self.next_step,
        )


Rule = Callable[[RunView], Iterable[Note]]
