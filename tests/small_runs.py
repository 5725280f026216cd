"""Runs of a few points that have ended, written in milliseconds."""

from pathlib import Path

from fathom.runs.document import MethodRecord, RunDocument, TargetRecord
from fathom.runs.whole import write_whole


def add(home: Path, number: int, *rates: float, repeat_of: str | None = None) -> Path:
    """Writes a run with a point for each rate."""
    run = home / f"20260101-000000-short-{number:04x}"
    document = RunDocument(
        id=run.name,
        created="2026-01-01T00:00:00Z",
        status="complete",
        seed=number,
        repeat_of=repeat_of,
        method=MethodRecord(name="short", title="Short", source="", text="", parsed={"steps": []}),
        targets=[TargetRecord(name="null:", kind="null", label="null", capacity_bytes=1 << 30)],
    )
    points = [
        {"target": "null:", "step": "read", "workload": "read", "op": "read", "iops": one} for one in rates
    ]
    seconds = [{"target": "null:", "step": "read", "op": "read", "end_s": 1.0, "iops": one} for one in rates]
    write_whole(run, document, {"points": points, "intervals": seconds})
    return run
