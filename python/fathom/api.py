"""The Python interface: all that the commands do with methods, targets and runs. Prints nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack

from fathom import session
from fathom.catalog.store import nearest
from fathom.errors import UsageError
from fathom.fitting.of_trace import method_of
from fathom.fleet.initiators import initiator_of, workers_of
from fathom.load.initiator import Initiator, ThisMachine
from fathom.plan.plan import Plan, plan_of
from fathom.plan.power_states import in_each_state
from fathom.plan.prepare import Words, prepare
from fathom.plan.replay import Replay
from fathom.plan.review import review_method, review_targets
from fathom.runs.home import find_run
from fathom.runs.reader import Run
from fathom.session import Observer, Options, SilentObserver
from fathom.session.stepper import Progress
from fathom.targets.purge import Purge
from fathom.targets.target import Target

if TYPE_CHECKING:
    import pyarrow as pa

    from fathom.compare.rows import Result
    from fathom.results.import_files import Outcome
    from fathom.sweep.sweep import Swept
    from fathom.validation.comparison import Compared

Watch = Callable[[str, Progress], None]
"""Called with a target's name and the progress of its running step, about once a second, from several threads."""


class Translated(NamedTuple):
    """A file in another program's language."""

    text: str
    notes: list[str]
    """What differs from the original, or is left out."""


class HostOptions(TypedDict, total=False):
    """Where the load comes from; this machine alone where no key is given."""

    hosts: str | Path | None
    """A file of host names, one a line."""
    shell: str
    """How to reach them: `SHELL HOST sh`. Default: ssh."""
    ray: str | None
    """Address of a Ray cluster: every node loads."""
    local_hosts: int | None
    """Number of processes on this machine, to try out a fleet."""


class SessionOptions(HostOptions, total=False):
    """Options of a resumed run."""

    destroy: str | Sequence[str]
    """Serials of devices whose data may be lost; or the one."""
    unknown_data: bool
    """Data on them that no known format explains may be lost too."""
    progress: Watch | None
    observer: Observer | None
    """Is called when steps and targets begin and end, too; instead of `progress`."""
    interrupt: Event | None
    """Ends the run when it is set; what was measured is kept."""


class ReviewOptions(SessionOptions, total=False):
    """How a review runs."""

    seed: int
    """Seed of every random choice. Default: 1."""
    size_bytes: int | None
    """Size of files that Fathom makes."""
    out: str | Path | None
    """Folder for the run's own folder. Default: the home of all runs."""
    power: str | None
    """A power meter: `csv:PATH[?column=NAME]` or `prometheus:URL?query=QUERY`."""


class RunOptions(ReviewOptions, total=False):
    """How a method runs."""

    quick: bool
    """Shortens the method by the factors that it states."""
    together: bool
    """Loads the real targets at once, as one array."""
    purge: Purge
    """How purge steps erase NVMe drives. Default: trim."""
    power_state: int | None
    """NVMe power state of the drives during the run. Default: as they are."""
    replay: Replay | None
    """The trace of the method `replay`, and how it is replayed; or the one that a method takes its workload from."""


def run(method: str, targets: Words, **options: Unpack[RunOptions]) -> Run:
    """Runs a method on one target or several and returns the run.

    It is given by its name, the path of its file, or its text in TOML.

    A mapping gives each target the name by which the method's steps know it.

    Raises FathomError; whatever was measured before the error is in the run directory.
    """
    return repeat_run(method, targets, 1, **options)[0]


def repeat_run(method: str, targets: Words, times: int, **options: Unpack[RunOptions]) -> list[Run]:
    """Runs a method `times` times, each with another seed, and returns the runs. `write_report` pools them.

    Raises FathomError, as `run`.
    """
    _check(options, RunOptions)
    if times < 1:
        raise UsageError(f"{times} repeats", "ask for 1 or more")
    parsed = method_of(method, options.get("replay"), quick=options.get("quick", False))[0]
    with _initiator(options) as initiator:
        chosen = prepare(
            parsed,
            targets,
            initiator,
            _size_bytes(options.get("size_bytes")),
            together=options.get("together", False),
            power_state=options.get("power_state"),
        )
        own = _options(options, initiator, options.get("purge", "trim"), options.get("power_state"))
        return session.repeat_run(parsed, chosen, own, times)


