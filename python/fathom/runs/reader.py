"""Reading a run: the document, its four tables, and their hand-over to Arrow, pandas and polars."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from fathom.runs.document import NoteRecord, RunDocument, TargetRecord
from fathom.runs.home import find_run
from fathom.runs.journal import read_journal
from fathom.runs.store import gather, read_table

if TYPE_CHECKING:
    import pandas
    import polars


class Run:
    """One run, read from its directory alone. Tables are Arrow; columns as in `fathom.runs.schema`."""

    def __init__(self, path: Path, *, compacted: bool | None = None) -> None:
        self.path = path
        self.document = RunDocument.load(path)
        self._compacted = self.document.status == "complete" if compacted is None else compacted

    @classmethod
    def open(cls, text: str | Path) -> "Run":
        """The run named by a path, an id, a unique part of an id, or `last`."""
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
        """`points`, `intervals`, `latency` or `telemetry`; of a run still going, what is finished."""
        path = self.path / f"{name}.parquet"
        if not (self._compacted and path.exists()):
            return gather(self.path, name)
        return read_table(path, "remove the file and it is read from the folders of the steps")

    @cached_property
    def points(self) -> pa.Table:
        """One row per (target, measured step, workload, operation)."""
        return self.table("points")

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
        """How the load on real targets was made: target -> aspect -> each way -> the first step made so."""
        found: dict[str, dict[str, dict[str, str]]] = {}
        for event in read_journal(self.path):
            setup = event.get("setup")
            for aspect, way in setup.items() if isinstance(setup, dict) else ():
                ways = found.setdefault(str(event["target"]), {}).setdefault(str(aspect), {})
                ways.setdefault(str(way), str(event["step"]))
        return found

    def to_pandas(self, name: str = "points") -> "pandas.DataFrame":
        """A table as a pandas frame (needs the extra `frames`)."""
        return self.table(name).to_pandas()

    def to_polars(self, name: str = "points") -> "polars.DataFrame":
        """A table as a polars frame (needs the extra `frames`)."""
        import polars

        frame = polars.from_arrow(self.table(name))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __repr__(self) -> str:
        """Short enough for a notebook."""
        return f"<Run {self.id}: {self.document.status}, {len(self.targets)} targets, {self.points.num_rows} points>"
