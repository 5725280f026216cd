"""A parsed method as Python sees it: typed views on the normal form that the Rust parser returns.

The parser is the only judge of what is valid; nothing is checked twice here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict, cast

from fathom import _core
from fathom.errors import UsageError
from fathom.method.curve import Curve, CurveJson, Place, parse_curve, point_name, search_name
from fathom.method.offered import Offered, OfferedJson, parse_offered
from fathom.method.rounds import Round, RoundJson, parse_round
from fathom.method.split import split_job
from fathom.targets.target import Target
from fathom.text_file import read_text

if TYPE_CHECKING:
    from pydantic import JsonValue

StepKind = Literal["purge", "fill", "idle", "precondition", "measure", "point"]
NS_PER_S = 1e9
AGAINST_ITS_DRIVE = ("added-latency",)
"""Methods that measure a system against its own drive."""


class _SizeJson(TypedDict):
    size_bytes: int


class _OpJson(TypedDict):
    op: str
    weight: float
    sizes: list[_SizeJson]


class _MixJson(TypedDict):
    ops: list[_OpJson]


class _PatternJson(TypedDict):
    kind: str


class _RegionJson(TypedDict):
    size: dict[str, float]


class _LoadJson(TypedDict):
    threads: int
    iodepth: int


class _UntilJson(TypedDict):
    time_ns: int | None
    bytes: int | None
    region_multiple: float | None


class JobJson(TypedDict):
    """The part of a job's normal form that Python reads."""

    mix: _MixJson
    pattern: _PatternJson
    region: _RegionJson
    placement: list[int]
    load: _LoadJson
    until: _UntilJson
    streams: "NotRequired[list[_StreamJson]]"


class _StreamJson(TypedDict):
    name: str
    job: JobJson


class _SteadyJson(TypedDict):
    round_ns: int
    window: int
    range: float
    slope: float
    written: NotRequired[float]


class _StepJson(TypedDict):
    name: str
    kind: Literal["purge", "fill", "idle", "precondition", "measure", "curve"]
    targets: NotRequired[list[str]]
    only_files: NotRequired[bool]
    workload: str
    label: str
    published: str | None
    bench: str | None
    precision: float | None
    turnover: float | None
    percentile: float | None
    offered: OfferedJson | None
    afresh: NotRequired[bool]
    steady: _SteadyJson | None
    curve: CurveJson | None
    round: RoundJson | None
    job: JobJson


class _QuickJson(TypedDict):
    divide_times_by: float
    divide_preconditioning_by: float
    divide_volumes_by: float
    slice_bytes: NotRequired[int]


class _MethodJson(TypedDict):
    """The part of the parser's normal form that Python reads."""

    name: str
    title: str
    summary: str
    source: str
    file_system: str | None
    slice_bytes: int | None
    quick: _QuickJson | None
    steps: list[_StepJson]


