"""What is kept of runs that have ended, in `.index/` beside them: no list or query opens them again.

A run is taken up when its table of points matches its checksum. Its facts go into a list, its points into a segment
that many runs share. Both count while the run's files have the times, sizes and numbers that they had. Segments never
change. The list says which count and is replaced atomically, so nobody needs a lock. The last list counts; what it
lacks is taken up again. The folder may be removed at any time. Where it cannot be written, every run is opened.
"""

import json
import os
import secrets
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from fathom.columns.schema import TABLES
from fathom.errors import FathomError
from fathom.runs.checksums import FileSum, fault_of
from fathom.runs.document import RunDocument
from fathom.runs.facts import FACTS, Facts, facts_of
from fathom.runs.layout import MANIFEST, RUN, is_run
from fathom.runs.tables import Tables, read_table

FOLDER = ".index"
LIST = "runs.parquet"
POINTS = TABLES["points"].insert(0, pa.field("run", pa.string()))
AT_ONCE = 1000
"""Runs that are taken up before they are written."""
MOST_ROWS = 500_000
"""Rows from which a segment is not written again to take in others."""
GRACE_S = 3600.0
"""How long a segment that no longer counts stays for those that read an earlier list."""
_LISTED = pa.schema([*FACTS, ("stamp", pa.string()), ("segment", pa.string())])
_FORMAT, _SUMS = b"fathom-index", b"fathom-segments"
_FORMAT_NOW = f"1 {POINTS.to_string(show_field_metadata=False)} {_LISTED.to_string()}".encode()
_SUMS_BY_NAME = TypeAdapter(dict[str, FileSum])


@dataclass(frozen=True)
class Index:
    """The runs of a folder as they are now: facts of those that are kept, and segments with their points.

    The `others` must be opened. `sums` are those of the segments.
    """

    facts: pa.Table
    segments: tuple[Path, ...]
    others: tuple[Path, ...]
    sums: Mapping[str, FileSum] = field(default_factory=dict)

    def points(self) -> tuple[list[Path], list[Path]]:
        """Returns the segments with points, and the runs whose points must be read from their own files.

        Those of a damaged segment are among them: it is removed, so that the next look takes them up again.
        """
        whole: list[Path] = []
        lost: list[Path] = []
        for segment in self.segments:
            if _is_whole(segment, self.sums[segment.name]):
                whole.append(segment)
                continue
            kept, _ = _split(self.facts, "segment", {segment.name})
            lost += [segment.parent.parent / name for name in kept["run"].to_pylist()]
        return whole, sorted([*self.others, *lost])


def look(home: Path, *, take_up: bool = True) -> Index:
    """Returns the runs of a folder. Takes up those that are new or changed; without `take_up`, writes nothing."""
    folder = home / FOLDER
    if not home.is_dir():
        return Index(_LISTED.empty_table(), (), ())
    stamps = dict(_stamps(home))
    table, sums = _load(folder)
    kept = dict(zip(table["run"].to_pylist(), table["stamp"].to_pylist(), strict=True))
    gone = {name for name, stamp in kept.items() if stamps.get(name) != stamp}
    new = [name for name, stamp in stamps.items() if stamp and (name in gone or name not in kept)]
    state = _State(folder, table, dict(sums))
    try:
        if not take_up or ((gone or new) and not _can_write(folder)):
            raise PermissionError
        state.drop(gone)
        for start in range(0, len(new), AT_ONCE):
            state.take_up(home, {name: stamps[name] or "" for name in new[start : start + AT_ONCE]})
    except OSError:
        state.leave_out(gone)
    listed = set(state.table["run"].to_pylist())
    others = sorted(home / name for name in stamps if name not in listed)
    return Index(
        state.table, tuple(folder / name for name in sorted(state.sums)), tuple(others), dict(state.sums)
    )


