"""What a report needs from a run directory, read once. It computes nothing that a page shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import JsonValue

from fathom._core import Job
from fathom.analysis.interval_sums import COLUMNS, IntervalSums
from fathom.columns.schema import TABLES, MemberOfOp, PhaseOfOp, Point, Stream
from fathom.errors import FathomError
from fathom.method.curve import Curve, CurveJson, is_point, parse_curve
from fathom.method.job import job_of
from fathom.method.rounds import Round, RoundJson, parse_round
from fathom.method.step_names import Steps, called
from fathom.report.rows import Busy, OpOfStep, Seconds, Share, StepOfTarget, StepRecord, as_shown
from fathom.report.series import (
    BINS,
    INTERVALS,
    READINGS,
    Rates,
    Readings,
    histograms_of,
    rates_of,
    readings_of,
)
from fathom.report.together import together_us
from fathom.runs.document import RunDocument
from fathom.runs.reader import Run
from fathom.statistics.failed import failed_share, is_withheld
from fathom.statistics.percentiles import Histogram, Parts, intervals_us
from fathom.statistics.series import Floats

T = TypeVar("T")
Bounds = Mapping[str, tuple[float, float]]
Rows = Floats
"""An array of three columns, a row for each stretch of time."""
NO_ROWS = np.zeros((0, 3))
UTILISATION = "utilisation: "
"""How telemetry names the use of a resource."""
TIME_IN = "time in: "
"""How telemetry names the mean time of an I/O in a part of a system."""
OF = " of: "
IOPS_OF, MEAN_OF, HOST_OF, MEDIA_OF = "iops of: ", "mean of: ", "host writes of: ", "media writes of: "
"""How telemetry names figures of a part: rate and mean latency of a member of a system, as `iops of: port 1`. For a
namespace: the bytes that it wrote, and those programmed for it.
"""
WRITTEN = """
    with media as (
        select step, start_s, sum(value) as media, min(ordinal) as place from rows
        where name = 'media_write_bytes' and target = $target[1] group by all),
    counted as (
        select step, start_s, sum(value) as host from rows
        where name = 'host_write_bytes' and target = $target[1] group by all),
    kinds as (select step, any_value(kind) as kind from by_host group by all),
    amounts as (
        select step, kinds.kind, start_s, coalesce(counted.host, by_host.host)::double as host, media::double as media,
            place from media
        join kinds using (step) left join counted using (step, start_s) left join by_host using (step, start_s)
        where coalesce(counted.host, by_host.host) > 0)
    select step, any_value(kind) as kind, list(start_s order by place) as start_s, list(host order by place) as host,
        list(media order by place) as media from amounts group by step order by min(place)
"""
"""Bytes of a target that host and media took, by interval. A real drive's logs count both, in seconds of their own."""


