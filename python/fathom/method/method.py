"""A parsed method as Python sees it: typed views on the normal form that the Rust parser returns.

Only the parser decides what is valid; nothing is checked again here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict, cast

from fathom import _core
from fathom._core import Job
from fathom.errors import UsageError
from fathom.method.curve import Curve, CurveJson, Place, parse_curve, point_name, search_name
from fathom.method.job import NS_PER_S, begins_ahead, job_of
from fathom.method.offered import Offered, OfferedJson, parse_offered
from fathom.method.rounds import Round, RoundJson, parse_round
from fathom.method.template import is_template
from fathom.method.until_steady import UntilSteady, UntilSteadyJson, parse_until_steady
from fathom.targets.target import Target
from fathom.text_file import read_text

if TYPE_CHECKING:
    from pydantic import JsonValue

StepKind = Literal["purge", "fill", "idle", "precondition", "measure", "point"]
WARM_UP = "warm-up"
"""The workload of measured steps that only bring a target into the state in which others measure it."""
AGAINST_ITS_DRIVE = ("added-latency",)
"""Methods that measure a system against its own drive."""


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
    on_copy: NotRequired[bool]
    continues: NotRequired[bool]
    steady: _SteadyJson | None
    until_steady: NotRequired[UntilSteadyJson]
    curve: CurveJson | None
    round: RoundJson | None
    job: "JsonValue"


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
class Steady:
    """The rounds that decide whether a precondition is steady, and how much it writes, in multiples of its region."""

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

    `targets` are the names of the targets that it runs on; none: all of the run. `only_files` leaves devices alone, and
    files that somebody else made.

    `bench` names the catalogue's system that twins are driven from; without one it is each device's own. `precision`
    is the half-width of the 95 % intervals of rate and mean latency, as a fraction of them. At it, a twin's window or
    round may end before its time. `turnover` is the least share of the region that such a window writes, where the
    method says. `percentile` is the highest, 0..1, that it holds the I/Os for, of every operation. With
    `until_steady` a window of any target ends once its seconds hold still. A fill that is `afresh` begins a new twin of
    an SSD, and fills the whole of it. A step that is `on_copy` runs on a copy of a twin where there can be one. Points
    of a curve are. One that `continues` keeps the positions at which the step before it ended. A precondition
    `without_reads` settles by what its workload does beside its reads.
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
    on_copy: bool = False
    continues: bool = False
    without_reads: bool = False
    curve: Curve | None = None
    place: Place | None = None
    round: Round | None = None
    targets: tuple[str, ...] = ()
    only_files: bool = False
    until_steady: UntilSteady | None = None

    @property
    def prepares(self) -> bool:
        """Whether the step only makes a target ready for others: its figures are not for reading."""
        return self.kind not in ("measure", "point") or self.workload == WARM_UP

    def runs_on(self, target: Target) -> bool:
        """Returns whether the step runs on the target."""
        named = not self.targets or target.bound in self.targets
        return named and (not self.only_files or (target.is_file and not target.foreign))


@dataclass(frozen=True)
class Quick:
    """The factors by which `--quick` shortens measurements, preconditioning and written volumes."""

    divide_times_by: float
    divide_preconditioning_by: float
    divide_volumes_by: float


@dataclass(frozen=True)
class Method:
    """A procedure. `parsed` is the normal form after `--quick`, `text` the file as written.

    `file_system` is the one for block devices and virtual drives whose target names none; None: the bare target.
    `slice_bytes` is the most that a twin simulates of a drive; None: the twin's own slice.
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
        """The target names that the steps use, in order."""
        return list(dict.fromkeys(name for step in self.steps for name in step.targets))

    def steps_on(self, target: Target) -> list[tuple[int, Step]]:
        """Returns the steps that run on a target, each with its number in the method, from 1."""
        return [(number, step) for number, step in enumerate(self.steps, 1) if step.runs_on(target)]

    def writes_to(self, target: Target) -> bool:
        """Returns whether any step changes data of that target."""
        return any(step.job.destructive for _, step in self.steps_on(target))


MOST_IN_NAME = 120
"""Characters of a method's or step's name, from which files and folders of runs are named."""


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
    for name in (parsed["name"], *(step["name"] for step in parsed["steps"])):
        if len(name) > MOST_IN_NAME:
            raise UsageError(
                f"{file}: the name {name} has {len(name)} characters", f"write at most {MOST_IN_NAME}"
            )
    for bench in dict.fromkeys(step["bench"] for step in parsed["steps"]):
        _check_bench(bench, file)
    steps = tuple(part for step in parsed["steps"] for part in _steps(step))
    for step in steps:
        if begins_ahead(step.job):
            raise UsageError(
                f"{file}: step {step.name}: ahead_bytes is of jobs that Fathom itself continues",
                "leave it out, or give the step continues = true",
            )
    return Method(
        name=parsed["name"],
        title=parsed["title"],
        summary=parsed["summary"],
        source=parsed["source"],
        quick=_quick(factors) if quick and factors else None,
        steps=steps,
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
    """Returns the method of that name in the catalogue, or the method file at that path.

    Raises UsageError, also for a method that takes its workload from a trace.
    """
    text, file = method_file(name)
    if is_template(text):
        raise UsageError(f"the method {name} needs a trace", "give --trace FILE to `fathom run` or `plan`")
    return parse_method(text, file, quick=quick)


def method_file(name: str) -> tuple[str, str]:
    """Returns the text and the file of the method of that name in the catalogue, or at that path.

    A text of several lines is the method itself.
    """
    if "\n" in name:
        return name, "method.toml"
    if is_file(name):
        hint = "name a method file; `fathom methods show` prints a built-in one to copy"
        return read_text(Path(name), hint), name
    from fathom.catalog import method_text

    return method_text(name), f"{name}.toml"


def is_file(name: str) -> bool:
    """Returns whether a method's name is the path of a file, not a name of the catalogue."""
    return "\n" not in name and ("/" in name or name.endswith((".toml", ".json")))


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
        first,
        kind="point",
        published=None,
        curve=None,
        job=first.job.with_until(time_ns=round(curve.time_s * NS_PER_S)),
    )
    for share in curve.shares:
        yield replace(
            point,
            name=point_name(first.name, share),
            label=f"{first.label}, {100 * share:g} % of its maximum",
            on_copy=True,
            place=Place(first.name, share),
        )
    for number in range(1, 1 + (curve.slo.steps if curve.slo else 0)):
        yield replace(
            point,
            name=search_name(first.name, number),
            label=f"{first.label}, search {number} for its capacity at the SLO",
            on_copy=True,
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
        job=job_of(step),
        bench=step["bench"],
        precision=step["precision"],
        turnover=step["turnover"],
        percentile=step["percentile"],
        offered=parse_offered(step["offered"]) if step["offered"] else None,
        afresh=step.get("afresh", False),
        on_copy=step.get("on_copy", False),
        continues=step.get("continues", False),
        curve=parse_curve(step["curve"]) if step["curve"] else None,
        round=parse_round(step["round"]) if step["round"] else None,
        targets=tuple(step.get("targets", ())),
        only_files=step.get("only_files", False),
        until_steady=parse_until_steady(still) if (still := step.get("until_steady")) else None,
    )


def _steady(steady: _SteadyJson) -> Steady:
    return Steady(
        steady["round_ns"] / NS_PER_S,
        steady["window"],
        steady["range"],
        steady["slope"],
        steady.get("written", 0.0),
    )
