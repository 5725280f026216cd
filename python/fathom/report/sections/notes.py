"""Validity notes: what a reader must know before trusting or quoting a figure."""

from fathom.report.blocks import NoteItem, Notes, Prose, Section
from fathom.report.comparison import Comparison, NoteGroup
from fathom.report.style import plain

ORDER = 60


def build(comparison: Comparison) -> Section | None:
    """Returns the notes of all runs, the gravest first."""
    notes = [_note(group) for group in comparison.notes]
    block = Notes(notes) if notes else Prose(["No rule found anything that limits these figures."])
    return Section("notes", "Validity notes", [block], short="Notes")


def _note(group: NoteGroup) -> NoteItem:
    """Returns one sentence per step; a group of one step names it beside the target."""
    several = len(group.notes) > 1
    step = "" if several else group.notes[0].step or ""
    texts = [f"{note.step}: {note.text}" if several and note.step else note.text for note in group.notes]
    return NoteItem(
        level=group.level,
        where=plain(", ".join(part for part in (group.target or "All targets", step) if part)),
        texts=[plain(text) for text in dict.fromkeys(texts)],
        next_step=plain(group.notes[0].next_step),
    )
