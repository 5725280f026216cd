"""Run directories that were never measured: deterministic, realistic in shape, for tests of the report only."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Page

from fathom.columns.schema import INTERVALS, LATENCY, POINTS, TABLES, TELEMETRY
from fathom.statistics.percentiles import Histogram, Parts, bounds_of, intervals_us
from fathom.statistics.uncertainty import LEAST_SAMPLES

SUB_BITS = 7
QUICK = {"divide_times_by": 12.0, "divide_preconditioning_by": 30.0, "divide_volumes_by": 2.0}
METHOD_TEXT = """schema = "fathom-method/1"
name = "four-corners"
title = "Four corners"
# peak bandwidth and peak IOPS of one drive
"""


@dataclass(frozen=True)
class Corner:
    workload: str
    label: str
    published: str
    block_bytes: int
    op: str
    threads: int
    iodepth: int


CORNERS = (
    Corner("256k-seq-read", "256 KiB sequential read", "fio-256k-seq-read", 262144, "read", 1, 64),
    Corner("256k-seq-write", "256 KiB sequential write", "fio-256k-seq-write", 262144, "write", 1, 64),
    Corner("4k-rand-read", "4 KiB random read", "fio-4k-rand-read", 4096, "read", 8, 32),
    Corner("4k-rand-write", "4 KiB random write", "fio-4k-rand-write", 4096, "write", 8, 32),
)


@dataclass(frozen=True)
class Fake:
    """A target and its true rates: MB/s for the first two corners, IOPS for the others."""

    name: str
    label: str
    kind: str
    rates: Sequence[float]
    limits: Sequence[str] = ()
    catalog: str | None = None
    identity: dict[str, object] = field(default_factory=dict)

    def iops(self, corner: Corner) -> float:
        rate = self.rates[CORNERS.index(corner)]
        return rate * 1e6 / corner.block_bytes if corner.block_bytes > 65536 else rate


def twin(device: str, label: str, rates: Sequence[float], limits: Sequence[str]) -> Fake:
    identity: dict[str, object] = {
        "vendor": label.split()[0],
        "interface": "PCIe Gen5 x4, NVMe 2.0",
        "dies": 256,
    }
    return Fake(f"twin:{device}", label, "twin", rates, limits, device, identity)


FILE = Fake(
    "file:/tmp/fathom-scratch.bin",
    "Scratch file, /tmp",
    "file",
    (2210, 1480, 96_400, 41_700),
    identity={
        "path": "/tmp/fathom-scratch.bin",
        "file_system": "ext4",
        "device": {"model": "virtio block", "rotational": False},
    },
)
LINK, CPU, DIES, BUFFER = "PCIe link (read)", "host CPU", "dies", "write buffer"
TWINS = (
    twin(
        "wd-ultrastar-dc-sn861-7.68tb",
        "WD Ultrastar DC SN861 7.68TB",
        (13_590, 7_430, 2_171_000, 455_000),
        (LINK, DIES, "controller", DIES),
    ),
    twin(
        "kioxia-cm7-r-7.68tb",
        "KIOXIA CM7-R 7.68TB",
        (13_300, 6_610, 2_010_000, 352_000),
        ("channels", DIES, "controller", DIES),
    ),
    twin(
        "samsung-pm1743-7.68tb",
        "Samsung PM1743 7.68TB",
        (13_580, 5_970, 1_861_000, 301_000),
        (LINK, DIES, CPU, DIES),
    ),
    twin(
        "samsung-pm9a3-7.68tb",
        "Samsung PM9A3 7.68TB",
        (6_690, 3_990, 1_022_000, 195_000),
        (LINK, DIES, LINK, DIES),
    ),
)
TARGETS = (FILE, *TWINS)
RESOURCES = (CPU, LINK, "PCIe link (write)", "controller", "channels", DIES, BUFFER)


def _note(
    level: str, rule: str, target: str | None, step: str | None, text: str, next_step: str
) -> dict[str, object]:
    return {
        "rule": rule,
        "level": level,
        "target": target,
        "step": step,
        "text": text,
        "next_step": next_step,
    }


NOTES = (
    _note(
        "warning",
        "quick-run",
        None,
        None,
        "The run is shortened.",
        "Run without --quick before quoting figures.",
    ),
    _note(
        "warning",
        "cpu",
        FILE.name,
        "4k-rand-read",
        "The load generator used 93 % of its CPU.",
        "Use more threads.",
    ),
    _note(
        "info", "virtual-disk", FILE.name, None, "The disk is virtual; its cache cannot be controlled.", ""
    ),
    _note(
        "error",
        "steady",
        TWINS[1].name,
        "4k-rand-write",
        "Steady state was not reached.",
        "Run the full method.",
    ),
)


REVIEWED = {
    "wd-ultrastar-dc-sn861-7.68tb": (13_283, 7_696, 2_108_065, 473_658),
    "kioxia-cm7-r-7.68tb": (13_112, 6_917, 1_942_000, 342_000),
    "samsung-pm1743-7.68tb": (13_577, 6_061, 1_850_000, 305_000),
    "samsung-pm9a3-7.68tb": (6_730, 4_041, 1_011_000, 201_000),
}


@dataclass(frozen=True)
class FakeRow:
    """A catalogue row, as far as the report reads one."""

    iops: float | None
    mbps: float | None
    role: str | None = "calibration"
    source: str = "a review"
    page: str = "peak table"
    uncertain: bool = False
    latency_us: float | None = None
    statistic: str | None = None
    bound: str | None = None
    block_kib: float | None = None
    read_pct: float | None = None
    pattern: str | None = None
    jobs: int | None = None
    threads: int | None = None
    iodepth: int | None = None


def lookup(device: str, workload: str) -> list[FakeRow]:
    place = [corner.published for corner in CORNERS].index(workload)
    value = REVIEWED[device][place]
    return [FakeRow(None, value) if place < 2 else FakeRow(value, float("nan"))]


@dataclass
class Visit:
    """An open page with everything it complained about and everything it asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def assert_fits(page: Page, width: int) -> None:
    """Fails where a page stays wider than its window, in px. Charts take a new size a moment after the window."""
    page.wait_for_function(
        "width => document.documentElement.scrollWidth <= width", arg=width, timeout=60_000
    )


