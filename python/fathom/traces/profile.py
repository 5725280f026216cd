"""The profile of a trace, which the Rust core computes in one pass and bounded memory."""

from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from fathom._core import TraceProfile
from fathom.traces.batch import Trace, no_io

UNIT_BYTES = 4096
"""Bytes of a unit of space, in which reuse and working set are counted."""
COUNTED_BYTES = 64 << 20
"""How much of one I/O counts for working set and reuse, from its start."""
FOOTPRINT_ERROR = 0.0325
"""Relative standard error of footprints and working sets: 1.04 / sqrt(1024), of HyperLogLog with 1024 registers."""
Operations = tuple[int, int, int, int]
"""A count for each of `_core.TRACE_OPERATIONS`."""
Buckets = Sequence[tuple[float, int]]
"""Logarithmic histogram: (least value of the bucket, count)."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Timeline(_Part):
    """Windows of equal length; each list has an entry for each window."""

    width_ns: int
    ios: Sequence[Operations]
    bytes: Sequence[Operations]
    latency_mean_ns: Sequence[float | None]
    latency_most_ns: Sequence[int]
    working_set_units: Sequence[float]
    footprint_units: Sequence[float]


class Latency(_Part):
    """Latency of an operation; `quantiles_ns` are 50, 90, 99, 99.9 and 99.99 %, within 6 %."""

    count: int
    mean_ns: float
    most_ns: int
    quantiles_ns: tuple[float | None, float | None, float | None, float | None, float | None]
    buckets_ns: Buckets

    @property
    def shown_quantiles_ns(self) -> Sequence[float | None]:
        """The quantiles, none above the largest latency, nor below a mean that lies in the same bucket.

        A quantile is the middle of the whole numbers of its bucket. Where all latencies are equal, that middle may be
        beside all of them.
        """
        return [None if one is None else self._shown(one) for one in self.quantiles_ns]

    def _shown(self, middle: float) -> float:
        begin = max((least for least, _ in self.buckets_ns if least <= middle), default=0.0)
        end = 2 * middle - begin + 1
        return min(max(middle, self.mean_ns) if begin <= self.mean_ns < end else middle, self.most_ns)


class Counts(_Part):
    """I/Os and bytes by operation."""

    ios: Operations
    bytes: Operations


class Mix(_Part):
    """Operations, sizes and origins of the I/Os. `sizes` and names hold the 16 most frequent; names are numbers of the
    trace.
    """

    ios: Operations
    bytes: Operations
    sizes: tuple[Buckets, Buckets, Buckets, Buckets]
    latencies: tuple[Latency | None, Latency | None, Latency | None, Latency | None]
    aligned: Sequence[tuple[int, int]]
    whole_blocks: int
    placed: int
    flags: tuple[int, int, int, int, int]
    processes: Sequence[tuple[int, Counts]]
    devices: Sequence[tuple[int, Counts]]


class Runs(_Part):
    """Sequential runs of reads or writes, interleaved ones too; quantiles are 50, 90 and 99 %, weighted by I/O."""

    ios: int
    followed: int
    strictly: int
    streams: int
    stream_ios: int
    streams_most: int
    run_ios: tuple[float | None, float | None, float | None]
    run_bytes: tuple[float | None, float | None, float | None]


class Reuse(_Part):
    """Reuse of space, from a sample of it where `sampled` is below 1.

    `hits` are (units of an LRU cache, share of accesses that it serves, standard error). `heat` is (share of the
    touched space, share of accesses to it), the hottest first. `lives_ns` is how long data lived until overwritten or
    discarded; its quantiles are 10, 50 and 90 %.
    """

    sampled: float
    units: int
    hits: Sequence[tuple[float, float, float]]
    heat: Sequence[tuple[float, float]]
    lives_ns: Buckets
    life_quantiles_ns: tuple[float, float, float] | None
    overwritten: float


class Bursts(_Part):
    """Arrivals. `dispersion` is (width of windows in ns, variance over mean of their arrivals); 1 for Poisson."""

    dispersion: Sequence[tuple[int, float]]
    gaps_ns: Buckets
    gap_quantiles_ns: tuple[float | None, float | None, float | None, float | None]
    gap_variation: float | None


class InFlight(_Part):
    """I/Os in flight at each issue, that one included, of those with a latency; quantiles are 50, 90 and 99 %."""

    ios: int
    mean: float | None
    quantiles: tuple[float | None, float | None, float | None]
    most: int
    depths: Buckets
    busy: float | None


class Profile(_Part):
    """The profile of a trace."""

    ios: int
    duration_ns: int
    timeline: Timeline
    mix: Mix
    runs: Runs
    reuse: Reuse
    bursts: Bursts
    in_flight: InFlight
    name: str = ""
    format: str = ""
    start_unix_ns: int | None = None
    devices: Sequence[str] = Field(default=())
    processes: Sequence[str] = Field(default=())
    doubts: Sequence[str] = Field(default=())
    """What is wrong with its times, a sentence each."""


def characterise(trace: Trace, progress: Callable[[float | None, int], None] | None = None) -> Profile:
    """Returns the profile of a trace. Raises UsageError if it cannot be read or holds no I/O. `progress` is called with
    the share read, 0 to 1 if known, and the I/Os so far.
    """
    profile, ios = TraceProfile(), 0
    for batch in trace.batches():
        profile.add(
            batch.issue_ns,
            batch.latency_ns,
            batch.offset_bytes,
            batch.size_bytes,
            batch.operation,
            batch.flags,
            batch.device,
            batch.process,
        )
        ios += len(batch)
        if progress is not None:
            progress(trace.share_read(), ios)
    if not ios:
        raise no_io(trace)
    found = Profile.model_validate_json(profile.json())
    return found.model_copy(
        update={
            "name": trace.name,
            "format": trace.format,
            "start_unix_ns": trace.findings.start_unix_ns,
            "devices": tuple(trace.devices),
            "processes": tuple(trace.processes),
            "doubts": tuple(trace.findings.clock.doubts()),
        }
    )
