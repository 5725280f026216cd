"""The runs of a team's store: listed from its table of facts, and fetched when a page needs their files."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from fathom.report import style
from fathom.runs.labels import Labels
from fathom.serve.folder import NoRunError
from fathom.serve.index import RunRow, newest_first
from fathom.store.address import Address
from fathom.store.store import UnknownRunError, open_store

MOST_BYTES = 2 << 30
"""Bytes of fetched runs that are kept for the next page, beside those in use."""


class SharedRuns:
    """The runs of a store. It is opened for each answer, so that others can add runs to it meanwhile."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._folder = TemporaryDirectory(prefix="fathom-serve-")
        self._lock = Lock()
        self._in_use: Counter[str] = Counter()
        self._kept: dict[str, int] = {}
        """Bytes of each fetched run, the one that was used last behind the others."""

    def rows(self) -> list[RunRow]:
        """Returns every run, newest first. Raises FathomError where the store cannot be reached."""
        with open_store(self._address) as store:
            facts, labels = store.facts(), store.labels()
        return newest_first(_row(one, labels.get(one["run"], Labels())) for one in facts.to_pylist())

    def stamp(self, names: Sequence[str]) -> Hashable:
        """Returns the names: a run of a store never changes."""
        return tuple(names)

    @contextmanager
    def opened(self, names: Sequence[str]) -> Iterator[list[Path]]:
        """Gives the directories of runs, fetched where they are not here yet. Raises NoRunError for what is no run."""
        with self._lock:
            self._in_use.update(names)
        try:
            yield [self._fetched(name) for name in names]
        finally:
            with self._lock:
                self._in_use.subtract(names)
                self._forget_old()

    def labels(self, name: str) -> Labels:
        """Returns a run's labels; none for what is no run."""
        with open_store(self._address) as store:
            return store.labels().get(name, Labels())

    def label(self, name: str, change: Callable[[Labels], Labels]) -> None:
        """Adds a run's labels to those that it had. Raises NoRunError for what is no run."""
        with open_store(self._address, to_write=True) as store, _known(name):
            store.label(name, change)

    def close(self) -> None:
        """Removes all that was fetched."""
        self._folder.cleanup()

    def _fetched(self, name: str) -> Path:
        """Returns a run's directory. Its files were compared with their checksums when they came."""
        run = Path(self._folder.name, name)
        with self._lock:
            size = self._kept.pop(name, None)
            if size is None:
                with open_store(self._address) as store, _known(name):
                    store.fetch(name, Path(self._folder.name))
                size = sum(path.stat().st_size for path in run.rglob("*"))
            self._kept[name] = size
        return run

    def _forget_old(self) -> None:
        for name in list(self._kept):
            if sum(self._kept.values()) <= MOST_BYTES:
                return
            if not self._in_use[name]:
                del self._kept[name]
                rmtree(Path(self._folder.name, name), ignore_errors=True)


@contextmanager
def _known(name: str) -> Iterator[None]:
    """Turns a name that no run has into the error of pages."""
    try:
        yield
    except UnknownRunError as error:
        raise NoRunError(f"no run {name!r} in the store", "choose one from the list of runs") from error


def _row(facts: Mapping[str, Any], labels: Labels) -> RunRow:
    """Returns the row of a run from its facts in the store."""
    return RunRow(
        facts["run"],
        facts["status"],
        facts["measured"] or facts["created"],
        style.plain(facts["method"]),
        style.plain(facts["title"]),
        tuple(dict.fromkeys(map(style.plain, facts["labels"]))),
        quick=facts["quick"],
        made_by=style.plain(facts["made_by"]),
        labels=labels,
    )
