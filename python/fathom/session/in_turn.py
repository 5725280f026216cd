"""One sequence of events from chains of steps that run at once, so that an observer sees a target's steps one by one.

One chain speaks: its events pass at once. What the others finish meanwhile follows whenever a step of it ends. When the
chain has ended, another one speaks, from its running step on.
"""

from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from fathom.method.method import Step
from fathom.runs.store import StepOutcome
from fathom.session.options import Observer
from fathom.session.stepper import Progress
from fathom.targets.target import Target


class _Begun(NamedTuple):
    number: int
    total: int
    step: Step


class _Finished(NamedTuple):
    begun: _Begun
    progress: Progress | None
    outcome: StepOutcome


class InTurn:
    """The events of a target's chains, for one observer. Each chain has a voice, which it ends."""

    def __init__(self, watcher: Observer, target: Target, chains: int) -> None:
        self._watcher = watcher
        self._target = target
        self._lock = Lock()
        self._finished: deque[_Finished] = deque()
        self._speaking: Voice | None = None
        self._left: dict[Voice, None] = {}
        self.voices: Sequence[Voice] = tuple(self.joined() for _ in range(chains))

    def joined(self) -> "Voice":
        """Returns the voice of one more chain."""
        voice = Voice(self)
        with self._lock:
            self._left[voice] = None
        return voice

    def started(self, voice: "Voice", begun: _Begun) -> None:
        """Passes a step's start on if the chain speaks, or none does."""
        with self._lock:
            voice.begun, voice.progress = begun, None
            self._speaking = self._speaking or voice
            if voice is self._speaking:
                self._watcher.step_started(self._target, *begun)

    def progressed(self, voice: "Voice", progress: Progress) -> None:
        """Passes progress on if the chain speaks."""
        with self._lock:
            voice.progress = progress
            if voice is self._speaking:
                self._watcher.progressed(self._target, progress)

    def ended(self, voice: "Voice", step: Step, outcome: StepOutcome) -> None:
        """Passes a step's end on if the chain speaks, and then what others finished; else keeps it."""
        with self._lock:
            begun, voice.begun = voice.begun, None
            if voice is self._speaking:
                self._watcher.step_ended(self._target, step, outcome)
                self._pass_finished()
            elif begun is not None:
                self._finished.append(_Finished(begun, voice.progress, outcome))

    def silenced(self, voice: "Voice") -> bool:
        """Ends the events of a chain; another speaks instead. Returns whether it was the last."""
        with self._lock:
            del self._left[voice]
            if self._speaking in (voice, None):
                self._pass_finished()
                self._speaking = next((one for one in self._left if one.begun), None)
                if self._speaking and (begun := self._speaking.begun):
                    self._tell(begun, self._speaking.progress)
            return not self._left

    def _pass_finished(self) -> None:
        while self._finished:
            begun, progress, outcome = self._finished.popleft()
            self._tell(begun, progress)
            self._watcher.step_ended(self._target, begun.step, outcome)

    def _tell(self, begun: _Begun, progress: Progress | None) -> None:
        self._watcher.step_started(self._target, *begun)
        if progress is not None:
            self._watcher.progressed(self._target, progress)


class Voice:
    """An observer of one chain's steps, and the step that runs."""

    def __init__(self, told: InTurn) -> None:
        self._told = told
        self.begun: _Begun | None = None
        self.progress: Progress | None = None

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        """Begins a step."""
        self._told.started(self, _Begun(number, total, step))

    def progressed(self, target: Target, progress: Progress) -> None:
        """Reports on the running step."""
        self._told.progressed(self, progress)

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        """Ends the running step."""
        self._told.ended(self, step, outcome)

    def target_ended(self, target: Target, error: str | None) -> None:
        """Says nothing: a target has ended when all of its chains have."""

    def beside(self) -> "Voice":
        """Returns the voice of a chain that runs beside this one, of the same target."""
        return self._told.joined()

    def end(self) -> bool:
        """Ends the chain. Returns whether it was the target's last."""
        return self._told.silenced(self)
