"""Validity notes: what a reader must know before trusting or quoting a figure."""

from collections.abc import Sequence, Set

from fathom.analysis.finding import joined
from fathom.report.blocks import NoteItem, Notes, Prose, Section
from fathom.report.comparison import Comparison
from fathom.report.note_groups import NoteGroup, note_groups
from fathom.report.style import plain
from fathom.runs.document import NoteRecord

ORDER = 60


def build(comparison: Comparison) -> Section | None:
    """Returns the notes of all runs, the gravest first. What is true of several targets is said once."""
    alike: dict[tuple[object, ...], list[NoteGroup]] = {}
    for group in note_groups(comparison):
        said = ((note.rule, note.step, note.text, note.next_step) for note in group.notes)
        alike.setdefault((group.level, *said), []).append(group)
    labels = {column.label for column in comparison.columns}
    notes = [_note(groups, labels) for groups in alike.values()]
    block = Notes(notes) if notes else Prose(["No rule found anything that limits these figures."])
    return Section("notes", "Validity notes", [block], short="Notes")


def _note(groups: Sequence[NoteGroup], labels: Set[str]) -> NoteItem:
    """Returns one sentence per step; one of a single step names it beside its targets. `labels`: every target's.

    The first of many steps stands there, and every other behind a switch.
    """
    first = groups[0]
    several = len(first.shown) > 1
    step = "" if several else first.notes[0].step or ""
    texts = [(_of_step(note) if several else note.text) + first.others for note in first.shown]
    targets = [group.target for group in groups]
    of_all = not first.target or (len(labels) > 1 and labels <= {*targets})
    who = "All targets" if of_all else joined(targets)
    return NoteItem(
        level=first.level,
        where=plain(f"{who}, {step}" if step else who),
        texts=[plain(text) for text in dict.fromkeys(texts)],
        next_step=plain(first.notes[0].next_step),
        more=[plain(_of_step(note)) for note in first.notes[len(first.shown) :]],
    )


def _of_step(note: NoteRecord) -> str:
    return f"{note.step}: {note.text}" if note.step else note.text
