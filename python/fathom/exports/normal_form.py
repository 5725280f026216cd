"""The normal form of a job as far as another tool understands it."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

#: A length: `bytes`, `fraction` of the target, or bytes `up-to` its end.
Extent = Mapping[str, float]


class Share(TypedDict):
    """A block size with its weight."""

    size_bytes: int
    weight: float


class Op(TypedDict):
    """An operation with its weight and sizes."""

    op: str
    weight: float
    sizes: list[Share]


class Mix(TypedDict):
    """All operations."""

    ops: list[Op]


class Band(TypedDict):
    """A hot spot."""

    area: float
    access: float


class Pattern(TypedDict):
    """Where requests go; which keys there are depends on the kind."""

    kind: str
    streams: NotRequired[int]
    stride_bytes: NotRequired[int]
    theta: NotRequired[float]
    share: NotRequired[float]
    read: NotRequired[float]
    write: NotRequired[float]
    bands: NotRequired[list[Band]]
    open: NotRequired[int]


class Region(TypedDict):
    """Part of the target."""

    start: Extent
    size: Extent


class Content(TypedDict):
    """What writes carry."""

    compressible: float
    dedup: NotRequired[float]
    verify: Mapping[str, int] | None


class Load(TypedDict):
    """Closed, or open with a rate."""

    kind: Literal["closed", "open"]
    threads: int
    iodepth: int
    rate_iops: NotRequired[float]
    arrival: NotRequired[str]


class Pace(TypedDict, total=False):
    """What a load leaves open."""

    think_ns: int
    reap: int
    rates: Sequence[object]
    split: object


class Errors(TypedDict, total=False):
    """What failed I/O does."""

    most: int | None


class Until(TypedDict):
    """When it ends."""

    time_ns: int | None
    bytes: int | None
    region_multiple: float | None
    count: int | None


class Position(TypedDict):
    """Where the threads of an ordered pattern begin, and which operations follow each other."""

    threads: Literal["part", "start", "shared"]
    operations: NotRequired[Literal["together", "apart"]]


class NormalJob(TypedDict):
    """A job."""

    mix: Mix
    flush_every: NotRequired[int]
    pattern: Pattern
    position: NotRequired[Position]
    region: Region
    align_bytes: int | None
    content: Content
    placement: list[int]
    direct: bool
    sqpoll: NotRequired[bool]
    huge_pages: NotRequired[bool]
    gpu: NotRequired[bool]
    load: Load
    pace: Pace
    errors: NotRequired[Errors]
    journal: NotRequired[str | None]
    until: Until
    streams: NotRequired[list["NormalStream"]]


class NormalStream(TypedDict):
    """One of several workloads at once."""

    name: str
    job: NormalJob
