"""The Rust core: parsing, load generation on real targets and on twins."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

__version__: str
WRITES: tuple[str, ...]
"""Operations that carry data to the target: write and append."""
MOVES_DATA: tuple[str, ...]
"""`WRITES`, and read."""
TRACE_OPERATIONS: list[str]
"""Names of a trace's operations by their number."""
TRACE_FORMATS: list[str]
"""Formats that `TraceReader` reads."""
KEY_FIGURES: tuple[str, ...]
"""What a method may declare as the figure that its page opens with."""
LARGE_BLOCK_BYTES: int
"""From this block size on, I/O is headlined in MB/s, smaller I/O in IOPS, as data sheets do."""
BLOCK_BYTES_MAX: int
"""Largest block of a job."""
BLOCK_SIZES_MAX: int
"""Most block sizes of an operation of a job."""
STREAMS_MAX: int
"""Most streams of a job."""
THREADS_MAX: int
"""Most load threads of a job."""
PATTERN_BYTES_MAX: int
"""Most bytes that every block of a job repeats."""
HOST_CPU: str
"""Name of the resource of a twin that is its host's and not its own."""
ENGINE_IODEPTH_MAX: int
"""Most I/O that one load thread keeps in flight on a real target."""

class ParseError(Exception): ...

class BackendError(Exception):
    """A job that could not be started or did not end well."""

    path: Path | None
    """The path that the message names: that of a target, or of its journal."""
    recordings: tuple[Recording, ...]
    """What was measured until a target failed, one per target; none where no job had begun."""

def parse_method(text: str, file: str, quick: bool = False) -> str: ...

@final
class Extent:
    """A length or position: in bytes, as a fraction of the target, or in bytes up to its end. One of them is set."""

    bytes: int | None
    fraction: float | None
    up_to: int | None
    def on(self, capacity_bytes: int) -> int:
        """Returns the bytes that requests can reach in a region of this size on a target of that capacity."""

@final
class JobOp:
    """An operation of a mix, with its weight and its block sizes: (bytes, weight) each."""

    op: str
    weight: float
    sizes: list[tuple[int, float]]
    align_bytes: int | None
    """Alignment of its offsets, where it is not the job's."""

@final
class FileSet:
    """The files that a job works on. Sets with equal layouts are the same files."""

    def __new__(cls, json: str) -> FileSet:
        """Reads what `json` gives. Raises `ParseError`."""
    def __hash__(self) -> int: ...
    json: str
    """The normal form."""
    count: int
    total_bytes: int
    sizes: list[tuple[int, float]]
    """Sizes in bytes, each with its weight."""
    depth: int
    width: int
    open: int | None
    """Most files that a thread has open at once; None: all."""
    select: Literal["roundrobin", "random", "zipf", "pareto"]
    visit: int | None
    """Requests to a file before the next; None: as many bytes as it has."""
    threads: Literal["apart", "together"]
    present: float | None
    """Share of the files that are there when operations on names begin; None: by the operations."""
    def other_paths(self) -> list[str]:
        """Returns the other path of each file, which it has after a `rename`."""
    def made_directories(self) -> list[str]:
        """Returns the paths of the directories that `mkdir` makes."""
    def directories(self) -> list[str]:
        """Returns the paths of all directories, each behind the one that it is in."""
    def paths(self) -> list[tuple[str, int]]:
        """Returns the path of each file below the set's directory, with its size in bytes."""
    def has_layout_of(self, other: FileSet) -> bool:
        """Returns whether both are the same files, whatever is done with them."""

@final
class Pattern:
    """Where requests go. `kind` is the name in TOML; parameters that the kind lacks are None."""

    kind: str
    streams: int | None
    stride_bytes: int | None
    theta: float | None
    share: float | None
    read: float | None
    write: float | None
    bands: list[tuple[float, float]]
    """Hot spots: (area, access) each, relative weights."""
    open: int | None
    """Zones: how many each thread keeps open; 0: as many as the device allows."""
    in_order: bool
    """Zones: whether they come in their order."""
    once: bool
    """Zones: whether writes choose among the open ones so that each has as many."""
    empties: bool
    """Zones: whether they are emptied before the first request."""
    ends: bool
    """Zones: whether a thread ends with them, behind the last one or where none has room."""
    zone_reset: tuple[float, int] | None
    """Zones: the share of the region with data from which on, and every how many writes, one with room is reset."""
    spare: float | None
    """One pass: the share of flash beyond what the region takes."""
    stretches: int | None
    strip_bytes: int | None
    gap_bytes: int | None
    """Strips: what is left out behind each."""
    order: list[int]
    """Blocks: their numbers in the region."""
    moves: bool
    """Blocks: whether each round goes as many blocks further as the list has."""
    file: str | None
    """Replay: the prepared trace."""
    offsets: Literal["as-is", "wrap", "scale"] | None
    waits: bool
    """Replay: whether I/Os wait for those that they waited for when they were recorded."""

