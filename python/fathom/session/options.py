"""How to run: everything but method and target, and the observer of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Protocol

from fathom.errors import UsageError
from fathom.load.initiator import Initiator, ThisMachine
from fathom.method.method import Step
from fathom.runs.store import StepOutcome
from fathom.session.prepared import PreparedTwins
from fathom.session.stepper import Progress
from fathom.targets.purge import Purge
from fathom.targets.target import Target


class Observer(Protocol):
    """Watches a session. Called from several threads."""

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        """Runs when a step begins; `number` counts from 1."""
        ...

    def progressed(self, target: Target, progress: Progress) -> None:
        """Runs about once a second while a step runs."""
        ...

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        """Runs when a step has ended and its rows are on the disk."""
        ...

    def target_ended(self, target: Target, error: str | None) -> None:
        """Runs when all steps of a target have ended, or one of them failed."""
        ...


class SilentObserver:
    """Watches nothing."""

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        """Does nothing."""

    def progressed(self, target: Target, progress: Progress) -> None:
        """Does nothing."""

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        """Does nothing."""

    def target_ended(self, target: Target, error: str | None) -> None:
        """Does nothing."""


@dataclass
class Options:
    """How to run: everything but method and target."""

    seed: int = 1
    destroy: tuple[str, ...] = ()
    unknown_data: bool = False
    out: Path | None = None
    observer: Observer = field(default_factory=SilentObserver)
    interrupt: Event = field(default_factory=Event)
    power: str | None = None
    repeat_of: str | None = None
    initiator: Initiator = field(default_factory=ThisMachine)
    purge: Purge = "trim"
    power_state: int | None = None
    """NVMe power state of all drives during the run; None leaves them as they are."""
    power_before: Mapping[str, int] = field(default_factory=dict)
    """What to put back after a run that goes on, by drive; else what the drives have at its start."""
    prepared: PreparedTwins | None = None
    """Where twins are kept and taken that other runs of this process prepare alike; None: each run prepares its own."""
    at_once: int | None = None
    """Simulations at once; None is as many as there are cores for this process. The figures are the same."""

    def __post_init__(self) -> None:
        """Checks what the engines take as unsigned 64 bits."""
        if not isinstance(self.seed, int) or not 0 <= self.seed < 1 << 64:
            raise UsageError(f"seed {self.seed}: out of range", "expected a whole number from 0 to 2^64 - 1")
