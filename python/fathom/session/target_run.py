"""Takes one target through its steps: which comes next, on which state, or why it is left out. `step_run` runs each.

A twin's state is a function of the steps before, so resuming repeats them without recording them again. A real target's
state is on the target.

Steps that are `on_copy`, such as points of a curve, run each on a copy of the twin. It has the state that the last
other step left, and what they do is lost with it. So they need nothing of each other, and what follows begins where the
last other step ended.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fathom.catalog import load_device
from fathom.catalog.models import Device
from fathom.catalog.twin_params import twin_params_json
from fathom.load.array import ArrayBackend, Drive
from fathom.load.backend import Backend, TwinBackend, loads_at_once
from fathom.load.initiator import Sampler
from fathom.load.seeds import part_seed
from fathom.method.method import Method, Step
from fathom.plan.fit import inapplicable
from fathom.power.meter import PowerMeter
from fathom.runs.remarks import LeftOut
from fathom.runs.store import RunStore, StepKey, StepOutcome
from fathom.session.filled import FILL, FILLED_TURNOVER, FILLED_X, settled_by_writes
from fathom.session.helpers import Helpers
from fathom.session.options import Observer, Options
from fathom.session.remark_log import RemarkLog
from fathom.session.schedule import Part, Schedule
from fathom.session.steady_rounds import Written
from fathom.session.step_run import StepRun, Turn
from fathom.session.stepper import on_this_machine
from fathom.targets.not_measured import NotMeasured, Quantity
from fathom.targets.target import Target

PREPARING = ("fill", "precondition")
"""Kinds of steps that only bring a drive to its steady state."""


@dataclass
class _Known:
    """What the steps so far say of the target's state: what they wrote, and by workload whether it became steady."""

    written: Written = field(default_factory=Written)
    steady: dict[str, bool | None] = field(default_factory=dict)

    def add(self, step: Step, outcome: StepOutcome, region_bytes: float) -> None:
        """Adds a step that has ended. `region_bytes` is its region on every drive that its hosts write to."""
        if step.kind == "purge":
            self.written = Written(purged=True)
        elif step.afresh:
            self.written = self.written.afresh(round((step.job.region_multiple or 1.0) * region_bytes))
        self.written.add(step, outcome.written_bytes)
        if step.kind == "precondition":
            self.steady[step.workload] = outcome.steady


