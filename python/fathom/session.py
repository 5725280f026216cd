"""Runs a method on its targets: safety, journal, steps in order, resume. Draws nothing, computes no statistics.

Real targets run one after another, alone on the machine; twins run afterwards, several at a time, since each
lives in its own virtual time. A twin's state is a function of the steps before, so resuming repeats them without
recording them again; a real target's state is on the target.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from threading import Event
from typing import Protocol, cast

from fathom import __version__, _core
from fathom.analysis import validity
from fathom.analysis.view import Remark, RunView
from fathom.array import ArrayBackend
from fathom.backend import Backend, TwinBackend
from fathom.curve import figures, open_job, rate_of
from fathom.errors import FathomError, InterruptedRunError, UsageError
from fathom.idle import idle_notes
from fathom.judge import Judge, Written
from fathom.method import Method, Step, parse_method
from fathom.parts import part_seed
from fathom.power.meter import PowerMeter, open_meter
from fathom.power.step import MeteredStep, instead_of_sensor, power_notes
from fathom.resolve import targets_of_run
from fathom.rounds import Round, figure
from fathom.runs.document import MethodRecord, NoteRecord, QuickFactors, RunDocument, TargetRecord
from fathom.runs.files import read_lines
from fathom.runs.home import new_run_id, runs_home
from fathom.runs.reader import Run
from fathom.runs.rows import Row, StepRows
from fathom.runs.store import RunStore, StepKey, StepOutcome
from fathom.site import Sampler, Site, ThisMachine
from fathom.stepper import Progress, run_step, step_seed
from fathom.targets.environment import environment
from fathom.targets.target import Target
from fathom.text import size


class Observer(Protocol):
    """Watches a session. Called from several threads."""

    def step_started(self, target: Target, number: int, total: int, step: Step) -> None:
        """A step begins; `number` counts from 1."""
        ...

    def progressed(self, target: Target, progress: Progress) -> None:
        """News of a running step."""
        ...

    def step_ended(self, target: Target, step: Step, outcome: StepOutcome) -> None:
        """A step has ended and its rows are on the disk."""
        ...

    def target_ended(self, target: Target, error: str | None) -> None:
        """All steps of a target have ended, or one of them failed."""
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
    """How to run: everything that is neither method nor target."""

    seed: int = 1
    destroy: tuple[str, ...] = ()
    out: Path | None = None
    observer: Observer = field(default_factory=SilentObserver)
    interrupt: Event = field(default_factory=Event)
    power: str | None = None
    repeat_of: str | None = None
    site: Site = field(default_factory=ThisMachine)

    def __post_init__(self) -> None:
        """Checks what the engines take as unsigned 64 bits."""
        if not 0 <= self.seed < 1 << 64:
            raise UsageError(f"seed {self.seed}: out of range", "expected 0 to 2^64 - 1")


def start_run(method: Method, targets: Sequence[Target], options: Options) -> Run:
    """Runs the method on every target and returns the run.

    Raises RefusedError before anything is written when a target is not safe; InterruptedRunError after an
    interrupt and FathomError after a failed target, both with all that was measured saved.
    """
    meter = _meter(options, targets)
    with _claimed(method, targets, options) as ready:
        run_id = new_run_id(method.name)
        store = RunStore.create(
            (options.out or runs_home()) / run_id, _new_document(run_id, method, ready, options)
        )
        return _Session(store, method, ready, options, meter).run()


def resume_run(path: Path, options: Options) -> Run:
    """Goes on with a run that was interrupted or killed. Finished steps are kept as they are.

    Raises RefusedError when a target is no longer the one that the run began with.
    """
    document = RunDocument.load(path)
    if document.status == "complete":
        return Run(path)
    method = _method_of(document)
    options.seed = document.seed
    options.power = cast("str | None", document.environment.get("power_meter"))
    targets = targets_of_run(document, options.site.resolve)
    meter = _meter(options, targets)
    with _claimed(method, targets, options) as ready:
        return _Session(RunStore.reopen(path), method, ready, options, meter).run()


def _method_of(document: RunDocument) -> Method:
    record = document.method
    form = "json" if record.text.lstrip().startswith("{") else "toml"
    return parse_method(record.text, f"{record.name}.{form}", quick=document.quick is not None)


def _meter(options: Options, targets: Sequence[Target]) -> PowerMeter | None:
    """The power meter that the user named. Raises UsageError where it does not answer, or nothing could be on it."""
    if options.power is None:
        return None
    if all(target.kind == "twin" for target in targets):
        raise UsageError("--power: twins account for their energy themselves", "leave --power out")
    return open_meter(options.power)


@contextmanager
def _claimed(method: Method, targets: Sequence[Target], options: Options) -> Iterator[list[Target]]:
    """Holds every target for the length of the run. All are checked before the first of them is touched."""
    writes, site = method.destructive, options.site
    for target in targets:
        _check_fits(method, target)
        site.check(target, writes=writes, destroy_tokens=options.destroy)
    with ExitStack() as stack:
        yield [
            stack.enter_context(site.claim(target, writes=writes, destroy_tokens=options.destroy))
            for target in targets
        ]


def _check_fits(method: Method, target: Target) -> None:
    """Raises UsageError when a step's region is smaller than one of its blocks."""
    for step in method.steps:
        region_bytes = step.job.region_size(target.unit_capacity_bytes)
        block_bytes = max((max(sizes) for sizes in step.job.block_sizes.values() if sizes), default=0)
        if region_bytes < block_bytes:
            raise UsageError(
                f"{target.name}: step {step.name} has a region of {size(region_bytes)} there, and blocks of "
                f"{size(block_bytes)}",
                "take a larger target, --size or region, or smaller blocks",
            )


