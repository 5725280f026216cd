"""The report of runs: what their page opens with, what it says of each run, and where it is written."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from fathom.analysis.finding import joined
from fathom.output.output_file import check_output, write_output
from fathom.report import sections, style
from fathom.report.blocks import Group, Item, Row, Section, Table
from fathom.report.built import Built, build
from fathom.report.comparison import Comparison, run_letter
from fathom.report.data import RunData
from fathom.report.findings import caveats
from fathom.report.html_page import Page
from fathom.report.method_answers import method_answers, short_titles
from fathom.report.opening import Opening, opened, unopened
from fathom.report.published import Lookup, catalogue
from fathom.sizing.files import Prices

REPORT = "report.html"
"""What a report is called in the folder of its run."""

MOST_SOURCES = 3
SHORT = ("notes", "provenance")
"""Sections of the short edition, behind the opening."""


class Edition(StrEnum):
    """How much a page holds: everything, or what is printed and handed on."""

    FULL = "full"
    SHORT = "short"


STATUS = {
    "running": "This run is still going on.",
    "killed": "This run was killed: no process writes it.",
    "partial": "A host was lost in this run.",
    "interrupted": "This run was interrupted.",
    "failed": "This run failed.",
}


def write_html(
    runs: Sequence[Path],
    out: Path,
    lookup: Lookup = catalogue,
    prices: Prices | None = None,
    *,
    pool: bool = False,
    edition: Edition = Edition.FULL,
    further: Sequence[Section] = (),
) -> Path:
    """Writes the report of one or more run directories to `out` and returns it. `prices` and `pool` are those of
    `compare`, `further` those of `render`.

    Raises FathomError when a run cannot be read, and what `write_output` raises where `out` is not Fathom's to write.
    """
    check_place(out, runs)
    return write_built(build(runs, lookup, prices, pool=pool), out, edition, further)


def check_place(out: Path, runs: Sequence[Path]) -> None:
    """Raises what `write_html` raises where `out` is not Fathom's to write, before anything is read."""
    check_output(out, of_a_run=_is_of_a_run(out, runs))


def write_built(
    built: Built, out: Path, edition: Edition = Edition.FULL, further: Sequence[Section] = ()
) -> Path:
    """Writes as `write_html` what is built already."""
    page = _rendered(built.comparison, built.sections, edition, further=further)
    write_output(out, page.encode(), of_a_run=_is_of_a_run(out, built.runs))
    return out


def _is_of_a_run(out: Path, runs: Sequence[Path]) -> bool:
    return out.parent in runs and out.name == REPORT


def render(
    comparison: Comparison,
    edition: Edition = Edition.FULL,
    site: Sequence[tuple[str, str]] = (),
    further: Sequence[Section] = (),
) -> str:
    """Returns the page of runs as text; `site` is that of `Page`. `further` sections stand behind all others."""
    return _rendered(comparison, sections.build_all(comparison), edition, site, further)


def _rendered(
    comparison: Comparison,
    all_sections: Sequence[Section],
    edition: Edition,
    site: Sequence[tuple[str, str]] = (),
    further: Sequence[Section] = (),
) -> str:
    headers = [_header(comparison, places) for places in _together(comparison)]
    opening, built = _opened(comparison, all_sections)
    if edition is Edition.SHORT:
        built = [section for section in built if section.key in SHORT]
    built = [*built, *further]
    targets = [(column.label, column.short) for column in comparison.columns]
    return Page(
        _title(comparison),
        built,
        opening=opening,
        headers=headers,
        shortened=comparison.shortenings,
        targets=targets,
        source=_source(comparison),
        site=site,
    ).html()


def _opened(comparison: Comparison, built: Sequence[Section]) -> tuple[Opening | None, list[Section]]:
    """Returns the opening and the sections below it. Runs of several methods open with an answer for each."""
    said = caveats(comparison)
    if answers := method_answers(comparison):
        rows = [Row(Item(one.method, one.where), [Item(one.sentence, one.caveat)]) for one in answers]
        table = Table("Method", [Item("Answer")], [Group("", rows)], numeric=False)
        sentence = f"Each of the {len(answers)} methods has its own answer."
        return Opening(sentence, table, said), unopened(built)
    return opened(built, said, comparison.key_figure)


def _title(comparison: Comparison) -> str:
    titles = dict.fromkeys(style.plain(run.document.method.title) for run in comparison.runs)
    return next(iter(titles)) if len(titles) == 1 else joined([*short_titles(comparison.runs).values()])


def _together(comparison: Comparison) -> list[list[int]]:
    """Returns the runs' positions, in groups that are repeats of each other on every target."""
    found: dict[tuple[object, ...], list[int]] = {}
    for place, run in enumerate(comparison.runs):
        columns = [column for column in comparison.columns if column.is_of(run)]
        pooled = columns and all(column.repeats > 1 for column in columns)
        key = (run.document.method.name, *(c.index for c in columns)) if pooled else (place,)
        found.setdefault(key, []).append(place)
    return list(found.values())


def _header(comparison: Comparison, places: Sequence[int]) -> dict[str, object]:
    """Returns the header of a run, or of runs that are repeats. It names how a run ended, unless it ended well."""
    runs = [comparison.runs[place] for place in places]
    run = next((one for one in runs if one.document.status in STATUS), runs[0])
    document = run.document
    summary = document.method.parsed.get("summary")
    return {
        "letter": ", ".join(map(run_letter, places)) if len(comparison.runs) > 1 else "",
        "ids": [(style.plain(one.document.id), _made(one)) for one in runs],
        "created": style.when(runs[0].document.measured or "not recorded"),
        "took": _took(runs),
        "status": STATUS.get(document.status, ""),
        "error": style.plain(document.error or ""),
        "method": style.plain(document.method.name),
        "source": style.plain(document.method.source),
        "summary": style.plain(summary) if isinstance(summary, str) else "",
        "targets": [c.label for c in comparison.columns if c.is_of(run)],
        "resume": "" if document.status == "running" else style.plain(document.id),
    }


def _made(run: RunData) -> str:
    """Returns the seed and the version of Fathom; for a run of another program, which that is."""
    document = run.document
    if document.origin:
        return f"{document.made} by {style.plain(document.origin.title)}, elsewhere"
    return f"seed {document.seed}, fathom {document.versions.get('fathom', '')}"


def _took(runs: Sequence[RunData]) -> str:
    from datetime import datetime

    ends = [(run.document.created, run.document.finished) for run in runs]
    lengths_s = [
        (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
        for start, end in ends
        if end is not None
    ]
    if len(lengths_s) < len(runs):
        return ""
    return style.seconds(sum(lengths_s)) + (" together" if len(runs) > 1 else "")


def _source(comparison: Comparison) -> str:
    """Returns run, date and version, as figures carry them into other documents."""
    said = [
        f"run {style.plain(run.document.id)}, {style.when(run.document.measured or 'date not recorded')}, {_made(run)}"
        for run in comparison.runs[:MOST_SOURCES]
    ]
    more = len(comparison.runs) - len(said)
    return "; ".join(said) + (f"; and {more} more" if more else "")
