"""Imports files of results, few or thousands. Each becomes a run, duplicates one, or is listed with its error.

Workers read the files and write the runs. What depends on the order of the files happens here: which file is a
duplicate, which run takes a name, and what is listed first.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from secrets import token_hex

from fathom.errors import FathomError, UsageError
from fathom.load.workers import InProcess, Workers
from fathom.results import fio_logs
from fathom.results.as_run import Source, write_run
from fathom.results.formats import READERS, Format, TextFile, format_of
from fathom.results.known import Digests, Known, files_of
from fathom.results.reading import Unit
from fathom.runs.document import OriginFile, RunDocument
from fathom.runs.home import runs_home
from fathom.runs.layout import RUN, SWEEP, is_sweep
from fathom.runs.whole import WholeRuns, taken
from fathom.text_file import read_bytes

MOST_BYTES = 1 << 28
"""A larger file is refused: it would not fit in memory together with its results."""

AT_ONCE = 64
"""Runs that wait for the disk together."""

FEW = 256
"""Up to as many measurements are imported sooner than workers would have started."""

MOST_WORKERS = 8
"""More wait for the disk, not for the processor."""

Progress = Callable[[int, int], None]
"""Called with the number of measurements done, and of all."""


@dataclass(frozen=True)
class Duplicate:
    """A measurement that a run has already."""

    file: Path
    run: str


@dataclass(frozen=True)
class FailedFile:
    """A file that could not be imported. `why` names the file and what to do.

    What Fathom itself wrote into a folder is one, with the number of its runs or sweeps.
    """

    file: Path
    why: str
    many: int = 1


class _Own(Enum):
    """Folders that Fathom writes, by the file that marks them. The value is a name for one, and what takes it."""

    RUN = "run", "`fathom report` and `fathom compare` take {them} as {they}"
    SWEEP = "sweep", "`fathom report` and `fathom compare` take the runs in `points`"

    def failed(self, place: Path, folders: Sequence[Path]) -> FailedFile:
        """Returns the error of one or more folders in a place."""
        (one, hint), alone = self.value, len(folders) == 1
        where = folders[0] if alone else place
        what = f"a {one} already" if alone else f"{len(folders)} {one}s already"
        words = hint.format(them="it" if alone else "them", they="it is" if alone else "they are")
        return FailedFile(where, str(UsageError(f"{where}: {what}", words)), len(folders))


@dataclass(frozen=True)
class ReadOptions:
    """How files are read: as one format, or each by its contents; and the unit of latencies without one."""

    format: Format | None
    unit: Unit


@dataclass
class Outcome:
    """The outcome for all files."""

    runs: list[Path] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    bad: list[FailedFile] = field(default_factory=list)


def import_results(
    paths: Sequence[Path],
    format: Format | None = None,
    unit: Unit = Unit.NS,
    out: Path | None = None,
    progress: Progress = lambda done, count: None,
    workers: Workers | None = None,
) -> Outcome:
    """Imports files, and all files in folders, into `out` (default: the home of all runs).

    A given format applies to all of them; else each is recognised by its contents. `workers` take more than a few
    files. Raises UsageError where there is no file, and FathomError where runs cannot be written.
    """
    home = out or runs_home()
    files, own = _files(paths)
    groups = _measurements(files, format)
    if not groups and not own:
        raise UsageError("no file to import", "name files of results, or a folder of them")
    known = Known.of(home)
    with WholeRuns() as runs:
        outcome = Outcome(bad=own)
        queue = _Queue(ReadOptions(format, unit), _Place(home, runs, known), outcome)
        busy = workers if workers and len(groups) > FEW else InProcess()
        for done, group in enumerate(groups):
            progress(done, len(groups))
            queue.put(group, busy)
        queue.finish()
    if queue.outcome.runs:
        known.save()
    progress(len(groups), len(groups))
    return queue.outcome


@dataclass(frozen=True)
class _Place:
    """Where runs go, those that are being written, and the measurements that are known."""

    home: Path
    runs: WholeRuns
    known: Known


@dataclass(frozen=True)
class _Waiting:
    """A measurement in the queue: the digests of its files, and the run that becomes of it, or why there is none."""

    group: Sequence[Path]
    key: Digests
    building: Path
    result: "Future[str | FailedFile] | None"
    """None where files alike are before it in the queue."""


class _Queue:
    """Measurements that workers have, in the order of their files."""

    def __init__(self, chosen: ReadOptions, place: _Place, outcome: Outcome) -> None:
        self._chosen = chosen
        self._place = place
        self.outcome = outcome
        self._waiting: deque[_Waiting] = deque()
        self._busy: set[Digests] = set()

    def put(self, group: Sequence[Path], workers: Workers) -> None:
        """Hands a measurement to a worker unless it is known; takes results when enough wait."""
        try:
            key = frozenset(_read(path)[1].sha256 for path in group)
        except UsageError as error:
            failed: Future[str | FailedFile] = Future()
            failed.set_result(FailedFile(group[0], str(error)))
            self._waiting.append(_Waiting(group, frozenset(), Path(), failed))
            return
        building = self._place.home / f".{token_hex(8)}.new"
        result = None
        if key not in self._busy and not self._place.known.run_of(key):
            self._busy.add(key)
            result = self._submit(group, building, workers)
        self._waiting.append(_Waiting(group, key, building, result))
        while len(self._waiting) > 2 * AT_ONCE:
            self._take()

    def finish(self) -> None:
        """Takes all results that are left."""
        while self._waiting:
            self._take()

    def _submit(self, group: Sequence[Path], building: Path, workers: Workers) -> "Future[str | FailedFile]":
        self._place.runs.begin(building)
        return workers.submit(_written, group, self._chosen, building)

    def _take(self) -> None:
        """Takes the result of the first, once it has one."""
        first = self._waiting.popleft()
        place, outcome = self._place, self.outcome
        if there := place.known.run_of(first.key):
            outcome.duplicates.append(Duplicate(first.group[0], there))
            return
        # Without a result of its own, the files alike before it were bad: this error is to name these.
        result = (first.result or self._submit(first.group, first.building, InProcess())).result()
        self._busy.discard(first.key)
        if isinstance(result, FailedFile):
            outcome.bad.append(result)
            return
        path = place.home / result
        if place.runs.has(path):
            # Another import may have named its run of the same files meanwhile.
            if files_of(path) == first.key:
                outcome.duplicates.append(Duplicate(first.group[0], result))
            else:
                outcome.bad.append(FailedFile(first.group[0], str(taken(path))))
            return
        place.runs.complete(path, first.building)
        place.known.add(first.key, result)
        outcome.runs.append(path)
        if len(place.runs) >= AT_ONCE:
            place.runs.publish()


def _written(group: Sequence[Path], chosen: ReadOptions, building: Path) -> str | FailedFile:
    """Writes the run of a measurement into the folder `building`: returns its id, or why it could not be read."""
    try:
        read = [_read(path) for path in group]
        texts = [text for text, _ in read]
        name = chosen.format or format_of(texts[0])
        results = READERS[name].parse(texts, chosen.unit)
    except UsageError as error:
        return FailedFile(group[0], str(error))
    return write_run(results, Source(name, [origin for _, origin in read]), building)


def _files(paths: Iterable[Path]) -> tuple[list[Path], list[FailedFile]]:
    """Returns the files, those of folders in order of their names, and what Fathom itself wrote into the folders.

    Hidden files count only where they are named.
    """
    found: dict[Path, None] = {}
    seen: dict[Path, _Own] = {}
    failed: list[FailedFile] = []
    for path in paths:
        if not path.is_dir():
            found[path] = None
            continue
        inside = [one for one in sorted(path.rglob("*")) if one.is_file() and not _hidden(one, path)]
        own = {one.parent: kind for one in inside if one.parent not in seen and (kind := _own_kind(one))}
        seen |= own
        found |= dict.fromkeys(one for one in inside if seen.keys().isdisjoint(one.parents))
        for kind in _Own:
            # The runs of a sweep count with it.
            folders = [one for one in own if own[one] is kind and own.keys().isdisjoint(one.parents)]
            failed += [kind.failed(path, folders)] if folders else []
    return list(found), failed


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _own_kind(file: Path) -> _Own | None:
    """Returns what of Fathom's the file marks its folder as."""
    if file.name == RUN:
        try:
            RunDocument.load(file.parent)
        except FathomError:
            return None
        return _Own.RUN
    if file.name == SWEEP:
        return _Own.SWEEP if is_sweep(file.parent) else None
    return None


def _measurements(files: Iterable[Path], named: Format | None) -> list[list[Path]]:
    """Returns the files of each measurement: the logs of one run of fio are one, unless another format is `named`."""
    groups: dict[tuple[Path, str], list[Path]] = {}
    for path in files:
        series = fio_logs.series_of(path.name) if named in (None, Format.FIO_LOGS) else None
        groups.setdefault((path.parent, f"log {series}" if series else path.name), []).append(path)
    return list(groups.values())


def _read(path: Path) -> tuple[TextFile, OriginFile]:
    """Reads a file. Raises UsageError if it cannot be read, or is no text."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UsageError(f"{path}: {size >> 20} MiB is too large", f"{MOST_BYTES >> 20} MiB is the limit")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", "name a file of results") from error
    data = read_bytes(path, "name a file of results")
    if b"\0" in data:
        raise UsageError(f"{path}: not a text file", "name a file of results")
    return text_file(str(path), data), OriginFile(
        name=path.name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()
    )


def text_file(name: str, data: bytes) -> TextFile:
    """Returns the text: UTF-8, or Latin-1 as programs on Windows may write it."""
    try:
        return TextFile(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return TextFile(name, data.decode("latin-1"))