@final
class Job:
    """One step's I/O, checked. Immutable; equal jobs have the same normal form.

    What makes another job from it raises `ParseError` where that would be no valid job.
    """

    def __new__(cls, text: str, file: str = "job.json") -> Job:
        """Reads JSON, or TOML where `file` does not end in `.json`. Raises `ParseError`."""
    def __hash__(self) -> int: ...
    json: str
    """The normal form: sizes in bytes, times in ns, every default written out."""
    ops: list[JobOp]
    weights: dict[str, float]
    """Weight of each operation, in the order of the mix."""
    block_sizes: dict[str, tuple[int, ...]]
    """Block sizes of each operation, in bytes."""
    def block_bytes(self, op: str) -> int | None:
        """Returns the operation's block size, None where it has several or none."""
    largest_block_bytes: int
    """0 where there are only flushes."""
    read_pct: float | None
    """Share of reads among all operations, in percent; None for streams, whose shares a run shows."""
    destructive: bool
    """Whether any operation changes data."""
    writes: bool
    """Whether any operation carries data to the target (`WRITES`)."""
    flush_every: int
    pattern: Pattern
    thread_positions: Literal["part", "start", "shared"]
    operation_positions: Literal["together", "apart"] | None
    region_start: Extent
    region_size: Extent
    def region_on(self, capacity_bytes: int, block_bytes: int = 512) -> tuple[int, int]:
        """Returns first byte and length of the region on a target, also where it ends beyond it.

        100 % is the capacity. Other fractions are rounded down to whole MiB where they are that long, bytes to whole
        blocks. Requests stay in whole MiB at 100 % too: at most 1 MiB at the end is left.
        """
    files: FileSet | None
    """The set of files that the job works on; None: a device or one file."""
    align_bytes: int | None
    compressible: float
    dedup: float
    write_pattern: str | None
    """Bytes that every block written repeats, such as `0xdeadbeef`; None: random ones."""
    priority: tuple[Literal["realtime", "best-effort", "idle"], int] | None
    """Class and level of the kernel's I/O priority; None: as the process has it."""
    priority_shares: list[
        tuple[
            float,
            tuple[Literal["read", "write"] | None, int | None],
            tuple[Literal["realtime", "best-effort", "idle"], int],
            int,
        ]
    ]
    """Shares of the I/O with a priority of their own: how much; of which operation and block, None of all; class and
    level; command duration limit, 0 for none.
    """
    verifies: bool
    placement: list[int]
    direct: bool
    sync: Literal["data", "all"] | None
    """What each write waits for; None: that the target has taken it."""
    sqpoll: bool
    huge_pages: bool
    gpu: bool
    threads: int
    iodepth: int
    """I/Os in flight per thread."""
    rate_iops: float | None
    """Arrivals per second of all threads; None for a closed load."""
    arrival: Literal["exponential", "uniform", "deterministic"] | None
    rate_changes: bool
    """Whether the rate follows a schedule."""
    think_ns: int
    thinks: bool
    """Whether it pauses between a completion and the next request; streams answer for themselves."""
    reap: int
    uneven: bool
    """Whether the load is split by given shares."""
    errors_most: int | None
    journal: str | None
    time_ns: int | None
    time_s: float | None
    bytes: int | None
    region_multiple: float | None
    count: int | None
    ends_by_time: bool
    """Whether its time alone ends it."""
    streams: dict[str, Job]
    """Several workloads at once by name; the other fields then say what they come to together."""
    stream_targets: dict[str, list[int]]
    """Targets of the streams that do not run on all, counted from 1."""
    stream_flows: dict[str, tuple[int, int]]
    """The weight of each stream that keeps step with others, and its pause in ns."""
    has_exitall: bool
    """Whether a stream ends all of them when its volume is done."""
    def with_load(self, threads: int | None = None, iodepth: int | None = None) -> Job: ...
    def with_rate(self, rate_iops: float, arrival: str, stream: str | None = None) -> Job:
        """Returns the job, or one of its streams, as an open load with at most as many I/Os in flight."""
    def with_until(
        self,
        time_ns: int | None = None,
        bytes: int | None = None,
        region_multiple: float | None = None,
        count: int | None = None,
    ) -> Job:
        """Returns the job with this end and no other."""
    def lasting(self, time_ns: int) -> Job:
        """Returns the job with that time; its other ends stay."""
    def in_region_of(self, other: Job) -> Job: ...
    def in_part(self, number: int, of: int) -> Job:
        """Returns the job on one of `of` equal parts of its region, `number` from 0, in whole blocks."""
    def without_placement(self) -> Job:
        """Returns the job, and its streams, without placement handles."""
    def without_reads(self) -> Job | None:
        """Returns what the job does beside its reads, in the same shares. None: there are no reads or nothing else, or
        without them the rest would not go where it goes now, or not as often.
        """
    def on_threads(self, most: int) -> Job:
        """Returns the same I/O in flight from at most `most` threads: the largest count that divides it evenly."""
    def continued(self, moved_bytes: dict[str, int]) -> Job:
        """Returns the job from the positions at which it was after it had moved so many bytes.

        They are given by stream; those of a job without streams by an empty name.
        """
    def on_hosts(self, hosts: int) -> Job:
        """Returns the job with its threads on every host; a split load has them already."""
    def is_split(self, hosts: bool = False) -> bool:
        """Returns whether the load is for all parts of a target together, not for each. `hosts`: they are hosts."""
    def of_parts(self, parts: int, hosts: bool = False) -> list[Job]:
        """Returns what each part of a target does: the job, or its share of a split load. `hosts`: they are hosts."""
    def ramp(self, capacity_bytes: int, dirty_bytes: int, block_bytes: int, overwrites: float) -> Job | None:
        """Returns what fills a page cache of `dirty_bytes` before the job; None unless it only writes, for a time.

        In order it writes blocks of up to `block_bytes` to the end of the region. At random it writes `overwrites`
        times the volume, for what hits the same pages.
        """

