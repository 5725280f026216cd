"""A parsed method as Python sees it: typed views on the normal form that the Rust parser returns.

The parser is the only judge of what is valid; nothing is checked twice here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from fathom import _core
from fathom.errors import UsageError

StepKind = Literal["fill", "precondition", "measure"]
NS_PER_S = 1e9

JsonObject = Mapping[str, object]


@dataclass(frozen=True)
class Job:
    """One step's I/O: the job as JSON for the backends, and what tables and plans show of it."""

    json: str
    weights: Mapping[str, float]
    block_sizes: Mapping[str, tuple[int, ...]]
    threads: int
    iodepth: int
    rate_iops: float | None
    region_fraction: float | None
    region_bytes: int | None
    time_s: float | None
    bytes: int | None
    region_multiple: float | None
    count: int | None

    @property
    def read_pct(self) -> float:
        """Share of reads among all operations, in percent."""
        return 100 * self.weights.get("read", 0.0) / sum(self.weights.values())

    @property
    def destructive(self) -> bool:
        """Whether any operation changes data."""
        return any(op not in ("read", "flush") for op in self.weights)

    def block_bytes(self, op: str) -> int | None:
        """The operation's block size, None where it has several or none."""
        sizes = self.block_sizes.get(op, ())
        return sizes[0] if len(sizes) == 1 else None


@dataclass(frozen=True)
class Steady:
    """The rounds by which a precondition is judged."""

    round_s: float
    window: int
    range_fraction: float
    slope_fraction: float


@dataclass(frozen=True)
class Step:
    """One workload under one load until one condition."""

    name: str
    kind: StepKind
    workload: str
    label: str
    published: str | None
    steady: Steady | None
    job: Job


@dataclass(frozen=True)
class Quick:
    """By how much `--quick` shortens."""

    divide_times_by: float
    divide_volumes_by: float


@dataclass(frozen=True)
class Method:
    """A procedure. `parsed` is the normal form after `--quick`, `text` the file as written."""

    name: str
    title: str
    summary: str
    source: str
    quick: Quick | None
    steps: tuple[Step, ...]
    text: str
    parsed: JsonObject

    @property
    def destructive(self) -> bool:
        """Whether any step changes data."""
        return any(step.job.destructive for step in self.steps)


def parse_method(text: str, file: str, *, quick: bool = False) -> Method:
    """Parses a method file; with `quick`, shortened as the method itself states.

    Raises UsageError: one line with file, line and what was expected.
    """
    try:
        parsed = json.loads(_core.parse_method(text, file, quick))
    except _core.ParseError as error:
        raise UsageError(str(error)) from error
    factors = parsed["quick"]
    return Method(
        name=parsed["name"],
        title=parsed["title"],
        summary=parsed["summary"],
        source=parsed["source"],
        quick=Quick(**factors) if quick and factors else None,
        steps=tuple(_step(step) for step in parsed["steps"]),
        text=text,
        parsed=parsed,
    )


def load_method(name: str, *, quick: bool = False) -> Method:
    """The method of that name in the catalogue, or the method file at that path."""
    if "/" in name or name.endswith((".toml", ".json")):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"method file {name}: {error.strerror}", "copy a built-in one with `fathom methods show`") from error
        return parse_method(text, name, quick=quick)
    from fathom.catalog import method_text

    return parse_method(method_text(name), f"{name}.toml", quick=quick)


def _step(step: dict[str, object]) -> Step:
    steady = cast("dict[str, float] | None", step["steady"])
    return Step(
        name=str(step["name"]),
        kind=cast("StepKind", step["kind"]),
        workload=str(step["workload"]),
        label=str(step["label"]),
        published=cast("str | None", step["published"]),
        steady=steady
        and Steady(
            steady["round_ns"] / NS_PER_S, int(steady["window"]), steady["range"], steady["slope"]
        ),
        job=_job(cast("dict[str, dict[str, object]]", step["job"])),
    )
