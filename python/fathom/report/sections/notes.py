"""Validity notes: what a reader must know before trusting or quoting a figure."""

from fathom.report.blocks import Note, Notes, Prose, Section
from fathom.report.comparison import Comparison
from fathom.report.style import plain

ORDER = 60


def build(comparison: Comparison) -> Section | None:
    """The notes of all runs, the gravest first."""
    notes = []
    for run, note in comparison.notes:
        label = comparison.label_of(run, note.target)
        where = [label, note.step] if label else ["all targets", note.step]
        text = ", ".join(plain(part) for part in where if part)
        notes.append(Note(note.level, text, plain(note.text), plain(note.next_step)))
    block = Notes(notes) if notes else Prose(["No rule found anything that would limit these figures."])
    return Section("notes", "Validity notes", [block], short="Notes")