def run_in_power_states(
    method: str, targets: Words, states: Sequence[int] | Literal["all"] = "all", **options: Unpack[RunOptions]
) -> list[Run]:
    """Runs a method once in each NVMe power state and returns the runs. `write_report` lays them side by side.

    Raises RefusedError, before the first run, where a target lacks one of the states; FathomError, as `run`.
    """
    _check(options, RunOptions)
    word = states if isinstance(states, str) else ",".join(map(str, states))
    parsed = method_of(method, options.get("replay"), quick=options.get("quick", False))[0]
    size, together = _size_bytes(options.get("size_bytes")), options.get("together", False)
    with _initiator(options) as initiator:
        found = in_each_state(
            word,
            lambda state: prepare(parsed, targets, initiator, size, together=together, power_state=state),
        )
        purge = options.get("purge", "trim")
        return [
            run
            for state, chosen in found
            for run in session.repeat_run(parsed, chosen, _options(options, initiator, purge, state), 1)
        ]


def plan_run(
    method: str,
    targets: Words,
    *,
    quick: bool = False,
    size_bytes: int | None = None,
    together: bool = False,
    replay: Replay | None = None,
) -> list[Plan]:
    """Returns what `run` would do to each target: steps, seconds, bytes written. Touches nothing.

    Raises UsageError for a method or a target that is none.
    """
    parsed = method_of(method, replay, quick=quick)[0]
    chosen = prepare(parsed, targets, ThisMachine(), _size_bytes(size_bytes), together=together)
    return [plan_of(parsed, target) for target in chosen]


def review(
    targets: Words = (), *, full: bool = False, repeats: int = 1, **options: Unpack[ReviewOptions]
) -> list[Run]:
    """Runs the review on targets, or on a scratch file beside four twins, and returns the runs, one per repeat.

    Raises FathomError, as `run`.
    """
    _check(options, ReviewOptions)
    method = review_method(full=full)
    with _initiator(options) as initiator:
        chosen = review_targets(
            method, targets, _path(options.get("out")), _size_bytes(options.get("size_bytes")), initiator
        )
        return session.repeat_run(method, chosen, _options(options, initiator), repeats)


def resume_run(run: str | Path, **options: Unpack[SessionOptions]) -> Run:
    """Goes on with a run after a crash or an interrupt. What is finished is kept.

    Raises RefusedError where a target is another, or the run still goes on; FathomError, as `run`.
    """
    _check(options, SessionOptions)
    with _initiator(options) as initiator:
        return session.resume_run(find_run(str(run)), _options(ReviewOptions(**options), initiator))


def write_report(
    runs: Run | Sequence[Run],
    *,
    baseline: str | Path | None = None,
    prices: str | Path | None = None,
    out: str | Path | None = None,
) -> Path:
    """Writes the report of runs into the first one's folder, or to `out`, and returns its path.

    `baseline` is an earlier run of the drive alone, to report beside. `prices` is a price list; the default is
    relative. Raises FathomError where a run or the list cannot be read.
    """
    from fathom.report import REPORT, write_html
    from fathom.sizing.files import read_prices

    own = [runs.path] if isinstance(runs, Run) else [one.path for one in runs]
    if not own:
        raise UsageError("no run to report", "give one or more")
    beside = [] if baseline is None else [find_run(str(baseline))]
    path = own[0] / REPORT if out is None else Path(out)
    return write_html([*own, *beside], path, prices=read_prices(_path(prices)))


