"""An observer of a run that keeps how far its steps came."""

from fathom.method.method import Step
from fathom.session import SilentObserver
from fathom.session.remaining import remaining_of
from fathom.session.stepper import Progress
from fathom.targets.target import Target


class LastShares(SilentObserver):
    """Keeps the share of each step that was done when it was last seen."""

    def __init__(self) -> None:
        self.shares: dict[str, float] = {}
        self._step: Step | None = None

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        self._step = step

    def progressed(self, target: Target, progress: Progress) -> None:
        assert self._step
        self.shares[self._step.name] = remaining_of(self._step, target, progress).share
