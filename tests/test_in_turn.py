"""Chains of steps that run at once are seen as one sequence, step by step."""

from dataclasses import replace

from fathom.load.resolve import resolve_targets
from fathom.method.method import Step, load_method
from fathom.runs.store import StepOutcome
from fathom.session.in_turn import InTurn
from fathom.session.stepper import Progress
from fathom.targets.target import Target

STEP = next(step for step in load_method("four-corners").steps if step.kind == "measure")
DONE = StepOutcome("complete", None, "", 1.0, 0)
[TARGET] = resolve_targets(["twin:samsung-pm9a3-7.68tb"])


class Watcher:
    """Writes down what it sees; fails where a step does not follow the end of the one before."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        self.seen.append(f"{number} {step.name}")

    def progressed(self, target: Target, progress: Progress) -> None:
        self.seen.append(f"at {progress.elapsed_s:g} s")

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        self.seen.append(f"end of {step.name}")

    def target_ended(self, target: Target, error: str | None) -> None:
        self.seen.append("end")


def step(name: str) -> Step:
    return replace(STEP, name=name)


def at(elapsed_s: float) -> Progress:
    return Progress(elapsed_s, 0, 0.0, 0.0, None, 0, "")


def test_what_a_silent_chain_finishes_follows_the_end_of_the_speaking_chains_step() -> None:
    watcher = Watcher()
    speaking, silent = InTurn(watcher, TARGET, 2).voices
    speaking.step_started(TARGET, 1, 9, step("a"))
    silent.step_started(TARGET, 5, 9, step("x"))
    silent.progressed(TARGET, at(2.0))
    silent.step_ended(TARGET, step("x"), DONE)
    speaking.progressed(TARGET, at(1.0))
    assert watcher.seen == ["1 a", "at 1 s"]
    speaking.step_ended(TARGET, step("a"), DONE)
    assert watcher.seen[2:] == ["end of a", "5 x", "at 2 s", "end of x"]


def test_when_the_speaking_chain_ends_another_speaks_from_its_running_step_on() -> None:
    watcher = Watcher()
    first, second = InTurn(watcher, TARGET, 2).voices
    first.step_started(TARGET, 1, 9, step("a"))
    second.step_started(TARGET, 5, 9, step("x"))
    second.step_ended(TARGET, step("x"), DONE)
    second.step_started(TARGET, 6, 9, step("y"))
    second.progressed(TARGET, at(3.0))
    assert not first.end()
    assert watcher.seen == ["1 a", "5 x", "end of x", "6 y", "at 3 s"]
    second.progressed(TARGET, at(4.0))
    second.step_ended(TARGET, step("y"), DONE)
    assert second.end()
    assert watcher.seen[5:] == ["at 4 s", "end of y"]


def test_a_chain_that_begins_while_none_speaks_speaks() -> None:
    watcher = Watcher()
    first, second = InTurn(watcher, TARGET, 2).voices
    first.step_started(TARGET, 1, 9, step("a"))
    first.step_ended(TARGET, step("a"), DONE)
    assert not first.end()
    second.step_started(TARGET, 5, 9, step("x"))
    assert watcher.seen == ["1 a", "end of a", "5 x"]
