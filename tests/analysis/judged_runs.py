"""Runs made up for the rules and findings: sound by default, with one thing wrong where a test asks for it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from fathom._core import Job
from fathom.analysis.interval_sums import IntervalSums
from fathom.analysis.reading_sums import ReadingSums
from fathom.analysis.run_view import Remark, RunView
from fathom.analysis.validity import Note, notes
from fathom.columns.schema import TABLES
from fathom.runs.document import MethodRecord, RunDocument, TargetRecord
from fathom.targets.not_measured import NotMeasured

Row = dict[str, object]
DEVICE = "/dev/nvme0n1"
RATES = [1_000_000.0] * 60
IDENTITY: dict[str, object] = {
    "link_speed_gtps": 16.0,
    "link_width_lanes": 4,
    "link_max_speed_gtps": 16.0,
    "link_max_width_lanes": 4,
    "numa_node": 0,
    "rotational": False,
    "size_bytes": 10**12,
}
JOB: dict[str, object] = {
    "mix": {"ops": [{"op": "read"}]},
    "region": {"size": {"fraction": 1.0}},
    "content": {"compressible": 0.0},
}
_WHOLE = Job(
    """
    mix = "read"
    block = "4KiB"
    pattern = "uniform"
    load = { threads = 8, iodepth = 32 }
    until = { time = "60s" }
    """,
    "judged.toml",
)
QUICK = {"divide_times_by": 12, "divide_preconditioning_by": 4, "divide_volumes_by": 2}
ENVIRONMENT: dict[str, object] = {
    "governor": "performance",
    "numa_nodes": 1,
    "virtualisation": "none",
    "threads_allowed": 8,
}


def device(name: str = "/dev/nvme0n1", label: str = "Drive", **identity: object) -> TargetRecord:
    return TargetRecord.model_validate(
        {
            "name": name,
            "kind": "device",
            "label": label,
            "capacity_bytes": 10**12,
            "identity": IDENTITY | identity,
        }
    )


def twin(name: str, label: str, scale: float = 1.0) -> TargetRecord:
    return TargetRecord(
        name=f"twin:{name}", kind="twin", label=label, capacity_bytes=10**12, catalog=name, scale=scale
    )


@dataclass
class Measured:
    """One operation of a measured step: `rates` are IOPS per second, latency follows from Little's law."""

    target: str
    rates: Sequence[float]
    step: str = "4k-rand-read"
    op: str = "read"
    block_bytes: int = 4096
    threads: int = 8
    iodepth: int = 32
    point: Row = field(default_factory=dict)
    job: Mapping[str, object] | None = None
    """Instead of the run's."""
    kind: str = "measure"


def whole_job(part: Mapping[str, object]) -> dict[str, object]:
    """A job in normal form, of which only what matters to a test is stated."""
    whole: dict[str, Any] = json.loads(_WHOLE.json)
    for key, value in part.items():
        if key in ("region", "content", "pace", "until"):
            whole[key] |= value
        else:
            whole[key] = value
    stated = {"weight": 1.0, "sizes": [{"size_bytes": 4096, "weight": 1.0}]}
    whole["mix"] = {"ops": [stated | op for op in whole["mix"]["ops"]]}
    return whole


def run_view(
    measured: Sequence[Measured],
    targets: Sequence[TargetRecord] | None = None,
    *,
    environment: Mapping[str, object] = ENVIRONMENT,
    telemetry: Sequence[Row] = (),
    job: Mapping[str, object] | None = None,
    step: Mapping[str, object] | None = None,
    remarks: Sequence[Remark] = (),
    not_measured: Mapping[str, Sequence[NotMeasured]] | None = None,
    errors: int = 0,
    quick: bool = False,
    status: str = "complete",
) -> RunView:
    points: list[Row] = []
    intervals: list[Row] = []
    for one in measured:
        rates = np.asarray(one.rates, dtype=float)
        iops, depth = float(rates.mean()), one.threads * one.iodepth
        common: Row = {"target": one.target, "step": one.step, "workload": one.step, "op": one.op}
        own: Row = (
            common
            | {"method": "m", "block_bytes": one.block_bytes, "threads": one.threads, "iodepth": one.iodepth}
            | {
                "iops": iops,
                "mbps": iops * one.block_bytes / 1e6,
                "mean_us": depth / iops * 1e6 if iops else None,
            }
            | {"outstanding": float(depth), "errors": errors, "steady": True, "window_s": float(len(rates))}
            | {"n": int(rates.sum())}
            | one.point
        )
        points += [own] * (one.kind == "measure")
        intervals += [
            common
            | {"kind": one.kind, "index": i, "start_s": float(i), "length_s": 1.0, "n": int(rate)}
            | {"bytes": int(rate) * one.block_bytes, "errors": errors if i == 0 else 0}
            | {"iops": float(rate), "mbps": rate * one.block_bytes / 1e6}
            for i, rate in enumerate(rates)
        ]
    rows: dict[str, Sequence[Row]] = {"points": points, "intervals": intervals, "telemetry": telemetry}
    tables = {
        name: pa.Table.from_pylist(list(rows.get(name, ())), schema=schema) for name, schema in TABLES.items()
    }
    firsts = {one.step: one for one in reversed(measured)}
    names = list(dict.fromkeys(one.step for one in measured))
    steps = [
        {
            "name": name,
            "kind": firsts[name].kind,
            "label": name.replace("-", " "),
            "published": f"fio-{name}",
            "job": whole_job(firsts[name].job or job or JOB),
        }
        | dict(step or {})
        for name in names
    ]
    document = RunDocument.model_validate(
        {
            "schema": "fathom-run/1",
            "id": "20261120-231500-m-0001",
            "created": "2026-11-20T23:15:00Z",
            "status": status,
            "seed": 1,
            "quick": QUICK if quick else None,
            "method": MethodRecord.model_validate(
                {"name": "m", "title": "M", "source": "", "text": "", "parsed": {"steps": steps}}
            ),
            "targets": list(targets or [device()]),
            "environment": dict(environment),
        }
    )
    return RunView(
        document,
        points=tables["points"],
        intervals=IntervalSums.of([tables["intervals"]]),
        telemetry=ReadingSums.of([tables["telemetry"]]),
        remarks=remarks,
        not_measured=not_measured or {},
    )


def sample(
    name: str, value: float, target: str | None = "/dev/nvme0n1", step: str = "4k-rand-read", unit: str = ""
) -> Row:
    """One telemetry row of a minute."""
    return {
        "target": target,
        "step": step,
        "start_s": 0.0,
        "length_s": 60.0,
        "name": name,
        "value": value,
        "unit": unit,
    }


def sound(**changes) -> RunView:
    """A minute at one rate, where nothing is wrong but what is changed."""
    return run_view([Measured(DEVICE, RATES)], **changes)


def only(view: RunView) -> Note:
    """The one note that a run has."""
    found = notes(view)
    assert len(found) == 1, found
    assert found[0].record().text == found[0].text
    return found[0]
