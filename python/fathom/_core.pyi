"""The Rust core: parsing, load generation on real targets and on twins."""

from typing import Literal, final

__version__: str
ENGINE_IODEPTH_MAX: int
"""Most I/O that one load thread keeps in flight on a real target."""

class ParseError(Exception): ...
class BackendError(Exception): ...

def parse_method(text: str, file: str, quick: bool = False) -> str: ...
def parse_job(text: str, file: str) -> str: ...
def split_job(job_json: str, targets: int) -> list[str]: ...
def requests(
    job_json: str, capacity_bytes: int, block_bytes: int, seed: int, most: int
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

@final
class OpBins:
    op: str
    service_bins: list[tuple[int, int, int]]
    response_bins: list[tuple[int, int, int]]

@final
class Batch:
    ops: list[OpBins]
    streams: dict[str, list[OpBins]]

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
    batches: list[Batch]
    half_widths: HalfWidths | None
    errno: dict[int, int]
    setup: dict[str, str]
    remarks: list[str]
    notes: list[str]
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

def start_engine(
    job_json: str,
    targets: list[EngineTarget],
    seed: int,
    backend: Literal["auto", "io_uring", "threads"] = "auto",
    start_at_unix_ns: int | None = None,
    pin: bool = True,
    sqpoll: bool = False,
) -> Handle: ...
def ssd_parameters(parameters_json: str) -> str: ...
def verify_journal(directory: str, target: str | None = None) -> str: ...

@final
class Precision:
    def __new__(
        cls, half_width: float, least_count: int, least_written_bytes: int, most_written_bytes: int
    ) -> Precision: ...

def start_twins(
    job_json: str,
    devices: list[TwinDevice],
    seeds: list[int],
    hold_every_ns: int | None = None,
    precision: Precision | None = None,
) -> Handle: ...
