"""All targets of a run, and its end: tables, notes, status.

Real targets run one after another, alone on the machine. Twins run afterwards, and so do parts of one twin that
begin fresh. As many run at once as there are cores, since each lives in its own virtual time. Cores that have nothing
left to begin help with steps on copies, such as the points of a curve.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from shlex import quote

from fathom import _core
from fathom.analysis import validity
from fathom.analysis.run_view import Remark, RunView
from fathom.errors import NEW_RUN, FathomError, InterruptedRunError, RefusedError
from fathom.method.method import Method
from fathom.output.text import in_others
from fathom.power.meter import PowerMeter
from fathom.power.step import power_notes
from fathom.runs.document import LOST_HOST, NoteRecord, Status
from fathom.runs.home import called
from fathom.runs.reader import Run
from fathom.runs.store import RunStore
from fathom.session.helpers import Helpers
from fathom.session.idle import idle_notes
from fathom.session.in_turn import InTurn, Voice
from fathom.session.options import Observer, Options
from fathom.session.record import now
from fathom.session.remark_log import RemarkLog
from fathom.session.resumed import resumed_notes
from fathom.session.schedule import Part, Schedule
from fathom.session.target_run import TargetRun
from fathom.targets.target import Target

AS_BEFORE = "a twin fails the same way each time: change the method or the twin, then start a new run"
"""What helps after a twin's own error; to go on with the run ends at the same place."""


