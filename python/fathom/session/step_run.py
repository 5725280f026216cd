"""Runs one step of a target and records it: rows, telemetry, remarks, outcome."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom import _core
from fathom.analysis.disk_caches import cache_of
from fathom.errors import FathomError, RefusedError, naming
from fathom.load.backend import Backend, TwinBackend
from fathom.load.initiator import Sampler
from fathom.load.seeds import step_seed
from fathom.method.job import of_parts
from fathom.method.method import Method, Step
from fathom.output.text import percent
from fathom.power.meter import PowerMeter
from fathom.power.step import MeteredStep, instead_of_sensor
from fathom.runs.document import TargetRecord
from fathom.runs.gpu import gpu_of
from fathom.runs.phases import doubts_of
from fathom.runs.remarks import DoubtfulTimes, ShortWindow, Stopped, Words, facts_of
from fathom.runs.rows import StepRows
from fathom.runs.store import RunStore, StepKey, StepOutcome
from fathom.session.failures import mostly_failed, not_returned, nothing_done, nothing_offered
from fathom.session.options import Observer, Options
from fathom.session.prepared import Loaded, PreparedTwins, next_history
from fathom.session.remark_log import RemarkLog
from fathom.session.steady_rounds import SteadyRounds, Written
from fathom.session.stepper import Attendance, Progress, Ran, run_step
from fathom.targets.purge import OnProgress, send_purge
from fathom.targets.target import Target


@dataclass(frozen=True)
class Turn:
    """A step whose turn has come: what loads its target, and the state of the target before it."""

    key: StepKey
    step: Step
    backend: Backend
    written: Written
    steady: bool | None = None
    """Whether the precondition of its workload ended steady; None where there was none, or none that judged it."""
    sampler: Sampler | None = None
    """Samples the machine meanwhile; None of a twin."""


@dataclass(frozen=True)
class StepRun:
    """Runs the steps of a target, one at a time."""

    store: RunStore
    method: Method
    target: Target
    options: Options
    meter: PowerMeter | None
    remark_log: RemarkLog

    def shown_to(self, observer: Observer) -> "StepRun":
        """Returns the same with another observer."""
        return replace(self, options=replace(self.options, observer=observer))

    def run(self, turn: Turn) -> StepOutcome:
        """Runs a step and saves its result.

        Raises FathomError where most of its I/O failed, or some did not return.
        """
        key, step, backend = turn.key, turn.step, turn.backend
        self.options.observer.step_started(self.target, key.number, len(self.method.steps), step)
        self.options.initiator.recheck(self.target, writes=step.job.destructive)
        self.store.log_event("step-start", key, kind=step.kind, destructive=step.job.destructive)
        self.remark_log.step_started(key, self.target.name)
        if step.kind == "purge" and self.options.purge != "trim" and turn.sampler is not None:
            outcome = self._purge(key, step, turn.sampler)
        elif self.options.prepared is not None and isinstance(backend, TwinBackend):
            outcome = self._simulate(turn, backend, self.options.prepared)
        else:
            outcome = self._load(turn).outcome
        self.options.observer.step_ended(self.target, step, outcome)
        return outcome

    def repeat(self, turn: Turn) -> None:
        """Repeats a finished step on a twin, to bring it to the state after it."""
        step, backend = turn.step, turn.backend
        if isinstance(backend, TwinBackend):
            backend.history = next_history(backend.history, self.options.seed, turn.key, step, turn.written)
        run_step(
            backend,
            step,
            step_seed(self.options.seed, turn.key.number),
            self._rows(step, backend),
            self._steady_rounds(turn),
            Attendance(self.options.interrupt, _keep_in_memory, lambda progress: None),
        )

    def region_bytes(self, step: Step, backend: Backend) -> float:
        """Returns the step's region on every drive that its hosts write to."""
        return self._copies * step.job.region_on(self._capacity_bytes(backend))[1]

    def _simulate(self, turn: Turn, backend: TwinBackend, twins: PreparedTwins) -> StepOutcome:
        """Runs a step on a twin, or takes the twin that another run has prepared by the same steps."""
        run = (self.method.name, self.method.quick, self.target.name, self.options.seed)
        causes = (*run, turn.key, turn.step, turn.written, turn.steady)
        backend.history = next_history(backend.history, *causes)
        if not turn.step.prepares:
            return self._load(turn).outcome
        found = twins.take(backend.history, backend)
        if found is None:
            loaded = self._load(turn)
            if loaded.outcome.status == "complete":
                twins.keep(backend.history, backend, loaded)
            return loaded.outcome
        self._remark(turn, found.loaded.recording, found.loaded.outcome)
        self.store.finish_step(turn.key, found.loaded.tables, found.loaded.outcome)
        return found.loaded.outcome

    def _load(self, turn: Turn) -> Loaded:
        """Loads the target as the step says, and saves what it has done.

        Raises FathomError where most of its I/O failed, or some did not return; what was measured is saved.
        """
        rows = self._rows(turn.step, turn.backend)
        if turn.sampler is not None:
            turn.sampler.step(turn.step.name)
            if self.meter:
                self.meter.begin()
        ran = self._drive(turn, rows)
        recordings, outcome = ran.recordings, ran.outcome
        rows.finish(recordings, self.method.name, turn.steady)
        bound = self.store.document.bound_by_limits
        rows.take_io_limits({name: one.identity for name, one in bound.items()})
        if turn.sampler is not None:
            self._sample(turn.key, rows, turn.sampler, ran)
        self._remark(turn, recordings[0], outcome)
        failure = self._failure(turn.step, recordings, turn.backend.parts)
        if reason := failure or self.options.initiator.shortfall():
            outcome = replace(outcome, status="partial", reason=reason)
        tables = rows.tables()
        self.store.finish_step(turn.key, tables, outcome)
        if failure is not None:
            raise FathomError(failure)
        return Loaded(recordings[0], tables, outcome)

    def _remark(self, turn: Turn, recording: _core.Recording, outcome: StepOutcome) -> None:
        """Logs what the figures must be read with."""
        key, step = turn.key, turn.step
        log, name = self.remark_log, self.target.name
        log.setup(key, name, recording.setup, gpu_of(recording))
        for fact in (*facts_of(recording), *(DoubtfulTimes(doubt=one) for one in doubts_of(step.job))):
            log.remark(key, name, fact)
        if said := nothing_offered(step, recording):
            log.remark(key, name, Words(text=said))
        if step.until_steady:
            log.remark(key, name, Words(text=f"step {step.name}: {outcome.reason}"))
        if outcome.status == "partial" and not self.options.interrupt.is_set() and step.job.time_s:
            log.remark(key, name, ShortWindow(window_s=outcome.window_s, asked_s=step.job.time_s))
        if outcome.status == "partial" and self.options.interrupt.is_set() and not step.prepares:
            log.remark(key, name, Stopped(window_s=outcome.window_s))

    def _failure(self, step: Step, recordings: Sequence[_core.Recording], parts: Sequence[str]) -> str | None:
        """Returns the error of a failing target. What was given up at the user's word is none."""
        failure = mostly_failed(step, recordings, parts)
        if failure is None and not self.options.interrupt.is_set():
            failure = not_returned(step, recordings[0]) or nothing_done(step, recordings[0])
        return failure

    def _purge(self, key: StepKey, step: Step, sampler: Sampler) -> StepOutcome:
        """Purges by an NVMe admin command, which has no rows. Raises FathomError where the drive refuses it."""
        purges: list[str] = []
        for drive in self.target.members or (self.target,):
            try:
                with naming(drive.name), sampler.paused():
                    sent, took_s = send_purge(drive, self.options.purge, self._erasing(drive))
            except FathomError as failure:
                self.store.finish_step(key, {}, StepOutcome.without_figures("partial", str(failure)))
                raise
            self.store.log_event("purge", key, device=drive.name, sent=sent, took_s=took_s)
            purges.append(f"{drive.name} purged by {sent}, done after {took_s:.1f} s")
        reason = "; ".join(purges)
        self.remark_log.remark(key, self.target.name, Words(text=f"step {step.name}: {reason}"))
        outcome = StepOutcome.without_figures("complete", reason)
        self.store.finish_step(key, {}, outcome)
        return outcome

    def _erasing(self, drive: Target) -> OnProgress:
        """Shows the progress of a drive that erases itself."""
        who = f"{drive.label} erases" if self.target.members else "erases"

        def show(elapsed_s: float, share: float | None) -> None:
            state = who if share is None else f"{who}, {percent(share)} done"
            progress = Progress(elapsed_s, 0, 0.0, 0.0, None, 0, state, share=share)
            self.options.observer.progressed(self.target, progress)

        return show

    def _drive(self, turn: Turn, rows: StepRows) -> Ran:
        """Runs a step as `run_step`. A real target's seconds are logged as they come, so that a failure keeps them."""
        store, key, step, backend = self.store, turn.key, turn.step, turn.backend
        live = store.live_path(key)
        try:
            return run_step(
                backend,
                step,
                step_seed(self.options.seed, key.number),
                rows,
                self._steady_rounds(turn),
                Attendance(
                    self.options.interrupt,
                    (lambda interval: store.append_live(live, rows.of(interval)))
                    if backend.real_time
                    else _keep_in_memory,
                    lambda progress: self.options.observer.progressed(self.target, progress),
                    self._watch(step, backend),
                ),
            )
        except (_core.BackendError, RefusedError) as failure:
            store.finish_step(key, rows.tables(), StepOutcome.without_figures("partial", str(failure)))
            if isinstance(failure, _core.BackendError) and failure.recordings:
                self._remark_failed(key, _core.Recording().with_parts(list(failure.recordings)))
            raise

    def _remark_failed(self, key: StepKey, recording: _core.Recording) -> None:
        """Logs what is known of a step that a failing target has ended."""
        name = self.target.name
        self.remark_log.setup(key, name, recording.setup, gpu_of(recording))
        for fact in facts_of(recording):
            self.remark_log.remark(key, name, fact)

    def _watch(self, step: Step, backend: Backend) -> Callable[[], None] | None:
        """Returns the check that a destructive step on a real target makes once a minute: that the target is still the
        one claimed.
        """
        if not (step.job.destructive and backend.real_time):
            return None
        return lambda: self.options.initiator.recheck(self.target, writes=True)

    def _sample(self, key: StepKey, rows: StepRows, sampler: Sampler, ran: Ran) -> None:
        """Adds the samples taken during the step; a power meter replaces the drive's energy."""
        sampled = sampler.drain()
        rows.take_telemetry(instead_of_sensor(sampled) if self.meter else sampled)
        begin_s, window_s = ran.began_unix_s, ran.outcome.window_s
        if self.meter and window_s and begin_s is not None:
            # I/O in flight at the end of the window may take seconds more, so the end of the step is no end of it.
            found = MeteredStep.of(self.meter, self.target.name, key.name, begin_s, begin_s + window_s)
            self.store.log_event("power", key, **found.event)
            rows.take_telemetry(found.rows)

    def _steady_rounds(self, turn: Turn) -> SteadyRounds | None:
        step = turn.step
        if step.steady is None:
            return None
        document = self.store.document
        return SteadyRounds(
            step,
            self._capacity_bytes(turn.backend),
            turn.written,
            quick=self.method.quick is not None,
            copies=self._copies,
            cache=cache_of(document.drives_of(self._record) or [self._record], step.job),
        )

    def _capacity_bytes(self, backend: Backend) -> int:
        return backend.capacity_bytes or self.target.capacity_bytes

    @property
    def _copies(self) -> float:
        """How often hosts have the target's capacity."""
        return self.store.document.copies_of(self._record)

    @property
    def _record(self) -> TargetRecord:
        return next(one for one in self.store.document.targets if one.name == self.target.name)

    def _rows(self, step: Step, backend: Backend) -> StepRows:
        scratch = self.store.path / "steps"
        jobs = of_parts(step.job, len(backend.parts), hosts=backend.of_hosts)
        parts = [
            StepRows(part, replace(step, job=job), each_second=False, scratch=scratch)
            for part, job in zip(backend.parts, jobs, strict=True)
        ]
        return StepRows(self.target.name, step, parts, scratch=scratch)


def _keep_in_memory(interval: _core.Interval) -> None:
    """Keeps a twin's seconds in memory only: they can be simulated again."""
