"""Makes texts safe to print: they steer neither the terminal nor a spreadsheet.

Texts come from outside: models, serials, labels, hosts, files, errors, methods, queries. `cleaned_streams` takes
control characters out of all that is written to the standard streams, whoever writes it.
`fathom.output.terminal` draws past it.
"""

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO, cast

REPLACEMENT = "�"
_STEERING = re.compile(
    r"\r(?!\n)|"
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 without tab and ends of lines, DEL, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of writing
    r"\u2028\u2029"  # ends of lines that are none to most programs
    r"\ud800-\udfff]"  # bytes of names that are no UTF-8
)
_FORMULA = tuple("=+-@\t")
"""With any of these a spreadsheet begins to calculate (OWASP, CSV injection)."""


def printable(text: str) -> str:
    """Returns a text with every character replaced that steers a terminal, or turns its letters round."""
    return _STEERING.sub(REPLACEMENT, text)


class Cleaned:
    """A stream whose texts lose their control characters."""

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath

    def write(self, text: str) -> int:
        """Writes the text as it may be printed."""
        self.beneath.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes each line as it may be printed."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        """Everything else is the stream's own."""
        return getattr(self.beneath, name)


@contextmanager
def cleaned_streams() -> Iterator[None]:
    """Takes control characters out of all that is written to standard output and standard error.

    A letter that the streams' encoding lacks becomes a question mark.
    """
    before = sys.stdout, sys.stderr
    for stream in before:
        # A stream that was put on another file since it was made may refuse.
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):
                stream.reconfigure(errors="replace")
    sys.stdout, sys.stderr = (cast(TextIO, Cleaned(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def csv_text(names: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Returns a table as CSV, with no text that is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (names, *rows):
        writer.writerow([cell_text(value) if isinstance(value, str) else value for value in row])
    return out.getvalue()


def cell_text(text: str) -> str:
    """Returns a text as a cell of a table may have it: printable, with an apostrophe in front of what would be a
    formula.
    """
    text = printable(text)
    return f"'{text}" if text.startswith(_FORMULA) else text
