"""The list of runs of a folder: a row for each, kept by the time of its files so that a thousand cost little."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias

from fathom.errors import FathomError
from fathom.report import REPORT, style
from fathom.runs.document import RunDocument, Status
from fathom.runs.labels import Labels, change_labels, labels_file, read_labels
from fathom.runs.layout import JOURNAL, MANIFEST, RUN, is_run
from fathom.runs.writer import is_written
from fathom.serve.folder import check_plain, run_at, run_names, stamp_of
from fathom.serve.headline import headline_of

State = Status | Literal["damaged"]
STATES: Sequence[State] = ("running", "complete", "partial", "interrupted", "failed", "killed", "damaged")
AT_ONCE = 100
"""Rows of a page of the list."""
RowStamp: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class RunRow:
    """A run in the list. `problem` is why a damaged run cannot be read; `made_by` is another program, if one was it.

    `headline` is the sentence that its report opens with.
    """

    name: str
    state: State
    created: str = ""
    method: str = ""
    title: str = ""
    targets: tuple[str, ...] = ()
    quick: bool = False
    made_by: str = ""
    headline: str = ""
    problem: str = ""
    labels: Labels = field(default_factory=Labels)

    @property
    def has_report(self) -> bool:
        """Whether a report can be made: the run can be read, and no process writes it."""
        return self.state not in ("running", "damaged")

    @property
    def words(self) -> str:
        """All that a search looks through, folded."""
        kept = (
            self.name,
            self.method,
            self.title,
            *self.targets,
            self.made_by,
            *self.labels.tags,
            self.labels.note,
        )
        return " ".join(kept).casefold()


@dataclass(frozen=True)
class Filters:
    """What a reader asks the list for; empty texts ask for everything."""

    search: str = ""
    method: str = ""
    target: str = ""
    state: str = ""
    tag: str = ""

    @property
    def is_set(self) -> bool:
        """Whether anything is left out."""
        return self != Filters()

    def keeps(self, row: RunRow) -> bool:
        """Returns whether a row is asked for."""
        words = row.words
        return (
            all(word in words for word in self.search.casefold().split())
            and self.method in ("", row.method)
            and (not self.target or self.target in row.targets)
            and self.state in ("", row.state)
            and (not self.tag or self.tag in row.labels.tags)
        )


class RunIndex:
    """All runs of a folder. Safe to use from several threads."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._lock = Lock()
        self._kept: dict[str, tuple[RowStamp, RunRow]] = {}

    def rows(self) -> list[RunRow]:
        """Returns every run, newest first; those that go on before all others."""
        with self._lock:
            found = {name: self._row(name) for name in run_names(self.home)}
            self._kept = {name: kept for name, kept in found.items() if kept is not None}
            rows = [row for _, row in self._kept.values()]
        return newest_first(rows)

    def stamp(self, names: Sequence[str]) -> Hashable:
        """Returns what changes when one of the runs is written to. Raises FathomError as `run_at`."""
        runs = [run_at(self.home, name) for name in names]
        return tuple(
            (run.name, file, stamp_of(run / file)) for run in runs for file in (RUN, JOURNAL, MANIFEST)
        )

    @contextmanager
    def opened(self, names: Sequence[str]) -> Iterator[list[Path]]:
        """Gives the directories of runs. Raises FathomError as `run_at`."""
        yield [run_at(self.home, name) for name in names]

    def labels(self, name: str) -> Labels:
        """Returns a run's labels. Raises FathomError as `run_at`, and for a damaged file."""
        return read_labels(run_at(self.home, name))

    def label(self, name: str, change: Callable[[Labels], Labels]) -> None:
        """Replaces a run's labels. Raises FathomError as `run_at`, and where they cannot be written."""
        change_labels(run_at(self.home, name), change, anew=True)

    def close(self) -> None:
        """Does nothing: the folder stays as it is."""

    def _row(self, name: str) -> tuple[RowStamp, RunRow] | None:
        """Returns a run's row with the stamp that it holds for; None for a folder that is none."""
        run = self.home / name
        stamp = _stamp(run)
        kept = self._kept.get(name)
        if kept and kept[0] == stamp:
            return kept
        with suppress(OSError):
            if is_run(run):
                return stamp, _read(run)
        return None


def _stamp(run: Path) -> RowStamp:
    """Returns what changes whenever a row does: times and sizes of files, and whether a process writes the run."""
    files = (run / RUN, run / MANIFEST, run / REPORT, labels_file(run))
    ended = (run / MANIFEST).exists()
    return (*map(stamp_of, files), not ended and _is_regular(run / JOURNAL) and is_written(run))


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _read(run: Path) -> RunRow:
    try:
        check_plain(run)
        document = RunDocument.load(run)
    except (FathomError, OSError) as error:
        return _labelled(RunRow(run.name, "damaged", problem=style.plain(str(error))), run)
    own = [target for target in document.targets if target.part_of is None]
    row = RunRow(
        run.name,
        document.status,
        document.measured or document.created,
        style.plain(document.method.name),
        style.plain(document.method.title),
        tuple(dict.fromkeys(style.plain(target.label) for target in own)),
        quick=document.quick is not None,
        made_by=style.plain(document.maker),
        headline=headline_of(run),
    )
    return _labelled(row, run)


def _labelled(row: RunRow, run: Path) -> RunRow:
    """Returns the row with the run's labels; damaged ones are shown on the run's own page."""
    with suppress(FathomError):
        return replace(row, labels=read_labels(run))
    return row


def newest_first(rows: Iterable[RunRow]) -> list[RunRow]:
    """Returns rows in the order of the list: those that go on before all others."""
    return sorted(rows, key=lambda row: (row.state == "running", row.created, row.name), reverse=True)


def choices(rows: Iterable[RunRow], of: Callable[[RunRow], Iterable[str]]) -> list[str]:
    """Returns the values that rows have, each once, in order."""
    return sorted({value for row in rows for value in of(row) if value}, key=str.casefold)
