"""Who finds runs by name: the folder of this user's runs, or a store of a team's."""

from pathlib import Path
from typing import Protocol

from fathom.errors import FathomError
from fathom.runs.document import RunDocument
from fathom.runs.home import find_run
from fathom.runs.index import look


class Finder(Protocol):
    """Finds runs for the commands that read them."""

    def find(self, text: str) -> Path:
        """Returns the run of a path, an id, part of an id, or `last`. Raises UsageError for none or several."""
        ...

    def repeats(self, run: Path) -> list[Path]:
        """Returns the run and all others of its series of `--repeats`, oldest first."""
        ...


class LocalRuns:
    """The home of all runs, and runs named by path."""

    def find(self, text: str) -> Path:
        """Returns the run of a name."""
        return find_run(text)

    def repeats(self, run: Path) -> list[Path]:
        """Returns the run and those of its series in the same folder."""
        document = RunDocument.load(run)
        first = document.repeat_of or document.id
        own, home = run.resolve().name, run.resolve().parent
        index = look(home, take_up=False)
        names, firsts = (index.facts[column].to_pylist() for column in ("run", "repeat_of"))
        listed = [name for name, one in zip(names, firsts, strict=True) if first in (name, one)]
        of_method = [one for one in index.others if f"-{document.method.name}-" in one.name]
        opened = [one.name for one in of_method if _first_of(one) == first]
        others = [home / name for name in (*listed, *opened) if name != own]
        return sorted([run, *others], key=lambda one: one.name)


def _first_of(path: Path) -> str | None:
    """Returns the id of the first run of a series; None for a run that cannot be read, and so is no repeat."""
    try:
        document = RunDocument.load(path)
    except FathomError:
        return None
    return document.repeat_of or document.id


LOCAL = LocalRuns()
