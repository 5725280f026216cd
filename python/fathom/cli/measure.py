"""Commands that do I/O: review, run, plan, resume and verify."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.option_groups import HostOptions, ReplayOptions
from fathom.cli.options import (
    AsJson,
    Destroy,
    Ensemble,
    Out,
    Power,
    PowerState,
    PriceList,
    Purge,
    Quick,
    Repeats,
    RunMethod,
    RunName,
    Seed,
    Size,
    Targets,
    Together,
    UnknownData,
    size_bytes,
)
from fathom.cli.output import print_json, stderr, stdout
from fathom.cli.replay import method_of
from fathom.cli.supervise import outlive_terminal
from fathom.fleet.initiators import initiator_of, workers_of

if TYPE_CHECKING:
    from fathom.load.initiator import Initiator
    from fathom.method.method import Method
    from fathom.plan.power_states import InState
    from fathom.runs.reader import Run
    from fathom.session import Options
    from fathom.sizing.files import Prices
    from fathom.targets.target import Target


def review(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="default: a scratch file here and four twins", metavar="[TARGET...]"),
    ] = None,
    full: Annotated[bool, typer.Option("--full/--quick", help="full durations, or shortened ones")] = False,
    repeats: Repeats = 1,
    seed: Seed = 1,
    size: Size = None,
    destroy: Destroy = [],  # noqa: B006 (typer copies defaults)
    unknown_data: UnknownData = False,
    out: Out = None,
    power: Power = None,
    ensemble: Ensemble = None,
    as_json: AsJson = False,
) -> None:
    """Review targets side by side and write one report."""
    from fathom.load.initiator import ThisMachine
    from fathom.plan.review import review_method, review_targets

    method, initiator = review_method(full=full), ThisMachine()
    chosen = review_targets(method, targets or [], out, size_bytes(size), initiator)
    options = _options(seed, destroy, out, power, initiator, unknown_data=unknown_data)
    _check_ensemble(chosen, ensemble)
    with _showing_what_is_left(as_json):
        finished = _repeat(method, chosen, options, repeats)
    _add_ensemble(finished[0], ensemble, HostOptions())
    _conclude(finished, as_json)


def run(
    method: RunMethod,
    targets: Targets,
    together: Together = False,
    quick: Quick = False,
    repeats: Repeats = 1,
    seed: Seed = 1,
    size: Size = None,
    destroy: Destroy = [],  # noqa: B006
    unknown_data: UnknownData = False,
    purge: Purge = "trim",
    power_state: PowerState = None,
    out: Out = None,
    power: Power = None,
    ensemble: Ensemble = None,
    *,
    hosts: HostOptions,
    baseline: Annotated[
        str | None, typer.Option(help="an earlier run of the drive alone, to compare with", metavar="RUN")
    ] = None,
    prices: PriceList = None,
    replay: ReplayOptions,
    as_json: AsJson = False,
) -> None:
    """Run a method on targets, from one host or many."""
    from fathom.plan.power_states import in_each_state
    from fathom.plan.prepare import prepare
    from fathom.runs.home import find_run
    from fathom.sizing.files import read_prices

    parsed = method_of(method, replay, targets, quick=quick)
    listed = read_prices(prices)
    beside = [find_run(baseline)] if baseline else []
    with initiator_of(hosts.wanted) as initiator:
        options = _options(seed, destroy, out, power, initiator, purge, unknown_data=unknown_data)

        def find(state: int | None) -> "list[Target]":
            return prepare(parsed, targets, initiator, size_bytes(size), together=together, power_state=state)

        states = in_each_state(power_state, initiator, find)
        for _, chosen in states:
            _check_ensemble(chosen, ensemble)
        with _showing_what_is_left(as_json, beside, listed):
            finished = _run_in_each(parsed, states, options, repeats)
    for run_of_state in finished[::repeats]:
        _add_ensemble(run_of_state, ensemble, hosts)
    _conclude(finished, as_json, beside, listed)


def plan(
    method: RunMethod,
    targets: Targets,
    together: Together = False,
    quick: Quick = False,
    repeats: Repeats = 1,
    size: Size = None,
    purge: Purge = "trim",
    power_state: PowerState = None,
    *,
    replay: ReplayOptions,
) -> None:
    """Show what a run would do: steps, bytes written, time. Touches no target."""
    from fathom.load.initiator import ThisMachine
    from fathom.plan.prepare import prepare
    from fathom.plan.terminal import print_plan
    from fathom.targets.purge import purge_of

    parsed = method_of(method, replay, targets, quick=quick)
    chosen = prepare(parsed, targets, ThisMachine(), size_bytes(size), together=together)
    print_plan(stdout(), parsed, chosen, repeats, purge_of(purge), power_state)


def resume(
    run: RunName,
    destroy: Destroy = [],  # noqa: B006
    unknown_data: UnknownData = False,
    *,
    hosts: HostOptions,
    as_json: AsJson = False,
) -> None:
    """Go on with a run after a crash or an interrupt.

    What is finished is kept.
    """
    from fathom.load.resolve import targets_of_run
    from fathom.runs.document import RunDocument
    from fathom.runs.home import find_run
    from fathom.session import resume_run

    path = find_run(run)
    document = RunDocument.load(path)
    if document.status == "complete":
        said = f"run {document.id} is complete: nothing was left to do"
        stderr().print(said, highlight=False, markup=False, soft_wrap=True)
    with initiator_of(hosts.wanted) as initiator:
        options = _options(1, destroy, None, None, initiator, unknown_data=unknown_data)
        targets = targets_of_run(document, initiator.resolve)
        with _showing_what_is_left(as_json), _watched(targets, options):
            finished = resume_run(path, options)
    _conclude([finished], as_json)


def verify(
    journal: Annotated[Path, typer.Argument(help="the directory that the job named", metavar="JOURNAL")],
    target: Annotated[
        Path | None, typer.Argument(help="default: the one target that the journal names", metavar="[PATH]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """After a crash, look for every acknowledged write.

    A job's journal says which those are. Writes nothing.
    """
    from fathom.targets.acknowledged import print_report, verify_journal

    found = verify_journal(journal, target)
    if as_json:
        print_json(found.model_dump(by_alias=True))
    print_report(stderr() if as_json else stdout(), found)


def _repeat(method: "Method", targets: "Sequence[Target]", options: "Options", times: int) -> "list[Run]":
    from fathom.session import repeat_run

    def begin(number: int) -> None:
        if number > 1:
            print(f"repeat {number} of {times}", file=sys.stderr)

    return repeat_run(method, targets, options, times, begin, lambda own: _watched(targets, own))


def _run_in_each(
    method: "Method", states: "Sequence[InState]", options: "Options", times: int
) -> "list[Run]":
    """Runs the method in each power state. Where one run ends early, the finished ones are named."""
    from fathom.runs.home import called

    finished: list[Run] = []
    for state, targets in states:
        if state is not None:
            print(f"power state {state}", file=sys.stderr)
        try:
            finished += _repeat(method, targets, replace(options, power_state=state), times)
        except BaseException:
            if finished:
                names = " ".join(called(run.path) for run in finished)
                print(f"fathom: other power states are measured: `fathom report {names}`", file=sys.stderr)
            raise
    return finished


def _check_ensemble(targets: "Sequence[Target]", members: int | None) -> None:
    if members is not None:
        from fathom.sweep.members import check_ensemble

        check_ensemble(targets, members)


def _add_ensemble(run: "Run", members: int | None, hosts: HostOptions) -> None:
    if members is not None:
        from fathom.sweep.members import add_ensemble
        from fathom.validation.terminal import TrialProgress

        with workers_of(hosts.wanted) as workers, TrialProgress(stderr()) as watch:
            add_ensemble(run, members, workers, watch)


@contextmanager
def _watched(targets: "Sequence[Target]", options: "Options") -> Iterator[None]:
    """Shows progress on stderr. The first request to end stops the run cleanly, the second at once. A request is
    Ctrl-C, SIGTERM, or SIGHUP (but under nohup).
    """
    from fathom.cli.progress import LiveObserver, ProgressConsole

    for note in (note for target in targets for note in target.notes_before_run):
        print(f"fathom: {note}", file=sys.stderr)

    def interrupt(number: int, frame: object) -> None:
        if options.interrupt.is_set():
            outlive_terminal()
            raise KeyboardInterrupt
        options.interrupt.set()
        with suppress(OSError):
            print("\nstopping: saving what was measured (press again to stop at once)", file=sys.stderr)

    asking = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        asking.append(signal.SIGHUP)
    before = {one: signal.signal(one, interrupt) for one in asking}
    observer = LiveObserver(ProgressConsole(stderr=True), list(targets))
    options.observer = observer
    try:
        with observer:
            yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def _showing_what_is_left(
    as_json: bool, beside: Sequence[Path] = (), prices: "Prices | None" = None
) -> Iterator[None]:
    """Writes the report of a run that an error or an interrupt ended, and prints what it measured, if anything."""
    from fathom.errors import FathomError
    from fathom.runs.reader import Run

    try:
        yield
    except FathomError as error:
        # A full disk or a closed terminal must not hide the error itself.
        with suppress(FathomError, OSError):
            if error.run is not None and Run(error.run).points.num_rows:
                _show([Run(error.run)], as_json, beside, prices)
        raise


def _show(
    runs: "Sequence[Run]", as_json: bool, beside: Sequence[Path] = (), prices: "Prices | None" = None
) -> None:
    from fathom.errors import FathomError
    from fathom.report import REPORT, build, print_built, runs_json, write_built
    from fathom.runs.home import called

    own = [run.path for run in runs]
    built = build([*own, *beside], prices=prices)
    console = stdout()
    if as_json:
        print_json(runs_json(own))
    else:
        print_built(console, built)
    try:
        path = write_built(built, own[0] / REPORT)
    except FathomError as error:
        names = " ".join(called(one) for one in own)
        hint = f"what was measured is kept: `fathom report {names} --out FILE` writes its page elsewhere"
        raise FathomError(error.message, hint) from error
    if not as_json:
        console.print(f"report  {path}", highlight=False, soft_wrap=True)
        for run in runs:
            console.print(f"run     {run.id}", highlight=False, soft_wrap=True)


def _conclude(
    finished: "Sequence[Run]", as_json: bool, beside: Sequence[Path] = (), prices: "Prices | None" = None
) -> None:
    """Prints the result, and writes the report beside the run, the first of its repeats, with other runs next to it.

    Raises FathomError where the report cannot be written, blocks did not hold what was written, a host was lost, or too
    much I/O failed.
    """
    from fathom.analysis.validity.of_figures import WRONG_DATA
    from fathom.errors import FathomError
    from fathom.runs.document import LOST_HOST

    _show(finished, as_json, beside, prices)
    if wrong := [note for run in finished for note in run.notes if note.rule == WRONG_DATA]:
        raise FathomError(f"{wrong[0].target}, {wrong[0].step}: {wrong[0].text}", wrong[0].next_step)
    if lost := [note for run in finished for note in run.notes if note.rule == LOST_HOST]:
        raise FathomError(lost[0].text, lost[0].next_step)
    for run in finished:
        _check_failed_io(run)


def _check_failed_io(run: "Run") -> None:
    """Raises FathomError where so much I/O of a step failed that its figures are marked."""
    from fathom.analysis.interval_sums import COLUMNS, IntervalSums
    from fathom.errors import FathomError
    from fathom.statistics.failed import in_words, is_marked

    marked = [
        (key, failed.share)
        for key, failed in IntervalSums.of(run.parts("intervals", COLUMNS)).failed().items()
        if is_marked(failed.share)
    ]
    if marked:
        (target, step), share = max(marked, key=lambda one: one[1])
        raise FathomError(f"{target}, {step}: {in_words(share)}", "the notes above say how and where")


def _options(
    seed: int,
    destroy: Sequence[str],
    out: Path | None,
    power: str | None = None,
    initiator: "Initiator | None" = None,
    purge: str = "trim",
    *,
    unknown_data: bool = False,
) -> "Options":
    from fathom.load.initiator import ThisMachine
    from fathom.session import Options
    from fathom.targets.purge import purge_of

    return Options(
        seed=seed,
        destroy=tuple(destroy),
        unknown_data=unknown_data,
        out=out,
        power=power,
        interrupt=Event(),
        initiator=initiator or ThisMachine(),
        purge=purge_of(purge),
    )
