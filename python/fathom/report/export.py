"""A run as one JSON document or one CSV table, for other programs. Rows and names are those of points.parquet."""

import csv
import io
from dataclasses import asdict, fields
from pathlib import Path

from fathom.report.data import Point, load
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


def run_csv(run: Path) -> str:
    """Points as CSV with a header line; absent values are empty.

    Raises FathomError when the run cannot be read.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Point)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(point) for point in load(run).points)
    return text.getvalue()