@dataclass(frozen=True)
class Job:
    """One step's I/O: the job as JSON for the backends, and what tables and plans show of it."""

    json: str
    weights: Mapping[str, float]
    block_sizes: Mapping[str, tuple[int, ...]]
    pattern: str
    threads: int
    iodepth: int
    time_s: float | None
    bytes: int | None
    region_multiple: float | None
    _region: Mapping[str, float]
    placement: tuple[int, ...] = ()
    streams: "Mapping[str, Job]" = field(default_factory=dict)
    """Several workloads at once by name; the other fields then say what they come to together."""

    @property
    def read_pct(self) -> float | None:
        """Share of reads among all operations, in percent; None for streams, whose run shows it."""
        if self.streams:
            return None
        return 100 * self.weights.get("read", 0.0) / sum(self.weights.values())

    @property
    def destructive(self) -> bool:
        """Whether any operation changes data."""
        return any(op not in ("read", "flush") for op in self.weights)

    @property
    def direct(self) -> bool:
        """Whether it passes by the page cache."""
        return bool(json.loads(self.json)["direct"])

    @property
    def ends_by_time(self) -> bool:
        """Whether its time alone ends it."""
        job: JobJson = json.loads(self.json)
        jobs = [job, *(stream["job"] for stream in job.get("streams", ()))]
        others = (value for one in jobs for name, value in one["until"].items() if name != "time_ns")
        return self.time_s is not None and self.pattern != "random-once" and not any(others)

    @property
    def most_bytes(self) -> int | None:
        """Bytes of a region that smaller targets cut; None for any other."""
        return int(self._region["up-to"]) if "up-to" in self._region else None

    def region_size(self, capacity_bytes: int) -> int:
        """Returns bytes of the region on a target of that capacity."""
        if "bytes" in self._region:
            return int(self._region["bytes"])
        if self.most_bytes is not None:
            return min(self.most_bytes, capacity_bytes)
        return int(self._region["fraction"] * capacity_bytes)

    @property
    def thinks(self) -> bool:
        """Whether it pauses between a completion and the next request; of streams each says so itself."""
        return bool(json.loads(self.json)["pace"].get("think_ns"))

    @property
    def split(self) -> bool:
        """Whether its load is for all targets together, not for each."""
        return "split" in json.loads(self.json)["pace"]

    def of_parts(self, parts: int) -> list["Job"]:
        """Returns what each part of its target does. Raises FathomError for a load that cannot be split so."""
        return [parse_job(json.loads(own)) for own in split_job(self.json, parts)]

    def on_threads(self, most: int) -> "Job":
        """Returns the same I/O in flight from at most that many threads: the most that divide it evenly."""
        total = self.threads * self.iodepth
        threads = max(count for count in range(1, min(self.threads, most) + 1) if total % count == 0)
        job = json.loads(self.json)
        job["load"] |= {"threads": threads, "iodepth": total // threads}
        return replace(self, json=json.dumps(job), threads=threads, iodepth=total // threads)

    def block_bytes(self, op: str) -> int | None:
        """Returns the operation's block size, None where it has several or none."""
        sizes = self.block_sizes.get(op, ())
        return sizes[0] if len(sizes) == 1 else None


@dataclass(frozen=True)
class Steady:
    """The rounds by which a precondition is judged, and what it has to write itself, in multiples of its region."""

    round_s: float
    window: int
    range_fraction: float
    slope_fraction: float
    written_x: float = 0.0


@dataclass(frozen=True)
class Step:
    """One workload under one load until one condition.

    A curve of the method file is several steps: its maximum, a measured step with `curve`, and points with a `place`.
    A point's job is the maximum's until `fathom.method.curve` knows its rate. The job of a step with `offered` is in
    closed loop until the earlier step's rate is known.

    `targets` are the names of the targets that it runs on; none: all of the run. `only_files` leaves devices alone.

    `bench` names the catalogue's system that twins are driven from; without one it is each device's own. `precision`
    is the half-width of the 95 % intervals of rate and mean latency, as a fraction of them. At it, a twin's window or
    round may end before its time. `turnover` is the least share of the region that such a window writes, where the
    method says. `percentile` is the highest, 0..1, that it holds the I/Os for, of every operation. A fill that is
    `afresh` begins a new twin of an SSD, and fills the whole of it.
    """

    name: str
    kind: StepKind
    workload: str
    label: str
    published: str | None
    steady: Steady | None
    job: Job
    bench: str | None = None
    precision: float | None = None
    turnover: float | None = None
    percentile: float | None = None
    offered: Offered | None = None
    afresh: bool = False
    curve: Curve | None = None
    place: Place | None = None
    round: Round | None = None
    targets: tuple[str, ...] = ()
    only_files: bool = False

    def runs_on(self, target: Target) -> bool:
        """Returns whether the target is one of its own."""
        named = not self.targets or target.bound in self.targets
        return named and (target.is_file or not self.only_files)


@dataclass(frozen=True)
class Quick:
    """By how much `--quick` shortens measurements, preconditioning and written volumes."""

    divide_times_by: float
    divide_preconditioning_by: float
    divide_volumes_by: float


@dataclass(frozen=True)
class Method:
    """A procedure. `parsed` is the normal form after `--quick`, `text` the file as written.

    `file_system` is what block devices and virtual drives get where the target names none; None: the bare target.
    `slice_bytes` is the most that a twin simulates of a drive; None: what each does by itself.
    """

    name: str
    title: str
    summary: str
    source: str
    quick: Quick | None
    steps: tuple[Step, ...]
    text: str
    parsed: "Mapping[str, JsonValue]"
    file_system: str | None = None
    slice_bytes: int | None = None

    @property
    def target_names(self) -> list[str]:
        """The names of targets that the steps ask for, in their order."""
        return list(dict.fromkeys(name for step in self.steps for name in step.targets))

    def steps_on(self, target: Target) -> list[tuple[int, Step]]:
        """Returns the steps that run on a target, each with its number in the method, from 1."""
        return [(number, step) for number, step in enumerate(self.steps, 1) if step.runs_on(target)]

    def writes_to(self, target: Target) -> bool:
        """Returns whether any step changes data of that target."""
        return any(step.job.destructive for _, step in self.steps_on(target))


def parse_method(text: str, file: str, *, quick: bool = False) -> Method:
    """Parses a method file; with `quick`, shortened as the method itself states.

    Raises UsageError: one line with file, line and what was expected.
    """
    try:
        normal = json.loads(_core.parse_method(text, file, quick))
    except _core.ParseError as error:
        raise UsageError(str(error)) from error
    parsed = cast("_MethodJson", normal)
    factors = parsed["quick"]
    for bench in dict.fromkeys(step["bench"] for step in parsed["steps"]):
        _check_bench(bench, file)
    return Method(
        name=parsed["name"],
        title=parsed["title"],
        summary=parsed["summary"],
        source=parsed["source"],
        quick=_quick(factors) if quick and factors else None,
        steps=tuple(part for step in parsed["steps"] for part in _steps(step)),
        text=text,
        parsed=normal,
        file_system=parsed["file_system"],
        slice_bytes=parsed["slice_bytes"],
    )


def _quick(factors: _QuickJson) -> Quick:
    return Quick(
        factors["divide_times_by"], factors["divide_preconditioning_by"], factors["divide_volumes_by"]
    )


def load_method(name: str, *, quick: bool = False) -> Method:
    """Returns the method of that name in the catalogue, or the method file at that path."""
    if "/" in name or name.endswith((".toml", ".json")):
        text = read_text(
            Path(name), "name a method file; `fathom methods show` prints a built-in one to copy"
        )
        return parse_method(text, name, quick=quick)
    from fathom.catalog import method_text

    return parse_method(method_text(name), f"{name}.toml", quick=quick)


def _check_bench(bench: str | None, file: str) -> None:
    if bench is None:
        return
    from fathom.catalog import CatalogError, load_system

    try:
        load_system(bench)
    except CatalogError as error:
        raise UsageError(f"{file}: bench: {error}", "see `fathom catalog --kind systems`") from error


def _steps(step: _StepJson) -> Iterator[Step]:
    """Yields a step as the session runs it; of a curve the maximum, the points and the search."""
    first = _step(step)
    yield first
    curve = first.curve
    if curve is None:
        return
    point = replace(
        first, kind="point", published=None, curve=None, job=replace(first.job, time_s=curve.time_s)
    )
    for share in curve.shares:
        yield replace(
            point,
            name=point_name(first.name, share),
            label=f"{first.label}, {100 * share:g} % of its maximum",
            place=Place(first.name, share),
        )
    for number in range(1, 1 + (curve.slo.steps if curve.slo else 0)):
        yield replace(
            point,
            name=search_name(first.name, number),
            label=f"{first.label}, search {number} for its capacity at the SLO",
            place=Place(first.name, None),
        )


def _step(step: _StepJson) -> Step:
    steady = step["steady"]
    return Step(
        name=step["name"],
        kind="measure" if step["kind"] == "curve" else step["kind"],
        workload=step["workload"],
        label=step["label"],
        published=step["published"],
        steady=_steady(steady) if steady else None,
        job=parse_job(step["job"]),
        bench=step["bench"],
        precision=step["precision"],
        turnover=step["turnover"],
        percentile=step["percentile"],
        offered=parse_offered(step["offered"]) if step["offered"] else None,
        afresh=step.get("afresh", False),
        curve=parse_curve(step["curve"]) if step["curve"] else None,
        round=parse_round(step["round"]) if step["round"] else None,
        targets=tuple(step.get("targets", ())),
        only_files=step.get("only_files", False),
    )


def _steady(steady: _SteadyJson) -> Steady:
    return Steady(
        steady["round_ns"] / NS_PER_S,
        steady["window"],
        steady["range"],
        steady["slope"],
        steady.get("written", 0.0),
    )


def parse_job(job: JobJson) -> Job:
    """Returns the job of a step in its normal form."""
    until = job["until"]
    return Job(
        json=json.dumps(job),
        weights={op["op"]: op["weight"] for op in job["mix"]["ops"]},
        block_sizes={op["op"]: tuple(s["size_bytes"] for s in op["sizes"]) for op in job["mix"]["ops"]},
        pattern=job["pattern"]["kind"],
        threads=job["load"]["threads"],
        iodepth=job["load"]["iodepth"],
        time_s=None if until["time_ns"] is None else until["time_ns"] / NS_PER_S,
        bytes=until["bytes"],
        region_multiple=until["region_multiple"],
        _region=job["region"]["size"],
        placement=tuple(job["placement"]),
        streams={stream["name"]: parse_job(stream["job"]) for stream in job.get("streams", ())},
    )
