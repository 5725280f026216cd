"""Where the catalogue's files are: those shipped with Fathom, and the user's own laid over them by name.

Knows folders and names only; what a file says is the business of `fathom.catalog.models`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from fathom.errors import UsageError
from fathom.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

Kind = Literal["devices", "systems", "published", "methods"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SUFFIX = ".toml"
PART_LEAST = 3
"""A word of fewer letters is not looked for inside names."""


class CatalogError(UsageError):
    """A catalogue file or name that the user can correct; its text is one line per problem."""

    def __init__(self, *problems: str) -> None:
        """Keep the problems apart, in the order of the file."""
        self.problems = problems
        super().__init__(" | ".join(problems))

    def __str__(self) -> str:
        """Return every problem, a line each."""
        return "\n".join(self.problems)


class UnknownEntryError(CatalogError):
    """No entry of that name; the text gives the nearest names."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the catalogue."""

    kind: Kind
    name: str
    file: Traversable
    shipped: bool
    """False for a file in one of the user's folders."""

    def text(self) -> str:
        """Returns the file, verbatim.

        Raises:
            CatalogError: it cannot be read or is not UTF-8.
        """
        try:
            return (
                read_text(self.file) if isinstance(self.file, Path) else self.file.read_text(encoding="utf-8")
            )
        except (UsageError, OSError, UnicodeDecodeError) as error:
            raise CatalogError(f"{self.file}: cannot be read: {error}") from error


def user_folders() -> list[Path]:
    """Returns the user's folders, the strongest first: `$FATHOM_CATALOG`, then `~/.config/fathom/catalog`, then
    `~/.config/fathom`.
    """
    config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    chosen = os.environ.get("FATHOM_CATALOG")
    folders = [Path(chosen).expanduser()] if chosen else []
    return [*folders, config / "fathom" / "catalog", config / "fathom"]


def entries(kind: Kind) -> list[Entry]:
    """Returns every entry of a kind, by name; a user's file hides a shipped one of the same name."""
    found: dict[str, Entry] = {}
    for folder, is_shipped in reversed(_folders(kind)):
        if folder.is_dir():
            for file in folder.iterdir():
                if file.name.endswith(SUFFIX) and not file.name.startswith("."):
                    name = file.name.removesuffix(SUFFIX)
                    found[name] = Entry(kind, name, file, is_shipped)
    return [found[name] for name in sorted(found)]


def _folders(kind: Kind) -> list[tuple[Traversable, bool]]:
    """Returns the folders of a kind, the strongest first, and whether Fathom comes with it."""
    from importlib.resources import files

    own: list[tuple[Traversable, bool]] = [(folder / kind, False) for folder in user_folders()]
    return [*own, (files("fathom.catalog").joinpath(kind), True)]


def is_shipped(kind: Kind, name: str) -> bool:
    """Returns whether Fathom comes with an entry of that kind and name, whether or not a user's file hides it."""
    from importlib.resources import files

    return files("fathom.catalog").joinpath(kind, name + SUFFIX).is_file()


def find(kind: Kind, name: str) -> Entry:
    """Returns the entry of that kind and name.

    Raises:
        UnknownEntryError: there is none.
    """
    if entry := _unlisted(kind, name):
        return entry
    known = {entry.name: entry for entry in entries(kind)}
    if name not in known:
        noun = {"published": "published results"}.get(kind, kind.removesuffix("s"))
        where = "`fathom methods`" if kind == "methods" else f"`fathom catalog --kind {kind}`"
        raise UnknownEntryError(
            f'no {noun} called "{name}" in the catalogue; {nearest(name, known)}{where} lists all'
        )
    return known[name]


def _unlisted(kind: Kind, name: str) -> Entry | None:
    """Returns the entry without a list of all: a long run asks for the same few names thousands of times."""
    if "/" in name or name.startswith("."):
        return None
    with suppress(OSError):
        for folder, is_shipped in _folders(kind):
            if (file := folder.joinpath(name + SUFFIX)).is_file():
                return Entry(kind, name, file, is_shipped)
    return None


def nearest(word: str, known: Iterable[str], most: int = 3) -> str:
    """Returns `did you mean "x" or "y"? `, or nothing where no known word is near; those that hold the word
    come first.
    """
    from difflib import get_close_matches

    words = list(known)
    holding = [one for one in words if len(word) >= PART_LEAST and word in one]
    near = list(dict.fromkeys([*holding, *get_close_matches(word, words, n=most, cutoff=0.6)]))[:most]
    return "did you mean " + " or ".join(f'"{word}"' for word in near) + "? " if near else ""
