"""What the runs of a sweep say against their figures, each said once for all of them."""

from collections.abc import Sequence

from fathom.analysis.validity.of_waf import UNSETTLED_WAF
from fathom.report.style import plain
from fathom.runs.document import NoteRecord, RunDocument
from fathom.sweep.study import Outcome


def doubts(outcomes: Sequence[Outcome]) -> list[str]:
    """Returns a sentence for each rule that a run warns by, as the first run says it, and how many runs do."""
    first: dict[str, NoteRecord] = {}
    many: dict[str, int] = {}
    runs = [outcome.run for outcome in outcomes if not outcome.error]
    for run in runs:
        said = {note.rule: note for note in reversed(RunDocument.load(run).notes) if _counts(note)}
        for rule, note in said.items():
            first.setdefault(rule, note)
            many[rule] = many.get(rule, 0) + 1
    return [
        f"{note.level} in {many[rule]:,} of {len(runs):,} combinations: {plain(note.text)}"
        + (f" → {plain(note.next_step)}" if note.next_step else "")
        for rule, note in first.items()
    ]


def _counts(note: NoteRecord) -> bool:
    """Returns whether a note is a doubt. That a run is shortened is said of the whole sweep.

    A WAF that may still change is one, because tables show the WAF of every step.
    """
    return note.rule == UNSETTLED_WAF or (note.level != "info" and note.rule != "quick-run")
