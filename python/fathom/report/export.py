"""A run as one JSON document or one CSV table, for other programs. Rows and names are those of points.parquet."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from fathom.report.data import Point, load
from fathom.report.repeats import is_pooled, repeats_by_target
from fathom.report.repeats import pool as pool_runs
from fathom.runs.schema import RUN_SCHEMA


def run_json(run: Path) -> dict[str, object]:
    """`{"schema": "fathom-run/1", "run": ..., "points": [...], "notes": [...]}`; absent values are None.

    `run` is run.json without its schema and notes. Raises FathomError when the run cannot be read.
    """
    data = load(run)
    document = data.document.model_dump(by_alias=True, mode="json", exclude={"format", "notes"})
    notes = [note.model_dump(mode="json") for note in data.document.notes]
    return {
        "schema": RUN_SCHEMA,
        "run": document,
        "points": [asdict(point) for point in data.points],
        "notes": notes,
    }


def runs_json(runs: Sequence[Path], *, pool: bool = False) -> dict[str, object]:
    """`{"schema": "fathom-runs/1", "runs": [...], "pooled": [...]}`; a single run as by `run_json`.

    `pooled` are points over all repeats of a target, each with `repeats`, their number, in front.
    """
    if len(runs) == 1:
        return run_json(runs[0])
    found = repeats_by_target([load(run) for run in runs], by_hand=pool)
    pooled = [
        {"repeats": len(members)} | asdict(point)
        for members, target in found
        if len(members) > 1
        for point in pool_runs(members).points
        if point.target == target.name and is_pooled(point.step, members[0])
    ]
    return {"schema": "fathom-runs/1", "runs": [run_json(run) for run in runs], "pooled": pooled}


def run_csv(run: Path) -> str:
    """Points as CSV with a header line; absent values are empty.

    Raises FathomError when the run cannot be read.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Point)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(point) for point in load(run).points)
    return text.getvalue()
