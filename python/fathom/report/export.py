"""A run as one JSON document or one CSV table, for other programs. Rows and names are those of points.parquet."""

from collections.abc import Sequence
from pathlib import Path

from fathom.columns.schema import CSV_NAMES, RUN_SCHEMA
from fathom.method.rounds import UNITS
from fathom.output.printed import csv_text
from fathom.report.added_loads import METHOD, Measured, ways_of
from fathom.report.added_pairs import Added, pairs_of
from fathom.report.capacity import capacities_of
from fathom.report.comparison import compare
from fathom.report.data import RunData, load
from fathom.report.findings import gate
from fathom.report.repeats import is_pooled, repeats_by_target
from fathom.report.repeats import pool as pool_runs
from fathom.report.rounds import repeated_rounds
from fathom.statistics.uncertainty import Interval


def run_json(run: Path) -> dict[str, object]:
    """Returns `{"schema": "fathom-run/1", "run": ..., "points": [...], "notes": [...]}`; absent values are None.

    `run` is run.json without its schema and notes. A run of `added-latency` also has `added`: what the system adds to
    its drive, operation by operation. Raises FathomError when the run cannot be read.
    """
    data = load(run)
    added = _added([data])
    document = data.document.model_dump(by_alias=True, mode="json", exclude={"format", "notes", "sha256"})
    notes = [note.model_dump(mode="json") for note in data.document.notes]
    return {
        "schema": RUN_SCHEMA,
        "run": document,
        "points": [point.as_row() for point in data.points],
        "notes": notes,
        **({"added": added} if added else {}),
    }


def runs_json(runs: Sequence[Path], *, pool: bool = False) -> dict[str, object]:
    """Returns `{"schema": "fathom-runs/1", "runs": [...], "pooled": [...], "rounds": [...], "capacities": [...]}`; a
    single run as by `run_json`.

    `pooled` are points over all repeats of a target, each with `repeats`, their number, in front. `rounds` are the
    means of its rounds over the window, where it has rounds. `capacities` are what its searches for an SLO found, where
    it has searches. Runs of `added-latency` also have `added`, as by `run_json`.
    """
    if len(runs) == 1:
        return run_json(runs[0])
    loaded = [load(run) for run in runs]
    found, added = repeats_by_target(loaded, by_hand=pool), _added(loaded)
    several = [(pool_runs(members), target.name) for members, target in found if len(members) > 1]
    return {
        "schema": "fathom-runs/1",
        "runs": [run_json(run) for run in runs],
        "pooled": [
            {"repeats": len(run.repeats)} | point.as_row()
            for run, target in several
            for point in run.points
            if point.target == target and is_pooled(point.step, run)
        ],
        "rounds": [row for run, target in several for row in _rounds(run, target)],
        "capacities": [row for run, target in several for row in _capacities(run, target)],
        **({"added": added} if added else {}),
    }


def _added(runs: Sequence[RunData]) -> list[dict[str, object]]:
    """Returns a row per operation that a system and its drive had at the same load per drive, with its interval."""
    if not any(run.asks_for(METHOD, METHOD) for run in runs):
        return []
    comparison = compare(runs)
    out = gate(comparison)
    return [
        row
        for system, *_, drive in (way for way in ways_of(comparison) if len(way) > 1)
        for row in _added_rows(system, drive, pairs_of(system.claimed(out), drive.claimed(out)))
    ]


def _added_rows(system: Measured, drive: Measured, claimed: Sequence[Added]) -> list[dict[str, object]]:
    return [
        {
            "operation": one.label,
            "system": system.column.target.name,
            "drive": drive.column.target.name,
            "loads": list(one.loads),
            "system_mean_us": one.behind_us,
            "drive_mean_us": one.direct_us,
            "added_us": one.added.us,
            "added_low_us": None if one.added.half_us is None else one.added.us - one.added.half_us,
            "added_high_us": None if one.added.half_us is None else one.added.us + one.added.half_us,
            "no_interval": one.added.why or None,
            "claimed": one in claimed,
        }
        for one in pairs_of(system, drive)
    ]


def _rounds(run: RunData, target: str) -> list[dict[str, object]]:
    """Returns a row per step: `steady` and `pooled` are numbers of repeats, `each` the mean of every one."""
    return [
        {
            "repeats": len(one.repeats),
            "target": target,
            "rounds": name,
            "step": step,
            "metric": one.place.metric,
            "unit": UNITS[one.place.metric],
            "steady": len(one.steady) if one.place.judged else None,
            "pooled": len(one.pooled),
            "mean": mean.value,
            **_bounds(mean.interval, "mean"),
            "each": one.each(step),
        }
        for name, one in repeated_rounds(run, target).items()
        for step in one.steps
        if (mean := one.mean(step))
    ]


def _capacities(run: RunData, target: str) -> list[dict[str, object]]:
    """Returns a row per curve with an objective; `iops` is None as soon as a repeat meets it nowhere."""
    return [
        {
            "repeats": len(one.searches),
            "target": target,
            "step": step,
            "latency": one.curve.latency,
            "percentile": one.curve.slo.percentile if one.curve.slo else None,
            "limit_us": one.curve.slo.limit_us if one.curve.slo else None,
            "met": len(one.met),
            "iops": one.iops,
            **_bounds(one.interval, "iops"),
            "each": [found.best.iops if found.best else None for found in one.searches],
            "failing_iops": [found.failing_iops for found in one.searches],
        }
        for step, one in capacities_of(run, target).items()
    ]


def _bounds(interval: Interval | None, name: str) -> dict[str, object]:
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def runs_csv(runs: Sequence[Path]) -> str:
    """Returns points as CSV with a header line; absent values are empty. Several runs have a column `run` in front,
    their id.

    Raises FathomError when a run cannot be read.
    """
    loaded = [load(run) for run in runs]
    rows = [
        [data.document.id, *(getattr(point, name) for name in CSV_NAMES)]
        for data in loaded
        for point in data.points
    ]
    if len(runs) == 1:
        return csv_text(CSV_NAMES, (row[1:] for row in rows))
    return csv_text(["run", *CSV_NAMES], rows)