def _new_document(run_id: str, method: Method, targets: Sequence[Target], options: Options) -> RunDocument:
    quick = method.quick
    return RunDocument(
        id=run_id,
        created=_now(),
        status="running",
        seed=options.seed,
        repeat_of=options.repeat_of,
        quick=QuickFactors(**asdict(quick)) if quick else None,
        method=MethodRecord(
            name=method.name,
            title=method.title,
            source=method.source,
            text=method.text,
            parsed=dict(method.parsed),
        ),
        targets=[
            *(_record(target, target.name) for target in targets),
            *(part for target in targets for part in _part_records(target, options.site)),
        ],
        environment=environment().to_json()
        | options.site.to_json()
        | ({"power_meter": options.power} if options.power else {}),
        versions={"fathom": __version__, "core": _core.__version__},
    )


def _is_bare_drive(target: Target) -> bool:
    """What is published of a drive is of one, with nothing between it and the load."""
    return not target.parts and (target.kind != "twin" or target.identity.file_system is None)


def _part_records(target: Target, site: Site) -> list[TargetRecord]:
    """The members of an array as what they are; drives of a twin and hosts of a fleet as so many of the target."""
    if target.members:
        return [_record(one, one.name).model_copy(update={"part_of": target.name}) for one in target.members]
    return [_record(target, part, part_of=target.name) for part in site.parts(target)]


def _record(target: Target, name: str, part_of: str | None = None) -> TargetRecord:
    return TargetRecord(
        name=name,
        kind=target.kind,
        label=target.label if part_of is None else name,
        capacity_bytes=target.capacity_bytes,
        catalog=target.catalog if part_of is not None or _is_bare_drive(target) else None,
        identity=dict(target.identity.to_json()),
        part_of=part_of,
    )


