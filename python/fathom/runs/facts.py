"""What a run is in one row, as lists and the view `runs` have it."""

from typing import TypedDict

import pyarrow as pa

from fathom.runs.document import RunDocument

FACTS = pa.schema(
    [
        ("run", pa.string()),
        ("created", pa.string()),
        ("status", pa.string()),
        ("method", pa.string()),
        ("quick", pa.bool_()),
        ("targets", pa.list_(pa.string())),
        ("points", pa.int64()),
        ("repeat_of", pa.string()),
        ("imported_from", pa.string()),
        ("made", pa.string()),
    ]
)


class Facts(TypedDict):
    """A row of `FACTS`. `run` is the name of the directory; `imported_from` the program that made it elsewhere."""

    run: str
    created: str | None
    status: str
    method: str | None
    quick: bool | None
    targets: list[str]
    points: int | None
    repeat_of: str | None
    imported_from: str | None
    made: str | None


def facts_of(name: str, document: RunDocument, points: int) -> Facts:
    """Returns the row of a run that has that many points."""
    return {
        "run": name,
        "created": document.created,
        "status": document.status,
        "method": document.method.name,
        "quick": document.quick is not None,
        "targets": [target.name for target in document.targets if target.part_of is None],
        "points": points,
        "repeat_of": document.repeat_of,
        "imported_from": document.origin.title if document.origin else None,
        "made": document.made.value,
    }


def damaged(name: str) -> Facts:
    """Returns the row of a run that cannot be read."""
    return {
        "run": name,
        "created": None,
        "status": "damaged",
        "method": None,
        "quick": None,
        "targets": [],
        "points": None,
        "repeat_of": None,
        "imported_from": None,
        "made": None,
    }
