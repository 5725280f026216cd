"""The sentence that a run's report opens with, from the head of the report beside its files."""

from html.parser import HTMLParser
from pathlib import Path

from fathom.report import REPORT, style

HEAD_BYTES = 4096
"""The sentence stands within them: the first lines of a page have its policy, and then what it is about."""


def headline_of(run: Path) -> str:
    """Returns the sentence of the run's own report; empty where there is none, or one of an earlier version.

    The report may be anybody's file: what it says is text and nothing else.
    """
    try:
        with (run / REPORT).open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return ""
    found = _Description()
    found.feed(head.decode(errors="replace"))
    return style.plain(found.text)


class _Description(HTMLParser):
    """Keeps the description that a page gives of itself."""

    text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes the first description among the page's metadata."""
        if tag == "meta" and ("name", "description") in attrs and not self.text:
            self.text = next((value or "" for name, value in attrs if name == "content"), "")
