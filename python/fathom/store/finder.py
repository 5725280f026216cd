"""Finds runs in a store by name, and brings them to where the other commands read them."""

from collections.abc import Sequence
from pathlib import Path

from fathom.runs.document import RunDocument
from fathom.runs.finder import LOCAL
from fathom.runs.home import Place, check_named, chosen
from fathom.runs.layout import is_run
from fathom.store.store import Store


def place_of(store: Store) -> Place:
    """Returns a store as a place of runs."""
    where = store.address.text
    return Place(
        f"the store {where}",
        f"`fathom store add RUN --store {where}` adds the first",
        f"`fathom runs --store {where}` lists the runs",
    )


class StoreRuns:
    """The runs of a store. A run named by a path is read from there, so that it can be compared with them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, text: str) -> Path:
        """Returns the run of a name, fetched."""
        check_named(text)
        if is_run(Path(text)):
            return Path(text)
        names: Sequence[str] = self._store.runs_table()["run"].to_pylist()
        return self._store.fetch(chosen(text, names, place_of(self._store)))

    def repeats(self, run: Path) -> list[Path]:
        """Returns the run and those of its series in the store; of a run that is not there, those beside it."""
        document = RunDocument.load(run)
        first = document.repeat_of or document.id
        table = self._store.runs_table()
        if document.id not in table["run"].to_pylist():
            return LOCAL.repeats(run)
        series = [row["run"] for row in table.to_pylist() if first in (row["run"], row["repeat_of"])]
        others = [name for name in series if name != document.id]
        return sorted([run, *map(self._store.fetch, others)], key=lambda one: one.name)
