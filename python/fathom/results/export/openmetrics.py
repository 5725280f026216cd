"""A run as OpenMetrics text, for Prometheus and its kin.

Format: OpenMetrics 1.0, "Overall Structure" and "Histogram". Rates are gauges, latencies histograms in seconds. Their
bounds are a microsecond times powers of two. A bin counts as its upper edge.
"""

from collections.abc import Iterator, Sequence

from fathom.columns.schema import Point
from fathom.results.export.measured import Measured
from fathom.runs.reader import Run

BOUNDS_NS = tuple(1000 << power for power in range(25))
"""1 us to 17 s."""
GAUGES = (
    ("fathom_iops", "I/Os per second, mean over the window", lambda point: point.iops),
    (
        "fathom_bandwidth_bytes_per_second",
        "Bandwidth",
        lambda point: None if point.mbps is None else point.mbps * 1e6,
    ),
    ("fathom_waf_ratio", "Write amplification", lambda point: point.waf),
    ("fathom_window_seconds", "Length of the window", lambda point: point.window_s),
)
LATENCY = "fathom_latency_seconds"


def text_of(run: Run, found: Sequence[Measured]) -> str:
    """Returns the exposition of a run, ended by its end mark."""
    lines: list[str] = []
    for name, meaning, value_of in GAUGES:
        rows = [(one.point, value) for one in found if (value := value_of(one.point)) is not None]
        if rows:
            lines += [f"# TYPE {name} gauge", f"# HELP {name} {meaning}."]
            lines += [f"{name}{_labels(run, point)} {value!r}" for point, value in rows]
    binned = [one for one in found if one.bins]
    if binned:
        lines += [f"# TYPE {LATENCY} histogram", f"# UNIT {LATENCY} seconds"]
        lines += [f"# HELP {LATENCY} Latency from issue to completion."]
        lines += [line for one in binned for line in _histogram(run, one)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _histogram(run: Run, one: Measured) -> Iterator[str]:
    n = sum(count for _, _, count in one.bins)
    for bound_ns in BOUNDS_NS:
        below = sum(count for _, high, count in one.bins if high <= bound_ns)
        yield f"{LATENCY}_bucket{_labels(run, one.point, le=repr(bound_ns / 1e9))} {below}"
    yield f"{LATENCY}_bucket{_labels(run, one.point, le='+Inf')} {n}"
    yield f"{LATENCY}_count{_labels(run, one.point)} {n}"
    if one.point.mean_us is not None:
        yield f"{LATENCY}_sum{_labels(run, one.point)} {one.point.mean_us * n / 1e6!r}"


def _labels(run: Run, point: Point, **more: str) -> str:
    named = {"run": run.id, "target": point.target, "step": point.step, "op": point.op} | more
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in named.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
