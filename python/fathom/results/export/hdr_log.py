"""A run as a log of HdrHistogram: a line per second and operation, values in ns, tags `STEP/OPERATION`."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from fathom.errors import UsageError
from fathom.results.export.measured import Measured
from fathom.results.hdr_codec import encode
from fathom.results.hdr_log import tag_of
from fathom.results.marks import comment
from fathom.results.records import Bin
from fathom.runs.reader import Run

HEADINGS = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
PER_MS = 1_000_000


def text_of(run: Run, found: Sequence[Measured]) -> str:
    """Returns the log. Raises UsageError for a run without histograms."""
    measured = [one for one in found if one.bins]
    if not measured:
        advice = "take a run that recorded them and whose I/O hardly failed"
        raise UsageError(f"run {run.id} has no histograms of latency", advice)
    began = datetime.fromisoformat(run.document.created)
    lines = [
        "#[Histogram log format version 1.3]",
        comment(run.document),
        f"#[run {run.id}, values in nanoseconds]",
        f"#[StartTime: {began.timestamp():.3f} (seconds since epoch), {began:%a %b %d %H:%M:%S %Y}]",
        f"#[BaseTime: {began.timestamp():.3f} (seconds since epoch)]",
        HEADINGS,
        *_lines(measured, several=len({one.point.target for one in measured}) > 1),
    ]
    return "\n".join(lines) + "\n"


def _lines(found: Sequence[Measured], *, several: bool) -> Iterator[str]:
    for one in found:
        point = one.point
        name = f"{point.target}/{point.step}/{point.op}" if several else f"{point.step}/{point.op}"
        tag = tag_of(name)
        seconds = one.seconds or {(0.0, point.window_s or 1.0): one.bins}
        for (start_s, length_s), bins in seconds.items():
            yield f"Tag={tag},{start_s:.3f},{length_s:.3f},{_largest(bins) / PER_MS:.3f},{encode(bins)}"


def _largest(bins: Sequence[Bin]) -> int:
    return max(high for _, high, _ in bins)
