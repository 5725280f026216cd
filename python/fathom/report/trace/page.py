"""A trace as one offline HTML page."""

from datetime import UTC, datetime
from pathlib import Path

from fathom.output.output_file import write_output
from fathom.report.blocks import Points, Section
from fathom.report.page import page
from fathom.report.style import plain, when
from fathom.report.trace.sections import sections
from fathom.report.trace.words import NS_PER_S, time
from fathom.traces.profile import Profile


def write_page(profile: Profile, out: Path) -> Path:
    """Writes the page to `out` and returns it. Raises the errors of `write_output` if Fathom may not write there."""
    write_output(out, render(profile).encode())
    return out


def render(profile: Profile) -> str:
    """Returns the page as text."""
    built = sections(profile)
    facts = Points(
        [_origin(profile), *(text for section in built for text in section.answer)], shown=len(built) + 1
    )
    summary = Section("summary", "In short", [facts], "Summary")
    return page(plain(profile.name), [], [summary, *built], made_from="a trace")


def _origin(profile: Profile) -> str:
    """Returns the trace's size, its file and when it was recorded."""
    text = f"{profile.ios:,} I/Os over {time(profile.duration_ns)}, read from {plain(profile.name)} ({profile.format})"
    if profile.start_unix_ns is None:
        return f"{text}."
    start = datetime.fromtimestamp(profile.start_unix_ns / NS_PER_S, UTC)
    return f"{text}, recorded from {when(start.isoformat(timespec='seconds'))} on."