class _Session:
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
        self.errors: dict[int, str] = {}
        self.remarks = _earlier_remarks(store)
        self.not_measured = _earlier_not_measured(store)

    def run(self) -> Run:
        """Runs what is left, then writes the run's tables."""
        real = [i for i, target in enumerate(self.targets) if target.kind != "twin"]
        twins = [i for i, target in enumerate(self.targets) if target.kind == "twin"]
        with self.meter or nullcontext():
            for index in real:
                self._run_target(index)
        with ThreadPoolExecutor(max_workers=max(1, len(os.sched_getaffinity(0)))) as pool:
            list(pool.map(self._run_target, twins))
        return self._finish()

    def _finish(self) -> Run:
        document = self.store.document
        interrupted = self.options.interrupt.is_set()
        if self.errors:
            document.error = "; ".join(self._about(i, text) for i, text in sorted(self.errors.items()))
        document.status = "interrupted" if interrupted else "failed" if self.errors else "complete"
        document.finished = _now()
        document.environment |= self.options.site.to_json()
        self.store.compact()
        document.notes = self._notes()
        self.store.save()
        self.store.journal("run-end", status=document.status)
        if interrupted:
            raise InterruptedRunError(
                f"interrupted; what was measured is in {self.store.path}",
                f"go on with `fathom resume {document.id}`",
            )
        if self.errors:
            raise FathomError(
                f"{document.error}; what was measured is in {self.store.path}",
                f"when the cause is mended: `fathom resume {document.id}`",
            )
        return Run(self.store.path)

    def _about(self, index: int, text: str) -> str:
        """An error with its target in front, unless it names the target's path itself."""
        target = self.targets[index]
        return text if target.path and str(target.path) in text else f"{target.name}: {text}"

    def _notes(self) -> list[NoteRecord]:
        """What the targets, the backends and the rules of validity have to say about the run."""
        about_targets = [
            NoteRecord(rule="target", level="warning", target=target.name, text=text)
            for target in self.targets
            for text in target.notes
        ]
        run = Run(self.store.path, compacted=True)
        view = RunView.of(run, self.remarks, self._verdicts(), self.not_measured)
        about_site = self.options.site.notes()
        about_power = power_notes(self.store.path, self.meter) if self.meter else []
        about_idle = idle_notes(self.method, self.store.document.targets)
        return [
            *about_targets,
            *about_site,
            *about_power,
            *about_idle,
            *(note.record() for note in validity.notes(view)),
        ]

    def _run_target(self, index: int) -> None:
        target = self.targets[index]
        if self.options.interrupt.is_set() or self._all_finished(index):
            return
        error = None
        try:
            if target.kind == "twin":
                for bench, keys in self._by_bench(index):
                    self._run_steps(self._needed(keys), self._twin(index, bench), None)
            else:
                backend, sampling = self.options.site.start(target)
                with sampling as sampler:
                    self._not_measured(target, sampler.absent)
                    self._run_steps(self._keys(index), backend, sampler)
        except (FathomError, _core.BackendError) as failure:
            error = self.errors[index] = str(failure)
            self.store.journal("target-failed", target=target.name, error=error)
        self.options.observer.target_ended(target, error)

    def _not_measured(self, target: Target, absent: Sequence[str]) -> None:
        """Says what nobody can sample; a resumed run repeats only what is new."""
        known = self.not_measured.setdefault(target.name, [])
        for text in absent:
            if text not in known and not (self.meter and text.startswith("energy of ")):
                known.append(text)
                self.store.journal("not-measured", target=target.name, text=text)

    def _keys(self, index: int) -> list[StepKey]:
        return [StepKey(index, number, step.name) for number, step in enumerate(self.method.steps, 1)]

    def _by_bench(self, index: int) -> list[tuple[str | None, list[StepKey]]]:
        """The steps in parts driven from one bench each: a twin is put into the next one fresh."""
        steps = zip(self._keys(index), self.method.steps, strict=True)
        return [
            (bench, [key for key, _ in part]) for bench, part in groupby(steps, lambda pair: pair[1].bench)
        ]

    def _needed(self, keys: Sequence[StepKey]) -> list[StepKey]:
        """Without the steps that bring a drive to its steady state, where a twin has it from the start."""
        from fathom.catalog import load_device

        target = self.targets[keys[0].target]
        if not load_device(target.catalog or target.name).starts_settled:
            return list(keys)
        preparing = [
            key for key in keys if self.method.steps[key.number - 1].kind in ("fill", "precondition")
        ]
        for key in preparing:
            self._pass_over(key, "not needed: the twin is in its steady state from the start")
        return [key for key in keys if key not in preparing]

    def _all_finished(self, index: int) -> bool:
        return all(self._finished(key) for key in self._keys(index))

    def _finished(self, key: StepKey) -> bool:
        outcome = self.store.outcome(key)
        return outcome is not None and outcome.status == "complete"

    def _twin(self, index: int, bench: str | None) -> Backend:
        target = self.targets[index]
        from fathom.catalog import load_device

        device = load_device(target.catalog or target.name)
        parameters = device.twin_params_json(bench, sharing=max(1, len(target.parts)))
        seed, file_system = self.options.seed, target.identity.file_system
        if target.parts:
            backend = ArrayBackend(parameters, target.parts, seed, file_system)
        else:
            own_seed = part_seed(seed, target.number) if target.number else seed
            backend = TwinBackend(
                parameters, own_seed, file_system, hosts=device.hosts, settled=device.starts_settled
            )
        for record in self.store.document.targets:
            if target.name in (record.name, record.part_of):
                record.scale = backend.scale
        self.store.save()
        return backend

    def _run_steps(self, keys: Sequence[StepKey], backend: Backend, sampler: Sampler | None) -> None:
        target, steps = self.targets[keys[0].target], self.method.steps
        steady: dict[str, bool | None] = {}
        written = Written()
        ended: dict[str, int] = {}
        for place, key in enumerate(keys, 1):
            if self.options.interrupt.is_set():
                return
            planned = steps[key.number - 1]
            if reason := _inapplicable(planned, target):
                self._leave_out(key, planned, reason)
                continue
            if planned.round and self._rounds_ended(key, planned.round, ended):
                self._pass_over(key)
                continue
            step = self._aimed(key, _on_this_machine(steps[key.number - 1], backend), backend)
            if step is None:
                self._pass_over(key)
                continue
            outcome = self.store.outcome(key) if self._finished(key) else None
            if outcome is None:
                self.options.observer.step_started(target, key.number, len(steps), step)
                outcome = self._run_one(key, step, backend, sampler, written, steady.get(step.workload))
                self.options.observer.step_ended(target, step, outcome)
            elif not backend.real_time and not all(self._finished(later) for later in keys[place:]):
                self._repeat(key, step, backend, written)
            if step.kind == "purge":
                written = Written()
            written.add(step, outcome.written_bytes)
            if step.kind == "precondition":
                steady[step.workload] = outcome.steady

    def _aimed(self, key: StepKey, step: Step, backend: Backend) -> Step | None:
        """A point of a curve with its rate; any other step as it is. None: the search that it is part of has ended.

        The rate is of the whole, so each part is offered its share.
        """
        place = step.place
        if place is None:
            return step
        of_curve = {
            earlier.number: other
            for earlier, other in zip(self._keys(key.target), self.method.steps, strict=True)
            if earlier.number < key.number
            and (other.name == place.curve or (other.place and other.place.curve == place.curve))
        }
        measured = [
            figures(rows)
            for number, other in of_curve.items()
            if (rows := self._own_points(StepKey(key.target, number, other.name)))
        ]
        curve = next(other.curve for other in of_curve.values() if other.curve)
        rate_iops = rate_of(place, curve, measured)
        if rate_iops is None:
            return None
        share_iops = rate_iops if step.job.split else rate_iops / max(1, len(backend.parts))
        return replace(step, job=replace(step.job, json=open_job(step.job.json, curve, share_iops)))

    def _own_points(self, key: StepKey) -> list[Row]:
        """The rows of `points` of a finished step, without those of parts."""
        name = self.targets[key.target].name
        return [row for row in self.store.points(key) if row["target"] == name]

    def _verdicts(self) -> dict[tuple[str, str], str]:
        """What the preconditions came to, by target and workload."""
        steps = self.method.steps
        ended = [
            (self.targets[key.target].name, steps[key.number - 1].workload, self.store.outcome(key))
            for number in range(len(self.targets))
            for key in self._keys(number)
            if steps[key.number - 1].kind == "precondition"
        ]
        return {(target, workload): outcome.reason for target, workload, outcome in ended if outcome}

    def _rounds_ended(self, key: StepKey, place: Round, ended: dict[str, int]) -> bool:
        """Whether an earlier round was the last. `ended` keeps after which round each of the rounds was judged."""
        if place.of in ended:
            return ended[place.of] < place.number
        before = place.number - 1
        if before < place.window or place.step != self._first_of_round(key, place):
            return False
        tracked = [self._series(key, place, step, before) for step in place.track]
        if not place.steady([series for series in tracked if series]):
            return False
        ended[place.of] = before
        return True

    def _first_of_round(self, key: StepKey, place: Round) -> str:
        number = key.number
        while number > 1:
            earlier = self.method.steps[number - 2].round
            if earlier is None or (earlier.of, earlier.number) != (place.of, place.number):
                break
            number -= 1
        first = self.method.steps[number - 1].round
        return first.step if first else place.step

    def _series(self, key: StepKey, place: Round, step: str, before: int) -> list[float]:
        """The figures of a tracked step, round by round; empty for a step that does not apply to the target."""
        names = {place.name(number, step) for number in range(before - place.window + 1, before + 1)}
        keys = [one for one in self._keys(key.target) if one.name in names]
        found = [figure(self._own_points(one), place.metric) for one in keys]
        return [value for value in found if value is not None]

    def _leave_out(self, key: StepKey, step: Step, reason: str) -> None:
        """Finishes a step that does not apply to the target; of rounds, only the first says so."""
        if self._finished(key):
            return
        if step.round is None or step.round.number == 1:
            name = self.targets[key.target].name
            self.remarks.append(Remark(name, step.name, reason))
            self.store.journal("remark", key, text=reason)
        self.store.finish_step(key, {}, StepOutcome("complete", None, reason, 0.0, 0))

    def _pass_over(self, key: StepKey, reason: str = "nothing left to search") -> None:
        """Finishes a step that has nothing to measure, so that a resumed run does not come back to it."""
        if not self._finished(key):
            self.store.finish_step(key, {}, StepOutcome("complete", None, reason, 0.0, 0))

    def _run_one(
        self,
        key: StepKey,
        step: Step,
        backend: Backend,
        sampler: Sampler | None,
        written: Written,
        steady: bool | None,
    ) -> StepOutcome:
        target, store = self.targets[key.target], self.store
        if step.job.destructive:
            self.options.site.recheck(target, writes=True)
        store.journal("step-start", key, kind=step.kind, destructive=step.job.destructive)
        rows = _rows(target, step, backend, store.path / "steps")
        live = store.live_path(key)
        if sampler is not None:
            sampler.step(step.name)
        metered = self.meter if sampler is not None else None
        if metered:
            metered.begin()
        try:
            recordings, outcome = run_step(
                backend,
                step,
                step_seed(self.options.seed, key.number),
                rows,
                self._judge(step, backend, target, written),
                self.options.interrupt,
                (lambda new: store.append_live(live, new)) if backend.real_time else _keep_in_memory,
                lambda progress: self.options.observer.progressed(target, progress),
            )
        except _core.BackendError as failure:
            store.finish_step(key, rows.tables(), StepOutcome("partial", None, str(failure), 0.0, 0))
            raise
        ended_s = time.time()
        rows.finish(recordings, self.method.name, steady)
        if sampler is not None:
            sampled = [dict(row) for row in sampler.drain()]
            rows.take_telemetry(instead_of_sensor(sampled) if metered else sampled)
        if metered and outcome.window_s:
            found = MeteredStep.of(metered, target.name, step.name, ended_s - outcome.window_s, ended_s)
            store.journal("power", key, **found.journal)
            rows.take_telemetry(found.rows)
        for text in recordings[0].notes:
            self.remarks.append(Remark(target.name, step.name, text))
            store.journal("remark", key, text=text)
        failure = _mostly_failed(step, recordings[0])
        if failure is not None:
            outcome = replace(outcome, status="partial", reason=failure)
        store.finish_step(key, rows.tables(), outcome)
        if failure is not None:
            raise FathomError(failure)
        return outcome

    def _judge(self, step: Step, backend: Backend, target: Target, written: Written) -> Judge | None:
        if step.steady is None:
            return None
        capacity_bytes = backend.capacity_bytes or target.capacity_bytes
        return Judge(step, capacity_bytes, written, quick=self.method.quick is not None)

    def _repeat(self, key: StepKey, step: Step, backend: Backend, written: Written) -> None:
        """Brings a twin to the state in which a finished step left it."""
        run_step(
            backend,
            step,
            step_seed(self.options.seed, key.number),
            _rows(self.targets[key.target], step, backend, self.store.path / "steps"),
            self._judge(step, backend, self.targets[key.target], written),
            self.options.interrupt,
            _keep_in_memory,
            lambda progress: None,
        )