class _State:
    """The list and its segments, changed step by step; each step is on the disk before the next."""

    def __init__(self, folder: Path, table: pa.Table, sums: dict[str, FileSum]) -> None:
        self._folder = folder
        self.table = table
        self.sums = sums

    def drop(self, names: Set[str]) -> None:
        """Writes the segments of those runs again without them."""
        if names:
            self._replace(self._segments_of(names), [], names)

    def take_up(self, home: Path, stamps: Mapping[str, str]) -> None:
        """Adds what can be kept of runs. A segment that has no more runs than the new one is taken into it."""
        found = [(name, one) for name in stamps if (one := _read(home / name))]
        if not found:
            return
        facts = [{**facts, "stamp": stamps[name], "segment": ""} for name, (facts, _) in found]
        sizes = Counter(self.table["segment"].to_pylist())
        rows = {name: _row_count(self._folder / name) for name in sizes}
        many, taken = len(found), set[str]()
        for name, runs in sorted(sizes.items(), key=lambda one: one[1]):
            if runs <= many and rows[name] < MOST_ROWS:
                taken.add(name)
                many += runs
        self._replace(taken, [(row, points) for row, (_, (_, points)) in zip(facts, found, strict=True)])

    def leave_out(self, names: Set[str]) -> None:
        """Forgets the segments of those runs, since they cannot be written again."""
        segments = self._segments_of(names)
        _, self.table = _split(self.table, "segment", segments)
        self.sums = {name: one for name, one in self.sums.items() if name not in segments}

    def _segments_of(self, names: Set[str]) -> set[str]:
        return set(_split(self.table, "run", names)[0]["segment"].to_pylist())

    def _replace(
        self,
        segments: Set[str],
        new: Sequence[tuple[dict[str, object], pa.Table]],
        without: Set[str] = frozenset(),
    ) -> None:
        """Puts new runs and those of some segments, but for the runs `without`, into one new segment.

        Raises OSError where a segment is damaged.
        """
        for name in sorted(segments):
            if not _is_whole(self._folder / name, self.sums[name]):
                raise OSError(f"{self._folder / name} is damaged")
        taken, rest = _split(self.table, "segment", segments)
        _, kept = _split(taken, "run", without)
        points = pa.concat_tables(
            [POINTS.empty_table(), *(_table(self._folder / name) for name in sorted(segments))]
        )
        _, points = _split(points, "run", without)
        points = by_run(pa.concat_tables([points, *(one for _, one in new)]))
        facts = pa.concat_tables([kept, pa.Table.from_pylist([row for row, _ in new], schema=_LISTED)])
        sums = {name: one for name, one in self.sums.items() if name not in segments}
        if facts.num_rows:
            name = f"points-{secrets.token_hex(8)}.parquet"
            _write(self._folder, name, points)
            sums[name] = FileSum.of(self._folder / name)
            column = pa.array([name] * facts.num_rows, pa.string())
            facts = facts.set_column(_LISTED.get_field_index("segment"), "segment", column)
        table = by_run(pa.concat_tables([rest, facts]))
        listed = {one: total.model_dump() for one, total in sums.items()}
        metadata = {_FORMAT: _FORMAT_NOW, _SUMS: json.dumps(listed).encode()}
        _write(self._folder, LIST, table.replace_schema_metadata(metadata))
        self.table, self.sums = table, sums
        _drop_old(self._folder, sums)


def _stamps(home: Path) -> Iterator[tuple[str, str | None]]:
    """Yields the runs of a folder, each with what changes whenever one of its files is written.

    None for a run without manifest or table of points, as one that goes on.
    """
    with os.scandir(home) as found:
        names = [one.name for one in found if not one.name.startswith(".") and one.is_dir()]
    for name in names:
        try:
            stats = [os.lstat(f"{home}/{name}/{file}") for file in (RUN, MANIFEST, "points.parquet")]
        except OSError:
            stats = []
        if stats and all(stat.S_ISREG(one.st_mode) for one in stats):
            yield (
                name,
                " ".join(f"{one.st_mtime_ns},{one.st_ctime_ns},{one.st_size},{one.st_ino}" for one in stats),
            )
        elif is_run(home / name):
            yield name, None


