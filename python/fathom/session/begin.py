"""How a run begins, fresh or again: targets are checked and claimed, the run directory is made or reopened."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import cast

from fathom.errors import FathomError, UsageError
from fathom.load.binding import check_bound
from fathom.load.initiator import ThisMachine
from fathom.load.resolve import ensure_simulable, targets_of_run
from fathom.method.method import Method, parse_method
from fathom.plan.files import with_files
from fathom.plan.fit import check_fits, check_measures, check_split
from fathom.plan.journals import check_journals
from fathom.plan.power_states import check_states_here
from fathom.power.meter import PowerMeter, open_meter
from fathom.runs.document import RunDocument
from fathom.runs.home import new_run_id, runs_home
from fathom.runs.layout import is_run
from fathom.runs.reader import Run
from fathom.runs.store import RunStore
from fathom.runs.writer import writing_run
from fathom.session.live import LiveFile
from fathom.session.options import Options
from fathom.session.record import new_document, power_states_of
from fathom.session.resumed import changed_since
from fathom.session.session import Session
from fathom.targets.file_room import check_room
from fathom.targets.power_states import check_power_state, held_in
from fathom.targets.purge import check_purge, purge_of
from fathom.targets.target import Identity, Target


def start_run(method: Method, targets: Sequence[Target], options: Options) -> Run:
    """Runs the method on every target and returns the run.

    Raises RefusedError before anything is written when a target is not safe, and UsageError when nothing could be
    measured on any. Raises InterruptedRunError after an interrupt and FathomError after a failed target, both with all
    that was measured saved.
    """
    meter = _meter(options, targets)
    if isinstance(options.initiator, ThisMachine):
        check_journals(method, targets)
    run_id = new_run_id(method.name)
    path = (options.out or runs_home()) / run_id
    with (
        _run_named(path),
        _claimed(method, targets, options) as ready,
        held_in(ready, options.power_state, {}) as held,
        writing_run(path),
    ):
        store = RunStore.create(path, new_document(run_id, method, ready, options, held))
        return _watched_session(store, method, ready, options, meter)


def repeat_run(
    method: Method,
    targets: Sequence[Target],
    options: Options,
    times: int,
    begin: Callable[[int], None] = lambda number: None,
    watched: Callable[[Options], AbstractContextManager[object]] = nullcontext,
) -> list[Run]:
    """Runs the method `times` times, each with another seed, and returns the runs, which reports pool.

    `begin` is called with the number of each repeat, from 1; each runs inside `watched`. Raises as `start_run`; the
    error names the repeats that did not begin.
    """
    finished: list[Run] = []
    for number in range(times):
        begin(number + 1)
        first = finished[0].id if finished else options.repeat_of
        own = replace(options, seed=(options.seed + number) % 2**64, repeat_of=first)
        with watched(own), _naming_rest(number, times - number - 1, own.seed):
            finished.append(start_run(method, targets, own))
    return finished


@contextmanager
def _naming_rest(number: int, left: int, seed: int) -> Iterator[None]:
    """Adds to the hint of an error in repeat `number`, from 0, how to make the repeats that did not begin.

    Nothing is added where none has begun: the command itself is then what to run again.
    """
    try:
        yield
    except FathomError as error:
        began = error.run is not None
        rest, next_seed = (left, seed + 1) if began else (left + 1, seed)
        if rest and (began or number):
            many = "s" if rest > 1 else ""
            which = "behind it" if began else "that did not begin"
            words = (
                f"for the {rest} repeat{many} {which} run again with `--repeats {rest} --seed {next_seed % 2**64}`, "
                "then `fathom report --pool` with all of them"
            )
            error.hint = f"{error.hint}; {words}" if error.hint else words
        raise


def resume_run(path: Path, options: Options) -> Run:
    """Goes on with a run that was interrupted or killed. Finished steps are kept as they are.

    Raises RefusedError when a target is no longer the one that the run began with, or the run still goes on.
    """
    document = RunDocument.load(path)
    if document.status == "complete":
        return Run(path)
    _require_hosts(document, options)
    method = _method_of(document)
    options.seed = document.own_seed
    options.purge = purge_of(str(document.environment.get("purge", "trim")))
    options.power = cast("str | None", document.environment.get("power_meter"))
    options.power_state, options.power_before = power_states_of(document.environment)
    targets = with_files(method, targets_of_run(document, options.initiator.resolve))
    for target in targets:
        options.initiator.go_on(target, _parts_of(document, target))
    meter = _meter(options, targets)
    changed = changed_since(document)
    with (
        writing_run(path),
        _run_named(path),
        _claimed(method, targets, options) as ready,
        held_in(ready, options.power_state, options.power_before),
    ):
        return _watched_session(RunStore.reopen(path, changed), method, ready, options, meter)


def _require_hosts(document: RunDocument, options: Options) -> None:
    """Raises UsageError where hosts made the load, and this machine would go on alone."""
    names = [
        host.name.removesuffix(f":{total.name}")
        for total in document.targets
        if total.part_of is None
        for host in document.hosts_of(total)
    ]
    if names and isinstance(options.initiator, ThisMachine):
        raise UsageError(
            f"run {document.id} was loaded by hosts: {', '.join(dict.fromkeys(names))}",
            "name the same ones: --hosts, --local-hosts or --ray",
        )


def _watched_session(
    store: RunStore,
    method: Method,
    targets: Sequence[Target],
    options: Options,
    meter: PowerMeter | None,
) -> Run:
    """Runs a session, with its live.json for other processes to watch."""
    with LiveFile(store.path, method, targets, options.observer) as observer:
        return Session(store, method, targets, replace(options, observer=observer), meter).run()


def _parts_of(document: RunDocument, target: Target) -> dict[str, Identity]:
    """Returns what the parts of a target were, and their parts."""
    parts = {one.name for one in document.targets if one.part_of == target.name}
    records = (one for one in document.targets if one.name in parts or one.part_of in parts)
    return {one.name: Identity.from_json(one.identity) for one in records}


def _method_of(document: RunDocument) -> Method:
    record = document.method
    form = "json" if record.text.lstrip().startswith("{") else "toml"
    return parse_method(record.text, f"{record.name}.{form}", quick=document.quick is not None)


def _meter(options: Options, targets: Sequence[Target]) -> PowerMeter | None:
    """Returns the power meter that the user named. Raises UsageError where it does not answer, or nothing could be on
    it.
    """
    if options.power is None:
        return None
    if all(target.kind == "twin" for target in targets):
        raise UsageError("--power: twins report their own energy", "leave --power out")
    return open_meter(options.power)


@contextmanager
def _run_named(path: Path) -> Iterator[None]:
    """Adds the run's path to an OSError from releasing a dead target. Without a run the error stays as it is."""
    try:
        yield
    except OSError as error:
        if not is_run(path):
            raise
        where = f"{error.filename}: " if error.filename else ""
        raise FathomError(
            f"{where}{error.strerror or error}; what was measured is in {path}",
            "remove the cause, then `fathom resume` continues",
        ) from error


