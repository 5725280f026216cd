"""The pages of a run's twins inside its report: a section with one for each, begun when it is opened."""

from collections.abc import Sequence
from pathlib import Path

from fathom.errors import UsageError
from fathom.report.blocks import Inside, Prose, Section
from fathom.runs.document import RunDocument
from fathom.what_if import twin
from fathom.what_if.page import filled, script_hashes, title_of
from fathom.what_if.played import PREFIX

TWIN = "@twin@"
"""Stands for the twin in pages inside a report, which holds it once."""


def section(runs: Sequence[Path]) -> Section:
    """Returns the section with the page of every single SSD and system among the runs' twins.

    Raises UsageError where there is none: twins of disks and arrays have no page.
    """
    names = dict.fromkeys(target.name for run in runs for target in RunDocument.load(run).targets)
    pages, why = [], "no target is a twin"
    for name in names:
        if not name.startswith(PREFIX):
            continue
        try:
            pages.append((title_of(name), filled(name, Inside.ECHARTS, TWIN)))
        except UsageError as error:
            why = error.message
    if not pages:
        raise UsageError(
            f"--what-if: {why}",
            "it takes runs of single virtual SSDs or systems, such as twin:samsung-pm9a3-7.68tb",
        )
    said = Prose(
        [
            "Each twin with sliders: what it would do with other parts, or under another load. It runs in this page."
        ]
    )
    inside = Inside(pages, {TWIN: twin.in_page()}, script_hashes())
    return Section("what-if", "What if", [said, inside])