@dataclass(frozen=True)
class RunData:
    """One run. Everything but the document and the points is read when first asked for."""

    run: Run
    points: Sequence[Point]

    @property
    def document(self) -> RunDocument:
        """run.json."""
        return self.run.document

    @property
    def key_figure(self) -> str | None:
        """The key figure that its method declares; None where it declares none, as in runs of earlier versions."""
        declared = self.document.method.parsed.get("key_figure")
        return declared if isinstance(declared, str) else None

    def asks_for(self, figure: str, method: str) -> bool:
        """Returns whether the method declares a key figure; without a declaration, whether it is the built-in one."""
        return self.key_figure == figure or (self.key_figure is None and self.document.method.name == method)

    @property
    def repeats(self) -> "Sequence[RunData]":
        """The runs that its figures pool: itself alone, unless several are pooled (`fathom.report.repeats`)."""
        return (self,)

    @cached_property
    def raw_steps(self) -> dict[str, JsonValue]:
        """The method's steps in normal form by name, in order."""
        parsed = self.document.method.parsed.get("steps")
        steps = parsed if isinstance(parsed, list) else []
        return {str(step["name"]): step for step in steps if isinstance(step, dict)}

    @cached_property
    def steps(self) -> dict[str, StepRecord]:
        """The method's steps by name, in order; a step that the method lacks has what its points say."""
        without_place = {
            p.step: StepRecord(
                p.step, "point" if is_point(p.step) else "measure", p.workload, p.workload, None
            )
            for p in self.points
        }
        return without_place | {
            name: _step(entry) for name, entry in self.raw_steps.items() if isinstance(entry, dict)
        }

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """The job of every step by name."""
        return {
            name: job_of(entry, "run.json")
            for name, entry in self.raw_steps.items()
            if isinstance(entry, dict) and "job" in entry
        }

    @cached_property
    def interval_sums(self) -> IntervalSums:
        """Sums and rates of the intervals of every step."""
        return IntervalSums.of(self.run.parts("intervals", COLUMNS, coded=True))

    def curve(self, step: str) -> Curve | None:
        """Returns what follows the maximum of a curve; None for a step that is no curve."""
        entry = self.raw_steps.get(step)
        curve = entry.get("curve") if isinstance(entry, dict) else None
        return parse_curve(cast(CurveJson, curve)) if curve else None

    def called(self, step: str) -> str:
        """Returns what a step is called in tables (`fathom.method.step_names`)."""
        return called(step, cast("Steps", self.raw_steps))

    def percentile(self, step: str) -> float | None:
        """Returns the highest percentile, 0..1, that the step is made to resolve; None where the method gives none."""
        entry = self.raw_steps.get(step)
        told = entry.get("percentile") if isinstance(entry, dict) else None
        return told if isinstance(told, float) else None

    def round_of(self, step: str) -> Round | None:
        """Returns the step's place in rounds; None for a step that is run once."""
        entry = self.raw_steps.get(step)
        place = entry.get("round") if isinstance(entry, dict) else None
        return parse_round(cast(RoundJson, place)) if place else None

    def seconds(self, target: str) -> Mapping[str, Seconds]:
        """Returns intervals of every step of a target, steps in order of execution."""
        return self._intervals.seconds.get(target, {})

    @cached_property
    def streams(self) -> list[Stream]:
        """Rows of the streams of measured steps; empty for jobs of one workload."""
        names = [field.name for field in fields(Stream)]
        rows = self.run.table("streams").select(names).to_pylist()
        return [Stream(**row) for row in rows if not is_withheld(row["failed_share"])]

    @cached_property
    def phases(self) -> list[PhaseOfOp]:
        """Rows of the phases of replayed traces; empty in runs of earlier versions."""
        names = [field.name for field in fields(PhaseOfOp)]
        return [PhaseOfOp(**row) for row in self.run.table("phases").select(names).to_pylist()]

    @cached_property
    def ensemble(self) -> dict[StepOfTarget, list[list[MemberOfOp]]]:
        """Rows of members of ensembles: for each member its operations; empty where none ran."""
        found: dict[StepOfTarget, dict[int, list[MemberOfOp]]] = {}
        for row in (MemberOfOp(**row) for row in self.run.table("ensemble").to_pylist()):
            found.setdefault(StepOfTarget(row.target, row.step), {}).setdefault(row.member, []).append(row)
        return {key: list(own.values()) for key, own in found.items()}

    def written(self, target: str, kinds: Sequence[str] = ("measure",)) -> dict[str, Rows]:
        """Returns per step of those kinds in order: (start in s, bytes the host wrote, bytes the media took) of each
        interval.

        Only of steps whose target counts its media writes.
        """
        return {step: written for step, (kind, written) in self._written_of(target).items() if kind in kinds}

    def measured_writes(self, target: str, step: str) -> Rows:
        """Returns `written` of a measured step; empty where media writes are not counted."""
        kind, written = self._written_of(target).get(step, ("", NO_ROWS))
        return written if kind == "measure" else NO_ROWS

    def busy(self, target: str, step: str) -> list[Busy]:
        """Returns the utilisation of resources over a step; empty where none was recorded."""
        return self._busy.get(StepOfTarget(target, step), [])

    def times_us(self, target: str, step: str) -> dict[str, float]:
        """Returns the mean time per I/O in each part of a system over a step, us; empty where none was recorded."""
        return self._times_us.get(StepOfTarget(target, step), {})

    def shares(self, target: str, step: str) -> "dict[str, list[Share]]":
        """Returns the share of a step that each host, port or drive of a system had, by their kind; empty if none was
        recorded.
        """
        return self._shares.get(StepOfTarget(target, step), {})

    def rates(self, target: str, step: str, op: str) -> Floats:
        """Returns IOPS of an operation in each whole second of a measured step."""
        return self._intervals.iops.get(OpOfStep(target, step, op), np.zeros(0))

    @cached_property
    def histograms(self) -> dict[OpOfStep, Histogram]:
        """Service latency of measured steps."""
        return self._histograms["service"]

    @cached_property
    def response_histograms(self) -> dict[OpOfStep, Histogram]:
        """Response latency of measured steps; only of open loads."""
        return self._histograms["response"]

    @cached_property
    def _histograms(self) -> dict[str, dict[OpOfStep, Histogram]]:
        """Per latency, then per operation, in the order of their names."""
        parts = self.run.parts("latency", BINS, coded=True)
        return histograms_of(parts, {point.step for point in self.points})

    @cached_property
    def together_us(self) -> Mapping[StepOfTarget, Bounds]:
        """95 % intervals of the latencies of all operations of a step together, us, by column."""
        kept = {"service": self.histograms, "response": self.response_histograms}
        return together_us(self.points, kept, self.query)

    def latency_from(self, target: str, step: str, start_s: float) -> tuple[Histogram, Bounds] | None:
        """Returns the service latency of a step from a second on, all operations together. Its percentiles' 95 %
        intervals, us, come with it, by column. None where nothing was counted.
        """
        seconds = self.query(
            "latency",
            "select target, 'all' as op, latency, index - $first[1]::int as index, low_ns, high_ns, "
            "sum(count)::bigint as count from rows where latency = 'service' and target = $target[1] "
            "and step = $step[1] and index >= $first[1]::int group by all",
            {"target": [target], "step": [step], "first": [str(round(start_s))]},
        )
        whole = Histogram.of(*(seconds[name].to_numpy() for name in ("low_ns", "high_ns", "count")))
        key = ("all", "service")
        parts = Parts.of_table(seconds, target, [key])
        return (whole, intervals_us([parts], {key: whole})[key]) if whole.n else None

    def energies(self, target: str, step: str) -> Rows:
        """Returns (start in s, length in s, J) of every stretch of a step whose energy is known, in order."""
        return self._readings.energies.get(StepOfTarget(target, step), NO_ROWS)

    def meter_accuracy(self, target: str, step: str) -> float | None:
        """Returns the stated accuracy of the power meter behind a step's energy, as a fraction; None without a meter or
        a statement.
        """
        return self._meter_accuracies.get(StepOfTarget(target, step))

    @cached_property
    def _intervals(self) -> Rates:
        return rates_of(self.run.parts("intervals", INTERVALS, coded=True))

    @cached_property
    def _readings(self) -> Readings:
        return readings_of(self.run.parts("telemetry", READINGS, coded=True))

    @cached_property
    def _written(self) -> dict[str, dict[str, tuple[str, Rows]]]:
        return {}

    def _written_of(self, target: str) -> dict[str, tuple[str, Rows]]:
        """Per step in order: its kind, and (start in s, host bytes, media bytes) of each interval."""
        return _once(self._written, target, self._read_written)

    def _read_written(self, target: str) -> dict[str, tuple[str, Rows]]:
        host = self.query(
            "intervals",
            "select step, start_s, sum(bytes)::double as host, any_value(kind) as kind from rows "
            "where op in ('write', 'append') and target = $target[1] group by step, start_s",
            {"target": [target]},
        )
        table = self.query("telemetry", WRITTEN, {"target": [target]}, beside={"by_host": host})
        found = _rows(table, ("start_s", "host", "media"))
        return {
            step: (kind, found[step])
            for step, kind in zip(*(table[n].to_pylist() for n in ("step", "kind")), strict=True)
        }

    @cached_property
    def _meter_accuracies(self) -> dict[StepOfTarget, float]:
        return {
            StepOfTarget(str(event["target"]), str(event["step"])): cast("float", event["accuracy"])
            for event in self.run.events
            if event["event"] == "power" and event.get("accuracy")
        }

    @cached_property
    def _busy(self) -> dict[StepOfTarget, list[Busy]]:
        out: dict[StepOfTarget, list[Busy]] = {}
        for step, name, mean in self._readings.means:
            if name.startswith(UTILISATION):
                out.setdefault(step, []).append(Busy(name.removeprefix(UTILISATION), mean))
        return out

    @cached_property
    def _times_us(self) -> dict[StepOfTarget, dict[str, float]]:
        out: dict[StepOfTarget, dict[str, float]] = {}
        for step, name, mean in self._readings.means:
            if name.startswith(TIME_IN):
                out.setdefault(step, {})[name.removeprefix(TIME_IN)] = mean
        return out

    @cached_property
    def _shares(self) -> "dict[StepOfTarget, dict[str, list[Share]]]":
        if not any(OF in mean.name for mean in self._readings.means):
            return {}
        table = self.query(
            "telemetry",
            "with named as (select *, regexp_extract(name, '^([a-z ]+ of: )(.+)', ['kind', 'member']) as of "
            f"from rows where length_s > 0 and contains(name, '{OF}')), "
            "shares as (select target, step, start_s, length_s, of.member as member, "
            f"max(value) filter (of.kind = '{IOPS_OF}') as iops, "
            f"max(value) filter (of.kind = '{MEAN_OF}') as mean_us, "
            f"max(value) filter (of.kind = '{HOST_OF}') as host, "
            f"max(value) filter (of.kind = '{MEDIA_OF}') as media from named group by all) "
            "select target, step, member, sum(iops * length_s) as n, sum(length_s) as window_s, "
            "sum(mean_us * iops * length_s) / nullif(sum(iops * length_s), 0) as mean_us, "
            "list(start_s order by start_s) filter (host > 0) as start_s, "
            "list(host order by start_s) filter (host > 0) as host, "
            "list(media order by start_s) filter (host > 0) as media from shares group by all",
        )
        out: dict[StepOfTarget, dict[str, list[Share]]] = {}
        for target, step, member, n, window_s, mean_us, *written in zip(
            *table.to_pydict().values(), strict=True
        ):
            group, number = member.rsplit(" ", 1)
            groups = out.setdefault(StepOfTarget(target, step), {})
            seconds = list(zip(*(column or () for column in written), strict=True))
            groups.setdefault(group, []).append(Share(int(number), n, window_s, mean_us, seconds))
        for groups in out.values():
            for members in groups.values():
                members.sort(key=lambda share: share.member)
        return out

    def query(
        self,
        table: str,
        sql: str,
        parameters: Mapping[str, Sequence[str]] | None = None,
        beside: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:
        """Runs SQL over `rows`, one table of the run, streaming: a long run's latency table need not fit in memory.

        The parameter `target` holds one target: nothing but its rows is read. `beside` has small tables to join with,
        by name.
        """
        files = [str(path) for path in self.run.files(table)]
        with self._connection.cursor() as connection:
            try:
                if files:
                    source = connection.read_parquet(files, file_row_number=True, filename=len(files) > 1)
                    for target in (parameters or {}).get("target", ()):
                        # A filter on a parameter of `sql` skips no part of a file; one on a constant does.
                        source = source.filter(
                            duckdb.ColumnExpression("target") == duckdb.ConstantExpression(target)
                        )
                    # One file needs the row alone; a pair costs several times as much to compare.
                    named = "{'file': filename, 'row': file_row_number}"
                    place = named if len(files) > 1 else "file_row_number"
                    connection.register("rows", source.project(f"*, {place} as ordinal"))
                else:
                    connection.register(
                        "rows", TABLES[table].append(pa.field("ordinal", pa.int64())).empty_table()
                    )
                for name, other in (beside or {}).items():
                    connection.register(name, other)
                return connection.sql(sql, params=dict(parameters or {})).to_arrow_table()
            except duckdb.Error as error:
                first = str(error).partition("\n")[0]
                raise FathomError(
                    f"{self.run.path}: table {table} is damaged: {first}",
                    "bring it back from a copy of the run",
                ) from error

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """A database in memory, opened once: that takes longer than a query over a short run."""
        return duckdb.connect(":memory:")


def _once(known: dict[str, T], target: str, read: Callable[[str], T]) -> T:
    """Reads what belongs to a target when it is first asked for."""
    if target not in known:
        known[target] = read(target)
    return known[target]


def _rows(table: pa.Table, names: Sequence[str]) -> dict[str, Rows]:
    """Returns lists of three columns by their step, as rows."""
    columns = (_lists(table[name]) for name in names)
    each = zip(table["step"].to_pylist(), *columns, strict=True)
    return {step: np.column_stack(values) for step, *values in each}


def _lists(column: pa.ChunkedArray) -> list[NDArray[Any]]:
    """Returns the lists of numbers of a column, each as an array that shares their memory."""
    out: list[NDArray[Any]] = []
    for chunk in column.chunks:
        offsets, values = chunk.offsets.to_numpy(), chunk.values.to_numpy()
        out += [values[start:end] for start, end in pairwise(offsets.tolist())]
    return out


def load(path: Path) -> RunData:
    """Reads a run directory.

    Raises FathomError when it is not one.
    """
    run = Run(path)
    names = [field.name for field in fields(Point)]
    return RunData(run, [as_shown(_point(row)) for row in run.points.select(names).to_pylist()])


def _point(row: dict[str, Any]) -> Point:
    """Returns a row of points; the share that failed was not kept by earlier versions, and follows from its counts."""
    row["failed_share"] = failed_share(row["n"], row["errors"])
    return Point.of(row)


def _step(entry: Mapping[str, JsonValue]) -> StepRecord:
    published = entry.get("published")
    kind = str(entry["kind"])
    return StepRecord(
        name=str(entry["name"]),
        kind="measure" if kind == "curve" else kind,
        workload=str(entry["workload"]),
        label=str(entry["label"]),
        published=published if isinstance(published, str) else None,
    )