def make_run(
    path: Path,
    targets: Sequence[Fake] = TARGETS,
    *,
    quick: bool = True,
    measure_s: int = 5,
    precondition_s: int = 12,
    fill_s: int = 20,
    created: str = "2026-11-20T23:15:00Z",
    notes: Sequence[Mapping[str, object]] = NOTES,
    status: str = "complete",
    seed: int = 1,
) -> Path:
    """Writes a finished four-corners run."""
    random = np.random.default_rng(seed)
    tables: dict[str, list[pa.Table]] = {name: [schema.empty_table()] for name, schema in TABLES.items()}
    for target in targets:
        _simulate(target, tables, random, (fill_s, precondition_s, measure_s))
    path.mkdir(parents=True)
    for name in TABLES:
        pq.write_table(pa.concat_tables(tables[name]), path / f"{name}.parquet", compression="zstd")
    (path / "run.json").write_text(json.dumps(_document(targets, quick, created, notes, status, seed)))
    return path


def _document(
    targets: Sequence[Fake],
    quick: bool,
    created: str,
    notes: Sequence[Mapping[str, object]],
    status: str,
    seed: int,
) -> dict[str, object]:
    return {
        "schema": "fathom-run/1",
        "id": "20261120-231500-four-corners-7f3a",
        "created": created,
        "finished": created.replace(":15:", ":17:"),
        "status": status,
        "seed": seed,
        "quick": QUICK if quick else None,
        "method": {
            "name": "four-corners",
            "title": "Four corners",
            "source": "the SN861 review, fio part",
            "text": METHOD_TEXT,
            "parsed": {
                "summary": "Peak bandwidth and peak IOPS, each after its preconditioning.",
                "steps": _steps(),
            },
        },
        "targets": [
            {
                "name": t.name,
                "kind": t.kind,
                "label": t.label,
                "capacity_bytes": 7_681_501_126_656 if t.kind == "twin" else 2**32,
                "catalog": t.catalog,
                "identity": t.identity,
            }
            for t in targets
        ],
        "environment": {
            "host": {
                "kernel": "6.1.0-40-cloud-amd64",
                "cpu_model": "Example CPU 2.9 GHz",
                "cores": 2,
                "numa_nodes": 1,
            },
            "governor": "performance",
            "scheduler": "none",
            "engine": "io_uring",
        },
        "versions": {"fathom": "0.1.0", "python": "3.11.2"},
        "notes": list(notes),
    }