@contextmanager
def _claimed(method: Method, targets: Sequence[Target], options: Options) -> Iterator[list[Target]]:
    """Holds every target for the length of the run. All are checked before the first of them is touched."""
    initiator = options.initiator
    _check_purge_asked(method, options)
    if options.power_state is not None:
        check_states_here(initiator)
    check_bound(method, targets)
    alone = isinstance(initiator, ThisMachine)
    for target in targets:
        check_fits(method, target)
        check_split(method, target, 0 if alone else len(initiator.parts(target)))
        ensure_simulable(target)
        initiator.check(
            target,
            writes=method.writes_to(target),
            destroy_tokens=options.destroy,
            unknown_data=options.unknown_data,
        )
        check_purge(target, options.purge)
        if options.power_state is not None:
            check_power_state(target, options.power_state)
    if alone:
        check_room(targets)
    with ExitStack() as stack:
        ready = [
            stack.enter_context(
                initiator.claim(
                    target,
                    writes=method.writes_to(target),
                    destroy_tokens=options.destroy,
                    unknown_data=options.unknown_data,
                )
            )
            for target in targets
        ]
        check_measures(method, ready)
        yield ready


def _check_purge_asked(method: Method, options: Options) -> None:
    """Raises UsageError for a purge by an admin command if no step would send it, or if hosts would have to."""
    if options.purge == "trim":
        return
    if not any(step.kind == "purge" for step in method.steps):
        raise UsageError(
            f"--purge {options.purge}: {method.name} has no purge step", "leave --purge out, or add a step"
        )
    if not isinstance(options.initiator, ThisMachine):
        raise UsageError(
            f"--purge {options.purge}: works only on this machine's own drives", "run it on one host"
        )
