"""Imports files of results, few or thousands. Each becomes a run, duplicates one, or is listed with its error."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathom.errors import UsageError
from fathom.results import fio_logs
from fathom.results.as_run import Source, add_run
from fathom.results.formats import READERS, Format, TextFile, format_of
from fathom.results.known import Known
from fathom.results.reading import Unit
from fathom.runs.document import OriginFile
from fathom.runs.home import runs_home
from fathom.runs.whole import WholeRuns

MOST_BYTES = 1 << 28
"""A larger file is refused: it would not fit in memory together with its results."""

AT_ONCE = 64
"""Runs that wait for the disk together."""

Progress = Callable[[int, int], None]
"""Called with the number of measurements done, and of all."""


@dataclass(frozen=True)
class Duplicate:
    """A measurement that a run has already."""

    file: Path
    run: str


@dataclass(frozen=True)
class FailedFile:
    """A file that could not be imported. `why` names the file and what to do."""

    file: Path
    why: str


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
) -> Outcome:
    """Imports files, and all files in folders, into `out` (default: the home of all runs).

    A given format applies to all of them; else each is recognised by its contents. Raises UsageError where there is no
    file, and FathomError where runs cannot be written.
    """
    home = out or runs_home()
    groups = _measurements(_files(paths))
    if not groups:
        raise UsageError("no file to import", "name files of results, or a folder of them")
    known = Known.of(home)
    outcome = Outcome()
    with WholeRuns() as runs:
        for done, group in enumerate(groups):
            progress(done, len(groups))
            _take(group, ReadOptions(format, unit), _Place(home, runs, known), outcome)
            if len(runs) >= AT_ONCE:
                runs.publish()
    if outcome.runs:
        known.save()
    progress(len(groups), len(groups))
    return outcome


@dataclass(frozen=True)
class _Place:
    """Where runs go, those that are being written, and the measurements that are known."""

    home: Path
    runs: WholeRuns
    known: Known


def _take(group: Sequence[Path], chosen: ReadOptions, place: _Place, outcome: Outcome) -> None:
    try:
        read = [_read(path) for path in group]
        key = frozenset(origin.sha256 for _, origin in read)
        if there := place.known.run_of(key):
            outcome.duplicates.append(Duplicate(group[0], there))
            return
        texts = [text for text, _ in read]
        name = chosen.format or format_of(texts[0])
        results = READERS[name].parse(texts, chosen.unit)
        run = add_run(results, Source(name, [origin for _, origin in read]), place.home, place.runs)
    except UsageError as error:
        outcome.bad.append(FailedFile(group[0], str(error)))
        return
    place.known.add(key, run.name)
    outcome.runs.append(run)


def _files(paths: Iterable[Path]) -> list[Path]:
    """Returns the files, those of folders in order of their names; hidden ones only where they are named."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*"))
            found |= dict.fromkeys(one for one in inside if one.is_file() and not one.name.startswith("."))
        else:
            found[path] = None
    return list(found)


def _measurements(files: Iterable[Path]) -> list[list[Path]]:
    """Returns the files of each measurement: the logs of one run of fio are one."""
    groups: dict[tuple[Path, str], list[Path]] = {}
    for path in files:
        series = fio_logs.series_of(path.name)
        groups.setdefault((path.parent, f"log {series}" if series else path.name), []).append(path)
    return list(groups.values())


def _read(path: Path) -> tuple[TextFile, OriginFile]:
    """Reads a file. Raises UsageError if it cannot be read, or is no text."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UsageError(f"{path}: {size >> 20} MiB is too large", f"{MOST_BYTES >> 20} MiB is the limit")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", "name a file of results") from error
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
