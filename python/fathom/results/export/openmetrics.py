"""A run as OpenMetrics text, for Prometheus and its kin.

Format: OpenMetrics 1.0, "Histogram". Rates are gauges, latencies histograms in seconds. Their bounds are a microsecond
times powers of two. A bin counts as its upper edge.
"""

from collections.abc import Iterator, Sequence

from fathom.columns.schema import Point
from fathom.output.openmetrics import Family, Sample, exposition
from fathom.results.export.measured import Measured
from fathom.runs.document import NoteRecord
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
NOTE = "fathom_note"
"""A gauge, where OpenMetrics has a kind `info`: Prometheus' own text format does not know that kind."""


def text_of(run: Run, found: Sequence[Measured]) -> str:
    """Returns the exposition of a run, ended by its end mark."""
    gauges = [
        Family(
            name,
            meaning,
            [
                Sample(_labels(run, one.point), value)
                for one in found
                if (value := value_of(one.point)) is not None
            ],
        )
        for name, meaning, value_of in GAUGES
    ]
    notes = [Sample(_of_note(run, note), 1) for note in run.document.notes]
    binned = [sample for one in found if one.bins for sample in _histogram(run, one)]
    latency = Family(LATENCY, "Latency from issue to completion", binned, "histogram", "seconds")
    return exposition([*gauges, latency, Family(NOTE, "What to know before a figure is quoted", notes)])


def _histogram(run: Run, one: Measured) -> Iterator[Sample]:
    n = sum(count for _, _, count in one.bins)
    for bound_ns in BOUNDS_NS:
        below = sum(count for _, high, count in one.bins if high <= bound_ns)
        yield Sample(_labels(run, one.point, le=repr(bound_ns / 1e9)), below, "_bucket")
    yield Sample(_labels(run, one.point, le="+Inf"), n, "_bucket")
    yield Sample(_labels(run, one.point), n, "_count")
    if one.point.mean_us is not None:
        yield Sample(_labels(run, one.point), one.point.mean_us * n / 1e6, "_sum")


def _of_note(run: Run, note: NoteRecord) -> dict[str, str]:
    own = {"run": run.id, "target": note.target or "", "step": note.step or "", "level": note.level}
    about = {note.target} if note.target else {target.name for target in run.targets}
    return own | _simulated(about, run) | {"text": note.text}


def _labels(run: Run, point: Point, **more: str) -> dict[str, str]:
    own = {"run": run.id, "target": point.target, "step": point.step, "op": point.op}
    return own | _simulated({point.target}, run) | more


def _simulated(targets: set[str], run: Run) -> dict[str, str]:
    """Returns the label of what twins did, where all the targets are twins."""
    twins = {target.name for target in run.targets if target.kind == "twin"}
    return {"simulated": "true"} if targets <= twins else {}