class Session:
    """One execution of a run: fresh or resumed."""

    def __init__(
        self,
        store: RunStore,
        method: Method,
        targets: Sequence[Target],
        options: Options,
        meter: PowerMeter | None,
    ) -> None:
        self.store = store
        self.method = method
        self.targets = targets
        self.options = options
        self.meter = meter
        self.remark_log = RemarkLog(store)
        self.schedules = [Schedule(store, method, target, index) for index, target in enumerate(targets)]
        self.errors: dict[int, FathomError | _core.BackendError] = {}
        self._by_twin: set[int] = set()
        """Targets whose error is the twin's own: not one of this machine."""

    def run(self) -> Run:
        """Runs what is left, then writes the run's tables."""
        real = [i for i, target in enumerate(self.targets) if target.kind != "twin"]
        twins = [i for i, target in enumerate(self.targets) if target.kind == "twin"]
        with self._to_resume():
            with self.meter or nullcontext():
                for index in real:
                    self._run_target(index)
            self._run_twins(twins)
            self._finish()
        return self._ended()

    def _run_target(self, index: int) -> None:
        """Runs one real target; an error there does not stop the others."""
        schedule = self.schedules[index]
        if self.options.interrupt.is_set() or schedule.all_finished:
            return
        with self._kept(index):
            self._target_run(index, self.options.observer).run()
            self._check_whole(schedule)
        self._say_end(index)

    def _run_twins(self, twins: Sequence[int]) -> None:
        """Runs the chains of all twins, as many at once as `Options.at_once` says."""
        at_once = self.options.at_once or len(os.sched_getaffinity(0))
        with ThreadPoolExecutor(max_workers=at_once) as pool:
            running: list[Future[None]] = []
            for index in twins:
                if self.schedules[index].all_finished:
                    continue
                with self._kept(index):
                    chains = self._target_run(index, self.options.observer).chains()
                    in_turn = InTurn(self.options.observer, self.targets[index], len(chains))
                    running += [
                        pool.submit(self._run_chain, index, chain, voice, Helpers(pool, at_once, voice))
                        for chain, voice in zip(chains, in_turn.voices, strict=True)
                    ]
            for future in running:
                future.result()

    def _run_chain(self, index: int, chain: Sequence[Part], voice: Voice, helpers: Helpers) -> None:
        """Runs a chain of a twin, unless another of the target has failed; the last to end ends the target."""
        if not (self.options.interrupt.is_set() or index in self.errors):
            with self._kept(index):
                self._target_run(index, voice).run_chain(chain, helpers)
        if voice.end():
            with self._kept(index):
                self._check_whole(self.schedules[index])
            self._say_end(index)

    def _target_run(self, index: int, observer: Observer) -> TargetRun:
        options = replace(self.options, observer=observer)
        schedule = self.schedules[index]
        return TargetRun(
            self.store, self.method, self.targets[index], schedule, options, self.meter, self.remark_log
        )

    @contextmanager
    def _kept(self, index: int) -> Iterator[None]:
        """Keeps the first error of a target, so that it stops no other."""
        target = self.targets[index]
        try:
            yield
        except (FathomError, _core.BackendError, OSError) as failure:
            if self.errors.setdefault(index, error := _as_error(failure, target)) is error:
                if target.kind == "twin" and not isinstance(failure.__cause__ or failure, OSError):
                    self._by_twin.add(index)
                rules = failure.rules if isinstance(failure, RefusedError) else ()
                self.store.log_event("target-failed", target=target.name, error=str(error), rules=list(rules))

    def _say_end(self, index: int) -> None:
        error = self.errors.get(index)
        self.options.observer.target_ended(self.targets[index], None if error is None else str(error))

    def _check_whole(self, schedule: Schedule) -> None:
        """Raises FathomError where a step ended early without an interrupt. A lost host shortens steps too, which a
        note says; the figures of the other hosts are kept.
        """
        early = schedule.ended_early
        if early and not self._lost_a_host and not self.options.interrupt.is_set():
            raise FathomError(
                f"step {early[0]} ended before its time{in_others('so did', len(early) - 1, 'step')}"
            )

    @contextmanager
    def _to_resume(self) -> Iterator[None]:
        """Adds to an error of writing the run directory, as on a full disk, that the run can be gone on with."""
        try:
            yield
        except FathomError as error:
            raise FathomError(
                f"{error.message}; what was measured is in {self.store.path}",
                f"remove the cause, then `{self._resume}`",
            ) from error

    def _finish(self) -> None:
        """Writes the run's tables, notes and status."""
        document = self.store.document
        if self.errors:
            document.error = "; ".join(self._about(i, error) for i, error in sorted(self.errors.items()))
        document.status = self._status
        document.finished = now()
        document.environment |= self.options.initiator.to_json()
        self.store.compact()
        document.notes = self._notes()
        self.store.log_event("run-end", status=document.status)
        self.store.seal()

    def _ended(self) -> Run:
        """Returns the run. Raises InterruptedRunError after an interrupt, FathomError after a failed target."""
        if error := self._ending:
            error.run = self.store.path
            raise error
        return Run(self.store.path)

    @property
    def _ending(self) -> FathomError | None:
        """The error that the run ends with; None for a run that went to its end."""
        where = f"what was measured is in {self.store.path}"
        if self.options.interrupt.is_set():
            return InterruptedRunError(f"interrupted; {where}", f"continue with `{self._resume}`")
        if not self.errors:
            return None
        refused = any(isinstance(error, RefusedError) for error in self.errors.values())
        kind = RefusedError if refused else FathomError
        return kind(f"{self.store.document.error}; {where}", self._next)

    @property
    def _next(self) -> str:
        """What its user may do about the errors of the targets."""
        if self._lost:
            return NEW_RUN
        if self._by_twin.issuperset(self.errors):
            return AS_BEFORE
        return f"remove the cause, then `{self._resume}`"

    @property
    def _resume(self) -> str:
        """The command that goes on with the run. It asks for the same permissions as the run did."""
        tokens = [f"--destroy {quote(token)}" for token in self.options.destroy]
        unknown = ["--unknown-data"] if self.options.unknown_data else []
        return " ".join([f"fathom resume {called(self.store.path)}", *tokens, *unknown])

    @property
    def _status(self) -> Status:
        if self.options.interrupt.is_set():
            return "interrupted"
        if self.errors:
            return "failed"
        early = any(schedule.ended_early for schedule in self.schedules)
        return "partial" if early or self._lost_a_host else "complete"

    @property
    def _lost_a_host(self) -> bool:
        return any(note.rule == LOST_HOST for note in self.options.initiator.notes())

    @property
    def _lost(self) -> bool:
        """Whether nothing that failed can be gone on with."""
        return all(isinstance(error, FathomError) and error.hint == NEW_RUN for error in self.errors.values())

    def _about(self, index: int, error: FathomError | _core.BackendError) -> str:
        """Returns the error with its target in front, unless it names the target already."""
        target = self.targets[index]
        text = error.message if isinstance(error, FathomError) and self._lost else str(error)
        return text if names_target(error, target) else f"{target.name}: {text}"

    def _notes(self) -> list[NoteRecord]:
        """Returns the notes of the run: from targets, backends and rules of validity."""
        about_targets = [
            NoteRecord(rule="target", level="warning", target=target.name, text=text)
            for target in self.targets
            for text in target.notes
        ]
        verdicts = {key: text for schedule in self.schedules for key, text in schedule.verdicts().items()}
        run = Run(self.store.path, just_written=True)
        view = RunView.of(run, self._remarks(), verdicts, self.remark_log.not_measured)
        return [
            *about_targets,
            *self.options.initiator.notes(),
            *(power_notes(self.store.path, view.named, self.meter) if self.meter else []),
            *resumed_notes(run.events),
            *idle_notes(self.method, self.store.document.targets),
            *(note.record() for note in validity.notes(view)),
        ]

    def _remarks(self) -> list[Remark]:
        """Returns the remarks by target and step: twins that run at once make theirs in any order."""
        places = {
            (schedule.target.name, key.name): (key.target, key.number)
            for schedule in self.schedules
            for key in schedule.keys
        }
        return sorted(
            self.remark_log.remarks, key=lambda one: places.get((one.target, one.step), (len(places), 0))
        )


def names_target(error: FathomError | _core.BackendError, target: Target) -> bool:
    """Returns whether an error's message names the target: by its name, or by the path that the engine opened."""
    if isinstance(error, FathomError) and error.target is not None:
        return error.target == target.name
    cause = error if isinstance(error, _core.BackendError) else error.__cause__
    opened = target.passthrough or target.path
    return isinstance(cause, _core.BackendError) and cause.path is not None and cause.path == opened


def _as_error(
    failure: FathomError | _core.BackendError | OSError, target: Target
) -> FathomError | _core.BackendError:
    """Returns an error for the user, from an OSError of a dead target or an output that cannot be written."""
    if not isinstance(failure, OSError):
        return failure
    where = f"{failure.filename}: " if failure.filename else ""
    error = FathomError(f"{where}{failure.strerror or failure}")
    if target.path and str(failure.filename) == str(target.path):
        error.target = target.name
    return error
