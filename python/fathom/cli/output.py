"""Where a command prints: results to standard output, progress to standard error, documents as JSON."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPED_COLUMNS = 160


def stdout() -> "Console":
    """Returns the standard output; into a file or a pipe tables are as wide as they need to be."""
    from fathom.output.terminal import Terminal

    return Terminal(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS)


def stderr() -> "Console":
    """Returns standard error: for progress, and for text next to a JSON document."""
    from fathom.output.terminal import Terminal

    return Terminal(stderr=True)


def print_json(document: object) -> None:
    """Prints one JSON document on standard output. Raises ValueError for NaN and infinity."""
    import json

    print(json.dumps(document, indent=1, allow_nan=False, default=str))


def one_form(as_json: bool, as_csv: bool) -> None:
    """Refuses --json together with --csv."""
    if as_json and as_csv:
        from fathom.errors import UsageError

        raise UsageError("--json and --csv exclude each other", "give only one")
