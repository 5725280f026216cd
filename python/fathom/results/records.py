"""The contents of a result file of another load generator, as typed values. None means not recorded.

Times are seconds from the start of the measurement, latencies from issue to completion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from pydantic import JsonValue

from fathom.runs.document import NoteRecord
from fathom.targets.target import Kind

TOTAL = "total"
"""The operation where a file counts reads and writes together."""


class Bin(NamedTuple):
    """`n` I/Os that took at least `low_ns` and less than `high_ns`."""

    low_ns: int
    high_ns: int
    n: int


@dataclass(frozen=True)
class Latency:
    """Latency of one operation. `percentiles_us` has columns of the points table, such as `p99_us`."""

    mean_us: float | None = None
    max_us: float | None = None
    percentiles_us: Mapping[str, float] = field(default_factory=dict)
    bins: Sequence[Bin] = ()


@dataclass(frozen=True)
class Second:
    """The figures of an operation between two samples."""

    start_s: float
    length_s: float
    n: int
    bytes: int | None = None
    latency: Latency = field(default_factory=Latency)
    counts: bool = True
    """Whether the load's own figures count it; False in a warm-up."""


@dataclass(frozen=True)
class Reading:
    """A value over a stretch of time that belongs to no single I/O."""

    name: str
    value: float
    unit: str
    start_s: float
    length_s: float


@dataclass(frozen=True)
class OpRecord:
    """One operation of a load. `op` is `TOTAL` where the file counts reads and writes together."""

    op: str
    n: int | None = None
    iops: float | None = None
    mbps: float | None = None
    errors: int | None = None
    window_s: float | None = None
    block_bytes: int | None = None
    latency: Latency = field(default_factory=Latency)
    seconds: Sequence[Second] = ()


@dataclass(frozen=True)
class Load:
    """One measured workload. `target` is the path that the other program loaded, or the target that an export names.

    `kind` is that of the target of an export.
    """

    name: str
    ops: Sequence[OpRecord]
    label: str = ""
    target: str | None = None
    read_pct: float | None = None
    threads: int | None = None
    iodepth: int | None = None
    offered_iops: float | None = None
    readings: Sequence[Reading] = ()
    kind: Kind | None = None
    workload: str | None = None
    """The name by which it is compared, where an export says one; else its own."""


class Caveat(Enum):
    """A caveat on imported figures. The value is the sentence, with `{names}` to fill in."""

    UNIT = "the file does not say the unit of its latencies; they are taken for {unit}"
    FROM_SUBMISSION = (
        "{step}: percentiles count from submission, because fio was asked for those (lat_percentiles)"
    )
    AT_ONCE = "{steps} ran at the same time, so the figures of each are those beside the others"
    MERGED = "{step}: {many} jobs of one name are counted as one load with as many threads"
    GROUPED = (
        "{step}: these are the figures of several jobs together (group_reporting); fio states the options of one, "
        "so none of them is taken"
    )
    ONE_LOG = "{step}: its log holds several jobs, which are counted as if they ran at once"
    NO_MERGED_PERCENTILES = (
        "{step}: percentiles of several jobs have no common value without histograms (JSON+)"
    )
    FAILED = "{step}: the job ended with error {code}, so its window may be shorter than asked"
    SOME_FAILED = "{step}: {errors} I/Os failed"
    SHORT = "{step}: {many} I/Os moved fewer bytes than asked"
    BUFFERED = (
        "{step}: fio read and wrote through the page cache (direct=0), where Fathom goes past it by default"
    )
    SPLIT = "{step}: rates of reads and writes follow from the total and the share of reads"
    ROUNDED = "counts of I/Os follow from rates times lengths, so each may be off by a few"
    WHOLE_PHASE = "rates are over the whole phase, to the end of the slowest thread"


@dataclass(frozen=True)
class Remark:
    """A caveat with its values; `step` is the load that it concerns."""

    doubt: Caveat
    step: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The sentence."""
        return self.doubt.value.format(step=self.step, **self.values)


@dataclass(frozen=True)
class Results:
    """All results of one measurement, from one or more files."""

    program: str
    loads: Sequence[Load]
    version: str | None = None
    measured: datetime | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    """The program's options, by section, as the file repeats them."""
    environment: Mapping[str, JsonValue] = field(default_factory=dict)
    remarks: Sequence[Remark] = ()
    error: str | None = None
    """Why the measurement did not end well, according to the file."""
    notes: Sequence[NoteRecord] = ()
    """The validity notes that an export of Fathom's carries."""
