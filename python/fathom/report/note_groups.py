"""Validity notes of the runs that a report compares, put together by target, rule and step."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.output.text import in_others
from fathom.report.comparison import Comparison, once, run_letter
from fathom.runs.document import NoteRecord

STEPS_MOST = 3
"""Notes of one rule on one target that are shown step by step; of more, the first with how many steps have it."""


@dataclass(frozen=True)
class NoteGroup:
    """Notes that one rule made on one target, at one level, step by step; `step` of each is its name in tables."""

    level: str
    target: str
    notes: Sequence[NoteRecord]

    @property
    def shown(self) -> Sequence[NoteRecord]:
        """The notes of a few steps, or the first of many."""
        many = len(self.notes) > STEPS_MOST and all(note.step for note in self.notes)
        return self.notes[:1] if many else self.notes

    @property
    def others(self) -> str:
        """How many steps have the same with other figures, behind the text of the one shown; empty for none."""
        return in_others("with other figures", len(self.notes) - len(self.shown), "step")


@once
def note_groups(comparison: Comparison) -> list[NoteGroup]:
    """Returns the validity notes of every run, the gravest first; `target` is a label, empty where all are meant.

    Equal notes of a target's repeats are one note, with the figures of the first.
    """
    groups: dict[tuple[str, str, str], dict[tuple[object, ...], list[NoteRecord]]] = {}
    repeats: dict[str, int] = {}
    for place, run in enumerate(comparison.runs):
        before: Counter[tuple[str, str | None, str | None]] = Counter()
        for note in run.document.notes:
            column = comparison.column_of(run, note.target)
            target = (
                comparison.label_of(run, note.target) if note.target else _runs_that_say(comparison, note)
            )
            repeats[target] = column.repeats if column else 1
            step = note.step and run.called(note.step)
            same = (note.rule, note.target, step)
            before[same] += 1
            alike = (column.index if column else (place, note.text), step, before[same])
            own = groups.setdefault((note.level, note.rule, target), {})
            own.setdefault(alike, []).append(note.model_copy(update={"step": step}))
    order = ("error", "warning", "info")
    found = [
        NoteGroup(level, target, [_of_repeats(said, repeats[target]) for said in notes.values()])
        for (level, _, target), notes in groups.items()
    ]
    return sorted(found, key=lambda group: order.index(group.level))


def _runs_that_say(comparison: Comparison, note: NoteRecord) -> str:
    """Returns the letters of the runs with a note on the whole run, where there are several runs."""
    runs = comparison.runs
    letters = [run_letter(place) for place, run in enumerate(runs) if note in run.document.notes]
    return f"Run{'s' if len(letters) > 1 else ''} {', '.join(letters)}" if len(runs) > 1 else ""


def _of_repeats(said: Sequence[NoteRecord], repeats: int) -> NoteRecord:
    """Returns the first of equal notes of repeats. If not all repeats have it, its text says how many do."""
    first = said[0]
    in_all = len(said) == repeats
    same = len({note.text for note in said}) == 1
    if in_all and same:
        return first
    figures = "" if same else ", with the figures of the first of them"
    many = f"all {repeats}" if in_all else f"{len(said)} of {repeats}"
    text = f"{first.text} (in {many} repeats{figures})"
    return first.model_copy(update={"text": text})