def _read(run: Path) -> tuple[Facts, pa.Table] | None:
    """Returns the facts and points of a run that has ended and whose own table of points is whole; else None."""
    try:
        document = RunDocument.load(run)
        if not (document.has_ended and document.has_sums):
            return None
        tables = Tables(run, document)
        if tables.files("points") != [run / "points.parquet"] or tables.damage:
            return None
        points = read_table(run / "points.parquet")
    except (FathomError, OSError):
        return None
    # A run of another version may have columns that this one does not know.
    if pq.read_schema(run / "points.parquet").remove_metadata() != TABLES["points"].remove_metadata():
        return None
    names = pa.array([run.name] * points.num_rows, pa.string())
    return facts_of(run.name, document, points.num_rows), points.add_column(0, POINTS.field(0), names)


def _load(folder: Path) -> tuple[pa.Table, Mapping[str, FileSum]]:
    """Returns the list and the sums of its segments; empty where it is missing, damaged, or lacks a segment."""
    try:
        table = _table(folder / LIST)
        metadata = table.schema.metadata or {}
        sums = _SUMS_BY_NAME.validate_json(metadata.get(_SUMS, b""))
        sizes = {name: (folder / name).stat().st_size for name in sums}
    except (OSError, pa.ArrowException, ValidationError):
        return _LISTED.empty_table(), {}
    named = set(table["segment"].to_pylist()) if "segment" in table.column_names else None
    same = metadata.get(_FORMAT) == _FORMAT_NOW and named == set(sums)
    if not same or any(one.bytes != sizes[name] for name, one in sums.items()):
        return _LISTED.empty_table(), {}
    return table, sums


def _can_write(folder: Path) -> bool:
    return os.access(folder if folder.exists() else folder.parent, os.W_OK)


def _write(folder: Path, name: str, table: pa.Table) -> None:
    """Writes a file whole or not at all. Raises OSError."""
    if folder.is_symlink():
        raise OSError(f"{folder} is a symbolic link")
    folder.mkdir(exist_ok=True)
    temporary = folder / f".{name}.{secrets.token_hex(4)}.new"
    try:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
        temporary.replace(folder / name)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _drop_old(folder: Path, counted: Iterable[str]) -> None:
    """Removes segments, and what a crash left of some, that have not counted for long."""
    before = time.time() - GRACE_S
    for path in (*folder.glob("points-*.parquet"), *folder.glob(".*.new")):
        with suppress(OSError):
            if path.name not in counted and path.stat().st_mtime < before:
                path.unlink()


def _row_count(segment: Path) -> int:
    """Returns the rows of a segment; 0 of one so damaged that it has no readable end, so that it is taken and found."""
    try:
        return pq.read_metadata(segment).num_rows
    except pa.ArrowException:
        return 0


def _is_whole(segment: Path, listed: FileSum) -> bool:
    """Returns whether a segment is as it was written. A damaged one is removed: the next look takes its runs up."""
    if fault_of(segment, listed) is None:
        return True
    with suppress(OSError):
        segment.unlink()
    return False


def _table(path: Path) -> pa.Table:
    """Reads a file of the index."""
    if path.parent.is_symlink():
        raise OSError(f"{path.parent} is a symbolic link")
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read()


def by_run(table: pa.Table) -> pa.Table:
    """Returns the rows by the name of their run."""
    return _rows(table, np.argsort(np.array(table["run"].to_pylist(), dtype=object), kind="stable"))


def _split(table: pa.Table, column: str, values: Set[str]) -> tuple[pa.Table, pa.Table]:
    """Returns the rows that have one of the values in a column, and the others."""
    found = np.array([value in values for value in table[column].to_pylist()], dtype=bool)
    return _rows(table, np.flatnonzero(found)), _rows(table, np.flatnonzero(~found))


def _rows(table: pa.Table, numbers: NDArray[np.int64]) -> pa.Table:
    """Returns rows by number. From a buffer: `pa.array` loads pandas, where that is installed, which takes a second."""
    data = pa.py_buffer(np.ascontiguousarray(numbers, dtype=np.int64))
    return table.take(pa.Array.from_buffers(pa.int64(), len(numbers), [None, data]))
