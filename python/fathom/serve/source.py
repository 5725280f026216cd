"""Where the server has its runs from: a folder, or a team's store."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from fathom.runs.labels import Labels
from fathom.serve.index import RunRow


class Source(Protocol):
    """Lists runs and opens them. Safe to use from several threads."""

    def rows(self) -> list[RunRow]:
        """Returns every run, newest first. Raises FathomError where they cannot be listed."""
        ...

    def stamp(self, names: Sequence[str]) -> Hashable:
        """Returns what changes when one of the runs does. Raises NoRunError for a name that cannot be a run's."""
        ...

    def opened(self, names: Sequence[str]) -> AbstractContextManager[list[Path]]:
        """Gives directories of runs, which stay as long as the context. Raises NoRunError for what is no run."""
        ...

    def labels(self, name: str) -> Labels:
        """Returns a run's tags and note. Raises NoRunError for what is no run, FathomError for damaged labels."""
        ...

    def label(self, name: str, change: Callable[[Labels], Labels]) -> None:
        """Gives a run the labels that `change` makes of those that it has. Raises FathomError where they cannot be
        written.
        """
        ...

    def close(self) -> None:
        """Removes what was kept for the server alone."""
        ...
