"""A trace in the terminal: the sentences of its page; and as the document `fathom-trace-profile/1`."""

from rich.console import Console
from rich.text import Text

from fathom.output.table import flush_table
from fathom.report.style import plain
from fathom.report.trace.sections import sections
from fathom.traces.profile import Profile


def print_profile(console: Console, profile: Profile) -> None:
    """Prints a line for each section: its name, and what it shows."""
    printed = flush_table(edge=False)
    printed.add_column("", no_wrap=True)
    printed.add_column(plain(profile.name), overflow="fold")
    for section in sections(profile):
        printed.add_row(Text(section.short), Text(" ".join(section.answer)))
    console.print(printed)


def profile_json(profile: Profile) -> dict[str, object]:
    """Returns the profile as a document."""
    document: dict[str, object] = {"schema": "fathom-trace-profile/1"}
    return document | profile.model_dump(mode="json")
