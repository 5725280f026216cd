"""Writes the results of another program as a run directory. Values that its files lack stay null."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from fathom.columns.schema import TABLES
from fathom.results.reading import name_of
from fathom.results.records import Bin, Load, OpRecord, Results, Second
from fathom.runs.document import (
    Made,
    MethodRecord,
    NoteRecord,
    OriginFile,
    OriginRecord,
    RunDocument,
    TargetRecord,
    made_of,
)
from fathom.runs.whole import write
from fathom.statistics.failed import failed_share
from fathom.statistics.latency_columns import QUANTILES
from fathom.statistics.percentiles import Histogram, bounds_of
from fathom.statistics.uncertainty import mean_interval, percentile_allowed
from fathom.targets.target import Kind

Row = dict[str, object]

RULE = "measured-elsewhere"
NEXT_STEP = {
    Made.MEASURED: "measure the same workload with Fathom before drawing conclusions",
    Made.SIMULATED: "measure the same workload on a drive before drawing conclusions of it",
    Made.BOTH: "measure the same workload with Fathom before drawing conclusions",
}
UNKNOWN = "unknown"
MOST_NAME = 48
MOST_ERROR = 0.02
"""Half the width of a bin, relative to the percentile in it: in a wider one a percentile is not known."""
DIGITS = 8
"""Characters of the digest in a run's id."""
MOST_IN_ID = 16
"""Characters of the method's name in a run's id, so that lists of 80 columns have room for the targets."""


@dataclass(frozen=True)
class Source:
    """The files of the results, and the format in which they were read."""

    format: str
    files: Sequence[OriginFile]

    @property
    def digest(self) -> str:
        """Digest of the contents: of the only file, or of all in order."""
        return "+".join(file.sha256 for file in self.files)


def write_run(results: Results, source: Source, building: Path) -> str:
    """Writes a run into the folder `building` and returns the run's id. Raises FathomError if it cannot be written."""
    document = _document(results, source)
    write(building, document, tables(results, document.method.name))
    return document.id


def tables(results: Results, method: str) -> Mapping[str, Sequence[Row]]:
    """Returns the rows of a run by table."""
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    for load in results.loads:
        target = _target_name(load)
        for op in load.ops:
            common: Row = {
                "target": target,
                "step": load.name,
                "workload": load.workload or load.name,
                "op": op.op,
            }
            rows["points"].append(common | _point(load, op, method))
            rows["intervals"] += [
                common | _interval(index, second) for index, second in enumerate(op.seconds)
            ]
            rows["latency"] += [{**common, **row} for row in _latency(op)]
        rows["telemetry"] += [{"target": target, "step": load.name, **vars(one)} for one in load.readings]
    return rows


def _point(load: Load, op: OpRecord, method: str) -> Row:
    counted = [second for second in op.seconds if second.counts]
    rates = [second.n / second.length_s for second in op.seconds[:-1] if second.counts]
    known = mean_interval(rates) if _is_unbroken(counted, op.window_s) else None
    rate = (max(0.0, known.low), known.high) if known else (None, None)
    return {
        "method": method,
        "block_bytes": op.block_bytes,
        "read_pct": load.read_pct,
        "threads": load.threads,
        "iodepth": load.iodepth,
        "offered_iops": load.offered_iops,
        "iops": op.iops,
        **dict(zip(bounds_of("iops"), rate, strict=True)),
        "mbps": op.mbps,
        "mean_us": op.latency.mean_us,
        **_percentiles(op),
        "max_us": op.latency.max_us,
        "errors": op.errors,
        "failed_share": None if op.n is None or op.errors is None else failed_share(op.n, op.errors),
        "window_s": op.window_s,
        "n": op.n,
    }


def _is_unbroken(seconds: Sequence[Second], window_s: float | None) -> bool:
    """Returns whether seconds fill a window: of those that a program left out, as without I/O, nothing is known."""
    if not seconds or window_s is None:
        return True
    missing_s = [after.start_s - one.start_s - one.length_s for one, after in pairwise(seconds)]
    missing_s.append(window_s - (seconds[-1].start_s + seconds[-1].length_s - seconds[0].start_s))
    return max(missing_s) < seconds[0].length_s / 2


def _percentiles(op: OpRecord) -> dict[str, float | None]:
    """Returns the percentiles: from the histogram by Fathom's own rule, or without one as the file has them.
    Percentiles with fewer than 100 I/Os beyond them are left out.
    """
    bins = op.latency.bins or _all_bins(op)
    if bins:
        whole = Histogram.of(*zip(*bins, strict=True))
        found = {name: whole.quantile(q) for name, q in QUANTILES.items()}
        return {
            name: one.us if one and one.error_us <= MOST_ERROR * one.us else None
            for name, one in found.items()
        }
    stated = op.latency.percentiles_us
    return {
        name: stated.get(name) if op.n is None or percentile_allowed(op.n, q) else None
        for name, q in QUANTILES.items()
    }