def compare_runs(
    base: Run | str | Path,
    *new: Run | str | Path,
    metrics: str | Sequence[str] = (),
    limits: str | Sequence[str] = (),
    level_pct: float | None = None,
) -> "list[Result]":
    """Returns what changed in each of `new` against the base, figure by figure, as `fathom compare` does.

    A run that was made with repeats stands for all of them. `metrics` and `limits` are written as in the command:
    `p99`, `p99 > +5%`; one may stand alone. `level_pct` is the change in percent within which two figures are level.

    Raises UsageError for a metric or a limit that is none, and for targets without a counterpart.
    """
    from fathom.compare.gate import parse_gate
    from fathom.compare.metrics import metric_names
    from fathom.compare.rows import LEVEL_PCT, compare_sides
    from fathom.compare.sides import read_side

    if not new:
        raise UsageError("no run to hold against the base", "give one or more after it")
    sides = [read_side(str(one.path if isinstance(one, Run) else one)) for one in (base, *new)]
    names = metric_names(",".join(_words(metrics)) if metrics else None)
    gates = [parse_gate(text) for text in _words(limits)]
    level = LEVEL_PCT if level_pct is None else level_pct
    return [compare_sides(sides[0], side, names, gates, level) for side in sides[1:]]


def import_results(
    *files: str | Path, format: str | None = None, unit: str = "ns", out: str | Path | None = None
) -> "Outcome":
    """Makes runs from the results of other load generators, as `fathom import-results` does. Folders are taken whole.

    The result has the new `runs`, the `duplicates` and the `bad` files. Raises UsageError for an unknown format or
    unit, and where there is no file.
    """
    from fathom.results import import_files
    from fathom.results.formats import format_named, unit_named

    chosen = None if format is None else format_named(format)
    return import_files.import_results([Path(file) for file in files], chosen, unit_named(unit), _path(out))


def export_results(run: Run | str | Path, format: str) -> bytes:
    """Returns a run as a file of another program, as `fathom export-results` writes it.

    Raises UsageError for an unknown format, and for a run without what the format is made of.
    """
    from fathom.results import export

    opened = run if isinstance(run, Run) else Run.open(run)
    return export.export_results(opened, export.export_format_named(format))


def import_method(
    file: str | Path, *, name: str | None = None, values: Mapping[str, str] | None = None
) -> Translated:
    """Returns a file of fio or Vdbench as the text of a method, and notes on what differs, as `fathom import` does.

    `run` takes the text. `values` stand for `${NAME}` and `$NAME` of the file. Raises UsageError for a line without a
    counterpart.
    """
    from fathom import imports
    from fathom.imports.variables import variables_of

    variables = variables_of([f"{key}={value}" for key, value in (values or {}).items()])
    return Translated(*imports.import_method(Path(file), name, variables))


def export_method(
    method: str, target: str | None = None, *, quick: bool = False, size_bytes: int | None = None
) -> Translated:
    """Returns a method as a job file of fio, and notes on what differs, as `fathom export` does. Touches nothing.

    Without a target the file reads the environment's `TARGET`. Raises UsageError for a target that fio cannot use.
    """
    from fathom import exports

    parsed = method_of(method, None, quick=quick)[0]
    return Translated(*exports.export_method(parsed, target, _size_bytes(size_bytes)))


def query(sql: str, *, store: str | None = None) -> "pa.Table":
    """Returns the answer to one SQL statement over all runs, or those of a team's store, as `fathom query` does.

    Raises UsageError for a statement that is none, and for a store that cannot be read.
    """
    from fathom.runs.query import query as of_runs
    from fathom.store.address import parse_address
    from fathom.store.query import query as of_store
    from fathom.store.store import open_store

    if store is None:
        return of_runs(sql)
    with open_store(parse_address(store)) as one:
        return of_store(sql, one)


def run_sweep(
    method: str,
    targets: str | Sequence[str],
    settings: Mapping[str, object],
    *,
    quick: bool = False,
    seed: int = 1,
    out: str | Path | None = None,
    **options: Unpack[HostOptions],
) -> "Swept":
    """Simulates a method for every combination of values, as `fathom sweep` does: `{"op": [0.07, 0.28]}`.

    A single value needs no list; a text is read as the command reads it: `{"op": "0.07,0.28"}`.

    The result has the `points` of all as a table, the sweep's `folder` and its `page`. Raises UsageError for a key or
    a value that is none, and FathomError where a combination fails.
    """
    from fathom.sweep.sweep import run_sweep as of_settings

    _check(options, HostOptions)
    if not settings:
        raise UsageError("a sweep without a key to vary", 'give one or more, such as {"op": [0.07, 0.28]}')
    axes = [f"{key}={','.join(_values(one))}" for key, one in settings.items()]
    chosen = _words(targets)
    with workers_of(*_hosts(options)) as workers:
        swept = of_settings(method, chosen, axes, workers, _unwatched, quick=quick, seed=seed, out=_path(out))
    swept.check()
    return swept