class TargetRun:
    """A method on one target. `schedule` says what comes next."""

    def __init__(
        self,
        store: RunStore,
        method: Method,
        target: Target,
        schedule: Schedule,
        options: Options,
        meter: PowerMeter | None,
        remark_log: RemarkLog,
    ) -> None:
        self.store = store
        self.method = method
        self.target = target
        self.schedule = schedule
        self.options = options
        self.meter = meter
        self.remark_log = remark_log
        self._steps = StepRun(store, method, target, options, meter, remark_log)

    def run(self) -> None:
        """Runs the remaining steps of a real target. Raises FathomError or `_core.BackendError`; everything measured is
        saved.
        """
        backend, sampling = self.options.initiator.start(self.target, self.options.interrupt.is_set)
        with sampling as sampler:
            self.remark_log.log_not_measured(self.target.name, self._not_measured(sampler))
            self._run_steps(self.schedule.keys, backend, sampler)

    def chains(self) -> list[list[Part]]:
        """Returns the parts of a twin in chains. At once they have the bits that they have one by one. Each part
        begins with a twin of its own, and no chain needs a result of another. Drives of an array share one chain:
        they run at once already.
        """
        parts = self.schedule.fresh_parts(afresh=self._keeps_state)
        return [parts] if self.target.parts else self.schedule.chains(parts)

    def run_chain(self, chain: Sequence[Part], helpers: Helpers) -> None:
        """Runs the remaining steps of parts one after another, and those on copies side by side. Raises as `run`."""
        for bench, keys in chain:
            if not all(map(self.schedule.finished, keys)):
                self._run_steps(self._needed(keys), self._twin(bench), None, helpers)

    def _not_measured(self, sampler: Sampler) -> list[NotMeasured]:
        """Returns what the sampler lacks, except energy where a power meter measures it."""
        return [one for one in sampler.not_measured if not (self.meter and one.quantity is Quantity.ENERGY)]

    @cached_property
    def _keeps_state(self) -> bool:
        """Whether twins of single SSDs are in the target, whose figures depend on earlier writes."""
        return any(map(_keeps_state, self.target.members or (self.target,)))

    @cached_property
    def _only_keeps_state(self) -> bool:
        """Whether the target is one such twin, or made of nothing else."""
        return all(map(_keeps_state, self.target.members or (self.target,)))

    def _needed(self, keys: Sequence[StepKey]) -> list[StepKey]:
        """Returns the steps to run: without preparation where a twin starts in the state that they need."""
        twins = self.target.members or (self.target,)
        devices = [_device(one) for one in twins]
        needless: tuple[str, ...] = ()
        if all(device.starts_settled for device in devices):
            as_begun = not any(device.starts_overwritten for device in devices)
            needless = PREPARING if as_begun or self.schedule.ends_overwritten(keys) else ()
        elif self._only_keeps_state and all(device.settled_share == 1.0 for device in devices):
            needless = ("fill",) if self.schedule.ends_overwritten(keys) else ()
        passed = [key for key in keys if self.schedule.step(key).kind in needless]
        for key in passed:
            self._pass_over(key, "not needed: the twin starts in its steady state")
        return [key for key in keys if key not in passed]

    def _twin(self, bench: str | None) -> Backend:
        target, seed = self.target, self.options.seed
        if target.parts:
            drives = target.members or (target,) * len(target.parts)
            own = zip(target.parts, drives, strict=True)
            backend = ArrayBackend([self._drive_of_array(name, one, bench) for name, one in own], seed)
        else:
            device = _device(target)
            own_seed = part_seed(seed, target.number) if target.number else seed
            backend = TwinBackend(
                twin_params_json(device, bench, slice_bytes=self.method.slice_bytes),
                own_seed,
                target.identity.file_system,
                hosts=device.hosts,
                settled=device.starts_settled,
            )
        self._record_scale(backend)
        return backend

    def _record_scale(self, backend: TwinBackend | ArrayBackend) -> None:
        """Saves what share of each drive the twin simulates. Most parts of a run simulate the same share."""
        records = [one for one in self.store.document.targets if self.target.name in (one.name, one.part_of)]
        scales = [backend.scales.get(one.name, backend.scale) for one in records]
        if scales != [one.scale for one in records]:
            for record, scale in zip(records, scales, strict=True):
                record.scale = scale
            self.store.save()

    def _drive_of_array(self, name: str, twin: Target, bench: str | None) -> Drive:
        parameters = twin_params_json(
            _device(twin), bench, sharing=len(self.target.parts), slice_bytes=self.method.slice_bytes
        )
        return Drive(name, parameters, twin.identity.file_system)

    def _run_steps(
        self,
        keys: Sequence[StepKey],
        backend: Backend,
        sampler: Sampler | None,
        helpers: Helpers | None = None,
    ) -> None:
        known = _Known(self._written_before(backend))
        for group in self.schedule.side_by_side(keys):
            if self.schedule.step(group[0]).on_copy and (copied := backend.copied):
                self._run_on_copies(group, backend, copied, known, helpers)
                continue
            for key in group:
                if self.options.interrupt.is_set():
                    return
                self._run_in_turn(key, keys, backend, sampler, known)

    def _written_before(self, backend: Backend) -> Written:
        """Returns the writes that a twin's beginning stands for: a share of it may begin overwritten."""
        if backend.real_time or not backend.capacity_bytes:
            return Written()
        twins = self.target.members or (self.target,)
        share = min(_device(one).settled_share if _keeps_state(one) else 0.0 for one in twins)
        overwritten_bytes = round(share * backend.capacity_bytes)
        return Written(round(FILLED_X * overwritten_bytes), overwritten_bytes)

    def _run_in_turn(
        self,
        key: StepKey,
        keys: Sequence[StepKey],
        backend: Backend,
        sampler: Sampler | None,
        known: _Known,
    ) -> None:
        """Runs a step, or repeats it for the state that a step after it needs."""
        step = self._next(key, backend, known)
        if step is None:
            return
        outcome = self.store.outcome(key) if self.schedule.finished(key) else None
        if outcome is None:
            steady = known.steady.get(step.workload)
            outcome = self._steps.run(Turn(key, step, backend, known.written, steady, sampler))
        elif not backend.real_time and not all(
            self.schedule.finished(later) for later in keys if later.number > key.number
        ):
            self._steps.repeat(Turn(key, step, backend, known.written))
        known.add(step, outcome, self._steps.region_bytes(step, backend))

    def _run_on_copies(
        self,
        keys: Sequence[StepKey],
        backend: Backend,
        copied: Callable[[], Backend],
        known: _Known,
        helpers: Helpers | None,
    ) -> None:
        """Runs steps, each on a copy of the twin, in as many threads as are free.

        A thread copies when it begins a step, so there are never more copies than threads that simulate.
        """

        def run(key: StepKey, observer: Observer) -> None:
            if self.options.interrupt.is_set():
                return
            step = self._next(key, backend, known)
            if step is not None:
                steady = known.steady.get(step.workload)
                turn = Turn(key, step, copied(), known.written, steady)
                self._steps.shown_to(observer).run(turn)

        left = [key for key in keys if not self.schedule.finished(key)]
        if self.options.interrupt.is_set():
            return
        if helpers is not None and not self.target.parts:
            helpers.share(left, run)
            return
        for key in left:
            run(key, self.options.observer)

    def _next(self, key: StepKey, backend: Backend, known: _Known) -> Step | None:
        """Returns the step to run; None where it does not apply, or a search has ended."""
        step = self._aimed(key, backend)
        if step is not None and known.written.filled and step.turnover is None:
            return replace(step, turnover=FILLED_TURNOVER)
        return step

    def _aimed(self, key: StepKey, backend: Backend) -> Step | None:
        """Returns the step with its load, which may follow from earlier steps."""
        planned = self.schedule.step(key)
        if reason := inapplicable(planned, self.target):
            self._leave_out(key, planned, reason)
            return None
        if planned.round and self.schedule.rounds_ended(key, planned.round):
            self._pass_over(key)
            return None
        if planned.offered and not self.schedule.measured(planned.offered.of):
            needed = f"its load is a share of the rate of {planned.offered.of}, which has no results"
            self._leave_out(key, planned, needed)
            return None
        step = self.schedule.aimed(
            key, on_this_machine(planned, backend), loads_at_once(planned.job, backend)
        )
        if step is None:
            self._pass_over(key)
        elif not backend.real_time and self._keeps_state:
            if step.afresh:
                return replace(step, job=FILL)
            return settled_by_writes(step) if self._only_keeps_state else step
        return step

    def _leave_out(self, key: StepKey, step: Step, reason: str) -> None:
        """Finishes a step that does not apply to the target; of rounds, only the first says so."""
        if self.schedule.finished(key):
            return
        if step.round is None or step.round.number == 1:
            self.remark_log.remark(key, self.target.name, LeftOut(reason=reason))
        self._pass_over(key, f"step {step.name} left out: {reason}")

    def _pass_over(self, key: StepKey, reason: str = "nothing left to search") -> None:
        """Finishes a step without measuring, so that a resumed run does not repeat it."""
        if not self.schedule.finished(key):
            self.store.finish_step(key, {}, StepOutcome.without_figures("complete", reason))


def _device(twin: Target) -> Device:
    return load_device(twin.catalog or twin.name)


def _keeps_state(twin: Target) -> bool:
    """Returns whether it is the twin of a single SSD, without a file system."""
    device = _device(twin)
    return bool(device.twin and device.twin.kind == "ssd" and not twin.identity.file_system)