def _mostly_failed(step: Step, recording: _core.Recording) -> str | None:
    """What to say of a step in which more I/O failed than succeeded: its figures are those of the errors."""
    failed, done = (sum(getattr(op, name) for op in recording.ops) for name in ("errors", "n"))
    if failed <= done:
        return None
    kinds = ", ".join(
        f"{os.strerror(code) if code else 'short I/O'} {count:,}" for code, count in recording.errno.items()
    )
    refused = next((f"; {note}" for note in recording.notes if "was refused" in note), "")
    return (
        f"step {step.name}: {failed:,} of {failed + done:,} I/O failed"
        + (f" ({kinds})" if kinds else "")
        + refused
    )


def _inapplicable(step: Step, target: Target) -> str | None:
    """Why a step cannot be run on a target at all, or None. What it says ends up in the report."""
    odd_kinds = {one.kind for one in target.members or (target,)} - {"device", "twin"}
    if step.kind == "purge" and odd_kinds:
        why = f"a {min(odd_kinds)} cannot be purged, so the state of what lies beneath is unknown"
        return f"step {step.name} left out: {why}"
    handles, named = target.placement_handles, max(step.job.placement, default=0)
    if handles is not None and named >= handles:
        has = f"{handles} placement handles" if handles > 1 else "no placement handles (FDP) to choose from"
        return f"step {step.name} left out: it writes with handle {named}, and the target has {has}"
    sizes = {one for sizes in step.job.block_sizes.values() for one in sizes}
    odd = sorted(one for one in sizes if one % target.logical_block_bytes)
    if odd:
        blocks = ", ".join(f"{one} B" for one in odd)
        why = f"{blocks} are no multiple of the target's {target.logical_block_bytes} B blocks"
        return f"step {step.name} left out: {why}"
    return None


