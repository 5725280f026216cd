"""A trace as one offline HTML page."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from fathom.output.output_file import write_output
from fathom.report.blocks import Figure, KeyFigure, Points, Section
from fathom.report.html_page import Page
from fathom.report.opening import opened
from fathom.report.style import plain, when
from fathom.report.trace.sections import sections
from fathom.report.trace.words import NS_PER_S, time
from fathom.traces.profile import Profile


def write_page(profile: Profile, out: Path) -> Path:
    """Writes the page to `out` and returns it. Raises the errors of `write_output` if Fathom may not write there."""
    write_output(out, render(profile).encode())
    return out


def render(profile: Profile) -> str:
    """Returns the page as text: it opens with the rates over time."""
    built = sections(profile)
    facts = Points(
        [_origin(profile), *(text for section in built for text in section.answer)], shown=len(built) + 1
    )
    summary = Section("summary", "In short", [facts], "Summary")
    rates, *others = built
    opening, folded = opened([summary, _opening(profile, rates, others), *others])
    return Page(plain(profile.name), folded, opening=opening, made_from="a trace").html()


def _opening(profile: Profile, rates: Section, others: Sequence[Section]) -> Section:
    """Returns the section of the rates with its figure as what the page opens with."""
    [figure, *rest] = rates.blocks
    if not isinstance(figure, Figure):
        return rates
    reasons = [text for section in others[:2] for text in section.answer]
    shown = replace(figure, caption=f"Averages of windows of {time(profile.timeline.width_ns)}.")
    return replace(rates, blocks=rest, key_figure=KeyFigure(rates.answer[0], shown, reasons))


def _origin(profile: Profile) -> str:
    """Returns the trace's size, its file and when it was recorded."""
    text = f"{profile.ios:,} I/Os over {time(profile.duration_ns)}, read from {plain(profile.name)} ({profile.format})"
    if profile.start_unix_ns is None:
        return f"{text}."
    start = datetime.fromtimestamp(profile.start_unix_ns / NS_PER_S, UTC)
    return f"{text}, recorded from {when(start.isoformat(timespec='seconds'))} on."
