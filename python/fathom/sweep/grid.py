"""From `--set KEY=VALUE,...` to the combinations: the targets and the method of each. Runs nothing."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathom import _core
from fathom.catalog.settings import SHORT, with_settings
from fathom.columns.schema import POINTS
from fathom.errors import UsageError
from fathom.method.method import Method
from fathom.sweep.keys import with_keys

JOB = "job."
"""What a key of a job begins with."""
MOST_POINTS = 10_000


@dataclass(frozen=True)
class Axis:
    """A key and its values, as written."""

    key: str
    values: tuple[str, ...]

    @property
    def column(self) -> str:
        """Its name in the table of points, which has columns of its own."""
        return f"twin.{self.key}" if self.key in POINTS.names else self.key

    @property
    def job_key(self) -> str | None:
        """The key of a job that it sets; None for a parameter."""
        return self.key.removeprefix(JOB) if self.key.startswith(JOB) else None

    @property
    def sizes_bytes(self) -> Mapping[str, int]:
        """Its values as sizes, where all are such as `4k` or `1MiB`; else nothing."""
        if self.is_numeric:
            return {}
        try:
            return {value: _core.parse_size_bytes(value) for value in self.values}
        except _core.ParseError:
            return {}

    @property
    def is_numeric(self) -> bool:
        """Whether all its values are plain numbers."""
        return all(_is_number(value) for value in self.values)


@dataclass(frozen=True)
class Combination:
    """One point of the grid: a value for each axis, and the targets and the method file that they make."""

    number: int
    settings: tuple[tuple[str, str], ...]
    targets: tuple[str, ...]
    method_text: str

    @property
    def label(self) -> str:
        """Such as `over_provisioning 0.28, job.load.iodepth 32`."""
        return ", ".join(f"{key} {value}" for key, value in self.settings)


def parse_axis(text: str) -> Axis:
    """Returns `KEY=VALUE,VALUE,...`. Raises UsageError."""
    key, _, listed = text.partition("=")
    values = tuple(value.strip() for value in listed.split(","))
    if not key.strip() or not all(values):
        raise UsageError(f"--set {text}: not KEY=VALUE,...", "write such as --set op=0.07,0.28")
    if len(set(map(_meaning, values))) < len(values):
        raise UsageError(f"--set {text}: a value appears twice", "name each value once")
    member, dot, last = key.strip().rpartition(".")
    return Axis(f"{member}{dot}{SHORT.get(last, last)}", values)


def combinations(axes: Sequence[Axis], method: Method, targets: Sequence[str]) -> list[Combination]:
    """Returns every combination, the first axis varying slowest.

    Raises UsageError for a key that is set twice, too many combinations, or a target that is not a twin.
    """
    keys = [axis.key for axis in axes]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise UsageError(f"--set {min(twice)}: set twice", "list all values in one --set")
    if real := [target for target in targets if not target.startswith("twin:")]:
        raise UsageError(
            f"{real[0]} is no twin, and a sweep only simulates",
            "give twins, such as twin:samsung-pm9a3-7.68tb",
        )
    grid = list(itertools.islice(itertools.product(*(axis.values for axis in axes)), MOST_POINTS + 1))
    if len(grid) > MOST_POINTS:
        raise UsageError(f"the grid has more than {MOST_POINTS:,} points", "sweep fewer values at a time")
    made = [tuple(zip(keys, values, strict=True)) for values in grid]
    return [
        Combination(
            number,
            settings,
            tuple(_with_parameters(target, settings) for target in targets),
            with_keys(method, _of_jobs(settings)),
        )
        for number, settings in enumerate(made, 1)
    ]


def _with_parameters(target: str, settings: Sequence[tuple[str, str]]) -> str:
    """Returns the target's name followed by every setting that is not for a job."""
    own = ",".join(f"{key}={value}" for key, value in settings if not key.startswith(JOB))
    return with_settings(target, own)


def _of_jobs(settings: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns every setting that is for a job, by the job's own key."""
    return [(key.removeprefix(JOB), value) for key, value in settings if key.startswith(JOB)]


def _meaning(text: str) -> object:
    """Returns what is equal for values that a job or a twin takes for the same: `1` and `1.0`, `4k` and `4KiB`."""
    if _is_number(text):
        return float(text)
    for unit, parse in (("bytes", _core.parse_size_bytes), ("ns", _core.parse_duration_ns)):
        try:
            return unit, parse(text)
        except _core.ParseError:
            continue
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