def _all_bins(op: OpRecord) -> list[Bin]:
    return [one for second in op.seconds for one in second.latency.bins]


def _interval(index: int, second: Second) -> Row:
    moved = second.bytes
    return {
        "kind": "measure",
        "index": index,
        "start_s": second.start_s,
        "length_s": second.length_s,
        "n": second.n,
        "bytes": moved,
        "iops": second.n / second.length_s,
        "mbps": None if moved is None else moved / 1e6 / second.length_s,
        "mean_us": second.latency.mean_us,
        "max_us": second.latency.max_us,
    }


def _latency(op: OpRecord) -> list[Row]:
    """Returns the bins of each second; without any, those of the whole load."""
    if any(second.latency.bins for second in op.seconds):
        each = [(index, one) for index, second in enumerate(op.seconds) for one in second.latency.bins]
    else:
        each = [(None, one) for one in op.latency.bins]
    return [
        {"latency": "service", "index": index, "low_ns": one.low_ns, "high_ns": one.high_ns, "count": one.n}
        for index, one in each
    ]


def _document(results: Results, source: Source) -> RunDocument:
    now = datetime.now(UTC)
    measured = (
        results.measured.isoformat(timespec="seconds").replace("+00:00", "Z") if results.measured else None
    )
    created = measured or now.isoformat(timespec="seconds").replace("+00:00", "Z")
    targets = _targets(results.loads)
    made = made_of(targets)
    method = _method(results, made)
    day = results.measured or now
    origin = OriginRecord(
        program=results.program,
        version=results.version,
        format=source.format,
        measured=measured,
        files=list(source.files),
    )
    short = method.name[:MOST_IN_ID].strip("-")
    return RunDocument(
        id=f"{day:%Y%m%d-%H%M%S}-{short}-{source.files[0].sha256[:DIGITS]}",
        created=created,
        status="failed" if results.error else "complete",
        error=results.error,
        seed=None,
        method=method,
        targets=targets,
        origin=origin,
        environment=dict(results.environment),
        versions={results.program: results.version} if results.version else {},
        notes=_notes(results, origin, made),
    )


def _method(results: Results, made: Made) -> MethodRecord:
    by_name = {load.name: load for load in reversed(results.loads)}
    names = list(reversed(by_name))
    name = name_of("-".join(names))[:MOST_NAME].strip("-")
    steps: list[JsonValue] = [
        {
            "name": name,
            "kind": "measure",
            "workload": by_name[name].workload or name,
            "label": by_name[name].label or name,
        }
        for name in names
    ]
    version = f" {results.version}" if results.version else ""
    return MethodRecord(
        name=name,
        title=f"{results.program}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}",
        source=f"{results.program}{version}, {made} elsewhere",
        text=json.dumps(results.options, indent=1, ensure_ascii=False) if results.options else "",
        parsed={"steps": steps, "options": dict(results.options)},
    )


def _targets(loads: Sequence[Load]) -> list[TargetRecord]:
    found: dict[str, TargetRecord] = {}
    for load in loads:
        name = _target_name(load)
        label = "unknown target" if load.target is None else name
        found.setdefault(name, TargetRecord(name=name, kind=_kind(load), label=label, capacity_bytes=None))
    return list(found.values())


def _kind(load: Load) -> Kind | Literal["unknown"]:
    if load.kind or load.target is None:
        return load.kind or UNKNOWN
    return "device" if load.target.startswith("/dev/") else "file"


def _target_name(load: Load) -> str:
    """Returns the target as Fathom names it: a file as `file:PATH`, a device by its path, any of an export as it is."""
    if load.target is None:
        return UNKNOWN
    return f"file:{load.target}" if load.kind is None and _kind(load) == "file" else load.target


def _notes(results: Results, origin: OriginRecord, made: Made) -> list[NoteRecord]:
    names = ", ".join(file.name for file in origin.files[:3]) + (", ..." if len(origin.files) > 3 else "")
    unknown = ["the state of the target before", "whether it was steady", "the machine"]
    unknown += [] if results.measured else ["when"]
    unknown += [] if any(load.target for load in results.loads) else ["the target"]
    rules = (
        "The notes of that run follow"
        if results.notes
        else "Fathom's own rules of validity could not be asked"
    )
    about = NoteRecord(
        rule=RULE,
        level="warning",
        text=f"{origin.title} {made} this elsewhere; imported from {names}, which does not record "
        f"{', '.join(unknown[:-1])} or {unknown[-1]}. {rules}",
        next_step=NEXT_STEP[made],
    )
    targets = {load.name: _target_name(load) for load in results.loads}
    doubts = [
        NoteRecord(
            rule=RULE,
            level="info",
            target=targets.get(one.step) if one.step else None,
            step=one.step,
            text=one.words,
        )
        for one in results.remarks
    ]
    return [about, *results.notes, *doubts]