def _rows(target: Target, step: Step, backend: Backend, scratch: Path) -> StepRows:
    jobs = step.job.of_parts(len(backend.parts))
    parts = [
        StepRows(part, replace(step, job=job), each_second=False, scratch=scratch)
        for part, job in zip(backend.parts, jobs, strict=True)
    ]
    return StepRows(target.name, step, parts, scratch=scratch)


def _on_this_machine(step: Step, backend: Backend) -> Step:
    """A curve's step with no more load threads than there are cores: a thread that waits for a core is late for its
    arrivals, and the delay would count as the target's. As much is in flight. Twins have the cores of their bench.
    """
    if not backend.real_time or (step.curve is None and step.place is None):
        return step
    cores = len(os.sched_getaffinity(0))
    most = cores if step.job.split else max(1, cores // max(1, len(backend.parts)))
    return replace(step, job=step.job.on_threads(most))


def _earlier_remarks(store: RunStore) -> list[Remark]:
    """What backends said about steps that a resumed run has behind it."""
    events = read_lines(store.path / "journal.jsonl")
    return [
        Remark(str(event["target"]), str(event["step"]), str(event["text"]))
        for event in events
        if event["event"] == "remark"
    ]


def _earlier_not_measured(store: RunStore) -> dict[str, list[str]]:
    """What a resumed run has already said that nobody can sample, by target."""
    said: dict[str, list[str]] = {}
    for event in read_lines(store.path / "journal.jsonl"):
        if event["event"] == "not-measured":
            said.setdefault(str(event["target"]), []).append(str(event["text"]))
    return said


def _keep_in_memory(rows: Mapping[str, Sequence[Row]]) -> None:
    """A twin's seconds can be simulated again, so they are not logged one by one."""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
