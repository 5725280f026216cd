"""How a twin is named: `twin:NAME?PARAMETER=VALUE*8/FILE_SYSTEM`."""

import re

TWIN = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*(?:\?[^*#/]*)?)(?:(?P<mark>[*#])(?P<number>[^*#/]*))?(?:/(?P<file_system>.*))?"
)


def twin_name(text: str) -> str | None:
    """Returns `NAME` of `twin:NAME*8/btrfs`, with what changes its parameters; None for other targets."""
    form = TWIN.match(text.removeprefix("twin:"))
    return form["name"] if text.startswith("twin:") and form else None