def requests(
    job: Job, capacity_bytes: int, block_bytes: int, seed: int, most: int
) -> list[tuple[int, str, int, int]]: ...
def parse_size_bytes(text: str) -> int: ...
def parse_duration_ns(text: str) -> int: ...
def describe_errno(code: int) -> str: ...
def first_foreign(data: bytes) -> int | None:
    """Returns where the first 512 bytes begin that are neither blank (all 0 or all FFh) nor written by the engine."""

@final
class OpResult:
    op: str
    n: int
    bytes: int
    errors: int
    mean_us: float | None
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None
    p999_us: float | None
    p9999_us: float | None
    p99999_us: float | None
    max_us: float | None
    response_mean_us: float | None
    response_p50_us: float | None
    response_p95_us: float | None
    response_p99_us: float | None
    response_p999_us: float | None
    response_p9999_us: float | None
    response_p99999_us: float | None
    service_bins: list[tuple[int, int, int]]
    response_bins: list[tuple[int, int, int]]
    censored: int
    censored_us: float | None
    response_censored_us: float | None
    censored_service_bins: list[tuple[int, int, int]]
    censored_response_bins: list[tuple[int, int, int]]
    def service_columns(self) -> list[bytes]: ...
    def response_columns(self) -> list[bytes]: ...

@final
class PartBins:
    op: str
    latency: str
    part: bytes
    low_ns: bytes
    high_ns: bytes
    count: bytes

@final
class OpHalfWidths:
    rate: float
    mean_latency: float
    mean_response: float | None

@final
class HalfWidths:
    ops: dict[str, OpHalfWidths]
    streams: dict[str, dict[str, OpHalfWidths]]
    waf: float | None
    joules: float | None

@final
class Utilisation:
    resource: str
    servers: int
    mean: float
    max: float
    waiting: float

@final
class Limit:
    kind: str
    resource: Utilisation | None
    amount: float | None
    next: Utilisation | None

@final
class Interval:
    target: int
    index: int
    start_s: float
    length_s: float
    offered: int | None
    backlog: int | None
    outstanding: float | None
    ops: list[OpResult]
    streams: dict[str, list[OpResult]]
    counters: dict[str, float]
    utilisation: list[Utilisation]
    residence_us: dict[str, float]
    shares: list[tuple[str, int, int, float | None, tuple[int, int] | None]]
    ends_round: bool
    @staticmethod
    def merged(parts: list[Interval], target: int) -> Interval: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes, target: int) -> Interval: ...

@final
class Gpu:
    """The GPU in whose memory the reads of a real load ended."""

    name: str
    link: str | None
    copy_bytes_per_s: float

@final
class Recording:
    window_s: float
    offered: int | None
    backlog: int | None
    outstanding: float | None
    ops: list[OpResult]
    streams: dict[str, list[OpResult]]
    counters: dict[str, float]
    utilisation: list[Utilisation]
    residence_us: dict[str, float]
    parts: int
    half_widths: HalfWidths | None
    errno: dict[int, int]
    setup: dict[str, str]
    gpu: Gpu | None
    remarks: list[str]
    notes: list[str]
    def part_bins(self, stream: str | None = None) -> list[PartBins]: ...
    def limit(self) -> Limit | None: ...
    def __init__(self) -> None: ...
    def plus(self, interval: Interval) -> Recording: ...
    def with_parts(self, parts: list[Recording]) -> Recording: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Recording: ...

