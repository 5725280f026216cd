"""The journal of a run: which file it is, and what stands in it."""

from pathlib import Path

from fathom.runs.files import read_lines

JOURNAL = "journal.jsonl"


def read_journal(run: Path) -> list[dict[str, object]]:
    """The events of a run in order; docs/reference/run-directory.md says what each has.

    Raises FathomError for a damaged line.
    """
    return read_lines(run / JOURNAL)