def _steps() -> list[dict[str, object]]:
    steps: list[dict[str, object]] = [
        _step("fill", "fill", "128k-seq-write", "128 KiB sequential write", None)
    ]
    for corner in CORNERS:
        steps.append(
            _step(f"precondition-{corner.workload}", "precondition", corner.workload, corner.label, None)
        )
        steps.append(_step(corner.workload, "measure", corner.workload, corner.label, corner.published))
    return steps


def _step(name: str, kind: str, workload: str, label: str, published: str | None) -> dict[str, object]:
    return {"name": name, "kind": kind, "workload": workload, "label": label, "published": published}


def _simulate(
    target: Fake,
    tables: dict[str, list[pa.Table]],
    random: np.random.Generator,
    lengths: tuple[int, int, int],
) -> None:
    fill_s, precondition_s, measure_s = lengths
    fill = Corner("128k-seq-write", "", "", 131072, "write", 1, 64)
    tables["intervals"].append(
        _intervals(target, "fill", "fill", fill, _rates(target.rates[1] * 1e6 / 131072, fill_s, 0.03, random))
    )
    for corner in CORNERS:
        true = target.iops(corner)
        settling = true * (
            1 + 2.2 * np.exp(-np.arange(precondition_s) / (precondition_s / 6)) * (corner.op == "write")
        )
        rates = settling * random.normal(1, 0.03, precondition_s)
        tables["intervals"].append(
            _intervals(target, f"precondition-{corner.workload}", "precondition", corner, rates)
        )
        noise = 0.05 if target.kind == "file" else 0.012
        rates = _rates(true, measure_s, noise, random)
        histograms = [_histogram(target, corner, rate, random) for rate in rates]
        counts = np.array([sum(h.values()) for h in histograms], dtype=float)
        tables["intervals"].append(_intervals(target, corner.workload, "measure", corner, counts))
        tables["latency"].append(_latency(target, corner, histograms))
        tables["points"].append(_point(target, corner, counts, histograms, noise))
        if target.kind == "twin":
            tables["telemetry"].append(_telemetry(target, corner, measure_s))


def _rates(true: float, length_s: int, noise: float, random: np.random.Generator) -> np.ndarray:
    return true * random.normal(1, noise, length_s)


def _intervals(target: Fake, step: str, kind: str, corner: Corner, rates: np.ndarray) -> pa.Table:
    n = rates.astype(np.int64)
    length = len(n)
    values: dict[str, object] = {
        "target": [target.name] * length,
        "step": [step] * length,
        "kind": [kind] * length,
        "workload": [corner.workload] * length,
        "op": [corner.op] * length,
        "index": np.arange(length),
        "start_s": np.arange(length, dtype=float),
        "length_s": np.ones(length),
        "n": n,
        "bytes": n * corner.block_bytes,
        "errors": np.zeros(length, dtype=np.int64),
        "iops": n.astype(float),
        "mbps": n * corner.block_bytes / 1e6,
    }
    return pa.table(
        {f.name: pa.array(values.get(f.name, [None] * length), f.type) for f in INTERVALS}, INTERVALS
    )


def _histogram(target: Fake, corner: Corner, rate: float, random: np.random.Generator) -> dict[int, int]:
    """One second: a log-normal body around Little's latency and a slower tail, in the recording's own bins."""
    n = int(rate)
    sample = min(n, 20_000)
    body_ns = corner.threads * corner.iodepth / rate * 1e9
    sigma = 0.45 if target.kind == "file" else 0.16
    latency = body_ns * random.lognormal(-(sigma**2) / 2, sigma, sample)
    slow = random.random(sample) < 0.004
    latency[slow] *= 1 + random.exponential(4, slow.sum())
    value_ns = latency.astype(np.int64)
    shift = np.maximum(np.frexp(value_ns)[1] - SUB_BITS - 1, 0)
    bins, counts = np.unique(value_ns >> shift << shift, return_counts=True)
    scaled = random.multinomial(n, counts / counts.sum())
    return {int(low): int(count) for low, count in zip(bins, scaled, strict=True) if count}


def _bin_high(low_ns: int) -> int:
    return low_ns + (1 << max(low_ns.bit_length() - SUB_BITS - 1, 0))


def _latency(target: Fake, corner: Corner, histograms: Sequence[dict[int, int]]) -> pa.Table:
    rows = [
        (index, low, count) for index, bins in enumerate(histograms) for low, count in sorted(bins.items())
    ]
    length = len(rows)
    values: dict[str, object] = {
        "target": [target.name] * length,
        "step": [corner.workload] * length,
        "workload": [corner.workload] * length,
        "op": [corner.op] * length,
        "latency": ["service"] * length,
        "index": [row[0] for row in rows],
        "low_ns": [row[1] for row in rows],
        "high_ns": [_bin_high(row[1]) for row in rows],
        "count": [row[2] for row in rows],
    }
    return pa.table({f.name: pa.array(values.get(f.name, [None] * length), f.type) for f in LATENCY}, LATENCY)