def validate(*devices: str, seed: int = 1, **options: Unpack[HostOptions]) -> "list[Compared]":
    """Returns each published row of the devices, or of every twin, beside what the twin does, as `fathom validate`.

    Raises FathomError for a device without a twin or without published results.
    """
    from fathom.validation.validate import devices_to_validate
    from fathom.validation.validate import validate as of_devices

    _check(options, HostOptions)
    with workers_of(*_hosts(options)) as workers:
        return of_devices(devices_to_validate(devices), workers, seed)


def add_ensemble(run: Run | str | Path, members: int, **options: Unpack[HostOptions]) -> Run:
    """Simulates a run's method for members of its twins' ensembles, as `fathom run --ensemble` does; returns the run.

    Its table `ensemble` has their rows. Raises FathomError for a twin without an ensemble, and for a run that has not
    ended.
    """
    from fathom.sweep import members as of_ensemble

    _check(options, HostOptions)
    opened = run if isinstance(run, Run) else Run.open(run)
    with workers_of(*_hosts(options)) as workers:
        of_ensemble.add_ensemble(opened, members, workers, _unwatched)
    return Run(opened.path)


def open_run(run: str | Path) -> Run:
    """Returns the run named by a path, an id, a unique part of an id, or `last`."""
    return Run.open(run)


def _unwatched(label: str, done: int, total: int) -> None:
    """Shows nothing of what ends."""


def _check(options: Mapping[str, object], known: type) -> None:
    """Raises UsageError for an option that `known`, a `TypedDict` of options, does not have."""
    names = sorted(known.__annotations__)
    for name in options:
        if name not in names:
            raise UsageError(f"no option {name!r}", f"{nearest(name, names)}it takes {', '.join(names)}")


def _words(words: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the words. A text is one word, not its letters."""
    return (words,) if isinstance(words, str) else tuple(words)


def _values(of_key: object) -> list[str]:
    """Returns what a key of a sweep is set to, as the command has it; a single value stands for itself."""
    if isinstance(of_key, str) or not isinstance(of_key, Iterable):
        return [_written(of_key)]
    return [_written(value) for value in of_key]


def _written(value: object) -> str:
    """Returns a value as a setting of the command has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Watched(SilentObserver):
    """Passes progress on to a function."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def progressed(self, target: Target, progress: Progress) -> None:
        """Calls the function."""
        self._watch(target.name, progress)


def _initiator(options: HostOptions) -> AbstractContextManager[Initiator]:
    return initiator_of(*_hosts(options))


def _hosts(options: HostOptions) -> tuple[Path | None, str, str | None, int | None]:
    hosts, shell = _path(options.get("hosts")), options.get("shell", "ssh")
    return hosts, shell, options.get("ray"), options.get("local_hosts")


def _options(
    options: ReviewOptions, initiator: Initiator, purge: Purge = "trim", power_state: int | None = None
) -> Options:
    watch = options.get("progress")
    observer = options.get("observer") or (_Watched(watch) if watch else SilentObserver())
    return Options(
        seed=options.get("seed", 1),
        destroy=_words(options.get("destroy", ())),
        unknown_data=options.get("unknown_data", False),
        out=_path(options.get("out")),
        observer=observer,
        interrupt=options.get("interrupt") or Event(),
        power=options.get("power"),
        initiator=initiator,
        purge=purge,
        power_state=power_state,
    )


def _size_bytes(size: int | None) -> int | None:
    """Returns the size. Raises UsageError for what is no number of bytes above 0."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size <= 0):
        raise UsageError(f"size_bytes={size!r}", "give a whole number of bytes above 0, such as 4 * 2**30")
    return size


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)