@final
class Handle:
    started_unix_ns: int | None
    def poll(self, timeout_s: float = 0.2) -> list[Interval]: ...
    def held(self) -> bool: ...
    def proceed(self) -> None: ...
    def stop(self) -> None: ...
    def abandon(self) -> None: ...
    def done(self) -> bool: ...
    def take_log(self) -> dict[str, bytes]:
        """Returns what twins issued that were asked to log it, by time of issue, and forgets it.

        Columns are those of `TraceReader.feed`, and `arrived_ns`. Empty before the end.
        """
    def result(self) -> list[Recording]: ...

@final
class EngineTarget:
    def __new__(
        cls, path: str, kind: str, capacity_bytes: int, held: tuple[int, int] | None = None
    ) -> EngineTarget: ...

@final
class TwinDevice:
    capacity_bytes: int
    scale: float
    dirty_limit_bytes: int
    def __new__(cls, parameters_json: str, seed: int, file_system: str | None = None) -> TwinDevice: ...
    def copied(self) -> TwinDevice: ...
    def check(self, job: Job) -> None:
        """Passes when the device does the job, as far as that does not depend on what was written before.

        Raises `BackendError`, whose text says why not and what to do.
        """

def start_engine(
    job: Job,
    targets: list[EngineTarget],
    seed: int,
    backend: Literal["auto", "io_uring", "threads"] = "auto",
    start_at_unix_ns: int | None = None,
    pin: bool = True,
    sqpoll: bool = False,
    is_stopped: Callable[[], bool] | None = None,
) -> Handle: ...
def ssd_parameters(parameters_json: str) -> str: ...
def verify_journal(directory: str, target: str | None = None) -> str: ...

@final
class Precision:
    def __new__(
        cls, half_width: float, least_count: int, least_written_bytes: int, most_written_bytes: int
    ) -> Precision: ...

def start_twins(
    job: Job,
    devices: list[TwinDevice],
    seeds: list[int],
    hold_every_ns: int | None = None,
    precision: Precision | None = None,
    log: bool = False,
) -> Handle: ...
def trace_format(head: bytes) -> str | None:
    """Returns the format of a file that begins with these bytes; None: none that is known."""

@final
class TraceReader:
    """Reads a trace in portions. `columns` names the fields of a CSV. Raises `ParseError` for columns of no trace."""

    def __new__(cls, format: str, columns: str | None = None, sources: int = 1) -> TraceReader: ...
    def wants(self) -> int | None:
        """Returns the file whose next portion is needed; None: all have ended."""
    def feed(self, source: int, portion: bytes) -> dict[str, bytes]:
        """Takes a portion of a file, empty at its end, and returns the columns of the I/Os that have come out.

        Times, offsets and sizes are `uint64`, names `uint32`, operation and flags `uint8`, in the machine's order.
        """
    devices: list[str]
    processes: list[str]
    device_count: int
    process_count: int
    wrong: int
    """Lines or records that are no I/O."""
    first_wrong: list[tuple[int, str]]
    """The first few of them: number from 1, and what is wrong."""
    late: int
    """I/Os that are out of order."""
    unpaired: tuple[int, int]
    """I/Os without a completion, and completions without an I/O."""
    start_unix_ns: int | None

@final
class Recorded:
    """A disk after its capture: a file for each CPU, and the records for which the kernel had no room."""

    path: Path
    files: list[Path]
    lost: int

@final
class Capture:
    """A capture that goes on, into files `NAME.blktrace.CPU` in a folder.

    By the kernel's block trace, with debugfs mounted at `mounted`, or by its `tracepoints`, with tracefs there. Raises
    OSError where the kernel refuses, with the number and the file. Dropped, it ends.
    """

    def __new__(
        cls,
        disks: Sequence[Path],
        folder: Path,
        mounted: Path,
        buffer_bytes: int,
        tracepoints: bool = False,
    ) -> Capture: ...

    copied_bytes: int
    failed: bool
    """Whether copying has ended early; `stop` raises the reason."""

    def stop(self) -> list[Recorded]:
        """Stops it and writes the rest."""

def end_capture(disk: Path, tracefs: Path) -> None:
    """Ends a trace that another process has left behind. Raises OSError."""

@final
class TraceProfile:
    """Takes a trace batch by batch and says what it is like."""

    def __new__(cls) -> TraceProfile: ...
    def add(
        self,
        issue_ns: NDArray[np.uint64],
        latency_ns: NDArray[np.uint64],
        offset_bytes: NDArray[np.uint64],
        size_bytes: NDArray[np.uint64],
        operation: NDArray[np.uint8],
        flags: NDArray[np.uint8],
        device: NDArray[np.uint32],
        process: NDArray[np.uint32],
    ) -> None:
        """Takes columns of equal length: `uint64`, but `uint8` for operation and flags and `uint32` for names."""
    def json(self) -> str:
        """Returns the trace so far; `fathom.traces.profile.Profile` describes it."""
