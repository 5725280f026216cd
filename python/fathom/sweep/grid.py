"""From `--set KEY=VALUE,...` to the combinations: the targets and the method of each. Runs nothing."""

import itertools
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fathom.catalog.settings import SHORT, with_settings
from fathom.columns.schema import POINTS
from fathom.errors import UsageError
from fathom.method.method import Method, parse_method

JOB = "job."
"""What a key of a job begins with."""
MOST_POINTS = 10_000
MEASURED = ("measure", "curve")
"""Kinds of steps whose jobs are set: measured steps, not those that prepare the target."""


@dataclass(frozen=True)
class Axis:
    """A key and its values, as written."""

    key: str
    values: tuple[str, ...]

    @property
    def column(self) -> str:
        """Its name in the table of points, which has columns of its own."""
        return f"twin.{self.key}" if self.key in POINTS.names else self.key


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
    if len(set(values)) < len(values):
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
            _with_keys(method, settings),
        )
        for number, settings in enumerate(made, 1)
    ]


def _with_parameters(target: str, settings: Sequence[tuple[str, str]]) -> str:
    """Returns the target's name followed by every setting that is not for a job."""
    own = ",".join(f"{key}={value}" for key, value in settings if not key.startswith(JOB))
    return with_settings(target, own)


def _with_keys(method: Method, settings: Sequence[tuple[str, str]]) -> str:
    """Returns the method file with a job's settings in every measured step, checked as any other."""
    own = [(key.removeprefix(JOB), _value(value)) for key, value in settings if key.startswith(JOB)]
    if not own:
        return method.text
    text = method.text
    document = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    for job in _jobs(document["steps"]):
        for key, value in own:
            _put(job, key, value)
    changed = json.dumps(document, indent=1)
    parse_method(changed, f"{method.name}, {', '.join(f'{key}={value}' for key, value in own)}.json")
    return changed


def _jobs(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the jobs of the measured steps, those of rounds too."""
    jobs = [step["job"] for step in steps if step.get("kind", "measure") in MEASURED and "job" in step]
    return [*jobs, *(job for step in steps if step.get("kind") == "rounds" for job in _jobs(step["steps"]))]


def _put(table: dict[str, Any], key: str, value: object) -> None:
    *above, last = key.split(".")
    for name in above:
        inner = table.get(name)
        table[name] = table = dict(inner) if isinstance(inner, dict) else {}
    table[last] = value


def _value(text: str) -> object:
    """Returns a number, a boolean, or else the text, as in a method file."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text
