"""Reads a run: the document, its tables, and their conversion to Arrow, pandas and polars."""

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from fathom.columns.schema import TABLES
from fathom.errors import MissingPackagesError, UnverifiedWarning
from fathom.output import html
from fathom.runs.damage import Damage, warn_of
from fathom.runs.document import NoteRecord, RunDocument, TargetRecord
from fathom.runs.event_log import Event
from fathom.runs.gpu import Gpu, gpu_in
from fathom.runs.home import find_run
from fathom.runs.tables import Tables

if TYPE_CHECKING:
    import pandas
    import polars

SHOWN = ("target", "step", "op", "iops", "mbps", "mean_us", "p50_us", "p99_us", "p999_us", "n")
"""Columns of points that a notebook shows."""
REPAIR = "list all damage with `fathom check RUN`; --repair restores what it can"


class Run:
    """One run, read from its directory alone. Tables are Arrow; columns as in `fathom.columns.schema`."""

    def __init__(self, path: Path, *, just_written: bool = False) -> None:
        """Opens a run and compares what it reads with its checksums.

        What is damaged is a `DamageWarning` and a note; the figures come from what is whole. Raises FathomError where
        run.json is damaged. `just_written` is for the writer: it reads its own tables as they are.
        """
        self.path = path
        self.document = RunDocument.load(path)
        self._tables = Tables(path, self.document, "own" if just_written else "whole")
        self._events = self._tables.check_events()
        if just_written:
            return
        for name in TABLES:
            self._tables.files(name)
        warn_of(path, self.damage)
        self.document.notes += [
            NoteRecord(rule="damaged-run", level="error", text=str(one), next_step=REPAIR)
            for one in self.damage
        ]
        if self.document.has_ended and not self.document.has_sums:
            text = f"run {path.name} has no checksums, like runs of earlier versions: damage may go unnoticed"
            warnings.warn(text, UnverifiedWarning, stacklevel=2)

    @classmethod
    def open(cls, text: str | Path) -> "Run":
        """Returns the run named by a path, an id, a unique part of an id, or `last`."""
        return cls(text if isinstance(text, Path) else find_run(text))

    @property
    def id(self) -> str:
        """The run's id."""
        return self.document.id

    @property
    def targets(self) -> list[TargetRecord]:
        """The targets in the order given."""
        return self.document.targets

    @property
    def notes(self) -> list[NoteRecord]:
        """Validity notes."""
        return self.document.notes

    def table(self, name: str) -> pa.Table:
        """Returns a table by its name, such as `points`; of a run still going, what is finished.

        Raises KeyError for another name.
        """
        if name not in TABLES:
            raise KeyError(f"a run has no table {name!r}; it has {', '.join(TABLES)}")
        return self._tables.read(name)

    def parts(
        self, name: str, columns: Sequence[str] | None = None, *, coded: bool = False
    ) -> Iterator[pa.Table]:
        """Yields a table, or some of its columns, in parts, as `table` has it, so that a long run never fills the
        memory. `coded` has texts as numbers and a dictionary, which is read sooner.
        """
        yield from self._tables.parts(name, columns, coded=coded)

    def files(self, name: str) -> list[Path]:
        """Returns the Parquet files that hold a table, each whole."""
        return self._tables.files(name)

    @property
    def damage(self) -> list[Damage]:
        """Damage found so far, in the files that were read; `fathom check` reads all files."""
        return self._tables.damage

    @property
    def events(self) -> list[Event]:
        """The journal, without damaged lines."""
        return self._events

    @cached_property
    def points(self) -> pa.Table:
        """One row per (target, measured step, workload, operation)."""
        return self.table("points")

    @cached_property
    def streams(self) -> pa.Table:
        """One row per (target, measured step, stream, operation) of several workloads at once."""
        return self.table("streams")

    @cached_property
    def phases(self) -> pa.Table:
        """One row per (target, measured step, stream, phase, operation) of a replayed trace."""
        return self.table("phases")

    @cached_property
    def intervals(self) -> pa.Table:
        """One row per (target, step, operation, second)."""
        return self.table("intervals")

    @cached_property
    def latency(self) -> pa.Table:
        """One row per occupied histogram bin per second."""
        return self.table("latency")

    @cached_property
    def telemetry(self) -> pa.Table:
        """Named values over time."""
        return self.table("telemetry")

    @cached_property
    def setups(self) -> dict[str, dict[str, dict[str, str]]]:
        """How real targets were loaded: target -> aspect -> setting -> the first step with it."""
        found: dict[str, dict[str, dict[str, str]]] = {}
        for event in self.events:
            setup = event.get("setup")
            for aspect, way in setup.items() if isinstance(setup, dict) else ():
                ways = found.setdefault(str(event["target"]), {}).setdefault(str(aspect), {})
                ways.setdefault(str(way), str(event["step"]))
        return found

    @cached_property
    def gpus(self) -> dict[str, Gpu]:
        """The GPU in which a target's reads ended: target -> what its first step with one reports."""
        found: dict[str, Gpu] = {}
        for event in self.events:
            gpu = gpu_in(event) if event["event"] == "setup" else None
            if gpu is not None:
                found.setdefault(str(event["target"]), gpu)
        return found

    def to_pandas(self, name: str = "points") -> "pandas.DataFrame":
        """Returns a table as a pandas frame (needs the extra `frames`)."""
        if find_spec("pandas") is None:
            raise MissingPackagesError("a pandas frame needs pandas, which is not installed", "frames")
        return self.table(name).to_pandas()

    def to_polars(self, name: str = "points") -> "polars.DataFrame":
        """Returns a table as a polars frame (needs the extra `frames`)."""
        if find_spec("polars") is None:
            raise MissingPackagesError("a polars frame needs polars, which is not installed", "frames")
        import polars

        frame = polars.from_arrow(self.table(name))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def _repr_html_(self) -> str:
        """Returns the points as a table, for notebooks."""
        rows = self.points.select(list(SHOWN)).to_pylist()
        return html.table(repr(self), SHOWN, [tuple(row.values()) for row in rows])

    def __repr__(self) -> str:
        """Short enough for a notebook."""
        targets, points = len(self.targets), self.points.num_rows
        counts = f"{targets} target{'s' * (targets != 1)}, {points} point{'s' * (points != 1)}"
        return f"<Run {self.id}: {self.document.status}, {counts}>"
