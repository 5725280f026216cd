"""Method + targets -> what will happen: steps, bytes written, wear, time. Touches nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fathom.method.method import Method, Step
from fathom.method.rounds import Round
from fathom.plan.expect import Endurance, endurance_of, expect, rating_of, thinks
from fathom.plan.fit import inapplicable
from fathom.targets.target import Target


@dataclass(frozen=True)
class PlannedStep:
    """What one step will do to one target (`fathom.plan.expect`). None where it depends on the target's speed."""

    number: int
    step: str
    kind: str
    label: str
    time_s: float | None
    written_bytes: int | None
    bound: Literal["most", "least"] | None = None
    thinks: bool = False
    round: Round | None = None
    left_out: str | None = None
    """Why a run leaves the step out; it then takes no time and writes nothing."""

    @property
    def may_be_left_out(self) -> bool:
        """Whether a steady target needs no such step."""
        place = self.round
        return self.kind == "precondition" or bool(place and place.judged and place.number > place.window)


@dataclass(frozen=True)
class Plan:
    """Every step on one target, in the order of execution, and the target's rated endurance."""

    target: Target
    steps: tuple[PlannedStep, ...]
    rated: bool
    endurance: Endurance | None

    @property
    def time_s(self) -> float:
        """Time in s of all steps whose time is known."""
        return sum(step.time_s or 0.0 for step in self.steps)

    @property
    def least_time_s(self) -> float:
        """Least time in s: preconditions are steady at once, and rounds as soon as they can be judged."""
        return sum(step.time_s or 0.0 for step in self.steps if not step.may_be_left_out)

    @property
    def written_bytes(self) -> int:
        """Bytes written by all steps whose volume is known."""
        return sum(step.written_bytes or 0 for step in self.steps)

    @property
    def whole(self) -> bool:
        """Whether time and volume of every step are known."""
        return all(step.time_s is not None and step.written_bytes is not None for step in self.steps)

    @property
    def wear_pct(self) -> float | None:
        """Host writes in percent of the rated endurance; None where either is unknown."""
        if self.endurance is None or not self.whole:
            return None
        return 100 * self.written_bytes / self.endurance.written_bytes


def plan_of(method: Method, target: Target) -> Plan:
    """Returns the plan of a method on a target."""
    drive = rating_of(target)
    steps: list[PlannedStep] = []
    left_out: dict[str, str] = {}
    for number, step in method.steps_on(target):
        if reason := _left_out(step, target, left_out):
            left_out[step.name] = reason
            steps.append(
                PlannedStep(
                    number, step.name, step.kind, step.label, 0.0, 0, round=step.round, left_out=reason
                )
            )
            continue
        expected = expect(step, target, drive)
        steps.append(
            PlannedStep(
                number,
                step.name,
                step.kind,
                step.label,
                expected.time_s,
                expected.written_bytes,
                expected.bound,
                thinks(step.job),
                step.round,
            )
        )
    return Plan(target, tuple(steps), drive is not None, endurance_of(drive, max(1, len(target.parts))))


def _left_out(step: Step, target: Target, before: Mapping[str, str]) -> str | None:
    """Returns why a run leaves the step out on the target; None where it runs. `before` are those left out so far."""
    if reason := inapplicable(step, target):
        return reason
    return before.get(step.offered.of) if step.offered else None