def _point(
    target: Fake, corner: Corner, counts: np.ndarray, histograms: Sequence[dict[int, int]], noise: float
) -> pa.Table:
    merged: dict[int, int] = {}
    for bins in histograms:
        for low, count in bins.items():
            merged[low] = merged.get(low, 0) + count
    lows = np.array(sorted(merged))
    middles = np.array([(low + _bin_high(int(low)) - 1) / 2 for low in lows])
    weights = np.array([merged[int(low)] for low in lows])
    n, iops = int(weights.sum()), float(counts.mean())
    margin = 1.96 * noise / np.sqrt(len(counts))
    enough = len(counts) >= LEAST_SAMPLES

    def percentile(q: float) -> float | None:
        middle = middles[np.searchsorted(np.cumsum(weights), np.ceil(q * n))] / 1000
        return float(middle) if n * (1 - q) >= 100 - 1e-6 else None

    row = {
        "target": target.name,
        "method": "four-corners",
        "step": corner.workload,
        "workload": corner.workload,
        "op": corner.op,
        "block_bytes": corner.block_bytes,
        "read_pct": 100.0 if corner.op == "read" else 0.0,
        "threads": corner.threads,
        "iodepth": corner.iodepth,
        "iops": iops,
        "iops_low": iops * (1 - margin) if enough else None,
        "iops_high": iops * (1 + margin) if enough else None,
        "mbps": iops * corner.block_bytes / 1e6,
        "mean_us": float((middles * weights).sum() / n / 1000),
        **(_bounds(target, corner, histograms) if enough else {}),
        "p50_us": percentile(0.5),
        "p95_us": percentile(0.95),
        "p99_us": percentile(0.99),
        "p999_us": percentile(0.999),
        "p9999_us": percentile(0.9999),
        "p99999_us": percentile(0.99999),
        "max_us": float(_bin_high(int(lows[-1])) - 1) / 1000,
        "errors": 0,
        "failed_share": 0.0,
        "window_s": float(len(counts)),
        "n": n,
        "waf": 3.1 if corner.workload == "4k-rand-write" and target.kind == "twin" else None,
        "joules": 18.4 * len(counts) if target.kind == "twin" else None,
        "limited_by": target.limits[CORNERS.index(corner)] if target.limits else None,
        "steady": corner.workload != "4k-rand-write" or "kioxia" not in target.name,
    }
    return pa.Table.from_pylist([row], schema=POINTS)


def _bounds(target: Fake, corner: Corner, histograms: Sequence[dict[int, int]]) -> dict[str, float]:
    table = _latency(target, corner, histograms)
    whole = Histogram.of(*(table[name].to_numpy() for name in ("low_ns", "high_ns", "count")))
    key = (corner.op, "service")
    found = intervals_us([Parts.of_table(table, target.name, [key])], {key: whole})[key]
    return {
        column: value
        for name, bounds in found.items()
        for column, value in zip(bounds_of(name), bounds, strict=True)
    }


def _telemetry(target: Fake, corner: Corner, length_s: int) -> pa.Table:
    limit = target.limits[CORNERS.index(corner)]
    rows = []
    for place, resource in enumerate(RESOURCES):
        mean = (
            0.97
            if resource == limit
            else 0.12 + 0.11 * ((place * 7 + CORNERS.index(corner) * 3 + len(target.label)) % 6)
        )
        for second in range(length_s):
            rows.append(
                {
                    "target": target.name,
                    "step": corner.workload,
                    "start_s": float(second),
                    "length_s": 1.0,
                    "name": f"utilisation: {resource}",
                    "value": mean,
                    "unit": "1",
                }
            )
    return pa.Table.from_pylist(rows, schema=TELEMETRY)


def unfolded(page: Page) -> Page:
    """Returns the page with every part of it opened, and its charts drawn, as by a reader who saw all of it."""
    page.evaluate("() => document.querySelectorAll('details.part').forEach((part) => (part.open = true))")
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.chart')].every((chart) => chart.firstElementChild)"
    )
    page.evaluate("() => scrollTo(0, 0)")
    return page
